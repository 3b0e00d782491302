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
