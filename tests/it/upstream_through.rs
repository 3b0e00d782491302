//! What MCP has beside tools, through the bridge: changes of resources, what servers log, completion, what is attached, and
//! errors. The server is `tests/upstream/talkative.py`.

use std::path::Path;

use crate::common::{
    bridge::Bridge,
    is,
    servers::{PYTHON, Place, listed},
    until,
};
use serde_json::{Value, json};

/// The server, with these variables of its own.
fn talkative(env: Value) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upstream/talkative.py");
    json!({ "command": PYTHON, "args": [script], "env": env })
}

async fn session(place: &Place) -> Bridge {
    let mut bridge = place.session().await;
    listed(&mut bridge, "talk__change").await;
    bridge
}

/// The parameters of a request of the era without a handshake.
fn modern(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params
}

/// A bridge to which a client of that era speaks, once it offers the server's tools.
async fn modern_bridge(place: &Place) -> Bridge {
    let mut bridge = place.bridge();
    until("the tool is listed", async || {
        let listed = bridge.request("tools/list", modern(json!({}))).await;
        is(listed.to_string().contains("talk__change"), listed)
    })
    .await;
    bridge
}

const UPDATED: &str = "notifications/resources/updated";

async fn told(bridge: &mut Bridge, method: &str) -> Value {
    let what = format!("{method} is told");
    let message = bridge
        .message(&what, |message| message["method"] == method)
        .await;
    message["params"].clone()
}

#[tokio::test]
async fn changes_of_a_servers_resource_are_told_to_who_subscribed_also_after_it_was_started_anew() {
    let place = Place::with_servers(json!({ "talk": talkative(json!({})) }));
    let mut bridge = session(&place).await;
    let before = bridge
        .call("talk__change", json!({"uri": "talk://a"}))
        .await;
    assert_eq!(before.text, "");
    let subscribed = bridge
        .request("resources/subscribe", json!({"uri": "talk+talk://a"}))
        .await;
    assert_eq!(subscribed["result"], json!({}), "{subscribed}");
    // Each comes by itself, and one of a part of it under its own name.
    for (changed, public) in [
        ("talk://a", "talk+talk://a"),
        ("talk://a/part", "talk+talk://a/part"),
    ] {
        let answer = bridge.call("talk__change", json!({"uri": changed})).await;
        assert_eq!(answer.text, "talk://a");
        assert_eq!(told(&mut bridge, UPDATED).await["uri"], public);
    }
    let died = bridge.call("talk__die", json!({})).await;
    assert!(died.is_error, "{}", died.text);
    let answer = bridge
        .call("talk__change", json!({"uri": "talk://a"}))
        .await;
    assert_eq!(answer.text, "talk://a");
    told(&mut bridge, UPDATED).await;
    bridge
        .request("resources/unsubscribe", json!({"uri": "talk+talk://a"}))
        .await;
    until("the server knows that nobody follows it", async || {
        let answer = bridge
            .call("talk__change", json!({"uri": "talk://b"}))
            .await;
        is(answer.text.is_empty(), answer.text)
    })
    .await;
    let others = bridge
        .printed()
        .iter()
        .filter(|line| line.contains(UPDATED))
        .count();
    assert_eq!(others, 3);
    bridge.leave().await;
}

#[tokio::test]
async fn a_client_without_a_handshake_is_told_of_changes_by_its_subscription() {
    let place = Place::with_servers(json!({ "talk": talkative(json!({})) }));
    let mut bridge = modern_bridge(&place).await;
    let filter =
        json!({"notifications": {"resourceSubscriptions": ["talk+talk://a", "talk+talk://b"]}});
    let subscription = bridge.ask("subscriptions/listen", modern(filter)).await;
    let change = modern(json!({"name": "talk__change", "arguments": {"uri": "talk://a/part"}}));
    // Granted is not begun: the server may come to know of it a little later.
    until("the server is subscribed", async || {
        let answer = bridge.request("tools/call", change.clone()).await;
        let text = answer["result"]["content"][0]["text"].clone();
        is(
            text.as_str()
                .is_some_and(|text| text.split(' ').count() == 2),
            text,
        )
    })
    .await;
    let update = told(&mut bridge, UPDATED).await;
    // It may be told only of what it named.
    assert_eq!(update["uri"], "talk+talk://a");
    assert_eq!(
        update["_meta"]["io.modelcontextprotocol/subscriptionId"],
        json!(subscription)
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_server_that_tells_of_no_changes_is_not_said_to() {
    let entry = talkative(json!({"MUTE_RESOURCES": "1"}));
    let place = Place::with_servers(json!({ "talk": entry }));
    let mut bridge = session(&place).await;
    let refused = bridge
        .request("resources/subscribe", json!({"uri": "talk+talk://a"}))
        .await;
    assert_eq!(
        refused["error"],
        json!({"code": -32601, "message": "The server `talk` does not tell of changes of its resources."})
    );
    bridge.leave().await;
}

const LOGGED: &str = "notifications/message";

#[tokio::test]
async fn a_client_hears_what_servers_log_from_the_level_on_that_it_asked_for() {
    let place = Place::with_servers(json!({ "talk": talkative(json!({})) }));
    let mut bridge = session(&place).await;
    let log = |level: &str| json!({"level": level, "text": level});
    // Until it asks for something, the server decides what it logs, and the least that matter are left out.
    for level in ["debug", "info"] {
        assert_eq!(bridge.call("talk__log", log(level)).await.text, "None");
    }
    let heard = told(&mut bridge, LOGGED).await;
    assert_eq!(
        heard,
        json!({"level": "info", "logger": "talk/talk", "data": {"text": "info"}})
    );
    // It is heard before the answer to the call that brought it about.
    let lines = bridge.printed();
    assert!(lines[lines.len() - 2].contains(LOGGED), "{lines:?}");
    for (asked, lower, enough) in [
        ("critical", "error", "alert"),
        ("notice", "info", "notice"),
        ("debug", "", "debug"),
    ] {
        bridge
            .request("logging/setLevel", json!({"level": asked}))
            .await;
        if !lower.is_empty() {
            assert_eq!(bridge.call("talk__log", log(lower)).await.text, asked);
        }
        assert_eq!(bridge.call("talk__log", log(enough)).await.text, asked);
        assert_eq!(told(&mut bridge, LOGGED).await["level"], enough);
    }
    // Also when the server is another process.
    assert!(bridge.call("talk__die", json!({})).await.is_error);
    assert_eq!(bridge.call("talk__log", log("debug")).await.text, "debug");
    told(&mut bridge, LOGGED).await;
    bridge.leave().await;
}

#[tokio::test]
async fn without_a_handshake_a_client_hears_what_is_logged_during_the_calls_that_ask_for_it() {
    let place = Place::with_servers(json!({ "talk": talkative(json!({})) }));
    let mut bridge = modern_bridge(&place).await;
    let log = |level: &str, asked: Option<&str>| {
        let mut params = json!({"name": "talk__log", "arguments": {"level": level, "text": level}});
        if let Some(asked) = asked {
            params["_meta"]["io.modelcontextprotocol/logLevel"] = json!(asked);
        }
        modern(params)
    };
    for (level, asked, is_heard) in [
        ("emergency", None, false),
        ("debug", Some("debug"), true),
        ("notice", Some("warning"), false),
        ("warning", Some("warning"), true),
    ] {
        let before = bridge.printed().len();
        bridge.request("tools/call", log(level, asked)).await;
        let heard = bridge.printed()[before..]
            .iter()
            .any(|line| line.contains(LOGGED));
        assert_eq!(heard, is_heard, "{level} {asked:?}");
    }
    bridge.leave().await;
}

#[tokio::test]
async fn what_is_attached_passes_both_ways_and_resources_in_answers_can_be_read() {
    let place = Place::with_servers(json!({ "talk": talkative(json!({})) }));
    let mut bridge = session(&place).await;
    let mark = json!({"example.org/mark": {"n": 1.5}, "traceparent": "00-1-2-01"});
    let mut attached = mark.clone();
    attached["progressToken"] = json!("t");
    let answer = bridge
        .request(
            "tools/call",
            json!({"name": "talk__attached", "_meta": attached}),
        )
        .await;
    let result = &answer["result"];
    let heard: Value =
        serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(heard, mark);
    assert_eq!(result["_meta"]["example.org/of"], "the answer");
    let prompt = json!({"name": "talk__greet", "_meta": mark});
    let prompt = bridge.request("prompts/get", prompt).await;
    assert_eq!(prompt["result"]["_meta"]["given"], mark["example.org/mark"]);
    let embedded = bridge
        .request("tools/call", json!({"name": "talk__embed"}))
        .await;
    let embedded = &embedded["result"]["content"][0]["resource"];
    assert_eq!(embedded["_meta"]["k"], 1);
    for resource in [
        embedded,
        &prompt["result"]["messages"][0]["content"]["resource"],
    ] {
        assert_eq!(resource["uri"], "talk+talk://a");
        let read = bridge
            .request("resources/read", json!({"uri": resource["uri"]}))
            .await;
        assert_eq!(read["result"]["contents"][0]["uri"], resource["uri"]);
    }
    bridge.leave().await;
}

#[tokio::test]
async fn an_error_of_a_server_keeps_its_code_and_data() {
    let place = Place::with_servers(json!({ "talk": talkative(json!({})) }));
    let error = json!({"code": -32042, "message": "open it first",
        "data": {"url": "https://example.org/", "n": [1, null]}});
    let call = json!({"name": "talk__refuse", "arguments": {}});
    let mut bridge = session(&place).await;
    let refused = bridge.request("tools/call", call.clone()).await;
    assert_eq!(refused["error"], error);
    // A model that calls it by another tool goes by the words.
    let indirect = bridge
        .call("call-tool", json!({"name": "talk__refuse"}))
        .await;
    assert_eq!(
        (indirect.text.as_str(), indirect.is_error),
        ("open it first", true)
    );
    let mut without = modern_bridge(&place).await;
    let refused = without.request("tools/call", modern(call)).await;
    assert_eq!(refused["error"], error);
    bridge.leave().await;
    without.leave().await;
}

#[tokio::test]
async fn a_server_is_asked_to_complete_what_is_its() {
    let place = Place::with_servers(json!({ "talk": talkative(json!({})) }));
    let mut bridge = session(&place).await;
    for (reference, own) in [
        (
            json!({"type": "ref/prompt", "name": "talk__greet"}),
            "greet",
        ),
        (
            json!({"type": "ref/resource", "uri": "talk+talk://{one}/{two}"}),
            "talk://{one}/{two}",
        ),
    ] {
        let params = json!({"ref": reference, "argument": {"name": "two", "value": "b"},
            "context": {"arguments": {"one": "a"}}});
        let expected = json!({
            "completion": {"values": [own, "b", "{\"one\": \"a\"}"], "total": 7, "hasMore": true},
            "_meta": {"m": 1},
        });
        let completed = bridge.request("completion/complete", params).await;
        assert_eq!(completed["result"], expected, "{completed}");
    }
    bridge.leave().await;
}
