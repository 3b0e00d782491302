//! What anybody can do to a bridge without a token, or with a wrong one, and what it keeps for those who have the right one.

use std::time::{Duration, Instant};

use axum::{
    body::Body,
    http::{Method, Request},
};
use futures_util::future::join_all;
use mcp_bridge::base::logging;
use serde_json::json;
use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::common::{
    bridge::Bridge,
    computer::Computer,
    http, is,
    served::{self, Client, Served, exchange},
    soon, until,
};

/// More than the MCP port takes at once.
const CROWD: usize = 1_060;

/// How late a wrong token is answered, at least.
const LATE: Duration = Duration::from_secs(1);

/// Lets this process hold a crowd's connections.
#[cfg(unix)]
fn hold_many_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.unwrap_or(8_192).min(8_192);
    if limit.current.is_some_and(|current| current < wanted) {
        let current = Some(wanted);
        setrlimit(Resource::Nofile, Rlimit { current, ..limit }).unwrap();
    }
}

#[cfg(not(unix))]
fn hold_many_files() {}

#[tokio::test]
async fn connections_that_ask_nothing_keep_nobody_out() {
    hold_many_files();
    let bridge = Served::start().await;
    // In use: it waits for what the bridge may have to say.
    let live = bridge.client("2025-11-25").await;
    let listen = live.http(Method::GET).body(Body::empty()).unwrap();
    let mut listening = live.exchange(listen).await;
    assert_eq!(listening.status, 200);
    let mut crowd = Vec::new();
    for number in 0..CROWD {
        let mut stream = TcpStream::connect(bridge.address).await.unwrap();
        // Half of them say nothing at all, the others half of what they have to say.
        if number % 2 == 0 {
            let half = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-le";
            stream.write_all(half).await.unwrap();
        }
        crowd.push(stream);
    }
    let mut another = bridge.client("2025-11-25").await;
    let answer = another.call("list-computers", json!({})).await;
    assert!(!answer.is_error, "{answer:?}");
    // The one in use is told of what changes.
    let _computer = Computer::link_v2(bridge.link_port().await, 4).await;
    let mut live = live;
    let answer = live.call("list-computers", json!({})).await;
    assert!(answer.text.contains('4'), "{answer:?}");
    let ended = tokio::time::timeout(Duration::ZERO, listening.event()).await;
    assert!(!matches!(ended, Ok(None)), "the live stream was dropped");
    drop(crowd);
}

#[tokio::test]
async fn sessions_that_nobody_uses_keep_nobody_out() {
    let bridge = Served::start().await;
    let mut live = bridge.client("2025-11-25").await;
    let listen = live.http(Method::GET).body(Body::empty()).unwrap();
    let _listening = live.exchange(listen).await;
    let mut first = None;
    for _ in 0..CROWD / 20 {
        let clients = join_all((0..20).map(|_| bridge.client("2025-11-25"))).await;
        first = first.or(clients.into_iter().next());
    }
    let mut another = bridge.client("2025-11-25").await;
    assert!(!another.call("list-computers", json!({})).await.is_error);
    assert!(!live.call("list-computers", json!({})).await.is_error);
    // One that only was begun made way, and its client is told to begin anew.
    let first = first.unwrap();
    let ping = json!({"jsonrpc": "2.0", "id": 9, "method": "ping"});
    assert_eq!(first.send(&ping).await.status, 404);
}

#[tokio::test]
async fn strangers_can_not_fill_the_log() {
    let bridge = Served::start().await;
    let link_port = bridge.link_port().await;
    let long = format!("{}.example", "x".repeat(8_000));
    for _ in 0..30 {
        join_all((0..40).map(async |_| {
            let request = Request::get("/mcp").header("host", &long);
            let answer = exchange(bridge.address, request.body(Body::empty()).unwrap()).await;
            assert_eq!(answer.status, 403);
            let page = "GET /health HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://a.example";
            assert!(http(link_port, page).await.starts_with("HTTP/1.1 403"));
        }))
        .await;
    }
    let state = bridge.folder.path().join("state");
    // Whatever is logged next tells how many were left out.
    let _computer = Computer::link_v2(link_port, 4).await;
    let log = until("the log tells of them", async || {
        let file = logging::newest_file(&state).unwrap();
        let log = std::fs::read_to_string(file).unwrap();
        is(
            log.matches("and 1,000 more like it").count() == 2,
            log.len(),
        )
        .map(|()| log)
    })
    .await;
    assert!(log.len() < 1_200_000, "{} bytes", log.len());
    assert!(log.contains("bytes more)"), "lines are cut");
}

#[tokio::test]
async fn a_wrong_token_is_answered_late_and_the_right_one_at_once_from_wherever() {
    const TOKEN: &str = "a token of seventeen";
    let bridge = Served::start_with(|command| {
        command
            .env("MCP_TOKEN", TOKEN.replace(' ', "-"))
            .env("CC_LINK_TOKEN", TOKEN);
    })
    .await;
    let mut stateless = bridge.stateless();
    stateless.token = Some(TOKEN.replace(' ', "-"));
    let link_port = stateless.link_port().await;
    let mut right = Client::new(bridge.address, "2025-11-25");
    right.token = stateless.token;
    let hello = |token: &str| json!({"type": "hello", "computerId": 1, "token": token});

    let wrong_agents = join_all((0..40).map(async |_| {
        let mut computer = Computer::connect(link_port).await;
        let begun = Instant::now();
        let answer = computer.hello(hello("wrong")).await;
        assert_eq!(answer["type"], "hello-error", "{answer}");
        begun.elapsed()
    }));
    let wrong_clients = join_all((0..40).map(async |_| {
        let mut wrong = Client::new(bridge.address, "2025-11-25");
        wrong.token = Some("wrong".to_owned());
        let begun = Instant::now();
        let answer = wrong.ask("initialize", json!({})).await.1;
        assert_eq!(answer.status, 401);
        begun.elapsed()
    }));
    let right_ones = async {
        let mut computer = Computer::connect(link_port).await;
        let begun = Instant::now();
        let answer = computer.hello(hello(TOKEN)).await;
        assert_eq!(answer["type"], "hello-ok");
        right.initialize().await;
        (begun.elapsed(), computer)
    };
    let (agents, clients, (right, _computer)) =
        tokio::join!(wrong_agents, wrong_clients, right_ones);
    for late in agents.into_iter().chain(clients) {
        assert!(
            late >= LATE && late > right,
            "{late:?}, the right one {right:?}"
        );
    }
    // No token yet is no wrong one: clients ask so, to learn that there is one.
    let nothing = Client::new(bridge.address, "2025-11-25");
    let begun = Instant::now();
    let listen = nothing.http(Method::GET).body(Body::empty()).unwrap();
    assert_eq!(nothing.exchange(listen).await.status, 401);
    assert!(begun.elapsed() < LATE, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_token_that_can_be_guessed_does_not_open_a_port_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = served::command(&folder);
    command
        .args(["--print-port", "--mcp-host", "0.0.0.0"])
        .env("MCP_TOKEN", "fifteen-letters");
    let output = soon("it ends", command.output()).await.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let problem = String::from_utf8(output.stderr).unwrap();
    assert!(
        problem.contains(
            "other machines can reach 0.0.0.0:0, and the token has fewer than 16 characters, so that it could be \
             guessed: set MCP_TOKEN (or --mcp-token) to a random text of 16 characters or more and give it to the \
             clients, or set MCP_HOST (or --mcp-host) to 127.0.0.1"
        ) && !problem.contains("fifteen-letters"),
        "{problem}"
    );
    // One character more, and it is.
    let _bridge = Served::start_with(|command| {
        command
            .args(["--mcp-host", "0.0.0.0"])
            .env("MCP_TOKEN", "sixteen-letters-");
    })
    .await;

    let mut bridge = Bridge::start_with(|command| {
        command.env("CC_LINK_TOKEN", "s3cret");
    });
    bridge.initialize("2025-11-25").await;
    let port = bridge.link_port().await;
    let tunnel =
        "GET / HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 203.0.113.9\r\nUpgrade: websocket";
    let refused = http(port, tunnel).await;
    assert!(
        refused.starts_with("HTTP/1.1 403")
            && refused.contains(
                "set CC_LINK_TOKEN on the bridge's side to a random text of 16 characters or more"
            ),
        "{refused}"
    );
    let mut near = Computer::connect(port).await;
    let hello = json!({"type": "hello", "computerId": 1, "token": "s3cret"});
    assert_eq!(near.hello(hello).await["type"], "hello-ok");
    let log = logging::newest_file(&bridge.folder.path().join("state")).unwrap();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(
        log.contains("the link token has fewer than 16 characters"),
        "{log}"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn the_link_ports_health_is_not_for_pages_whose_name_was_pointed_here() {
    let mut bridge = Bridge::start_with(|command| {
        command.env("CC_LINK_NAMES", "bridge.example.org");
    });
    bridge.initialize("2025-11-25").await;
    let port = bridge.link_port().await;
    let ask = async |method: &str, host: &str| {
        http(port, &format!("{method} /health HTTP/1.1\r\nHost: {host}")).await
    };
    for method in ["GET", "HEAD"] {
        for host in [
            "evil.example",
            "evil.example:3001",
            "127.0.0.1.evil.example",
        ] {
            let answer = ask(method, host).await;
            assert!(
                answer.starts_with("HTTP/1.1 403"),
                "{method} {host}: {answer}"
            );
        }
        for host in [
            "localhost",
            "127.0.0.1:3001",
            "[::1]",
            "gaming-pc",
            "bridge.example.org",
        ] {
            let answer = ask(method, host).await;
            assert!(
                answer.starts_with("HTTP/1.1 200"),
                "{method} {host}: {answer}"
            );
        }
    }
    let refused = ask("GET", "evil.example").await;
    assert!(
        refused.contains("Host is `evil.example`, a name this bridge doesn't know.")
            && refused.contains("add it to CC_LINK_NAMES"),
        "{refused}"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn what_nobody_can_see_in_a_label_is_shown_escaped() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let label = "farm\u{E0049}\u{E0067}\u{200B}\u{202E}";
    let _computer = Computer::link(port, 7, Some(label)).await;
    let answer = bridge.call("list-computers", json!({})).await;
    let (listed, told) = (answer.text, answer.structured.unwrap_or_default());
    assert!(
        listed.contains("farm\\u{e0049}\\u{e0067}\\u{200b}\\u{202e}"),
        "{listed}"
    );
    let unseen = |c: char| ('\u{E0000}'..='\u{E0FFF}').contains(&c) || c == '\u{200B}';
    assert!(!listed.contains(unseen), "{listed}");
    let told = told.to_string();
    assert!(told.contains("farm") && !told.contains(unseen), "{told}");
    let pinged = bridge
        .call("probe-computers", json!({"computerId": 99}))
        .await
        .text;
    assert!(!pinged.contains(unseen), "{pinged}");
    bridge.leave().await;
}
