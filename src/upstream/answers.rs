//! Answers of servers, made into answers of ours: unharmed, but for what would no longer be true under our names.

use rmcp::{
    ErrorData,
    model::{
        CallToolResult, CompleteResult, CompletionInfo, ContentBlock, GetPromptResult,
        ReadResourceResult, ResourceContents, ResultType, ServerResult,
    },
};
use serde_json::Value;

use super::{names, trouble::Trouble};
use crate::tools::failure;

/// The answer to a tool call. Whatever goes wrong is a result too, one that the model can act on.
pub struct Called {
    /// The result.
    pub result: CallToolResult,
    /// The server's own error, if it answered with one.
    pub refusal: Option<ErrorData>,
}

impl From<CallToolResult> for Called {
    fn from(result: CallToolResult) -> Self {
        Self {
            result,
            refusal: None,
        }
    }
}

/// The answer to a tool call.
pub fn call(server_id: &str, answer: Result<ServerResult, Trouble>) -> Called {
    let refusal = match &answer {
        Err(Trouble::Refused(error)) => Some(error.clone()),
        _ => None,
    };
    let result = result(server_id, answer);
    Called { result, refusal }
}

fn result(server_id: &str, answer: Result<ServerResult, Trouble>) -> CallToolResult {
    let mut result = match answer {
        Ok(ServerResult::CallToolResult(result)) => result,
        Ok(ServerResult::CustomResult(result)) => lenient(result.0),
        Ok(ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_)) => {
            CallToolResult::default()
        }
        Ok(ServerResult::InputRequiredResult(_)) => {
            failure("The server wants to ask the user something first, which can't be passed on.")
        }
        Ok(ServerResult::CreateTaskResult(_)) => {
            failure("The server made a task of the call, which can't be followed from here.")
        }
        Ok(_) => failure("The server's answer is not one to a tool call."),
        Err(trouble) => failure(trouble.to_string()),
    };
    // Older servers leave it out, and newer clients miss it then.
    result.result_type = Some(ResultType::COMPLETE);
    // Many clients show the model nothing but the content.
    if let (true, Some(structured)) = (result.content.is_empty(), &result.structured_content) {
        result.content = vec![ContentBlock::text(structured.to_string())];
    }
    for block in &mut result.content {
        make_public(server_id, block);
    }
    result
}

/// The answer to a prompt.
///
/// # Errors
/// The server's own error, or why there is no answer.
pub fn prompt(
    server_id: &str,
    answer: Result<ServerResult, Trouble>,
) -> Result<GetPromptResult, ErrorData> {
    match answer.map_err(told)? {
        ServerResult::GetPromptResult(mut result) => {
            result.result_type = Some(ResultType::COMPLETE);
            for message in &mut result.messages {
                make_public(server_id, &mut message.content);
            }
            Ok(result)
        }
        _ => Err(ErrorData::internal_error(
            "The server's answer is not one to a prompt.",
            None,
        )),
    }
}

/// The answer to the reading of a resource, under the URI that it was asked by.
///
/// # Errors
/// As [`prompt`].
pub fn resource(
    server_id: &str,
    answer: Result<ServerResult, Trouble>,
) -> Result<ReadResourceResult, ErrorData> {
    match answer.map_err(told)? {
        ServerResult::ReadResourceResult(mut result) => {
            result.result_type = Some(ResultType::COMPLETE);
            let scheme = names::scheme(server_id);
            for contents in &mut result.contents {
                if let ResourceContents::TextResourceContents { uri, .. }
                | ResourceContents::BlobResourceContents { uri, .. } = contents
                {
                    *uri = format!("{scheme}{uri}");
                }
            }
            Ok(result)
        }
        _ => Err(ErrorData::internal_error(
            "The server's answer is not one to the reading of a resource.",
            None,
        )),
    }
}

/// The answer to what an argument can be.
///
/// # Errors
/// As [`prompt`].
pub fn completion(answer: Result<ServerResult, Trouble>) -> Result<CompleteResult, ErrorData> {
    match answer.map_err(told)? {
        ServerResult::CompleteResult(mut result) => {
            result.result_type = Some(ResultType::COMPLETE);
            result
                .completion
                .values
                .truncate(CompletionInfo::MAX_VALUES);
            Ok(result)
        }
        _ => Err(ErrorData::internal_error(
            "The server's answer is not one to what an argument can be.",
            None,
        )),
    }
}

/// What keeps a server from being asked, as an error of the protocol: its own, where it is that.
pub fn told(trouble: Trouble) -> ErrorData {
    match trouble {
        Trouble::Refused(error) => error,
        other => ErrorData::internal_error(other.to_string(), None),
    }
}

/// Makes a resource that is in an answer, or linked to, one that can be read through us by the URI that it has there.
fn make_public(server_id: &str, block: &mut ContentBlock) {
    let uri = match block {
        ContentBlock::ResourceLink(link) => &mut link.uri,
        ContentBlock::Resource(embedded) => match &mut embedded.resource {
            ResourceContents::TextResourceContents { uri, .. }
            | ResourceContents::BlobResourceContents { uri, .. } => uri,
            _ => return,
        },
        _ => return,
    };
    *uri = public_link(server_id, uri);
}

/// A link to a resource, so that it is read through us; one to the web is left to the client.
fn public_link(server_id: &str, uri: &str) -> String {
    if uri.starts_with("http://") || uri.starts_with("https://") {
        return uri.to_owned();
    }
    format!("{}{uri}", names::scheme(server_id))
}

/// A result with blocks that this protocol library does not know: those become text.
fn lenient(result: Value) -> CallToolResult {
    let content = result.get("content").filter(|content| !content.is_null());
    let blocks = match content {
        Some(Value::Array(blocks)) => blocks.as_slice(),
        // One alone.
        Some(block @ (Value::Object(_) | Value::String(_))) => std::slice::from_ref(block),
        None if result.get("structuredContent").is_some() => &[],
        _ => {
            return failure(format!(
                "The server's answer is not one to a tool call: {}",
                shortened(&result)
            ));
        }
    };
    let content = blocks
        .iter()
        .map(|block| {
            serde_json::from_value(block.clone()).unwrap_or_else(|_| {
                let text = block
                    .as_str()
                    .map_or_else(|| block.to_string(), str::to_owned);
                ContentBlock::text(text)
            })
        })
        .collect();
    let mut read = CallToolResult::success(content);
    read.is_error = result.get("isError").and_then(Value::as_bool);
    read.structured_content = result.get("structuredContent").cloned();
    read
}

fn shortened(value: &Value) -> String {
    value.to_string().chars().take(500).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::ErrorCode;
    use serde_json::json;

    fn answered(result: Value) -> Value {
        let result: ServerResult = serde_json::from_value(result).unwrap();
        serde_json::to_value(call("docs", Ok(result)).result).unwrap()
    }

    #[test]
    fn content_of_every_kind_passes_unharmed() {
        let content = json!([
            {"type": "text", "text": "é", "annotations": {"audience": ["user"], "priority": 0.5}, "_meta": {"a": 1}},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "x"}},
        ]);
        let result = json!({"content": content, "structuredContent": {"n": 1.5}, "isError": true, "_meta": {"b": 2}});
        let mut expected = result.clone();
        expected["resultType"] = json!("complete");
        // So that it can be read again.
        expected["content"][3]["resource"]["uri"] = json!("docs+file:///a");
        assert_eq!(answered(result), expected);
    }

    #[test]
    fn a_link_leads_through_us_unless_it_is_to_the_web() {
        for (uri, public) in [
            ("file:///a", "docs+file:///a"),
            ("https://example.org/", "https://example.org/"),
        ] {
            let link = json!({"type": "resource_link", "uri": uri, "name": "n"});
            assert_eq!(
                answered(json!({"content": [link]}))["content"][0]["uri"],
                public
            );
            let embedded = json!({"type": "resource", "resource": {"uri": uri, "blob": ""}});
            let message = json!({"role": "user", "content": embedded});
            let prompted = serde_json::from_value(json!({"messages": [message]})).unwrap();
            let prompted = prompt("docs", Ok(ServerResult::GetPromptResult(prompted))).unwrap();
            let content = serde_json::to_value(&prompted.messages[0].content).unwrap();
            assert_eq!(content["resource"]["uri"], public);
        }
    }

    #[test]
    fn an_error_of_the_server_keeps_its_code_and_data() {
        let error = ErrorData::new(ErrorCode(-32042), "open it", Some(json!({"url": "x://"})));
        let called = call("docs", Err(Trouble::Refused(error.clone())));
        assert_eq!(called.refusal, Some(error));
        assert_eq!(called.result.is_error, Some(true));
        let server = "docs".to_owned();
        let full = call("docs", Err(Trouble::FullQueue { server }));
        assert_eq!((full.refusal, full.result.is_error), (None, Some(true)));
    }

    #[test]
    fn structured_content_that_stands_alone_is_told_in_text_too() {
        for content in [json!({}), json!({"content": []}), json!({"content": null})] {
            let mut result = content.clone();
            result["structuredContent"] = json!({"n": 1});
            let answer = answered(result);
            assert_eq!(
                answer["content"],
                json!([{"type": "text", "text": "{\"n\":1}"}]),
                "{content}"
            );
            assert_eq!(answer["structuredContent"], json!({"n": 1}), "{content}");
        }
    }

    #[test]
    fn what_is_not_known_is_told_in_text() {
        let odd = answered(
            json!({"content": [{"type": "video", "url": "x"}, {"type": "text", "text": "t"}]}),
        );
        assert_eq!(odd["content"][0]["text"], r#"{"type":"video","url":"x"}"#);
        assert_eq!(odd["content"][1]["text"], "t");
        assert_eq!(
            answered(json!({"content": "plain"}))["content"][0]["text"],
            "plain"
        );
        assert_eq!(answered(json!({"odd": 1}))["isError"], true);
        assert_eq!(answered(json!({}))["content"], json!([]));
    }
}
