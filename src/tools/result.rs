//! The results of tools that are texts, and what a program takes from any result.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;
use thiserror::Error;

use crate::base::hidden;

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

/// A result in which no secret stands that this process was given.
pub fn without_secrets(result: CallToolResult) -> CallToolResult {
    let secrets = hidden::secrets();
    if secrets.is_empty() {
        return result;
    }
    let Ok(mut value) = serde_json::to_value(&result) else {
        return result;
    };
    secrets.hide(&mut value);
    // It has the form that it had: only texts are others.
    serde_json::from_value(value).unwrap_or(result)
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
