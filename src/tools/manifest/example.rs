//! An example of an entry: what a tool, a prompt or a resource is given, and what must come of it. `mcp-bridge tools test`
//! runs it.

use regex::Regex;
use rmcp::model::JsonObject;
use serde_json::Value;

use super::{
    fields::{Fields, text_of},
    meant,
    provided::Provided,
    simulated::Simulated,
    tree::{Node, NodeKind},
    wrong::Wrong,
};

/// The keys of what an example expects.
const OF_EXPECTED: &[&str] = &[
    "isError",
    "text",
    "contains",
    "matches",
    "value",
    "valueIncludes",
];

/// An example.
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    /// What it shows, in a few words.
    pub name: String,
    /// The line where it begins, from 1.
    pub line: usize,
    /// What is given.
    pub given: Given,
    /// The computers that there are meanwhile.
    pub computers: Vec<Simulated>,
    /// What it provides beside them.
    pub provided: Provided,
    /// What must come.
    pub expected: Expected,
}

/// What an example gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// The arguments of a tool or a prompt.
    Arguments(JsonObject),
    /// The URI of a resource.
    Uri(String),
}

/// What must come. All of it counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expected {
    /// Whether it is to go wrong.
    pub is_error: bool,
    /// The whole text, but for blanks and line breaks at its end.
    pub text: Option<String>,
    /// What the text contains.
    pub contains: Vec<String>,
    /// What is found in the text.
    pub matches: Vec<Pattern>,
    /// The whole value.
    pub value: Option<Value>,
    /// What the value has: keys of objects that are not named may be there too.
    pub value_includes: Option<Value>,
}

/// A regular expression.
#[derive(Debug, Clone)]
pub struct Pattern(Regex);

impl Pattern {
    /// Whether it is found in a text.
    pub fn is_in(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

/// Reads what an example expects: a text, or a map.
pub fn expected(fields: &Fields<'_>) -> Result<Expected, Wrong> {
    let Some(node) = fields.get("expect") else {
        return Ok(Expected::default());
    };
    if let NodeKind::Scalar(_) = &node.kind {
        return Ok(Expected {
            text: Some(text_of(node, "expect")?),
            ..Expected::default()
        });
    }
    let fields = Fields::of(node, "`expect`")?;
    meant::only(&fields, OF_EXPECTED, "`expect`")?;
    let patterns = texts(&fields, "matches")?.into_iter().map(|pattern| {
        Regex::new(&pattern).map(Pattern).map_err(|error| Wrong {
            line: fields.line_of("matches"),
            reason: format!("`matches` is no regular expression: {}", last_line(&error)),
        })
    });
    Ok(Expected {
        is_error: fields.flag("isError")?.unwrap_or(false),
        text: fields.text("text")?,
        contains: texts(&fields, "contains")?,
        matches: patterns.collect::<Result<_, _>>()?,
        value: fields.get("value").map(Node::to_json),
        value_includes: fields.get("valueIncludes").map(Node::to_json),
    })
}

/// What is wrong: above it the expression is shown, with a mark below.
fn last_line(error: &regex::Error) -> String {
    let told = error.to_string();
    let last = told.lines().last().unwrap_or_default();
    last.trim_start_matches("error: ").to_owned()
}

/// A text, or a list of them.
fn texts(fields: &Fields<'_>, key: &str) -> Result<Vec<String>, Wrong> {
    match fields.get(key) {
        None => Ok(Vec::new()),
        Some(Node {
            kind: NodeKind::List(items),
            ..
        }) => items.iter().map(|item| text_of(item, key)).collect(),
        Some(node) => Ok(vec![text_of(node, key)?]),
    }
}
