//! What is heavy: JSON of very many values, from clients and from servers. It is counted before it is read, so that nobody
//! else waits for it; what is refused is answered under its id.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use axum::{body::Body, http::Method};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::common::{
    bridge::Bridge,
    health,
    served::Served,
    servers::{Place, http_server, listed, server, status},
};

/// So many values make a program that builds them stand still for seconds, and take a gigabyte.
const VERY_MANY: usize = 4_000_000;

/// What nobody waits longer for, also where everything is slow.
const LONGEST: Duration = Duration::from_secs(3);

/// The JSON of a list of so many numbers.
fn numbers(count: usize) -> String {
    format!("[{}0]", "1,".repeat(count - 1))
}

/// What comes of `during`, in which nobody waits long for an answer of this port.
async fn unnoticed<T>(port: SocketAddr, during: impl Future<Output = T>) -> T {
    let (done, mut ended) = oneshot::channel::<()>();
    let asking = tokio::spawn(async move {
        let mut longest = Duration::ZERO;
        while ended
            .try_recv()
            .is_err_and(|error| error == oneshot::error::TryRecvError::Empty)
        {
            let begun = Instant::now();
            health(port).await;
            longest = longest.max(begun.elapsed());
        }
        longest
    });
    let came = during.await;
    drop(done);
    let longest = asking.await.unwrap();
    assert!(longest < LONGEST, "{longest:?}");
    came
}

fn problem(reply: &Value) -> &str {
    reply["error"]["message"]
        .as_str()
        .unwrap_or_else(|| panic!("{reply}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clients_line_of_very_many_values_is_answered_and_nobody_else_waits_for_it() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let many = numbers(VERY_MANY);
    let lines = [
        format!(
            r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{{"name":"exec-lua","arguments":{{"code":{many}}}}}}}"#
        ),
        // The official SDK for TypeScript writes the id last.
        format!(
            r#"{{"method":"nothing/known","params":{{"id":1,"a":{many}}},"jsonrpc":"2.0","id":"b"}}"#
        ),
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"a":{many}}}}}"#),
    ];
    unnoticed(port, async {
        for line in &lines {
            bridge.send_line(line.as_bytes()).await;
        }
        for id in ["a", "b"] {
            let reply = bridge.reply(&json!(id)).await;
            assert!(
                problem(&reply).contains("more than 100000 JSON values"),
                "{reply}"
            );
        }
        // They come in their order, and what follows is read.
        let pong = bridge.request("ping", json!({})).await;
        assert_eq!(pong["result"], json!({}));
    })
    .await;
    bridge.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_very_many_values_is_answered_and_nobody_else_waits_for_it() {
    let bridge = Served::start().await;
    let port = bridge.link_port().await;
    let client = bridge.client("2025-11-25").await;
    let of_no_session = bridge.stateless();
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"name":"x","arguments":{{"a":{}}}}}}}"#,
        numbers(VERY_MANY)
    );
    unnoticed(port, async {
        for client in [&client, &of_no_session] {
            let request = client
                .http(Method::POST)
                .body(Body::from(body.clone()))
                .unwrap();
            let mut answer = client.exchange(request).await;
            assert_eq!(answer.status, 400);
            let reply = answer.message().await.unwrap();
            assert_eq!(reply["id"], 5);
            assert!(
                problem(&reply).contains("more than 100000 JSON values"),
                "{reply}"
            );
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_body_of_no_session_is_not_read_at_all() {
    let bridge = Served::start().await;
    let mut client = bridge.client("2025-11-25").await;
    let message = json!({
        "jsonrpc": "2.0", "id": 6, "method": "tools/call",
        "params": {"name": "list-computers", "arguments": {"x": "-".repeat(2_000_000)}},
    });
    let post = |session: Option<&str>| {
        let mut request = client.http(Method::POST);
        let headers = request.headers_mut().unwrap();
        headers.remove("mcp-session-id");
        if let Some(session) = session {
            headers.insert("mcp-session-id", session.parse().unwrap());
        }
        request.body(Body::from(message.to_string())).unwrap()
    };
    let mut none = client.exchange(post(None)).await;
    assert_eq!(none.status, 400);
    let reply = none.message().await.unwrap();
    assert_eq!(reply["id"], 6);
    assert!(
        problem(&reply).contains("of no session: send `initialize` first"),
        "{reply}"
    );
    assert_eq!(client.exchange(post(Some("nobody's"))).await.status, 404);
    // In its session it is read.
    let read = client
        .call("list-computers", json!({"x": "-".repeat(2_000_000)}))
        .await;
    assert!(read.is_error && read.text.contains('x'), "{}", read.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_says_of_very_many_values_is_not_read_and_nobody_waits_for_it() {
    let place = Place::with_servers(json!({"heavy": server("heavy")}));
    let mut bridge = place.session().await;
    let port = bridge.link_port().await;
    listed(&mut bridge, "heavy__values").await;
    unnoticed(port, async {
        let params = json!({"name": "heavy__values", "arguments": {"count": VERY_MANY}});
        let many = bridge.request("tools/call", params).await;
        assert!(
            problem(&many).contains("more than 200000 JSON values"),
            "{many}"
        );
        // What nobody asked for.
        let told = bridge
            .call("heavy__tells", json!({"count": VERY_MANY}))
            .await;
        assert_eq!(told.text, "told");
    })
    .await;
    let some = bridge
        .call("heavy__values", json!({"count": 100_000}))
        .await;
    assert!(!some.is_error, "{}", some.text);
    // A long text is one value.
    let text = bridge.call("heavy__big", json!({"bytes": 3_000_000})).await;
    assert!(!text.is_error, "{}", text.text);
    bridge.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_server_over_http_answers_of_very_many_values_is_not_read_and_nobody_waits_for_it() {
    let place = Place::new();
    let (_server, at) = http_server("heavy", &place.path("")).await;
    let entry = json!({"url": format!("http://127.0.0.1:{at}/mcp")});
    place.write("config/mcp.json", &json!({"mcpServers": {"heavy": entry}}));
    let mut bridge = place.session().await;
    let port = bridge.link_port().await;
    listed(&mut bridge, "heavy__note").await;
    let params = json!({"name": "heavy__note", "arguments": {"text": VERY_MANY.to_string()}});
    unnoticed(port, async {
        let many = bridge.request("tools/call", params).await;
        assert!(
            problem(&many).contains("more than 200000 JSON values"),
            "{many}"
        );
    })
    .await;
    let some = bridge.call("heavy__note", json!({"text": "100000"})).await;
    assert!(!some.is_error, "{}", some.text);
    bridge.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_would_take_long_to_judge_is_withheld_and_nobody_waits_for_it() {
    let place = Place::new();
    let strange: serde_json::Map<_, _> = (0x4e00..0x4e00 + 4_000)
        .map(|c| (char::from_u32(c).unwrap().to_string(), json!({})))
        .collect();
    let required: Vec<_> = (0..60_000).map(|at| format!("k{at}")).collect();
    let nested = (0..15).fold(
        json!({}),
        |inner, _| json!({"type": ["array", "null"], "items": inner}),
    );
    place.write(
        "tools.json",
        &json!([
            {"name": "strange", "inputSchema": {"type": "object", "properties": strange}},
            {"name": "required", "inputSchema": {"type": "object", "required": required}},
            {"name": "nested", "inputSchema": {"type": "object", "properties": {"a": nested}}},
        ]),
    );
    let mut given = server("given");
    given["env"]["TOOLS"] = json!(place.path("tools.json"));
    place.write("config/mcp.json", &json!({"mcpServers": {"given": given}}));
    let mut bridge = place.session().await;
    let port = bridge.link_port().await;
    unnoticed(port, async {
        listed(&mut bridge, "given__nested").await;
    })
    .await;
    let state = status(&mut bridge, |state| state.contains("connected")).await;
    for withheld in ["strange", "required"] {
        assert!(state.contains(withheld), "{state}");
    }
    assert!(state.contains("65536 are passed on at most"), "{state}");
    bridge.leave().await;
}
