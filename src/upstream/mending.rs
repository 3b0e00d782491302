//! What servers say in forms that are nearly the protocol's, brought into those that it has.
//!
//! Each of these was seen in a server that other clients use: no version of itself, a hint that is the text `"true"`, no
//! schema for a tool without arguments.

use rmcp::model::{
    InitializeResult, JsonRpcMessage, ProtocolVersion, ServerJsonRpcMessage, ServerResult,
};
use serde_json::{Map, Value, json};

/// Annotations of a tool that are true or false.
const HINTS: [&str; 4] = [
    "readOnlyHint",
    "destructiveHint",
    "idempotentHint",
    "openWorldHint",
];

/// An answer to `initialize` as rmcp takes it; any other message as it is.
pub fn greeting(message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
    let JsonRpcMessage::Response(mut response) = message else {
        return message;
    };
    if let ServerResult::CustomResult(custom) = &response.result
        && let Some(result) = custom.0.as_object()
        && let Ok(read) = serde_json::from_value::<InitializeResult>(mended_greeting(result))
    {
        response.result = ServerResult::InitializeResult(read);
    }
    JsonRpcMessage::Response(response)
}

fn mended_greeting(result: &Map<String, Value>) -> Value {
    let mut result = result.clone();
    if !result.get("protocolVersion").is_some_and(Value::is_string) {
        // Of the first revision, which a server that says nothing of it may well have.
        let first = json!(ProtocolVersion::V_2024_11_05);
        result.insert("protocolVersion".to_owned(), first);
    }
    if !result.get("capabilities").is_some_and(Value::is_object) {
        result.insert("capabilities".to_owned(), json!({}));
    }
    if !result.get("instructions").is_some_and(Value::is_string) {
        result.remove("instructions");
    }
    let info = match result.remove("serverInfo") {
        Some(Value::Object(info)) => info,
        _ => Map::new(),
    };
    let text = |key: &str| match info.get(key) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let mut plain =
        Map::from_iter(["name", "version"].map(|key| (key.to_owned(), json!(text(key)))));
    if let Some(Value::String(title)) = info.get("title") {
        plain.insert("title".to_owned(), json!(title));
    }
    result.insert("serverInfo".to_owned(), Value::Object(plain));
    Value::Object(result)
}

/// Brings a tool's definition into the protocol's form, where it is clear what was meant.
pub fn tool(tool: &mut Value) {
    let Value::Object(tool) = tool else {
        return;
    };
    if let Some(Value::Number(name)) = tool.get("name") {
        let name = json!(name.to_string());
        tool.insert("name".to_owned(), name);
    }
    match tool.get("inputSchema") {
        // It takes no arguments.
        None | Some(Value::Null) => {
            tool.insert("inputSchema".to_owned(), json!({ "type": "object" }));
        }
        Some(Value::Bool(_)) => {
            tool.insert("inputSchema".to_owned(), json!({}));
        }
        Some(_) => {}
    }
    if !tool.get("outputSchema").is_some_and(Value::is_object) {
        tool.remove("outputSchema");
    }
    without_others(tool, &["title", "description"], Value::is_string);
    without_others(tool, &["icons"], Value::is_array);
    without_others(tool, &["_meta", "annotations"], Value::is_object);
    if let Some(Value::Object(annotations)) = tool.get_mut("annotations") {
        for hint in HINTS {
            let text = annotations.get(hint).and_then(Value::as_str);
            let truth = text.and_then(|text| text.to_ascii_lowercase().parse::<bool>().ok());
            if let Some(truth) = truth {
                annotations.insert(hint.to_owned(), json!(truth));
            }
        }
        without_others(annotations, &HINTS, Value::is_boolean);
        without_others(annotations, &["title"], Value::is_string);
    }
}

/// Drops those of these keys whose value is something else.
fn without_others(map: &mut Map<String, Value>, keys: &[&str], fits: fn(&Value) -> bool) {
    map.retain(|key, value| !keys.contains(&key.as_str()) || fits(value));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_to_initialize_is_taken_without_what_nobody_needs() {
        for result in [
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x"}}),
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": 2}}),
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "instructions": null}),
            json!({"capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": null, "icons": "x.png"}}),
        ] {
            let message = json!({"jsonrpc": "2.0", "id": 0, "result": result});
            let message: ServerJsonRpcMessage = serde_json::from_value(message).unwrap();
            let JsonRpcMessage::Response(response) = greeting(message) else {
                panic!("{result}");
            };
            let ServerResult::InitializeResult(read) = response.result else {
                panic!("{result}: {:?}", response.result);
            };
            assert!(read.capabilities.tools.is_some(), "{result}");
        }
    }

    #[test]
    fn a_definition_that_is_nearly_right_is_made_right() {
        let mut odd = json!({
            "name": 7, "title": null, "description": ["x"], "inputSchema": null, "outputSchema": "none", "icons": "x.png",
            "annotations": {"readOnlyHint": "True", "destructiveHint": "no", "idempotentHint": true, "title": 1},
        });
        tool(&mut odd);
        let expected = json!({
            "name": "7", "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true, "idempotentHint": true},
        });
        assert_eq!(odd, expected);
        let good = json!({
            "name": "a", "title": "A", "description": "d", "inputSchema": {"type": "object"}, "outputSchema": {},
            "icons": [], "annotations": {"readOnlyHint": false, "title": "t"}, "_meta": {"a": 1},
        });
        let mut same = good.clone();
        tool(&mut same);
        assert_eq!(same, good);
    }
}
