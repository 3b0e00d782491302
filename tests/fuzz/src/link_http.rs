//! The link port: HTTP, the WebSocket upgrade and what comes after it, from a peer that sends any bytes.

use std::{net::SocketAddr, sync::Arc};

use mcp_bridge::{
    base::{http::listener, token::Token},
    commands::computers,
    computers::{reach::Reach, registry::Registry},
    link::{http, port},
    settings::LinkConfig,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, split},
    sync::watch,
};
use tokio_util::sync::CancellationToken;

use super::{pieces, websocket::frames_after_head};

/// The token of the port that has one.
const TOKEN: &str = "s3cret";

/// Answers the port may give. Nothing a peer sends is this side's fault: no 500.
const STATUSES: [&str; 10] = [
    "101", "200", "400", "403", "404", "405", "408", "414", "426", "431",
];

/// How a port is set up, and where its peer is.
struct Setting {
    /// Whether a token guards the port.
    token: bool,
    /// Whether the peer has a public address.
    public: bool,
}

/// Any bytes, in any pieces, are answered in HTTP or WebSocket frames or by a close, and leave no computer linked.
///
/// The first byte chooses the port's policy and the peer's address, the second the pieces.
pub fn check(data: &[u8]) {
    let [choice, seed, sent @ ..] = data else {
        return;
    };
    let setting = Setting {
        token: choice & 1 != 0,
        public: choice & 2 != 0,
    };
    let config = LinkConfig {
        host: "127.0.0.1".to_owned(),
        port: 0,
        token: setting.token.then(|| Token::new(TOKEN)),
        names: vec!["bridge.example.org".to_owned()],
    };
    let registry = Arc::new(Registry::default());
    let (_reach, follow) = watch::channel(Reach::Unknown);
    let peer = if setting.public {
        "8.8.8.8:9"
    } else {
        "10.0.0.8:9"
    };
    let routes = computers::routes(&config, registry.clone(), follow, None);
    // Time passes when nothing else is left to do, so no input takes long.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let answer = runtime.block_on(converse(routes, peer.parse().unwrap(), sent, *seed));
    assert_eq!(registry.linked(), 0, "a computer is still linked");
    check_answer(&answer, sent, &setting);
}

/// All that the port sends to a peer that sends this and then nothing more.
async fn converse(routes: http::Routes, peer: SocketAddr, sent: &[u8], seed: u8) -> Vec<u8> {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    tokio::spawn(listener::converse(
        theirs,
        peer,
        routes,
        port::BOUNDS,
        CancellationToken::new(),
    ));
    let (mut reader, mut writer) = split(ours);
    let write = async {
        for piece in pieces(sent, seed) {
            // A port that closed has said what it had to say.
            if writer.write_all(piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
        let _ = writer.shutdown().await;
    };
    let mut answer = Vec::new();
    let (_, read) = tokio::join!(write, reader.read_to_end(&mut answer));
    read.unwrap();
    answer
}

fn check_answer(answer: &[u8], sent: &[u8], setting: &Setting) {
    if answer.is_empty() {
        return;
    }
    let status = answer
        .strip_prefix(b"HTTP/1.1 ")
        .or(answer.strip_prefix(b"HTTP/1.0 "))
        .and_then(|rest| std::str::from_utf8(rest.get(..3)?).ok())
        .unwrap_or_else(|| panic!("no HTTP: {}", answer.escape_ascii()));
    assert!(STATUSES.contains(&status), "{status}");
    if status != "101" {
        return;
    }
    if !setting.token {
        assert!(!setting.public, "a public address was let in");
        assert!(!names_a_forwarder(sent), "a tunnel was let in");
    }
    frames_after_head(answer);
}

/// Whether the head of the first request holds a header that proxies and tunnels add.
fn names_a_forwarder(sent: &[u8]) -> bool {
    let lines = sent
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii_end);
    let head = lines
        .skip_while(|line| line.is_empty())
        .take_while(|line| !line.is_empty());
    head.map(<[u8]>::to_ascii_lowercase)
        .any(|line| line.starts_with(b"forwarded:") || line.starts_with(b"x-forwarded-for:"))
}
