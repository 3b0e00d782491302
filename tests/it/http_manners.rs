//! How `mcp-bridge serve` behaves towards HTTP clients that say little, ask first, or keep their connection.

use crate::common::served::{Served, exchange};
use axum::{
    body::Body,
    http::{Method, Request},
};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"tests","version":"1"}}}"#;

fn request(method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> Request<Body> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body.to_owned().into()).unwrap()
}

#[tokio::test]
async fn who_takes_anything_or_does_not_say_is_answered_and_a_slash_more_does_not_matter() {
    let bridge = Served::start().await;
    let host = bridge.address.to_string();
    for (accept, path, status) in [
        (Some("application/json, text/event-stream"), "/mcp/", 200),
        (Some("*/*"), "/mcp", 200),
        (Some("text/html, */*;q=0.1"), "/mcp/", 200),
        (None, "/mcp", 200),
        (Some("*/*;q=0"), "/mcp", 406),
        (Some("text/html"), "/mcp", 406),
        (None, "/mcp//", 404),
        (None, "/mcp/x", 404),
        (None, "/", 404),
    ] {
        let mut headers = vec![("host", host.as_str())];
        headers.extend(accept.map(|accept| ("accept", accept)));
        let answer = exchange(
            bridge.address,
            request(Method::POST, path, &headers, INITIALIZE),
        )
        .await;
        assert_eq!(answer.status, status, "{accept:?} at {path}");
    }
    let mut client = bridge.client("2025-11-25").await;
    client.request("ping", json!({})).await;
    let session = client.session.clone().unwrap();
    let headers = [
        ("host", host.as_str()),
        ("accept", "*/*"),
        ("mcp-session-id", &session),
    ];
    let stream = exchange(bridge.address, request(Method::GET, "/mcp/", &headers, "")).await;
    assert_eq!(stream.status, 200);
    assert_eq!(stream.headers["content-type"], "text/event-stream");
    let health = exchange(
        bridge.address,
        request(Method::GET, "/health/", &headers, ""),
    )
    .await;
    assert_eq!(health.status, 200);
}

#[tokio::test]
async fn options_says_what_can_be_done_and_pages_that_are_admitted_may_read_the_answers() {
    let bridge = Served::start_with(|command| {
        command.args(["--mcp-token", "t0ken-t0ken-t0ken"]);
    })
    .await;
    let host = bridge.address.to_string();
    let page = "http://localhost:6274";
    for (path, allowed) in [
        ("/mcp", "GET, POST, DELETE, OPTIONS"),
        ("/health", "GET, HEAD, OPTIONS"),
    ] {
        // Nobody has a token yet who asks so.
        let plain = [("host", host.as_str())];
        let answer = exchange(bridge.address, request(Method::OPTIONS, path, &plain, "")).await;
        assert_eq!(
            (answer.status, &answer.headers["allow"]),
            (204, &allowed.parse().unwrap())
        );
        assert!(!answer.headers.contains_key("access-control-allow-origin"));
        let asked = "authorization, content-type, mcp-protocol-version";
        let first = [
            ("host", host.as_str()),
            ("origin", page),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", asked),
        ];
        let answer = exchange(bridge.address, request(Method::OPTIONS, path, &first, "")).await;
        let said = |name: &str| answer.headers[name].to_str().unwrap();
        assert_eq!(answer.status, 204);
        assert_eq!(said("access-control-allow-origin"), page);
        assert_eq!(said("access-control-allow-methods"), allowed);
        assert_eq!(said("access-control-allow-headers"), asked);
        assert_eq!(said("vary"), "origin");
        let foreign = [
            ("host", host.as_str()),
            ("origin", "http://evil.example"),
            first[2],
            first[3],
        ];
        let answer = exchange(bridge.address, request(Method::OPTIONS, path, &foreign, "")).await;
        assert_eq!(answer.status, 403);
        assert!(
            answer
                .headers
                .keys()
                .all(|name| !name.as_str().starts_with("access-control"))
        );
        let other = exchange(bridge.address, request(Method::PUT, path, &plain, "")).await;
        assert_eq!(
            (other.status, &other.headers["allow"]),
            (405, &allowed.parse().unwrap())
        );
    }
    for (token, status) in [("Bearer t0ken-t0ken-t0ken", 200), ("Bearer wrong", 401)] {
        let headers = [
            ("host", host.as_str()),
            ("origin", page),
            ("authorization", token),
        ];
        let answer = exchange(
            bridge.address,
            request(Method::POST, "/mcp", &headers, INITIALIZE),
        )
        .await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.headers["access-control-allow-origin"], page);
        let shown = answer.headers["access-control-expose-headers"]
            .to_str()
            .unwrap();
        assert!(shown.contains("mcp-session-id"), "{shown}");
    }
}

/// One connection that a client keeps.
struct Kept(BufReader<TcpStream>);

impl Kept {
    async fn to(bridge: &Served) -> Self {
        Self(BufReader::new(
            TcpStream::connect(bridge.address).await.unwrap(),
        ))
    }

    /// Sends a request with this body, and reads the whole answer: its status, and whether it is the last one here.
    async fn post(&mut self, host: &str, path: &str, token: &str, body: &str) -> (u16, bool) {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let stream = self.0.get_mut();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body.as_bytes()).await.unwrap();
        self.answer().await
    }

    async fn answer(&mut self) -> (u16, bool) {
        let (mut status, mut length, mut closes) = (0, 0, false);
        loop {
            let mut line = String::new();
            assert_ne!(
                self.0.read_line(&mut line).await.unwrap(),
                0,
                "it was closed"
            );
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                status = rest[..3].parse().unwrap();
            } else if let Some(rest) = line.strip_prefix("content-length: ") {
                length = rest.parse().unwrap();
            } else if line == "connection: close" {
                closes = true;
            } else if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.unwrap();
        (status, closes)
    }
}

#[tokio::test]
async fn a_client_that_keeps_its_connection_can_go_on_after_a_refusal() {
    const TOKEN: &str = "t0ken-t0ken-t0ken";
    let bridge = Served::start_with(|command| {
        command.args(["--mcp-token", TOKEN]);
    })
    .await;
    let host = bridge.address.to_string();
    let mut kept = Kept::to(&bridge).await;
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#,
        "x".repeat(3_000_000)
    );
    let empty = "{}";
    for (host, path, token, body, status) in [
        (host.as_str(), "/mcp", "wrong", INITIALIZE, 401),
        (host.as_str(), "/mcp", "wrong", &long, 401),
        ("evil.example", "/mcp", TOKEN, &long, 403),
        (host.as_str(), "/nowhere", TOKEN, &long, 404),
        (host.as_str(), "/health", TOKEN, &long, 405),
        (host.as_str(), "/mcp", TOKEN, empty, 400),
    ] {
        assert_eq!(
            kept.post(host, path, token, body).await,
            (status, false),
            "{path} {token}"
        );
    }
    // What is not read is the end of the connection, and the client is told so.
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {host}\r\nexpect: 100-continue\r\ncontent-length: 100\r\n\r\n"
    );
    kept.0.get_mut().write_all(head.as_bytes()).await.unwrap();
    assert_eq!(kept.answer().await, (401, true));
    assert_eq!(kept.0.read(&mut [0; 8]).await.unwrap(), 0);
}
