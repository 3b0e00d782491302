//! What a tool says of itself by its annotations.

use rmcp::model::{Tool as Definition, ToolAnnotations};

/// The four annotations, all of them said: clients take what is left out for the worst.
pub fn annotations(
    read_only: bool,
    destructive: bool,
    idempotent: bool,
    open_world: bool,
) -> ToolAnnotations {
    ToolAnnotations::from_raw(
        None,
        Some(read_only),
        Some(destructive),
        Some(idempotent),
        Some(open_world),
    )
}

/// Whether a tool promises to change nothing.
pub fn is_read_only(definition: &Definition) -> bool {
    definition
        .annotations
        .as_ref()
        .and_then(|hints| hints.read_only_hint)
        == Some(true)
}
