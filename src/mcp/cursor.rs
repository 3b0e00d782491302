//! The cursors of lists: this server gives none, since several clients never ask for a second page.

use rmcp::{
    ErrorData,
    model::{ClientRequest, PaginatedRequestParams},
};
use serde_json::Value;

/// How much of a wrong cursor is shown, in characters.
const SHOWN: usize = 100;

/// Sees to it that a list is asked for from its beginning. Some clients ask so with a cursor that is empty.
///
/// # Errors
/// It is asked for from a cursor on.
pub fn first_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        Some(cursor) if !cursor.is_empty() => {
            Err(ErrorData::invalid_params(refusal(&cursor.into()), None))
        }
        _ => Ok(()),
    }
}

/// What is wrong with the cursor of a request that came as this line, if it is no text: rmcp takes parameters that it
/// can't read for none.
pub fn unreadable(request: &ClientRequest, line: &[u8]) -> Option<String> {
    let has_none = match request {
        ClientRequest::ListToolsRequest(list) => list.params.is_none(),
        ClientRequest::ListPromptsRequest(list) => list.params.is_none(),
        ClientRequest::ListResourcesRequest(list) => list.params.is_none(),
        ClientRequest::ListResourceTemplatesRequest(list) => list.params.is_none(),
        _ => false,
    };
    if !has_none {
        return None;
    }
    let message: Value = serde_json::from_slice(line).ok()?;
    let cursor = message.get("params")?.get("cursor")?;
    let is_readable = cursor.is_string() || cursor.is_null();
    (!is_readable).then(|| refusal(cursor))
}

fn refusal(cursor: &Value) -> String {
    let shown: String = cursor.to_string().chars().take(SHOWN).collect();
    format!(
        "The cursor {shown} is none of this server's: each of its lists is one page, which is asked for without `cursor`."
    )
}
