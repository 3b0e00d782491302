//! Clients that servers may ask things of: to have a model write something, to ask the person, to name folders.

use futures_util::future::BoxFuture;
use rmcp::{
    ErrorData,
    model::{ClientCapabilities, ClientResult, ServerRequest},
};

/// A client that can be asked. Whether it does what it is asked to, it decides itself, with its person: nothing is answered
/// in its name.
pub trait Asked: Send + Sync {
    /// What it can be asked, as it says itself; nothing besides.
    fn capabilities(&self) -> &ClientCapabilities;

    /// Asks it. Dropping the future takes the question back.
    fn ask(&self, question: ServerRequest) -> BoxFuture<'_, Result<ClientResult, ErrorData>>;
}

/// What a client of these capabilities can be asked; none if it can't be asked anything.
pub fn askable(capabilities: &ClientCapabilities) -> Option<ClientCapabilities> {
    let mut askable = ClientCapabilities::default();
    askable.sampling.clone_from(&capabilities.sampling);
    askable.elicitation.clone_from(&capabilities.elicitation);
    askable.roots.clone_from(&capabilities.roots);
    (askable != ClientCapabilities::default()).then_some(askable)
}

/// Whether a client of these capabilities can be asked this.
pub fn can_be_asked(capabilities: &ClientCapabilities, question: &ServerRequest) -> bool {
    match question {
        ServerRequest::CreateMessageRequest(_) => capabilities.sampling.is_some(),
        ServerRequest::ElicitRequest(_) => capabilities.elicitation.is_some(),
        ServerRequest::ListRootsRequest(_) => capabilities.roots.is_some(),
        // What of these rmcp can't read in full.
        ServerRequest::CustomRequest(question) => match question.method.as_str() {
            "sampling/createMessage" => capabilities.sampling.is_some(),
            "elicitation/create" => capabilities.elicitation.is_some(),
            "roots/list" => capabilities.roots.is_some(),
            _ => false,
        },
        _ => false,
    }
}

/// The method of a question.
pub fn method(question: &ServerRequest) -> &str {
    match question {
        ServerRequest::PingRequest(_) => "ping",
        ServerRequest::CreateMessageRequest(_) => "sampling/createMessage",
        ServerRequest::ListRootsRequest(_) => "roots/list",
        ServerRequest::ElicitRequest(_) => "elicitation/create",
        ServerRequest::CustomRequest(question) => &question.method,
        _ => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_what_a_client_says_it_can_be_asked_is_asked() {
        let declared: ClientCapabilities = serde_json::from_value(json!({
            "elicitation": {"form": {}, "url": {}},
            "experimental": {"x": {}},
            "roots": {"listChanged": true},
        }))
        .unwrap();
        let askable = askable(&declared).unwrap();
        let shown = serde_json::to_value(&askable).unwrap();
        assert_eq!(
            shown,
            json!({"elicitation": {"form": {}, "url": {}}, "roots": {"listChanged": true}})
        );
        let asked = |question: Value| {
            let question: ServerRequest = serde_json::from_value(question).unwrap();
            can_be_asked(&askable, &question)
        };
        assert!(asked(json!({"method": "roots/list"})));
        let odd = json!({"method": "elicitation/create", "params": {"message": 1}});
        assert!(asked(odd));
        let sampling = json!({"messages": [], "maxTokens": 1});
        let sampling = json!({"method": "sampling/createMessage", "params": sampling});
        assert!(!asked(sampling));
        assert!(!asked(json!({"method": "tasks/list", "params": {}})));
        let none: ClientCapabilities = serde_json::from_value(json!({"extensions": {}})).unwrap();
        assert!(super::askable(&none).is_none());
    }
}
