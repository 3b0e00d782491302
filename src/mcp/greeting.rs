//! `initialize` as clients send it: what the schema asks for and a session can do without may be missing or odd.
//!
//! Clients written by hand leave out what they don't use. None of it decides whether they can be served.

use rmcp::model::{
    ClientCapabilities, ClientJsonRpcMessage, ClientRequest, GetMeta, Implementation,
    JsonRpcMessage, ProtocolVersion,
};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The message as it is meant, if it is an `initialize` that rmcp can't read.
pub fn mended(message: &ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
    let JsonRpcMessage::Request(request) = message else {
        return None;
    };
    let ClientRequest::CustomRequest(custom) = &request.request else {
        return None;
    };
    // To a request that says its own revision, as those without a session do, it is a method that isn't there.
    if custom.method != "initialize" || custom.get_meta().protocol_version().is_some() {
        return None;
    }
    let params = match &custom.params {
        Some(Value::Object(params)) => params.clone(),
        _ => Map::new(),
    };
    let mended = json!({
        "jsonrpc": "2.0",
        "id": request.id,
        "method": "initialize",
        "params": with_all(&params),
    });
    serde_json::from_value(mended).ok()
}

/// These parameters, with what is missing and without what can't be read.
fn with_all(given: &Map<String, Value>) -> Value {
    let version = given.get("protocolVersion").and_then(Value::as_str);
    // As to a client that names one that nobody knows: the newest, and it may leave if it can't speak that.
    let newest = ProtocolVersion::LATEST_WITH_INITIALIZE;
    let capabilities = given.get("capabilities");
    json!({
        "protocolVersion": version.unwrap_or(newest.as_str()),
        "capabilities": readable::<ClientCapabilities>(capabilities, &Map::new()),
        "clientInfo": client(given.get("clientInfo")),
    })
}

/// What is known of the client: a name and a version of text, whatever else there is.
fn client(given: Option<&Value>) -> Value {
    let text = |name: &str| match given.and_then(|given| given.get(name)) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let fields = ["name", "version"].map(|name| (name.to_owned(), text(name).into()));
    readable::<Implementation>(given, &fields.into_iter().collect())
}

/// `least`, and those other fields of `given` that a `T` can have beside it.
fn readable<T: DeserializeOwned>(given: Option<&Value>, least: &Map<String, Value>) -> Value {
    let mut fields = least.clone();
    for (name, value) in given.and_then(Value::as_object).into_iter().flatten() {
        let mut with_it = least.clone();
        with_it.entry(name.clone()).or_insert_with(|| value.clone());
        if serde_json::from_value::<T>(Value::Object(with_it)).is_ok() {
            fields.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params_of(params: Value) -> Value {
        let line = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let message: ClientJsonRpcMessage = serde_json::from_value(line).unwrap();
        let mended = serde_json::to_value(mended(&message).expect("nothing was mended")).unwrap();
        assert_eq!(mended["id"], 1);
        mended["params"].clone()
    }

    #[test]
    fn what_is_missing_is_filled_in_and_what_is_given_stays() {
        let newest = "2025-11-25";
        let nobody = json!({"name": "", "version": ""});
        let given = json!({"name": "x", "version": "1"});
        for (params, version, client) in [
            (json!({}), newest, &nobody),
            (
                json!({"protocolVersion": "2025-03-26"}),
                "2025-03-26",
                &nobody,
            ),
            (
                json!({"protocolVersion": 3, "capabilities": {}, "clientInfo": given}),
                newest,
                &given,
            ),
            (
                json!({"protocolVersion": "2024-11-05", "clientInfo": {"name": "x"}}),
                "2024-11-05",
                &json!({"name": "x", "version": ""}),
            ),
            (
                json!({"capabilities": {}, "clientInfo": {"name": "x", "version": 1}}),
                newest,
                &given,
            ),
            (
                json!({"clientInfo": "x", "capabilities": null}),
                newest,
                &nobody,
            ),
        ] {
            let mended = params_of(params.clone());
            assert_eq!(mended["protocolVersion"], version, "{params}");
            assert_eq!(&mended["clientInfo"], client, "{params}");
            assert!(mended["capabilities"].is_object(), "{params}");
        }
    }

    #[test]
    fn capabilities_that_can_be_read_stay() {
        let given = json!({"roots": {"listChanged": true}, "sampling": "yes"});
        let mended = params_of(json!({ "capabilities": given }));
        assert_eq!(mended["capabilities"]["roots"]["listChanged"], true);
        assert!(mended["capabilities"].get("sampling").is_none());
    }

    #[test]
    fn all_else_is_left_alone() {
        let client = json!({"name": "x", "version": "1"});
        let whole =
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        for line in [
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}),
            json!({"jsonrpc": "2.0", "method": "initialize"}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": whole}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}}),
        ] {
            let message: ClientJsonRpcMessage = serde_json::from_value(line.clone()).unwrap();
            assert!(mended(&message).is_none(), "{line}");
        }
    }
}
