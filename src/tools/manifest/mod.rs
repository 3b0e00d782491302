//! Manifests: each `_index.yaml` names tools, prompts and resources, and the Lua that stands behind them.
//!
//! The format is an existing one. An entry has `name`, `kind`, `source` (`file://…`), `method` and `meta`, whose keys
//! `mcp.…` say what clients are shown. What is not for MCP is skipped, so that a manifest can serve another program too.
//! Nothing here reads a file.

mod encoded;
mod example;
mod examples;
mod fields;
mod handler;
mod meant;
mod namespace;
mod prompt;
mod provided;
mod resource;
mod simulated;
mod tool;
mod tree;
mod what;
mod wrong;

use std::{
    fmt,
    path::{Path, PathBuf},
};

pub use example::{Example, Expected, Given, Pattern};
pub use handler::Handler;
pub use namespace::{HostSpec, Namespace, NamespaceSpec};
pub use prompt::{Choices, Message, Parent, PromptSpec};
pub use provided::{Answered, Provided};
pub use resource::{ResourceSpec, Shown, Text, Watch};
pub use simulated::{Fuel, Simulated};
pub use tool::{RunsOn, ToolSpec};
pub use tree::Node;
pub use what::{TIME, What};

use fields::Fields;
use handler::Kind;
use wrong::Wrong;

use crate::base::text::one_line;

/// The name of a manifest's file.
pub const FILE: &str = "_index.yaml";

/// Something that keeps an entry, or a whole file, from being used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1, if it is about one.
    pub line: Option<usize>,
    /// What is wrong, and what to do.
    pub reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl Wrong {
    fn into_problem(self, file: &Path) -> Problem {
        Problem {
            file: file.to_path_buf(),
            line: Some(self.line),
            reason: self.reason,
        }
    }
}

/// What a manifest says.
#[derive(Debug, Default)]
pub struct Manifest {
    /// What it says of all its handlers.
    pub namespace: NamespaceSpec,
    /// Its entries for MCP, in their order.
    pub entries: Vec<Entry>,
    /// The entries that can't be used, by name where they have one, and why.
    pub broken: Vec<(Option<String>, Problem)>,
    /// What is wrong with examples of entries that can be used.
    pub doubts: Vec<Problem>,
}

/// One entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its name within the manifest.
    pub name: String,
    /// The line where it begins, from 1.
    pub line: usize,
    /// What it is.
    pub what: What,
}

/// Reads a manifest. `is_built_in`: it is part of the product, may name what is written in Rust, and is held by a test to
/// what clients take.
///
/// # Errors
/// Nothing of it can be read.
pub fn read(text: &str, file: &Path, is_built_in: bool) -> Result<Manifest, Problem> {
    match tree::parse(text) {
        Ok(Some(root)) => read_parsed(&root, file, is_built_in),
        Ok(None) => Err(Problem {
            file: file.to_path_buf(),
            line: None,
            reason: "it is empty. A manifest without entries says so: `entries: []`".to_owned(),
        }),
        Err(wrong) => Err(wrong.into_problem(file)),
    }
}

/// As [`read`], of what was parsed already.
///
/// # Errors
/// Likewise.
pub fn read_parsed(root: &Node, file: &Path, is_built_in: bool) -> Result<Manifest, Problem> {
    let problem = |wrong: Wrong| wrong.into_problem(file);
    let root = Fields::of(root, "the manifest").map_err(problem)?;
    let mut manifest = Manifest::default();
    meant::no_slip(&root, meant::OF_MANIFEST).map_err(problem)?;
    manifest.namespace = namespace::read(&root).map_err(problem)?;
    let Some(list) = root.list("entries").map_err(problem)? else {
        return Err(problem(root.wrong("it has no `entries`")));
    };
    for node in list {
        let name = Fields::of(node, "an entry")
            .and_then(|entry| entry.text("name"))
            .ok()
            .flatten();
        match entry(node, is_built_in) {
            Ok(Some((entry, wrongs))) => {
                manifest.entries.push(entry);
                manifest.doubts.extend(wrongs.into_iter().map(problem));
            }
            Ok(None) => {}
            Err(wrong) => manifest.broken.push((name, problem(wrong))),
        }
    }
    Ok(manifest)
}

/// An entry's kind; none if it is another program's.
fn kind(fields: &Fields<'_>, is_built_in: bool) -> Result<Option<Kind>, Wrong> {
    // What is no map is another program's too.
    let meta = fields.map("meta").ok().flatten();
    let is_tool = meta.is_some_and(|meta| matches!(meta.flag("mcp.tool"), Ok(Some(true))));
    let Some(kind) = fields.text("kind")? else {
        meant::no_slip(fields, meant::OF_ENTRY)?;
        return match is_tool {
            true => Err(fields.wrong(format!("a tool needs `kind`: {}", handler::OF_TOOLS))),
            false => Ok(None),
        };
    };
    if let Some(known) = Kind::read(&kind, is_built_in) {
        return Ok(Some(known));
    }
    let wrong = |more: String| {
        Err(Wrong {
            line: fields.line_of("kind"),
            reason: format!("there is no kind `{}`{more}", one_line(&kind)),
        })
    };
    match meant::meant(&kind, handler::KINDS) {
        Some(meant) => wrong(format!("; did you mean `{meant}`?")),
        None if is_tool => wrong(format!(" of tools here: it is {}", handler::OF_TOOLS)),
        None => Ok(None),
    }
}

/// One entry, and what is wrong with its examples; none if it is not for MCP.
fn entry(node: &tree::Node, is_built_in: bool) -> Result<Option<(Entry, Vec<Wrong>)>, Wrong> {
    let fields = Fields::of(node, "an entry")?;
    let Some(kind) = kind(&fields, is_built_in)? else {
        return Ok(None);
    };
    meant::no_slip(&fields, meant::OF_ENTRY)?;
    let Some(meta) = fields.map("meta")? else {
        return Ok(None);
    };
    meant::no_slip(&meta, meant::OF_META)?;
    if let Some(key) = meta.first(meant::OF_MANIFEST_META) {
        return Err(Wrong {
            line: meta.line_of(key),
            reason: format!(
                "`{key}` is for all handlers: it stands in the manifest's own `meta`, beside `entries`"
            ),
        });
    }
    let is_tool = meta.flag("mcp.tool")?;
    let is_prompt =
        kind == Kind::Prompt || kind == Kind::Function && meta.flag("mcp.prompt")?.unwrap_or(false);
    let is_for_mcp = meta
        .entries()
        .any(|(key, _)| key.starts_with(meant::PREFIX));
    if kind != Kind::Resource && !is_prompt && is_tool.is_none() && is_for_mcp {
        return Err(meta.wrong(
            "`meta` is about a tool, but does not say `mcp.tool: true`; a tool that is to be off says `mcp.tool: false`",
        ));
    }
    let is_tool = is_tool.unwrap_or(false);
    let what = match kind {
        Kind::Resource => resource::read(&fields, &meta)?.map(What::Resource),
        _ if is_prompt => Some(What::Prompt(prompt::read(&fields, &meta, kind)?)),
        _ if is_tool => Some(What::Tool(tool::read(&fields, &meta, kind, is_built_in)?)),
        _ => None,
    };
    let Some(mut what) = what else {
        return Ok(None);
    };
    let (examples, wrongs) = examples::read(&meta, &what, is_built_in);
    what.set_examples(examples);
    let entry = Entry {
        name: fields
            .text("name")
            .ok()
            .flatten()
            .unwrap_or_else(|| format!("line {}", node.line)),
        line: node.line,
        what,
    };
    Ok(Some((entry, wrongs)))
}
