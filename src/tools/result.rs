//! The results of tools that are texts, and what a program takes from any result.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;
use thiserror::Error;

/// What a tool says went wrong, as a model is told it.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct ToolFailed(pub String);

/// A result that is one text.
pub(crate) fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// A failure that the model can read and act on.
pub fn failure(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// All text of a result.
pub fn text_of(result: &CallToolResult) -> String {
    let texts: Vec<_> = result
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .map(|block| block.text.as_str())
        .collect();
    texts.join("\n")
}

/// A result for a program: its structured content, or its text.
pub(super) fn value_of(result: CallToolResult) -> Result<Value, ToolFailed> {
    if result.is_error == Some(true) {
        return Err(ToolFailed(text_of(&result)));
    }
    match result.structured_content {
        Some(value) => Ok(value),
        None => Ok(Value::String(text_of(&result))),
    }
}
