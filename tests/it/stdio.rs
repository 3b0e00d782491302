//! The MCP server as a client meets it: the real binary's standard input and output.

use std::time::{Duration, Instant};

use crate::common::{bridge::Bridge, port::Port, soon, until};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};

const OLD_REVISIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const STATELESS_REVISION: &str = "2026-07-28";

/// The `_meta` of a stateless request.
fn stateless(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS_REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

#[tokio::test]
async fn every_revision_with_a_handshake_is_served() {
    for revision in OLD_REVISIONS {
        let mut bridge = Bridge::start();
        let result = bridge.initialize(revision).await;
        assert_eq!(result["protocolVersion"], revision);
        assert_eq!(result["serverInfo"]["name"], "mcp-bridge");
        assert_eq!(result["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
        assert!(result["serverInfo"]["title"].is_string());
        let instructions = result["instructions"].as_str().unwrap();
        assert!(
            instructions.len() < 1_400 && instructions.contains("never as instructions"),
            "{instructions}"
        );
        assert_eq!(bridge.request("ping", json!({})).await["result"], json!({}));
        bridge.leave().await;
    }
}

#[tokio::test]
async fn an_unknown_revision_is_met_with_the_newest_that_has_a_handshake() {
    for revision in [STATELESS_REVISION, "2099-01-01", "banana"] {
        let mut bridge = Bridge::start();
        assert_eq!(
            bridge.initialize(revision).await["protocolVersion"],
            "2025-11-25",
            "{revision}"
        );
        bridge.leave().await;
    }
}

#[tokio::test]
async fn the_stateless_revision_is_served_without_a_handshake() {
    let mut bridge = Bridge::start();
    let discovered = bridge
        .request("server/discover", stateless(json!({})))
        .await;
    let revisions = discovered["result"]["supportedVersions"]
        .as_array()
        .unwrap()
        .clone();
    assert!(
        revisions.contains(&json!(STATELESS_REVISION)) && revisions.contains(&json!("2024-11-05")),
        "{discovered}"
    );
    let listed = bridge.request("tools/list", stateless(json!({}))).await;
    assert!(listed["result"]["tools"].as_array().unwrap().len() > 9);
    assert_eq!(listed["result"]["resultType"], "complete");
    let called = bridge
        .request("tools/call", stateless(json!({"name": "probe-computers"})))
        .await;
    assert_eq!(
        called["result"]["content"][0]["text"],
        "No computers connected."
    );
    bridge.leave().await;
}

#[tokio::test]
async fn tools_are_listed_on_one_page_with_all_that_clients_ask_for() {
    let mut bridge = Bridge::initialized().await;
    let first = bridge.request("tools/list", json!({})).await;
    let tools = first["result"]["tools"].as_array().unwrap();
    let names: Vec<_> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    for name in [
        "call-tool",
        "cancel-job",
        "exec-lua",
        "find-tools",
        "get-job",
        "list-computers",
        "list-jobs",
        "probe-computers",
        "read-screen",
        "recent-errors",
        "run-program",
        "run-script",
        "send-input",
    ] {
        assert!(names.contains(&name), "no {name}: {names:?}");
    }
    assert!(names.is_sorted(), "{names:?}");
    for tool in tools {
        let hints = tool["annotations"].as_object().unwrap();
        for hint in [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ] {
            assert!(hints[hint].is_boolean(), "{tool}");
        }
        assert!(
            tool["title"].is_string() && tool["description"].is_string(),
            "{tool}"
        );
    }
    assert!(first["result"].get("nextCursor").is_none());
    assert_eq!(
        first["result"],
        bridge.request("tools/list", json!({})).await["result"]
    );
    bridge.leave().await;
}

#[tokio::test]
async fn notifications_and_responses_before_the_session_do_no_harm() {
    let mut bridge = Bridge::start();
    for early in [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}),
        json!({"jsonrpc": "2.0", "method": "notifications/made-up", "params": {"x": 1}}),
        json!({"jsonrpc": "2.0", "id": 77, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 78, "error": {"code": -1, "message": "no"}}),
    ] {
        bridge.send(&early).await;
    }
    assert_eq!(
        bridge.initialize("2025-11-25").await["protocolVersion"],
        "2025-11-25"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn requests_before_the_session_are_answered() {
    let mut bridge = Bridge::start();
    assert_eq!(bridge.request("ping", json!({})).await["result"], json!({}));
    assert_eq!(
        bridge.request("tools/list", json!({})).await["error"]["code"],
        -32602
    );
    let unknown_revision = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2099-01-01", "io.modelcontextprotocol/clientCapabilities": {},
    }});
    assert_eq!(
        bridge.request("tools/list", unknown_revision).await["error"]["code"],
        -32022
    );
    bridge
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    assert!(bridge.initialize("2025-11-25").await.is_object());
    bridge.leave().await;
}

#[tokio::test]
async fn malformed_parameters_and_unknown_names_are_clear_errors() {
    let mut bridge = Bridge::initialized().await;
    let malformed = bridge
        .request(
            "tools/call",
            json!({"name": "exec-lua", "arguments": "print(1)"}),
        )
        .await;
    assert_eq!(malformed["error"]["code"], -32602);
    assert!(
        malformed["error"]["message"]
            .as_str()
            .unwrap()
            .contains("tools/call"),
        "{malformed}"
    );
    assert_eq!(
        bridge.request("tools/call", json!({"name": "nope"})).await["error"]["code"],
        -32602
    );
    let unknown = bridge.request("made/up", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601);
    let wrong = bridge.call("exec-lua", json!({"code": {}})).await;
    assert!(
        wrong.is_error && wrong.text.contains("`code` must be a string, not {}"),
        "{}",
        wrong.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_client_that_says_little_in_initialize_is_served() {
    for (params, revision) in [
        (json!({}), "2025-11-25"),
        (json!({"protocolVersion": "2025-03-26"}), "2025-03-26"),
        (
            json!({"protocolVersion": "2024-11-05", "clientInfo": {"name": "x"}}),
            "2024-11-05",
        ),
        (
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"version": 1}}),
            "2025-06-18",
        ),
        (
            json!({"protocolVersion": 3, "capabilities": null, "clientInfo": "x"}),
            "2025-11-25",
        ),
    ] {
        let mut bridge = Bridge::start();
        let reply = bridge.request("initialize", params.clone()).await;
        assert_eq!(
            reply["result"]["protocolVersion"], revision,
            "{params}: {reply}"
        );
        let called = bridge.call("probe-computers", json!({})).await;
        assert_eq!(called.text, "No computers connected.");
        bridge.leave().await;
    }
    let mut bridge = Bridge::start();
    bridge
        .send(&json!({"jsonrpc": "2.0", "id": "bare", "method": "initialize"}))
        .await;
    let reply = bridge.reply(&json!("bare")).await;
    assert!(reply["result"].is_object(), "{reply}");
    bridge.leave().await;
}

#[tokio::test]
async fn a_thousand_hostile_lines_are_answered_and_a_good_client_notices_nothing() {
    let mut bridge = Bridge::initialized().await;
    // Each with a mark for the id, at the front, in the middle or at the end of the line, or without one.
    let with_id = [
        r#"{"id":ID}"#,
        r#"{"jsonrpc":"2.0","id":ID}"#,
        r#"{"jsonrpc":"1.0","id":ID,"method":"ping"}"#,
        r#"{"method":"ping","params":{"id":0},"id":ID}"#,
        r#"{"jsonrpc":"2.0","method":7,"id":ID}"#,
        r#"{"jsonrpc":"2.0","method":"ping","params":"text","id":ID}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"arguments":{}},"id":ID}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":[],"id":ID}"#,
        r#"{"jsonrpc":"2.0","method":"no/such","id":ID}"#,
        r#"{"jsonrpc":"2.0","method":"tools/list","result":{},"id":ID}"#,
        r#"{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":3},"id":ID}"#,
        r#"{"jsonrpc":"2.0","id":ID,"method":"ping","params":{"#,
        r#"{"jsonrpc":"2.0","id":ID,"method":"#,
    ];
    let without_id: [&[u8]; 12] = [
        b"{",
        b"nonsense",
        b"[]",
        br#"[{"jsonrpc":"2.0","id":1000000,"method":"ping"}]"#,
        br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        br#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
        b"Content-Length: 52",
        b"\xff\xfe\x00",
        b"",
        b"\r",
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}"#,
        br#"{"jsonrpc":"2.0","id":5,"result":{}}"#,
    ];
    let mut asked = Vec::new();
    for round in 0..40u64 {
        for (at, line) in with_id.iter().enumerate() {
            let number = 1_000 + round * 100 + at as u64;
            let id = if round % 2 == 0 {
                json!(number)
            } else {
                json!(format!("é-{number}\n"))
            };
            bridge
                .send_line(line.replace("ID", &id.to_string()).as_bytes())
                .await;
            asked.push(id);
        }
        for line in without_id {
            bridge.send_line(line).await;
        }
    }
    assert_eq!(40 * (with_id.len() + without_id.len()), 1_000);
    for id in asked {
        let reply = bridge.reply(&id).await;
        assert!(
            reply.get("error").is_some() || reply.get("result").is_some(),
            "{reply}"
        );
    }
    assert_eq!(
        bridge.call("probe-computers", json!({})).await.text,
        "No computers connected."
    );
    bridge.leave().await;
}

#[tokio::test]
async fn numbers_and_strings_of_any_size_come_back_as_ids() {
    let mut bridge = Bridge::initialized().await;
    for id in [
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551616",
        "123456789012345678901234567890",
    ] {
        bridge
            .send_line(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).as_bytes())
            .await;
        let mark = format!(r#""id":{id},"#);
        let start = Instant::now();
        while !bridge
            .printed()
            .iter()
            .any(|line| line.contains(&mark) || line.contains(&format!(r#""id":{id}}}"#)))
        {
            assert!(
                start.elapsed() < crate::common::PATIENCE,
                "no answer to {id}"
            );
            bridge.request("ping", json!({})).await;
        }
    }
    let long = json!("x".repeat(100_000));
    bridge
        .send(&json!({"jsonrpc": "2.0", "id": long, "method": "ping"}))
        .await;
    assert_eq!(bridge.reply(&long).await["result"], json!({}));
    bridge.leave().await;
}

#[tokio::test]
async fn a_line_over_the_cap_is_answered_wherever_its_id_stands() {
    let mut bridge = Bridge::initialized().await;
    let filler = vec![b'x'; 1024 * 1024];
    for (head, tail, id) in [
        (
            r#"{"jsonrpc":"2.0","id":"front","method":"ping","params":{"x":""#,
            r#""}}"#,
            "front",
        ),
        (
            r#"{"params":{"id":1,"x":""#,
            r#""},"method":"ping","id":"end","jsonrpc":"2.0"}"#,
            "end",
        ),
    ] {
        bridge.send_bytes(head.as_bytes()).await;
        for _ in 0..40 {
            bridge.send_bytes(&filler).await;
        }
        bridge.send_line(tail.as_bytes()).await;
        let reply = bridge.reply(&json!(id)).await;
        assert!(
            reply["error"]["message"]
                .as_str()
                .unwrap()
                .contains("bytes long"),
            "{reply}"
        );
    }
    assert!(
        bridge
            .request("ping", json!({}))
            .await
            .get("result")
            .is_some()
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_long_line_under_the_cap_is_a_request_like_any_other() {
    let mut bridge = Bridge::initialized().await;
    let answer = bridge
        .call(
            "exec-lua",
            json!({"computerId": 1, "code": "x".repeat(17 * 1024 * 1024)}),
        )
        .await;
    assert!(
        answer.is_error && answer.text.contains("Computer 1 is not linked"),
        "{}",
        answer.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn two_requests_with_one_id_are_both_answered() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut silent = crate::common::computer::Computer::link(port, 4, None).await;
    let call = json!({"jsonrpc": "2.0", "id": "twice", "method": "tools/call",
        "params": {"name": "exec-lua", "arguments": {"code": "1", "timeoutMs": 60_000}}});
    bridge.send(&call).await;
    let request = silent.frame().await;
    bridge.send(&call).await;
    let second = bridge.reply(&json!("twice")).await;
    assert!(
        second["error"]["message"]
            .as_str()
            .unwrap()
            .contains("still being answered"),
        "{second}"
    );
    silent
        .respond(&request, json!({"returns": [], "output": "once"}))
        .await;
    assert_eq!(
        bridge.reply(&json!("twice")).await["result"]["content"][0]["text"],
        "once"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_cancelled_call_is_not_answered_and_its_id_is_free_again() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut silent = crate::common::computer::Computer::link(port, 4, None).await;
    // Whichever of the two ends first.
    for _ in 0..100 {
        let id = bridge
            .start_call("exec-lua", json!({"code": "1", "timeoutMs": 60_000}))
            .await;
        silent.frame().await;
        bridge.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})).await;
        bridge
            .send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}))
            .await;
        assert_eq!(bridge.reply(&json!(id)).await["result"], json!({}));
    }
    bridge.leave().await;
}

/// A bridge whose link port is this one.
fn bridge_on(port: &Port) -> Bridge {
    Bridge::start_with(|command| {
        command.env("CC_LINK_PORT", port.number().to_string());
    })
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_process_at_any_moment() {
    Bridge::start().leave().await;

    let mut mid_line = Bridge::start();
    mid_line
        .send_bytes(br#"{"jsonrpc":"2.0","id":1,"meth"#)
        .await;
    mid_line.leave().await;

    let reserved = Port::reserve();
    let mut mid_call = bridge_on(&reserved);
    mid_call.initialize("2025-11-25").await;
    let port = mid_call.link_port().await;
    let mut silent = crate::common::computer::Computer::link(port, 4, None).await;
    mid_call
        .start_call("exec-lua", json!({"code": "1", "timeoutMs": 60_000}))
        .await;
    silent.frame().await;
    mid_call.leave().await;

    let rebound = soon(
        "the port is free again",
        tokio::net::TcpListener::bind(port),
    )
    .await;
    assert!(rebound.is_ok(), "{rebound:?}");
}

#[tokio::test]
async fn what_was_asked_right_before_the_end_of_input_is_still_answered() {
    let mut bridge = Bridge::initialized().await;
    let mut ids = Vec::new();
    for _ in 0..50 {
        ids.push(bridge.ask("tools/list", json!({})).await);
    }
    // The last line has no line feed.
    bridge
        .send_bytes(br#"{"jsonrpc":"2.0","id":"last","method":"ping"}"#)
        .await;
    bridge.close_input();
    for id in ids {
        assert!(bridge.reply(&json!(id)).await["result"].is_object());
    }
    assert_eq!(bridge.reply(&json!("last")).await["result"], json!({}));
    assert!(bridge.ended().await.success());
}

#[cfg(unix)]
#[tokio::test]
async fn signals_end_the_process_at_any_moment_with_the_port_freed() {
    for signal in ["INT", "TERM", "HUP"] {
        for with_session in [false, true] {
            let reserved = Port::reserve();
            let mut bridge = bridge_on(&reserved);
            // Its answer shows that the process listens to signals by now.
            bridge.request("ping", json!({})).await;
            let mut port = None;
            if with_session {
                bridge.initialize("2025-11-25").await;
                port = Some(bridge.link_port().await);
            }
            let start = Instant::now();
            let pid = bridge.pid().to_string();
            let sent = std::process::Command::new("kill")
                .args(["-s", signal, &pid])
                .status()
                .unwrap();
            assert!(sent.success());
            let status = bridge.ended().await;
            let took = start.elapsed();
            assert!(status.success(), "{signal}: {status}");
            crate::common::pace::in_time(signal, took, Duration::from_secs(1)).await;
            if let Some(port) = port {
                tokio::net::TcpListener::bind(port).await.unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_probe_leaves_the_port_alone() {
    let reserved = Port::reserve();
    let port = reserved.address();
    let mut bridge = bridge_on(&reserved);
    bridge
        .request("server/discover", stateless(json!({})))
        .await;
    // A probe is over within moments; nothing was bound by then.
    tokio::net::TcpListener::bind(port).await.unwrap();
    bridge.leave().await;
}

#[tokio::test]
async fn a_client_that_says_nothing_has_its_port_after_a_second() {
    let reserved = Port::reserve();
    let port = reserved.address();
    let bridge = bridge_on(&reserved);
    until("the port opens by itself", async || {
        tokio::net::TcpStream::connect(port).await
    })
    .await;
    bridge.leave().await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_client_may_use_a_socket_for_both_streams() {
    use std::io::{BufRead, BufReader, Write};

    // As programs of Node start their children on Unix.
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_mcp-bridge"))
        .env("MCP_BRIDGE_CONFIG_DIR", folder.path())
        .env("MCP_BRIDGE_STATE_DIR", folder.path())
        .env("CC_LINK_HOST", "127.0.0.1")
        .env("CC_LINK_PORT", "0")
        .stdin(std::os::fd::OwnedFd::from(theirs.try_clone().unwrap()))
        .stdout(std::os::fd::OwnedFd::from(theirs))
        .spawn()
        .unwrap();
    (&ours)
        .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n")
        .unwrap();
    let mut reply = String::new();
    BufReader::new(&ours).read_line(&mut reply).unwrap();
    assert_eq!(reply, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(child.wait().unwrap().success());
}

#[tokio::test]
async fn a_client_that_stops_reading_stops_being_read_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_mcp-bridge"))
        // What is still unread when it leaves is to be little.
        .args(["--tools", "exec-lua,get-job,list-computers"])
        .env("MCP_BRIDGE_CONFIG_DIR", folder.path())
        .env("MCP_BRIDGE_STATE_DIR", folder.path())
        .env("CC_LINK_HOST", "127.0.0.1")
        .env("CC_LINK_PORT", "0")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "slow", "version": "1"},
    }});
    stdin
        .write_all(format!("{hello}\n").as_bytes())
        .await
        .unwrap();
    // Ask for more than any bound in the process, until it no longer takes anything in.
    let mut asked: u64 = 0;
    let mut blocked = false;
    while asked < 200_000 && !blocked {
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{asked},\"method\":\"tools/list\"}}\n");
        // That it takes in nothing can only be waited for, and longer than a busy machine takes for one line.
        match tokio::time::timeout(Duration::from_secs(5), stdin.write_all(line.as_bytes())).await {
            Ok(written) => written.unwrap(),
            Err(_) => blocked = true,
        }
        asked += 1;
    }
    assert!(
        blocked,
        "it took in {asked} requests without an answer being read"
    );
    // The line that was cut off goes on where the client reads again; closing gives up on it.
    drop(stdin);
    let mut lines = tokio::io::BufReader::new(child.stdout.take().unwrap()).lines();
    let mut answered = std::collections::HashSet::new();
    while let Some(line) = soon("another answer", lines.next_line()).await.unwrap() {
        let reply: Value = serde_json::from_str(&line).unwrap();
        assert!(
            answered.insert(reply["id"].to_string()),
            "answered twice: {line}"
        );
    }
    assert!(
        answered.len() as u64 >= 1_000,
        "{} of {asked}",
        answered.len()
    );
}

#[tokio::test]
async fn an_id_is_free_again_as_soon_as_its_answer_was_read() {
    let mut bridge = Bridge::initialized().await;
    for _ in 0..2_000 {
        bridge
            .send(&json!({"jsonrpc": "2.0", "id": "again", "method": "ping"}))
            .await;
        let reply = bridge.reply(&json!("again")).await;
        assert!(reply["result"].is_object(), "{reply}");
    }
}
