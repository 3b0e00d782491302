//! What some MCP client refuses, as rules for everything that is offered to clients, whoever wrote it.

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

/// What stands under a keyword of JSON Schema that holds schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subschemas {
    /// One schema, which must be an object for every client to take it.
    One,
    /// One schema, or true or false, which every client knows here.
    OneOrBoolean,
    /// A list of schemas.
    List,
    /// An object whose values are schemas.
    Map,
}

impl Subschemas {
    /// What stands under this keyword; `None` for one that holds no schema.
    pub fn under(keyword: &str) -> Option<Self> {
        match keyword {
            "contains" | "contentSchema" | "else" | "if" | "items" | "not" | "propertyNames"
            | "then" => Some(Self::One),
            "additionalItems"
            | "additionalProperties"
            | "unevaluatedItems"
            | "unevaluatedProperties" => Some(Self::OneOrBoolean),
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => Some(Self::List),
            "$defs" | "definitions" | "dependentSchemas" | "patternProperties" | "properties" => {
                Some(Self::Map)
            }
            _ => None,
        }
    }
}
