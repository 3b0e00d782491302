//! What some MCP client refuses, as rules for everything that is offered to clients, whoever wrote it.

use serde_json::{Map, Value};

/// The longest name of a tool: clients put a prefix of their own before it, and 64 is the limit of some.
pub const LONGEST_TOOL_NAME: usize = 47;

/// Whether every client takes an argument of this name.
pub fn takes_argument(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

/// Keywords that cost a client the tool, or its whole session, at the root of a tool's schema.
pub const REFUSED_AT_ROOT: [&str; 5] = ["oneOf", "anyOf", "allOf", "not", "enum"];

/// Whether this schema is one of an array and says nothing of its items: some clients refuse all tools for it.
pub fn lacks_items(schema: &Map<String, Value>) -> bool {
    schema.get("type").is_some_and(|kind| kind == "array")
        && !schema.contains_key("items")
        && !schema.contains_key("prefixItems")
}
