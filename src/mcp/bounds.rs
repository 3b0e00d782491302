//! How large an answer may be.

use rmcp::{ErrorData, model::CallToolResult};
use serde::Serialize;

use crate::tools::failure;

/// The largest answer that is sent, in bytes of JSON: clients made with the TypeScript SDK end the session at a line
/// of 10 MiB.
const MAX_ANSWER: usize = 9 * 1024 * 1024;

/// The result, or a clear error if it is larger than what clients take.
pub fn bounded(tool: &str, result: CallToolResult) -> CallToolResult {
    let text = result
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .map(|block| block.text.len())
        .sum::<usize>();
    // Escapes make a byte six times as long at most.
    if text.saturating_mul(6) <= MAX_ANSWER {
        return result;
    }
    let size = serde_json::to_vec(&result).map_or(usize::MAX, |json| json.len());
    if size <= MAX_ANSWER {
        return result;
    }
    failure(format!(
        "too-large error: the answer of {tool} is {size} bytes long, and clients take {MAX_ANSWER}. The code has run. \
         Return or print less at a time."
    ))
}

/// The same for what is no tool's answer.
///
/// # Errors
/// It is larger.
pub fn small_enough<T: Serialize>(name: &str, answer: T) -> Result<T, ErrorData> {
    let size = serde_json::to_vec(&answer).map_or(usize::MAX, |json| json.len());
    if size <= MAX_ANSWER {
        return Ok(answer);
    }
    let message = format!("{name} is {size} bytes long, and clients take {MAX_ANSWER}.");
    Err(ErrorData::internal_error(message, None))
}
