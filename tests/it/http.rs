//! `mcp-bridge serve` as a port: who may use it, what it takes, how it starts and ends.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use crate::common::{
    bridge::Bridge,
    computer::Computer,
    port::Port,
    served::{self, Served, exchange},
    soon,
};
use axum::{
    body::Body,
    http::{Method, Request},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tests","version":"1"}}}"#;

/// A request without anything but a Host.
fn bare(method: Method, path: &str, host: &str) -> axum::http::request::Builder {
    Request::builder()
        .method(method)
        .uri(path)
        .header("host", host)
}

/// The status of an `initialize` with these headers.
async fn status(address: SocketAddr, headers: &[(&str, &str)]) -> (u16, String) {
    let mut request = Request::builder()
        .method(Method::POST)
        .uri("/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = exchange(address, request.body(INITIALIZE.into()).unwrap()).await;
    (answer.status, answer.text().await)
}

#[tokio::test]
async fn a_web_page_of_another_site_gets_nothing() {
    let bridge = Served::start().await;
    let own = bridge.address.to_string();
    let port = bridge.address.port();
    for (host, origin) in [
        (own.as_str(), "https://evil.example"),
        (own.as_str(), "null"),
        ("evil.example", "http://evil.example"),
    ] {
        let (status, text) = status(bridge.address, &[("host", host), ("origin", origin)]).await;
        assert_eq!(status, 403, "{host} {origin}: {text}");
        assert!(text.starts_with("refused: "), "{text}");
    }
    // Rebinding: the name is the page's own, so there is no Origin.
    let rebound = format!("evil.example:{port}");
    for path in ["/mcp", "/health"] {
        let request = bare(Method::GET, path, &rebound).body(Body::empty());
        assert_eq!(exchange(bridge.address, request.unwrap()).await.status, 403);
    }
    let local = format!("http://localhost:{port}");
    for headers in [
        vec![("host", own.as_str())],
        vec![("host", own.as_str()), ("origin", local.as_str())],
        vec![("host", "localhost")],
    ] {
        assert_eq!(status(bridge.address, &headers).await.0, 200, "{headers:?}");
    }
}

#[tokio::test]
async fn a_tunnel_is_refused_without_a_token_and_served_with_one() {
    let bridge = Served::start().await;
    let tunnel = [("host", "localhost"), ("x-forwarded-for", "203.0.113.7")];
    let (refused, text) = status(bridge.address, &tunnel).await;
    assert_eq!(refused, 403);
    assert!(text.contains("MCP_TOKEN"), "{text}");

    let bridge = Served::start_with(|command| {
        command
            .env("MCP_TOKEN", "0123456789abcdef")
            .env("CC_LINK_NAMES", "bridge.example.org");
    })
    .await;
    let authorized = ("authorization", "Bearer 0123456789abcdef");
    let tunnel = [
        ("host", "bridge.example.org"),
        ("x-forwarded-for", "203.0.113.7"),
        authorized,
    ];
    assert_eq!(status(bridge.address, &tunnel).await.0, 200);
    let unknown = [("host", "evil.example"), authorized];
    assert_eq!(status(bridge.address, &unknown).await.0, 403);
}

#[tokio::test]
async fn where_a_token_is_set_nothing_goes_without_it() {
    let bridge = Served::start_with(|command| {
        command.args(["--mcp-token", "t0ken"]);
    })
    .await;
    let host = bridge.address.to_string();
    for shown in [None, Some("Bearer other"), Some("Basic t0ken")] {
        for method in [Method::POST, Method::GET, Method::DELETE] {
            let mut request = bare(method, "/mcp", &host)
                .header("accept", "application/json, text/event-stream")
                .header("content-type", "application/json");
            if let Some(shown) = shown {
                request = request.header("authorization", shown);
            }
            let answer = exchange(bridge.address, request.body(INITIALIZE.into()).unwrap()).await;
            assert_eq!(answer.status, 401, "{shown:?}");
            assert_eq!(answer.headers["www-authenticate"], "Bearer");
            let text = answer.text().await;
            assert!(
                text.contains("MCP_TOKEN") && !text.contains("t0ken"),
                "{text}"
            );
        }
    }
    let mut client = bridge.stateless();
    client.token = Some("t0ken".to_owned());
    let answer = client.call("probe-computers", json!({})).await;
    assert_eq!(answer.text, "No computers connected.");
    // For whoever watches over it.
    let health = bare(Method::GET, "/health", &host).body(Body::empty());
    assert_eq!(exchange(bridge.address, health.unwrap()).await.status, 200);
}

#[tokio::test]
async fn it_does_not_start_for_other_machines_without_a_token() {
    for host in ["0.0.0.0", "::", "192.0.2.1"] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = served::command(&folder);
        command.args(["--print-port", "--mcp-host", host]);
        let output = soon("it ends", command.output()).await.unwrap();
        assert_eq!(output.status.code(), Some(2), "{host}");
        assert!(output.stdout.is_empty());
        let problem = String::from_utf8(output.stderr).unwrap();
        for part in [host, "MCP_TOKEN", "MCP_HOST"] {
            assert!(problem.contains(part), "no {part}: {problem}");
        }
    }
}

#[tokio::test]
async fn a_port_that_is_taken_is_an_error_that_says_what_to_do() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let folder = tempfile::tempdir().unwrap();
    let mut command = served::command(&folder);
    command.args(["--print-port", "--mcp-port", &port]);
    let output = soon("it ends", command.output()).await.unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let problem = String::from_utf8(output.stderr).unwrap();
    let address = format!("127.0.0.1:{port}");
    for part in [address.as_str(), "MCP_PORT", "mcp-bridge serve"] {
        assert!(problem.contains(part), "no {part}: {problem}");
    }
}

#[tokio::test]
async fn a_wrong_setting_is_refused_by_the_name_of_its_source_and_a_token_is_not_shown() {
    for (variable, value) in [("MCP_PORT", "65536"), ("MCP_HOST", "two words")] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = served::command(&folder);
        let output = command.env(variable, value).output().await.unwrap();
        assert_eq!(output.status.code(), Some(2));
        let problem = String::from_utf8(output.stderr).unwrap();
        let named = format!("the environment variable {variable} is `{value}`");
        assert!(problem.contains(&named), "{problem}");
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = served::command(&folder);
    let output = command.env("MCP_TOKEN", "open sesame").output().await;
    let problem = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(
        problem.contains("MCP_TOKEN") && !problem.contains("sesame"),
        "{problem}"
    );
}

#[tokio::test]
async fn health_says_the_same_on_both_ports() {
    let bridge = Served::start().await;
    let link_port = bridge.link_port().await;
    let _computer = Computer::link_v2(link_port, 4).await;
    let mut told = Vec::new();
    for address in [bridge.address, link_port] {
        let request = bare(Method::GET, "/health", &address.to_string()).body(Body::empty());
        let answer = exchange(address, request.unwrap()).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.headers["content-type"], "application/json");
        told.push(serde_json::from_str::<Value>(&answer.text().await).unwrap());
    }
    assert_eq!(told[0], told[1]);
    assert_eq!(
        (&told[0]["ok"], &told[0]["computers"]),
        (&json!(true), &json!(1))
    );
}

#[tokio::test]
async fn a_bridge_that_a_client_starts_shares_the_computers_of_one_that_serves() {
    let serving = Served::start().await;
    let _computer = serving.computer(12).await;
    let link_port = serving.link_port().await;
    let state = serving.folder.path().join("state");
    let mut started = Bridge::start_with(|command| {
        command
            .env("CC_LINK_PORT", link_port.port().to_string())
            .env("MCP_BRIDGE_STATE_DIR", state);
    });
    started.initialize("2025-11-25").await;
    started.linked(12).await;
    assert_eq!(started.lua(12, "return 6 * 7").await, "=> 42");
    assert_eq!(crate::common::health(serving.address).await["bridges"], 2);
    started.leave().await;
    // It goes, and the computers stay.
    assert_eq!(
        serving.stateless().lua(12, "return 'here'").await,
        "=> \"here\""
    );
}

#[tokio::test]
async fn what_there_is_not_is_said_to_be_not_there() {
    let bridge = Served::start().await;
    let host = bridge.address.to_string();
    for (method, path, expected) in [
        (Method::GET, "/", 404),
        (Method::GET, "/.well-known/oauth-protected-resource", 404),
        (Method::POST, "/mcp//", 404),
        (Method::PUT, "/mcp", 405),
        (Method::POST, "/health", 405),
        // Who does not say what it takes takes anything, and has no session.
        (Method::GET, "/mcp", 400),
    ] {
        let request = bare(method.clone(), path, &host).body(Body::empty());
        let answer = exchange(bridge.address, request.unwrap()).await;
        assert_eq!(answer.status, expected, "{method} {path}");
    }
}

#[tokio::test]
async fn what_can_not_be_read_is_answered_under_its_id() {
    let bridge = Served::start().await;
    let client = bridge.stateless();
    for (body, id, code) in [
        (r#"{"jsonrpc":"2.0","id":7,"method":"#, json!(7), -32_700),
        (
            r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#,
            json!("a"),
            -32_600,
        ),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            Value::Null,
            -32_600,
        ),
    ] {
        let request = client.http(Method::POST).body(body.into()).unwrap();
        let mut answer = client.exchange(request).await;
        assert_eq!(answer.status, 400, "{body}");
        let reply = answer.message().await.unwrap();
        assert_eq!(reply["error"]["code"], code, "{reply}");
        assert_eq!(reply["id"], id, "{reply}");
    }
    let empty = client.http(Method::POST).body(Body::empty()).unwrap();
    assert_eq!(client.exchange(empty).await.status, 400);
}

#[tokio::test]
async fn a_message_that_is_too_large_is_answered_under_its_id_and_hurts_nobody() {
    let bridge = Served::start().await;
    let client = bridge.stateless();
    let code = "-".repeat(33 * 1024 * 1024);
    let message = json!({
        "jsonrpc": "2.0", "id": 99, "method": "tools/call",
        "params": {"name": "exec-lua", "arguments": {"code": code}},
    });
    let mut answer = client.send(&message).await;
    assert_eq!(answer.status, 413);
    let reply = answer.message().await.unwrap();
    assert_eq!(reply["id"], 99);
    let problem = reply["error"]["message"].as_str().unwrap();
    assert!(problem.contains("33554432 bytes"), "{problem}");

    // One that asks first sends nothing.
    let mut stream = TcpStream::connect(bridge.address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 99999999\r\n\
         expect: 100-continue\r\nconnection: close\r\n\r\n",
        bridge.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    soon("the answer", stream.read_to_string(&mut answer))
        .await
        .unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");

    let mut other = bridge.client("2025-11-25").await;
    let listed = other.call("probe-computers", json!({})).await;
    assert_eq!(listed.text, "No computers connected.");
}

/// What it says where there is no terminal, when computers link to this port.
fn says(bridge: &Served, link_port: SocketAddr) -> String {
    let (version, address) = (env!("CARGO_PKG_VERSION"), bridge.address);
    format!(
        "mcp-bridge {version} serves MCP at http://{address}/mcp\nComputers link to {link_port}.\n"
    )
}

#[tokio::test]
async fn without_a_terminal_it_says_where_it_serves_and_where_computers_link() {
    let mut bridge = Served::start().await;
    let link_port = bridge.link_port().await;
    bridge.said("Computers link to ").await;
    bridge.child.start_kill().unwrap();
    bridge.ended().await;
    let said = bridge.stderr().await;
    assert_eq!(said, says(&bridge, link_port));
}

#[tokio::test]
async fn it_says_what_keeps_computers_from_linking_and_when_they_can() {
    let port = Port::reserve();
    let stranger = tokio::net::TcpListener::bind(port.address()).await.unwrap();
    let (leave, mut left) = tokio::sync::oneshot::channel::<()>();
    let answering = tokio::spawn(async move {
        loop {
            let (mut stream, _) = tokio::select! {
                accepted = stranger.accept() => accepted.unwrap(),
                _ = &mut left => return,
            };
            let _ = stream.read(&mut [0; 1024]).await;
            let answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
            let _ = stream.write_all(answer).await;
        }
    });
    let mut bridge = Served::start_with(|command| {
        command.env("CC_LINK_PORT", port.number().to_string());
    })
    .await;
    bridge.said("No computer can be reached").await;
    leave.send(()).unwrap();
    answering.await.unwrap();
    let address = port.address();
    bridge
        .said(&format!("Computers link to {address}.\n"))
        .await;
    bridge.child.start_kill().unwrap();
    bridge.ended().await;
    let said = bridge.stderr().await;
    let blocked = format!(
        "/mcp\nNo computer can be reached over the link port {address}: another program, no mcp-bridge, listens there. "
    );
    assert!(
        said.contains(&blocked) && said.ends_with(&format!(".\nComputers link to {address}.\n")),
        "{said}"
    );
}

#[cfg(unix)]
async fn signal(bridge: &Served, name: &str) {
    let pid = bridge.child.id().unwrap().to_string();
    let status = tokio::process::Command::new("kill")
        .args(["-s", name, &pid])
        .status()
        .await
        .unwrap();
    assert!(status.success());
}

/// A client whose stream for messages of the server's own is open.
#[cfg(unix)]
async fn listener(bridge: &Served) -> (served::Client, served::Answer) {
    let client = bridge.client("2025-11-25").await;
    let request = client.http(Method::GET).body(Body::empty()).unwrap();
    let stream = client.exchange(request).await;
    assert_eq!(stream.status, 200);
    (client, stream)
}

#[tokio::test]
#[cfg(unix)]
async fn signals_end_it_at_once_whatever_is_under_way() {
    use crate::common::pace::in_time;
    use std::time::{Duration, Instant};

    for name in ["INT", "TERM", "HUP"] {
        let mut bridge = Served::start().await;
        let link_port = bridge.link_port().await;
        bridge.said("Computers link to ").await;
        let mut computer = Computer::link_v2(link_port, 4).await;
        let (_client, mut stream) = listener(&bridge).await;
        let mut caller = bridge.client("2025-11-25").await;
        let call = json!({"name": "exec-lua", "arguments": {"code": "forever()"}});
        let (_, mut answer) = caller.ask("tools/call", call).await;
        computer.request().await;
        let mut stateless = bridge.stateless();
        let call = json!({"name": "exec-lua", "arguments": {"code": "forever()"}});
        let waiting = tokio::spawn(async move {
            let (id, mut answer) = stateless.ask("tools/call", call).await;
            (answer.status, answer.reply(id).await.to_string())
        });
        computer.request().await;

        let start = Instant::now();
        signal(&bridge, name).await;
        let status = bridge.ended().await;
        assert!(status.success(), "{name}: {status}");
        let took = start.elapsed();
        in_time(name, took, Duration::from_secs(2)).await;
        while stream.event().await.is_some() {}
        while answer.event().await.is_some() {}
        let (status, reply) = waiting.await.unwrap();
        assert!(
            status == 200 && reply.contains("mcp-bridge was asked to end"),
            "{status}: {reply}"
        );
        assert!(
            TcpStream::connect(bridge.address).await.is_err(),
            "the port is still open"
        );
        let said = bridge.stderr().await;
        assert_eq!(said, says(&bridge, link_port));
    }
}

#[tokio::test]
#[cfg(unix)]
async fn without_streams_it_leaves_in_under_a_second() {
    use crate::common::pace::in_time;
    use std::time::{Duration, Instant};

    let mut bridge = Served::start().await;
    bridge.client("2025-11-25").await;
    let start = Instant::now();
    signal(&bridge, "TERM").await;
    assert!(bridge.ended().await.success());
    let took = start.elapsed();
    in_time("to leave", took, Duration::from_secs(1)).await;
}
