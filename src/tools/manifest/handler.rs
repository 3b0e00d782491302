//! What an entry is made of beside what clients are shown: its kind, and the Lua behind it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{fields::Fields, namespace::Namespace, wrong::Wrong};
use crate::tools::namespace::Modules;

/// The kinds of entries that mean something here. All others are skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Function,
    Computer,
    Native,
    Prompt,
    Resource,
}

/// What users write for them.
pub const KINDS: &[&str] = &["function.lua", "computer.lua", "prompt", "resource"];

/// Those that a tool can be of.
pub const OF_TOOLS: &str =
    "`function.lua` (on the host) or `computer.lua` (on a computer in the game)";

impl Kind {
    pub fn read(kind: &str, is_built_in: bool) -> Option<Self> {
        Some(match kind {
            "function.lua" => Self::Function,
            "computer.lua" => Self::Computer,
            "function.native" if is_built_in => Self::Native,
            "prompt" => Self::Prompt,
            "resource" => Self::Resource,
            _ => return None,
        })
    }
}

/// The Lua behind an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handler {
    /// The file, below the manifest's folder or the folder of tools that it is in.
    pub file: String,
    /// The function of the table that the file returns.
    pub method: String,
    /// The line of `source`, from 1.
    pub line: usize,
    /// Its source, once it was read.
    pub source: Option<Arc<str>>,
    /// The namespace that it is in, once that is known; none for what is built in.
    pub namespace: Option<Arc<Namespace>>,
    /// What it requires on the host, once it was found to work with that.
    pub modules: Modules,
}

impl Handler {
    /// Its file, by its manifest's folder.
    pub fn path_from(&self, folder: &Path) -> PathBuf {
        self.file
            .split(['/', '\\'])
            .fold(folder.to_path_buf(), |path, part| path.join(part))
    }
}

/// The Lua of an entry; none if it names none.
pub fn handler(fields: &Fields<'_>) -> Result<Option<Handler>, Wrong> {
    let Some(source) = fields.text("source")? else {
        return Ok(None);
    };
    let line = fields.line_of("source");
    let Some(file) = source.strip_prefix("file://") else {
        return Err(Wrong {
            line,
            reason: format!("`source` must be file://FILE, not {source}"),
        });
    };
    // `\` too: what is a folder on one system must not be a name on another.
    let leaves = file.starts_with(['/', '\\'])
        || file.contains(':')
        || file.split(['/', '\\']).any(|part| part == "..");
    if leaves || file.is_empty() {
        return Err(Wrong {
            line,
            reason: format!(
                "`source` must be a file in the manifest's folder or below it, such as file://tools/greet.lua, not {source}"
            ),
        });
    }
    Ok(Some(Handler {
        file: file.to_owned(),
        method: fields.text("method")?.unwrap_or_else(|| "call".to_owned()),
        line,
        source: None,
        namespace: None,
        modules: Modules::default(),
    }))
}
