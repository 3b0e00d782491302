//! Servers that ask things of a client: to have a model write something, to ask the person, to name folders. The server is
//! `tests/upstream/talkative.py`.

use std::path::Path;

use crate::common::{
    bridge::Bridge,
    is,
    served::{Client, Served},
    servers::{PYTHON, Place, upstream_tools},
    until,
};
use axum::{body::Body, http::Method};
use serde_json::{Value, json};

/// A place with the server, which notes what it is told at its start, its ends, and what it hears.
fn place() -> Place {
    let place = Place::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upstream/talkative.py");
    let env = json!({
        "STARTS": place.path("starts"),
        "ENDS": place.path("ends"),
        "ANSWERS": place.path("answers"),
        "HEARD": place.path("heard"),
    });
    let entry = json!({ "command": PYTHON, "args": [script], "env": env, "parallel": true });
    place.write(
        "config/mcp.json",
        &json!({ "mcpServers": { "talk": entry } }),
    );
    place
}

const ALL: &str = r#"{"elicitation":{"form":{}},"roots":{"listChanged":true},"sampling":{}}"#;

fn all() -> Value {
    serde_json::from_str(ALL).unwrap()
}

/// A session of a client that can be asked this, once the server's tools for it are listed.
async fn session(place: &Place, capabilities: Value) -> Bridge {
    let mut bridge = place.bridge();
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
        "clientInfo": {"name": "tests", "version": "1"}});
    bridge.request("initialize", params).await;
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    bridge.send(&initialized).await;
    until("the tools are listed", async || {
        let tools = upstream_tools(&mut bridge).await;
        is(tools.contains(&"talk__ask".to_owned()), tools.join(" "))
    })
    .await;
    bridge
}

async fn asked(bridge: &mut Bridge, method: &str) -> Value {
    let what = format!("{method} is asked");
    bridge
        .message(&what, |message| message["method"] == method)
        .await
}

#[tokio::test]
async fn a_server_asks_the_client_whose_own_it_is_and_gets_what_that_says() {
    let place = place();
    let mut bridge = session(&place, all()).await;
    assert_eq!(
        serde_json::from_str::<Value>(&place.lines("starts")[0]).unwrap(),
        all()
    );
    let schema = json!({"type": "object", "properties": {"n": {"type": "string", "title": "N"}}});
    let message = json!({"role": "user", "content": {"type": "text", "text": "x"}});
    for (method, params, said) in [
        (
            "elicitation/create",
            json!({"message": "Who?", "requestedSchema": schema}),
            json!({"result": {"action": "accept", "content": {"n": "Ada"}}}),
        ),
        (
            "elicitation/create",
            json!({"message": "Who?", "requestedSchema": schema}),
            json!({"result": {"action": "decline"}}),
        ),
        (
            "sampling/createMessage",
            json!({"messages": [message], "maxTokens": 5, "temperature": 0.7}),
            json!({"result": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "y"}}}),
        ),
        // What the client refuses, it refuses itself.
        (
            "sampling/createMessage",
            json!({"messages": [message], "maxTokens": 5}),
            json!({"error": {"code": -1, "message": "my person said no", "data": {"k": 1}}}),
        ),
        (
            "roots/list",
            Value::Null,
            json!({"result": {"roots": [{"uri": "file:///farm"}]}}),
        ),
    ] {
        let mut arguments = json!({"method": method});
        if !params.is_null() {
            arguments["params"] = params.clone();
        }
        let call = bridge.start_call("talk__ask", arguments).await;
        let question = asked(&mut bridge, method).await;
        let mut heard = question["params"].clone();
        if let Some(fields) = heard.as_object_mut() {
            fields.remove("_meta");
            // What it is in any case that is not said.
            if fields.get("mode") == Some(&json!("form")) {
                fields.remove("mode");
            }
        }
        if !params.is_null() {
            assert_eq!(heard, params);
        }
        let mut answer = said.clone();
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = question["id"].clone();
        bridge.send(&answer).await;
        let told = bridge.answer(call).await.text;
        let expected = said.get("result").or(said.get("error")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&told).unwrap(), *expected);
    }
    // What nobody can be asked is refused by us.
    let odd = bridge
        .call("talk__ask", json!({"method": "tasks/list", "params": {}}))
        .await;
    assert!(odd.text.contains("-32601"), "{}", odd.text);
    bridge
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}))
        .await;
    until("the server hears of other roots", async || {
        let heard = place.lines("heard");
        is(
            heard.contains(&"notifications/roots/list_changed".to_owned()),
            heard.join(" "),
        )
    })
    .await;
    // A question that belongs to no call.
    bridge
        .call("talk__later", json!({"method": "roots/list"}))
        .await;
    let question = asked(&mut bridge, "roots/list").await;
    bridge
        .send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}))
        .await;
    until("it is answered", async || {
        let answers = place.lines("answers");
        is(answers == ["{\"roots\": []}"], answers.join(" "))
    })
    .await;
    bridge.leave().await;
}

#[tokio::test]
async fn what_was_listed_for_such_a_client_is_known_the_next_time_and_the_server_starts_at_its_first_use()
 {
    let place = place();
    session(&place, all()).await.leave().await;
    assert_eq!(place.lines("starts").len(), 1);
    let mut second = session(&place, all()).await;
    assert_eq!(place.lines("starts").len(), 1);
    second
        .request("tools/call", json!({"name": "talk__embed"}))
        .await;
    assert_eq!(place.lines("starts").len(), 2);
    second.leave().await;
    // For one that can't be asked it is another server, which does not offer what it can't do.
    let mut other = place.session().await;
    until("the tools are listed", async || {
        let tools = upstream_tools(&mut other).await;
        is(tools.contains(&"talk__embed".to_owned()), tools.join(" "))
    })
    .await;
    assert!(
        !upstream_tools(&mut other)
            .await
            .contains(&"talk__ask".to_owned())
    );
    assert_eq!(place.lines("starts")[2], "{}");
    other.leave().await;
}

#[tokio::test]
async fn a_call_waits_for_the_person_longer_than_for_the_server() {
    let place = place();
    let mut entry: Value =
        serde_json::from_str(&place.lines("config/mcp.json").join("\n")).unwrap();
    entry["mcpServers"]["talk"]["callTimeoutMs"] = json!(700);
    place.write("config/mcp.json", &entry);
    let mut bridge = session(&place, all()).await;
    let call = bridge
        .start_call("talk__ask", json!({"method": "roots/list"}))
        .await;
    let question = asked(&mut bridge, "roots/list").await;
    // Longer than a call may take.
    tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
    bridge
        .send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}))
        .await;
    assert_eq!(bridge.answer(call).await.text, "{\"roots\": []}");
    bridge.leave().await;
}

#[tokio::test]
async fn a_question_is_taken_back_when_the_call_is_cancelled_or_the_server_ends() {
    let place = place();
    let mut bridge = session(&place, all()).await;
    let call = bridge
        .start_call("talk__ask", json!({"method": "roots/list"}))
        .await;
    let question = asked(&mut bridge, "roots/list").await;
    let died = bridge.call("talk__die", json!({})).await;
    assert!(died.is_error, "{}", died.text);
    let taken_back = asked(&mut bridge, "notifications/cancelled").await;
    assert_eq!(taken_back["params"]["requestId"], question["id"]);
    assert!(bridge.answer(call).await.is_error);
    bridge.leave().await;
}

/// The parameters of a request of a client of the era without a handshake, which can be asked all of it.
fn modern(mut params: Value) -> Value {
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientCapabilities"] = all();
    params
}

#[tokio::test]
async fn without_a_handshake_a_call_is_answered_with_the_question_and_comes_again() {
    let place = place();
    let mut bridge = place.bridge();
    until("the tool is listed", async || {
        let listed = bridge.request("tools/list", modern(json!({}))).await;
        is(listed.to_string().contains("talk__ask"), listed)
    })
    .await;
    let mut call = modern(json!({"name": "talk__ask", "arguments": {"method": "roots/list"}}));
    let asked = bridge.request("tools/call", call.clone()).await;
    let asked = &asked["result"];
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let questions = asked["inputRequests"].as_object().unwrap();
    let (name, question) = questions.iter().next().unwrap();
    assert_eq!(
        (questions.len(), &question["method"]),
        (1, &json!("roots/list"))
    );
    // Meanwhile others are answered.
    let embed = modern(json!({"name": "talk__embed"}));
    let other = bridge.request("tools/call", embed).await;
    assert_eq!(other["result"]["resultType"], "complete", "{other}");
    call["inputResponses"] = json!({ name: {"roots": [{"uri": "file:///farm"}]} });
    call["requestState"] = asked["requestState"].clone();
    let answer = bridge.request("tools/call", call.clone()).await;
    assert_eq!(
        answer["result"]["content"][0]["text"],
        "{\"roots\": [{\"uri\": \"file:///farm\"}]}"
    );
    // It is answered once.
    let again = bridge.request("tools/call", call).await;
    assert_eq!(again["error"]["code"], -32602, "{again}");
    assert_eq!(place.lines("starts").len(), 1);
    bridge.leave().await;
}

#[tokio::test]
async fn clients_that_can_be_asked_have_their_own_process_until_they_go_and_the_others_share_one() {
    let place = place();
    let served = Served::start_with(|command| {
        command
            .env("MCP_BRIDGE_CONFIG_DIR", place.path("config"))
            .env("MCP_BRIDGE_STATE_DIR", place.path("state"))
            .current_dir(place.path("project"));
    })
    .await;
    let mut sharing = [
        served.client("2025-11-25").await,
        served.client("2025-11-25").await,
    ];
    for client in &mut sharing {
        reached(client).await;
    }
    assert_eq!(place.lines("starts"), ["{}"]);
    let mut own = Vec::new();
    for number in 2..=3 {
        let mut client = Client::new(served.address, "2025-11-25");
        client.initialize_with(json!({"roots": {}})).await;
        reached(&mut client).await;
        until("it has its own", async || {
            let starts = place.lines("starts");
            is(starts.len() == number, starts.join(" "))
        })
        .await;
        own.push(client);
    }
    assert_eq!(
        place.lines("starts")[1..],
        ["{\"roots\": {}}", "{\"roots\": {}}"]
    );
    // One that goes takes its own with it, and nobody else's.
    let gone = own.remove(0);
    let end = gone.http(Method::DELETE).body(Body::empty()).unwrap();
    assert!(gone.exchange(end).await.status < 300);
    until("its process has ended", async || {
        let ends = place.lines("ends");
        is(ends.len() == 1, ends.join(" "))
    })
    .await;
    for client in sharing.iter_mut().chain(&mut own) {
        reached(client).await;
    }
    assert_eq!(place.lines("starts").len(), 3);
}

/// Waits until a client over HTTP reaches the server.
async fn reached(client: &mut Client) {
    until("the server is reached", async || {
        let call = json!({"name": "talk__embed", "arguments": {}});
        let embedded = client.request("tools/call", call).await;
        is(embedded.get("result").is_some(), embedded)
    })
    .await;
}
