//! Batches: several messages in one array, which revisions of MCP up to 2025-03-26 have, over both transports.

use crate::common::{
    bridge::Bridge,
    computer::Computer,
    is,
    served::{Client, Served},
    tools::Tools,
    until,
};
use axum::http::Method;
use serde_json::{Value, json};

const WITH_BATCHES: [&str; 2] = ["2024-11-05", "2025-03-26"];
const WITHOUT: [&str; 2] = ["2025-06-18", "2025-11-25"];

fn ask(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

fn tell(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// A batch in which all goes well but what is wrong with some of its parts.
fn mixed() -> Value {
    json!([
        ask("p", "ping", json!({})),
        7,
        ask(1, "tools/list", json!({})),
        {"jsonrpc": "2.0", "id": 2, "method": 5},
        tell("notifications/initialized", json!({})),
        ask(3, "initialize", json!({"protocolVersion": "2025-03-26"})),
        ask(4, "tools/list", json!({"cursor": "bogus"})),
        ask(5, "tools/call", json!({"name": "probe-computers", "arguments": {}})),
        ask(6, "no/such", json!({})),
        [],
        {"jsonrpc": "2.0", "id": 99, "result": {}},
    ])
}

/// Whether these are the answers to [`mixed`].
fn check_mixed(answers: &Value) {
    let answers = answers.as_array().unwrap();
    let of = |id: Value| {
        let mut found = answers
            .iter()
            .filter(|answer| answer.get("id") == Some(&id));
        let one = found
            .next()
            .unwrap_or_else(|| panic!("no answer to {id} in {answers:?}"));
        assert!(found.next().is_none(), "{id} is answered twice");
        one
    };
    assert_eq!(of(json!("p"))["result"], json!({}));
    assert!(of(json!(1))["result"]["tools"].is_array());
    for (id, code) in [(2, -32600), (3, -32600), (4, -32602), (6, -32601)] {
        assert_eq!(of(json!(id))["error"]["code"], code, "{id}");
    }
    assert_eq!(
        of(json!(5))["result"]["content"][0]["text"],
        "No computers connected."
    );
    let nameless = answers.iter().filter(|answer| answer.get("id").is_none());
    assert_eq!((nameless.count(), answers.len()), (2, 9), "{answers:?}");
}

/// The next line that is an array.
async fn array(bridge: &mut Bridge) -> Value {
    bridge.message("an array", Value::is_array).await
}

#[tokio::test]
async fn on_standard_input_a_batch_is_answered_by_one_array() {
    for revision in WITH_BATCHES {
        let mut bridge = Bridge::start();
        bridge.initialize(revision).await;
        bridge.send(&mixed()).await;
        check_mixed(&array(&mut bridge).await);
        // What asks for nothing is answered by nothing, and what is empty is wrong.
        bridge
            .send(&json!([tell("notifications/initialized", json!({}))]))
            .await;
        bridge.send_line(b"[]").await;
        let refused = bridge
            .message("the error", |message| message.get("error").is_some())
            .await;
        assert_eq!(refused["error"]["code"], -32600);
        assert!(refused.get("id").is_none(), "{refused}");
        // Ids are free again.
        bridge.send(&mixed()).await;
        check_mixed(&array(&mut bridge).await);
        let many: Vec<_> = (0..1_001).map(|id| ask(id, "ping", json!({}))).collect();
        bridge.send(&json!(many)).await;
        let refused = bridge
            .message("the error", |message| message.get("error").is_some())
            .await;
        assert!(
            refused["error"]["message"]
                .as_str()
                .unwrap()
                .contains("1000 at most"),
            "{refused}"
        );
        bridge.send(&json!(many[..1_000])).await;
        assert_eq!(array(&mut bridge).await.as_array().unwrap().len(), 1_000);
        bridge.leave().await;
    }
}

#[tokio::test]
async fn revisions_without_batches_answer_each_of_its_requests_with_an_error() {
    for revision in WITHOUT {
        let mut bridge = Bridge::start();
        bridge.initialize(revision).await;
        bridge
            .send(&json!([
                ask(70, "ping", json!({})),
                ask("x", "tools/list", json!({})),
                tell("a", json!({}))
            ]))
            .await;
        for id in [json!(70), json!("x")] {
            let reply = bridge.reply(&id).await;
            assert_eq!(reply["error"]["code"], -32600, "{reply}");
            assert!(
                reply["error"]["message"]
                    .as_str()
                    .unwrap()
                    .contains("2025-03-26"),
                "{reply}"
            );
        }
        bridge.send(&json!([tell("a", json!({}))])).await;
        let refused = bridge
            .message("the error", |message| message.get("error").is_some())
            .await;
        assert!(refused.get("id").is_none(), "{refused}");
        assert_eq!(bridge.request("ping", json!({})).await["result"], json!({}));
        bridge.leave().await;
    }
    // Those of the revision without sessions say so themselves.
    let mut bridge = Bridge::start();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    bridge
        .send(&json!([ask(1, "tools/list", json!({"_meta": meta}))]))
        .await;
    let answers = array(&mut bridge).await;
    assert_eq!(
        (&answers[0]["id"], &answers[0]["error"]["code"]),
        (&json!(1), &json!(-32600))
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_cancelled_part_is_left_out_and_what_there_is_comes_before_the_end() {
    let mut bridge = Bridge::start();
    bridge.initialize("2025-03-26").await;
    let port = bridge.link_port().await;
    let mut computer = Computer::link(port, 4, None).await;
    let slow = |id: u64| {
        ask(
            id,
            "tools/call",
            json!({"name": "exec-lua", "arguments": {"code": "x()"}}),
        )
    };
    bridge
        .send(&json!([slow(50), ask(51, "ping", json!({}))]))
        .await;
    computer.request().await;
    bridge
        .send(&tell("notifications/cancelled", json!({"requestId": 50})))
        .await;
    let answers = array(&mut bridge).await;
    assert_eq!(answers.as_array().unwrap().len(), 1, "{answers}");
    assert_eq!(answers[0]["id"], 51);
    // The same id twice is an error for the second alone.
    bridge
        .send(&json!([
            slow(52),
            ask(53, "ping", json!({})),
            ask(52, "ping", json!({}))
        ]))
        .await;
    computer.request().await;
    bridge.close_input();
    let answers = array(&mut bridge).await;
    let ids: Vec<_> = answers
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| answer["id"].clone())
        .collect();
    assert!(
        ids.len() == 2 && ids.contains(&json!(53)) && ids.contains(&json!(52)),
        "{answers}"
    );
    bridge.ended().await;
}

#[tokio::test]
async fn a_batch_with_large_answers_comes_in_several_arrays_and_reading_goes_on() {
    let tools = Tools::new();
    let large = "x".repeat(900_000);
    tools.write(
        "large/_index.yaml",
        &format!("entries:\n  - name: l\n    kind: resource\n    meta: {{ mcp.uri: \"large://x\", mcp.text: {large} }}\n"),
    );
    let mut bridge = tools.start(&["--upstream", "off"]);
    bridge.initialize("2025-03-26").await;
    until("the resource is listed", async || {
        let listed = bridge.request("resources/list", json!({})).await;
        is(listed.to_string().contains("large://x"), listed)
    })
    .await;
    let read = |id: u64| ask(id, "resources/read", json!({"uri": "large://x"}));
    let calls: Vec<_> = (100..112).map(read).collect();
    bridge.send(&json!(calls)).await;
    let mut ids = Vec::new();
    let mut arrays = 0;
    while ids.len() < calls.len() {
        let answers = array(&mut bridge).await;
        assert!(answers.to_string().len() < 10 * 1024 * 1024);
        ids.extend(
            answers
                .as_array()
                .unwrap()
                .iter()
                .map(|answer| answer["id"].as_u64().unwrap()),
        );
        arrays += 1;
    }
    ids.sort_unstable();
    assert_eq!(ids, (100..112).collect::<Vec<_>>());
    assert!(arrays > 1);
    bridge.leave().await;
}

async fn post(client: &Client, batch: &Value) -> (u16, String) {
    let request = client
        .http(Method::POST)
        .body(batch.to_string().into())
        .unwrap();
    let answer = client.exchange(request).await;
    (answer.status, answer.text().await)
}

#[tokio::test]
async fn over_http_a_batch_is_answered_by_one_array_too() {
    let bridge = Served::start().await;
    for revision in WITH_BATCHES {
        let client = bridge.client(revision).await;
        for _ in 0..2 {
            let (status, text) = post(&client, &mixed()).await;
            assert_eq!(status, 200, "{text}");
            check_mixed(&serde_json::from_str(&text).unwrap());
        }
        let told = json!([tell("notifications/initialized", json!({}))]);
        assert_eq!(post(&client, &told).await, (202, String::new()));
        assert_eq!(post(&client, &json!([])).await.0, 400);
        let many: Vec<_> = (0..1_000).map(|id| ask(id, "ping", json!({}))).collect();
        let (status, text) = post(&client, &json!(many)).await;
        let answers: Vec<Value> = serde_json::from_str(&text).unwrap();
        assert_eq!((status, answers.len()), (200, 1_000));
        assert!(
            answers.iter().all(|answer| answer["result"] == json!({})),
            "{text}"
        );
    }
    for revision in WITHOUT {
        let client = bridge.client(revision).await;
        let (status, text) = post(&client, &mixed()).await;
        let refused: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((status, &refused["error"]["code"]), (400, &json!(-32600)));
        assert!(text.contains("2025-03-26"), "{text}");
    }
    let mut client = bridge.client("2025-03-26").await;
    let session = client.session.replace("no-such".to_owned());
    assert_eq!(post(&client, &mixed()).await.0, 404);
    client.session = None;
    assert_eq!(post(&client, &mixed()).await.0, 400);
    // A page of another site could send this without asking first.
    client.session = session;
    let mut request = client
        .http(Method::POST)
        .body(mixed().to_string().into())
        .unwrap();
    request
        .headers_mut()
        .insert("content-type", "text/plain".parse().unwrap());
    assert_eq!(client.exchange(request).await.status, 415);
}

#[tokio::test]
async fn over_http_too_a_client_that_says_little_in_initialize_is_served() {
    let bridge = Served::start().await;
    for (params, revision) in [
        (Value::Null, "2025-11-25"),
        (json!({}), "2025-11-25"),
        (
            json!({"protocolVersion": "2025-03-26", "clientInfo": {"name": "x"}}),
            "2025-03-26",
        ),
    ] {
        let mut hello = ask(1, "initialize", params);
        if hello["params"].is_null() {
            hello.as_object_mut().unwrap().remove("params");
        }
        let mut answer = Client::new(bridge.address, revision).send(&hello).await;
        assert_eq!(answer.status, 200, "{hello}");
        let reply = answer.message().await.unwrap();
        assert_eq!(reply["result"]["protocolVersion"], revision, "{reply}");
    }
}
