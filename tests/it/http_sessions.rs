//! Conversations with `mcp-bridge serve` over HTTP, in both eras of the protocol.

use crate::common::{
    computer::Computer,
    served::{Answer, Client, STATELESS, Served},
};
use axum::{body::Body, http::Method};
use serde_json::{Value, json};

const REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// A bridge, and a computer of number 4 that a test speaks for.
async fn pair() -> (Served, Computer) {
    let bridge = Served::start().await;
    let computer = Computer::link_v2(bridge.link_port().await, 4).await;
    (bridge, computer)
}

/// Starts a call that asks for progress, and waits until its computer has taken it.
async fn start_call(client: &mut Client, computer: &mut Computer) -> (u64, Answer, Value) {
    let params = json!({
        "name": "exec-lua", "arguments": {"computerId": 4, "code": "code()"}, "_meta": {"progressToken": "p"},
    });
    let asking = client.ask("tools/call", params);
    let taking = async {
        let request = computer.request().await;
        computer.accept(&request).await;
        // Without a message there is no answer yet in the stateless era.
        say(computer, &request, 1).await;
        request
    };
    let ((id, answer), request) = tokio::join!(asking, taking);
    (id, answer, request)
}

/// Lets the computer print its line of this number.
async fn say(computer: &mut Computer, request: &Value, seq: u64) {
    let text = format!("line {seq}\n");
    computer
        .send(&json!({"type": "output", "id": request["id"], "seq": seq, "text": text}))
        .await;
}

async fn finish(computer: &mut Computer, request: &Value) {
    let returns = json!({"returns": [{"type": "string", "value": "done"}]});
    computer.respond(request, returns).await;
}

/// The next progress that a client is told.
async fn progress(answer: &mut Answer) -> String {
    let message = answer.message().await.expect("the stream ended");
    assert_eq!(message["method"], "notifications/progress", "{message}");
    assert_eq!(message["params"]["progressToken"], "p");
    message["params"]["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn exec_lua_runs_on_a_simulated_computer_in_every_revision() {
    let bridge = Served::start().await;
    let _computer = bridge.computer(12).await;
    for revision in REVISIONS {
        let mut client = bridge.client(revision).await;
        assert_eq!(
            client.lua(12, "print('hi') return 6 * 7").await,
            "hi\n=> 42"
        );
        let ping = client.request("ping", json!({})).await;
        assert_eq!(ping["result"], json!({}), "{revision}");
    }
    let mut client = bridge.stateless();
    assert_eq!(
        client.lua(12, "print('hi') return 6 * 7").await,
        "hi\n=> 42"
    );
    let found = client.request("server/discover", json!({})).await;
    let versions = found["result"]["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!(STATELESS)), "{found}");
}

#[tokio::test]
async fn an_answer_over_what_clients_take_is_a_clear_error() {
    let bridge = Served::start().await;
    let _computer = bridge.computer(12).await;
    // A quotation mark takes two characters of an answer, and four bytes of its JSON.
    let code = "return ('\"'):rep(3 * 1024 * 1024)";
    for mut client in [bridge.client("2025-11-25").await, bridge.stateless()] {
        let arguments = json!({"computerId": 12, "code": code, "maxChars": 8_000_000});
        let answer = client.call("exec-lua", arguments).await;
        assert!(
            answer.is_error && answer.text.starts_with("too-large error"),
            "{}",
            &answer.text[..200.min(answer.text.len())]
        );
    }
}

#[tokio::test]
async fn sessions_run_side_by_side_and_their_ids_do_not_mix() {
    let bridge = Served::start().await;
    let _computer = bridge.computer(12).await;
    let mut first = bridge.client("2025-11-25").await;
    let mut second = bridge.client("2025-06-18").await;
    assert_ne!(first.session, second.session);
    // Both calls have the same id. The first can only end once the second has run.
    let waits = "while not fs.exists('second') do sleep(0.05) end return 'first'";
    let answers = tokio::join!(
        first.lua(12, waits),
        second.lua(12, "fs.makeDir('second') return 'second'")
    );
    assert_eq!(answers.0, "=> \"first\"");
    assert_eq!(answers.1, "=> \"second\"");
}

#[tokio::test]
async fn an_id_that_is_in_use_is_refused_and_its_first_request_answered() {
    let (bridge, mut computer) = pair().await;
    let mut client = bridge.client("2025-11-25").await;
    let (id, mut answer, request) = start_call(&mut client, &mut computer).await;
    let again = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let refused = client.send(&again).await.reply(id).await;
    let problem = refused["error"]["message"].as_str().unwrap();
    assert!(problem.contains("still being answered"), "{refused}");
    finish(&mut computer, &request).await;
    let reply = answer.reply(id).await;
    assert!(reply["result"].is_object(), "{reply}");
}

#[tokio::test]
async fn progress_comes_on_the_stream_of_its_call_while_the_code_runs() {
    let (bridge, mut computer) = pair().await;
    for mut client in [bridge.client("2025-11-25").await, bridge.stateless()] {
        let (id, mut answer, request) = start_call(&mut client, &mut computer).await;
        assert_eq!(answer.headers["content-type"], "text/event-stream");
        assert_eq!(progress(&mut answer).await, "line 1\n");
        say(&mut computer, &request, 2).await;
        assert_eq!(progress(&mut answer).await, "line 2\n");
        finish(&mut computer, &request).await;
        let reply = answer.reply(id).await;
        let text = reply["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text, "line 1\nline 2\n=> \"done\"");
        assert_eq!(answer.event().await, None);
    }
}

#[tokio::test]
async fn only_clients_that_understand_it_are_told_how_to_resume_before_there_is_a_message() {
    let (bridge, _computer) = pair().await;
    for (revision, told) in [("2025-06-18", false), ("2025-11-25", true)] {
        let mut client = bridge.client(revision).await;
        let (_, mut answer) = client.ask("ping", json!({})).await;
        let first = answer.event().await.unwrap();
        assert_eq!(first.data.is_empty(), told, "{revision}: {first:?}");
        assert_eq!(first.retry.is_some(), told, "{revision}: {first:?}");
        assert!(first.id.is_some());
    }
}

async fn resume(client: &Client, event: &str) -> Answer {
    let request = client.http(Method::GET).header("last-event-id", event);
    client.exchange(request.body(Body::empty()).unwrap()).await
}

#[tokio::test]
async fn a_client_that_lost_its_connection_gets_what_followed_and_the_answer() {
    let (bridge, mut computer) = pair().await;
    let mut client = bridge.client("2025-11-25").await;
    let (id, mut lost, request) = start_call(&mut client, &mut computer).await;
    let event = loop {
        let event = lost.event().await.unwrap();
        if event.data.contains("line 1") {
            break event.id.unwrap();
        }
    };
    drop(lost);
    say(&mut computer, &request, 2).await;
    finish(&mut computer, &request).await;
    computer.frame_of_type("ack").await;

    // As often as it asks, before and after it got the answer.
    for _ in 0..2 {
        let mut resumed = resume(&client, &event).await;
        assert_eq!(resumed.status, 200);
        let reply = loop {
            let message = resumed.message().await.expect("the stream ended");
            if message["id"] == id {
                break message;
            }
            assert_eq!(message["params"]["message"], "line 2\n", "{message}");
        };
        let text = reply["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text, "line 1\nline 2\n=> \"done\"");
        assert_eq!(resumed.event().await, None);
    }
}

#[tokio::test]
async fn what_can_not_be_resumed_is_refused() {
    let bridge = Served::start().await;
    let client = bridge.client("2025-11-25").await;
    for event in ["7-0", "0-5", "1/0", "nonsense"] {
        let refused = resume(&client, event).await;
        assert_eq!(refused.status, 405, "{event}");
        let text = refused.text().await;
        assert!(text.contains("no stream to resume"), "{text}");
    }
}

#[tokio::test]
async fn a_cancelled_call_is_stopped_on_its_computer_and_not_answered() {
    let (bridge, mut computer) = pair().await;
    let mut client = bridge.client("2025-11-25").await;
    let (id, mut answer, request) = start_call(&mut client, &mut computer).await;
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "enough"},
    });
    assert_eq!(client.send(&cancel).await.status, 202);
    let stopped = computer.frame_of_type("cancel").await;
    assert_eq!(stopped["id"], request["id"]);
    let mut event = None;
    while let Some(next) = answer.event().await {
        assert!(!next.data.contains("\"result\""), "{next:?}");
        event = next.id;
    }
    // Nor when it is asked for again.
    assert_eq!(resume(&client, &event.unwrap()).await.status, 405);
}

#[tokio::test]
async fn a_closed_connection_cancels_its_call_in_the_stateless_era() {
    let (bridge, mut computer) = pair().await;
    let mut client = bridge.stateless();
    let (_, answer, request) = start_call(&mut client, &mut computer).await;
    drop(answer);
    assert_eq!(computer.frame_of_type("cancel").await["id"], request["id"]);

    // Also before there was anything to answer with.
    let params = json!({"name": "exec-lua", "arguments": {"computerId": 4, "code": "code()"}});
    let request = {
        let asking = client.ask("tools/call", params);
        let taking = async {
            let request = computer.request().await;
            computer.accept(&request).await;
            request
        };
        tokio::select! {
            _ = asking => panic!("an answer came before the code ended"),
            request = taking => request,
        }
    };
    assert_eq!(computer.frame_of_type("cancel").await["id"], request["id"]);
}

#[tokio::test]
async fn a_call_that_takes_long_has_a_head_before_it_has_an_answer() {
    let (bridge, mut computer) = pair().await;
    let mut client = bridge.stateless();
    let params = json!({"name": "exec-lua", "arguments": {"computerId": 4, "code": "code()"}});
    let taking = async {
        let request = computer.request().await;
        computer.accept(&request).await;
        request
    };
    let ((id, mut answer), request) = tokio::join!(client.ask("tools/call", params), taking);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], "text/event-stream");
    finish(&mut computer, &request).await;
    let reply = answer.reply(id).await;
    assert_eq!(
        reply["result"]["content"][0]["text"], "=> \"done\"",
        "{reply}"
    );
    assert_eq!(answer.event().await, None);
}

#[tokio::test]
async fn a_session_that_is_ended_is_gone_and_its_calls_are_stopped() {
    let (bridge, mut computer) = pair().await;
    let mut client = bridge.client("2025-11-25").await;
    let (_, mut answer, request) = start_call(&mut client, &mut computer).await;
    let end = || client.http(Method::DELETE).body(Body::empty()).unwrap();
    assert_eq!(client.exchange(end()).await.status, 204);
    assert_eq!(computer.frame_of_type("cancel").await["id"], request["id"]);
    while answer.event().await.is_some() {}
    assert_eq!(client.exchange(end()).await.status, 404);
    let ping = json!({"jsonrpc": "2.0", "id": 50, "method": "ping"});
    assert_eq!(client.send(&ping).await.status, 404);
    let listen = client.http(Method::GET).body(Body::empty()).unwrap();
    assert_eq!(client.exchange(listen).await.status, 404);
}

#[tokio::test]
async fn an_unknown_session_and_none_at_all_are_told_apart() {
    let bridge = Served::start().await;
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let mut client = bridge.client("2025-11-25").await;
    client.session = Some("no-such-session".to_owned());
    assert_eq!(client.send(&ping).await.status, 404);
    client.session = None;
    assert_eq!(client.send(&ping).await.status, 400);
}

#[tokio::test]
async fn a_client_that_does_not_read_keeps_no_answer_from_itself_or_others() {
    let bridge = Served::start().await;
    let _computer = bridge.computer(12).await;
    let mut client = bridge.client("2025-11-25").await;
    let mut unread = Vec::new();
    // More than sockets hold.
    for _ in 0..4 {
        let code = "for line = 1, 32 do print(('x'):rep(250000)) end";
        let arguments = json!({"computerId": 12, "code": code});
        let call = json!({"name": "exec-lua", "arguments": arguments});
        unread.push(client.ask("tools/call", call).await);
    }
    assert_eq!(client.lua(12, "return 'here'").await, "=> \"here\"");
    let mut other = bridge.client("2025-11-25").await;
    assert_eq!(other.lua(12, "return 'here'").await, "=> \"here\"");
    for (id, mut answer) in unread {
        let reply = answer.reply(id).await;
        assert_eq!(reply["result"]["isError"], false, "{id}");
    }
}

#[tokio::test]
async fn a_header_that_contradicts_the_message_is_refused() {
    let bridge = Served::start().await;
    let client = bridge.client("2025-11-25").await;
    let request = client
        .http(Method::POST)
        .header("mcp-session-id", client.session.clone().unwrap());
    let mut request = request
        .body(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.into())
        .unwrap();
    let version = "2019-01-01".parse().unwrap();
    request
        .headers_mut()
        .insert("mcp-protocol-version", version);
    assert_eq!(client.exchange(request).await.status, 400);

    let stateless = bridge.stateless();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS, "io.modelcontextprotocol/clientCapabilities": {},
    });
    let list =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
    let request = stateless
        .http(Method::POST)
        .header("mcp-method", "tools/call");
    let mut answer = stateless
        .exchange(request.body(list.to_string().into()).unwrap())
        .await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.message().await.unwrap()["error"]["code"], -32_020);
}
