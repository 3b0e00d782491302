//! What a handler returned, as MCP has it: content blocks, prompt messages, resource contents.

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use rmcp::model::{
    CallToolResult, ContentBlock, GetPromptResult, PromptMessage, ResourceContents, Role,
};
use serde_json::{Value, json};
use thiserror::Error;

use super::{failure, legible};
use crate::base::byte_text;

/// What is wrong with what a handler returned, for whoever wrote it.
#[derive(Debug, Error)]
pub enum ContentError {
    /// A result with `content` is a table.
    #[error("the result is no table")]
    NoTable,
    /// `isError` is neither true nor false.
    #[error("The handler returned isError = {0}, but it must be true or false.")]
    IsError(Value),
    /// A part of the content is of no kind that there is.
    #[error(
        "The handler returned a {name} of type {kind} that is no content block (text, image, audio, resource or \
         resource_link): {error}."
    )]
    NoBlock {
        /// Which part.
        name: String,
        /// The kind it says it is of.
        kind: Value,
        /// Why it is not.
        error: serde_json::Error,
    },
    /// A prompt's `messages` are no list.
    #[error("The handler must return a text, or a table with `messages`, a list; it has {0}.")]
    NoMessageList(Value),
    /// A prompt is neither a text nor a table.
    #[error("The handler must return a text, or a table with `messages`, not {0}.")]
    NoMessages(Value),
    /// Nobody of this name speaks in a prompt.
    #[error("messages[{number}].role must be user or assistant, not {role}.")]
    Role {
        /// Which message, from 1.
        number: usize,
        /// Who is said to speak.
        role: String,
    },
    /// A message of a prompt, by its number from 1, says nothing.
    #[error("messages[{0}] has no content.")]
    NoContent(usize),
    /// A nil with something after it: what went wrong, in the handler's words.
    #[error("{0}")]
    Refused(String),
    /// A resource is nothing of what a client can read.
    #[error(
        "The handler must return a text, a table with `text` or `blob` (base64), or a table with `contents`."
    )]
    NoResource,
}

/// A tool's result: a text, content that is passed through, or any other value shown as text.
///
/// A nil with something after it is Lua's way to say what went wrong. With `wants_structured` a table becomes the
/// structured content too.
pub fn tool_result(values: Vec<Value>, wants_structured: bool) -> CallToolResult {
    let mut values = values.into_iter();
    let first = values.next().unwrap_or_default();
    if first.is_null() {
        return match values.next() {
            Some(problem) if !problem.is_null() => failure(shown(&problem)),
            _ => CallToolResult::success(vec![ContentBlock::text(
                "The handler ran to its end and returned nothing.",
            )]),
        };
    }
    if first.get("content").is_some() {
        return passed_through(first).unwrap_or_else(|error| failure(error.to_string()));
    }
    let mut result = CallToolResult::success(vec![ContentBlock::text(shown(&first))]);
    if wants_structured && first.is_object() {
        result.structured_content = Some(first);
    }
    result
}

/// A table with `content`, as it is, once it is known to be what clients can read.
fn passed_through(value: Value) -> Result<CallToolResult, ContentError> {
    let Value::Object(mut fields) = value else {
        return Err(ContentError::NoTable);
    };
    let content = blocks(
        fields.shift_remove("content").unwrap_or_default(),
        "content",
    )?;
    let is_error = match fields.shift_remove("isError") {
        None | Some(Value::Null) => false,
        Some(Value::Bool(is_error)) => is_error,
        Some(other) => {
            return Err(ContentError::IsError(other));
        }
    };
    let mut result = if is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    };
    result.structured_content = fields
        .shift_remove("structuredContent")
        .filter(Value::is_object);
    if let Some(meta) = fields.shift_remove("_meta") {
        result.meta = serde_json::from_value(meta).ok();
    }
    Ok(result)
}

/// Content blocks: a list of them, or one; a string is a text.
fn blocks(value: Value, name: &str) -> Result<Vec<ContentBlock>, ContentError> {
    let items = match value {
        Value::Array(items) => items,
        // An empty Lua table is an object.
        Value::Object(fields) if fields.is_empty() => Vec::new(),
        one => vec![one],
    };
    items
        .into_iter()
        .enumerate()
        .map(|(index, item)| block(item, &format!("{name}[{}]", index + 1)))
        .collect()
}

fn block(value: Value, name: &str) -> Result<ContentBlock, ContentError> {
    if let Value::String(text) = value {
        return Ok(ContentBlock::text(text));
    }
    let kind = value.get("type").cloned().unwrap_or_default();
    serde_json::from_value(value).map_err(|error| ContentError::NoBlock {
        name: name.to_owned(),
        kind,
        error,
    })
}

/// The first value that a handler returned.
fn first_of(values: Vec<Value>) -> Result<Value, ContentError> {
    let mut values = values.into_iter();
    let first = values.next().unwrap_or_default();
    match values.next() {
        Some(problem) if first.is_null() && !problem.is_null() => {
            Err(ContentError::Refused(shown(&problem)))
        }
        _ => Ok(first),
    }
}

/// A prompt's messages: a table with `messages`, or a text from the user.
///
/// # Errors
/// What is wrong with what was returned.
pub fn prompt_result(
    values: Vec<Value>,
    description: Option<&str>,
) -> Result<GetPromptResult, ContentError> {
    let first = first_of(values)?;
    let mut result = match first {
        Value::String(text) => {
            GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)])
        }
        Value::Object(mut fields) => {
            let messages = match fields.shift_remove("messages") {
                Some(Value::Array(messages)) => messages,
                Some(Value::Object(fields)) if fields.is_empty() => Vec::new(),
                other => {
                    return Err(ContentError::NoMessageList(other.unwrap_or_default()));
                }
            };
            let messages = messages
                .into_iter()
                .enumerate()
                .map(|(index, message)| prompt_message(message, index + 1))
                .collect::<Result<_, _>>()?;
            let mut result = GetPromptResult::new(messages);
            if let Some(Value::String(description)) = fields.shift_remove("description") {
                result.description = Some(description);
            }
            result
        }
        other => {
            return Err(ContentError::NoMessages(other));
        }
    };
    if result.description.is_none() {
        result.description = description.map(str::to_owned);
    }
    Ok(result)
}

/// One message: `{role, content}`, where the content is a text or a content block.
///
/// # Errors
/// What is wrong with it; `number` counts from 1.
pub fn prompt_message(mut message: Value, number: usize) -> Result<PromptMessage, ContentError> {
    let role = match message.get("role").and_then(Value::as_str) {
        None | Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some(other) => {
            return Err(ContentError::Role {
                number,
                role: other.to_owned(),
            });
        }
    };
    let content = message
        .get_mut("content")
        .map(Value::take)
        .unwrap_or_default();
    if content.is_null() {
        return Err(ContentError::NoContent(number));
    }
    Ok(PromptMessage::new(
        role,
        block(content, &format!("messages[{number}].content"))?,
    ))
}

/// A resource's contents: a text, a table with `text` or `blob`, or a table with `contents`, a list of such tables. A
/// text that is no UTF-8 is handed on as a blob.
///
/// # Errors
/// What is wrong with what was returned.
pub fn resource_contents(
    values: Vec<Value>,
    uri: &str,
    mime_type: Option<&str>,
) -> Result<Vec<ResourceContents>, ContentError> {
    let first = first_of(values)?;
    let items = match first {
        Value::Null => return Err(ContentError::NoResource),
        Value::Object(mut fields) if fields.contains_key("contents") => {
            match fields.shift_remove("contents") {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            }
        }
        other => vec![other],
    };
    items
        .into_iter()
        .map(|item| one_content(item, uri, mime_type))
        .collect()
}

fn one_content(
    item: Value,
    uri: &str,
    mime_type: Option<&str>,
) -> Result<ResourceContents, ContentError> {
    let mut fields = match item {
        Value::String(text) => json!({ "text": text }),
        Value::Object(fields) => Value::Object(fields),
        other => json!({ "text": shown(&other) }),
    };
    let is_blob = |text: &&str| legible::holds_bytes(text);
    if let Some(bytes) = fields.get("text").and_then(Value::as_str).filter(is_blob) {
        fields["blob"] = json!(BASE64.encode(byte_text::to_bytes(bytes)));
        if let Value::Object(fields) = &mut fields {
            fields.shift_remove("text");
        }
    }
    let mut fields = legible::value(fields);
    if fields.get("uri").is_none() {
        fields["uri"] = json!(uri);
    }
    if fields.get("mimeType").is_none()
        && let Some(mime_type) = mime_type
    {
        fields["mimeType"] = json!(mime_type);
    }
    serde_json::from_value(fields).map_err(|_| ContentError::NoResource)
}

/// A value as a model reads it: a text as it is, anything else as JSON.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(values: Value) -> Value {
        let Value::Array(values) = values else {
            panic!("{values}");
        };
        let mut result = json!(tool_result(values, false));
        result.as_object_mut().unwrap().shift_remove("resultType");
        result
    }

    fn text(text: &str, is_error: bool) -> Value {
        json!({"content": [{"type": "text", "text": text}], "isError": is_error})
    }

    #[test]
    fn a_string_is_a_text_and_any_other_value_is_shown_as_one() {
        assert_eq!(result(json!(["hi"])), text("hi", false));
        assert_eq!(result(json!([2])), text("2", false));
        assert_eq!(result(json!([true])), text("true", false));
        assert_eq!(result(json!([{"a": [1]}])), text("{\"a\":[1]}", false));
        let nothing = "The handler ran to its end and returned nothing.";
        assert_eq!(result(json!([])), text(nothing, false));
        assert_eq!(result(json!([null])), text(nothing, false));
    }

    #[test]
    fn nil_and_a_reason_are_an_error() {
        assert_eq!(result(json!([null, "no fuel"])), text("no fuel", true));
        assert_eq!(
            result(json!([null, {"code": 7}])),
            text("{\"code\":7}", true)
        );
    }

    #[test]
    fn content_is_passed_through() {
        let content = json!([
            {"type": "text", "text": "a"},
            {"type": "image", "data": "AA==", "mimeType": "image/png"},
            {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "test://a", "mimeType": "text/plain", "text": "b"}},
            {"type": "resource_link", "uri": "test://b", "name": "b"},
        ]);
        let passed = result(json!([{"content": content, "isError": true}]));
        assert_eq!(passed, json!({"content": content, "isError": true}));
        assert_eq!(
            result(json!([{"content": {}}])),
            json!({"content": [], "isError": false})
        );
        assert_eq!(result(json!([{"content": "hi"}])), text("hi", false));
    }

    #[test]
    fn what_is_no_content_block_is_named() {
        let wrong =
            result(json!([{"content": [{"type": "text", "text": "a"}, {"type": "image"}]}]));
        let said = wrong["content"][0]["text"].as_str().unwrap();
        assert!(
            wrong["isError"] == true && said.contains("content[2] of type \"image\""),
            "{said}"
        );
    }

    #[test]
    fn a_resource_that_is_no_text_is_a_blob() {
        let bytes = Value::from(byte_text::from_bytes(b"\xff\0a".to_vec()));
        let contents = resource_contents(vec![bytes], "test://a", None).unwrap();
        assert_eq!(
            json!(contents),
            json!([{"uri": "test://a", "blob": "/wBh"}])
        );
    }

    #[test]
    fn prompt_messages_have_roles_and_content_or_a_clear_error() {
        let one = prompt_result(vec![json!("hi")], Some("d")).unwrap();
        assert_eq!(
            (one.messages.len(), one.description.as_deref()),
            (1, Some("d"))
        );
        let messages = json!({"messages": [{"role": "assistant", "content": "a"}, {"content": {"type": "text", "text": "b"}}]});
        assert_eq!(
            prompt_result(vec![messages], None).unwrap().messages.len(),
            2
        );
        let wrong = json!({"messages": [{"role": "system", "content": "a"}]});
        let problem = prompt_result(vec![wrong], None).unwrap_err().to_string();
        assert!(problem.contains("messages[1].role"), "{problem}");
    }
}
