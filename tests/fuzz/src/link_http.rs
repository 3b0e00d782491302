//! The link port: HTTP, the WebSocket upgrade and what comes after it, from a peer that sends any bytes.

use std::{net::SocketAddr, sync::Arc};

use mcp_bridge::{
    config::{LinkConfig, Token},
    link::{http, port, registry::Registry, session::Shared},
};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, split};

use super::pieces;

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
    let shared = Arc::new(Shared {
        registry: Registry::default(),
        token: config.token.clone(),
    });
    let peer = if setting.public {
        "8.8.8.8:9"
    } else {
        "10.0.0.8:9"
    };
    let routes = http::routes(&config, shared.clone(), None);
    // Time passes when nothing else is left to do, so no input takes long.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let answer = runtime.block_on(converse(routes, peer.parse().unwrap(), sent, *seed));
    assert_eq!(shared.registry.linked(), 0, "a computer is still linked");
    check_answer(&answer, sent, &setting);
}

/// All that the port sends to a peer that sends this and then nothing more.
async fn converse(routes: http::Routes, peer: SocketAddr, sent: &[u8], seed: u8) -> Vec<u8> {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    tokio::spawn(port::converse(theirs, peer, routes));
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
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    check_frames(&answer[end.expect("a head ends") + 4..]);
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

/// What follows the upgrade is whole, unfragmented, unmasked frames (RFC 6455, section 5.2), as the game needs them.
fn check_frames(mut rest: &[u8]) {
    const TEXT: u8 = 0x81;
    const CLOSE: u8 = 0x88;
    const PONG: u8 = 0x8A;
    while let [first, length, after @ ..] = rest {
        let (length, after) = match *length {
            126 => (
                usize::from(u16::from_be_bytes([after[0], after[1]])),
                &after[2..],
            ),
            short => (usize::from(short), after),
        };
        assert!(
            length < 127 || *first == TEXT,
            "masked, or a long control frame"
        );
        let (payload, after) = after.split_at(length);
        match *first {
            TEXT => {
                assert!(payload.is_ascii(), "{}", payload.escape_ascii());
                let frame: Value = serde_json::from_slice(payload).unwrap();
                assert!(frame["type"].is_string(), "{frame}");
            }
            CLOSE => {
                assert!(after.is_empty(), "something follows a close");
                let code = payload.first_chunk().map(|code| u16::from_be_bytes(*code));
                assert!(
                    code.is_none_or(|code| (1000..5000).contains(&code)),
                    "{code:?}"
                );
                assert!(payload.is_empty() || std::str::from_utf8(&payload[2..]).is_ok());
            }
            PONG => {}
            other => panic!("an unexpected frame: {other:#x}"),
        }
        rest = after;
    }
    assert!(rest.is_empty(), "half a frame");
}
