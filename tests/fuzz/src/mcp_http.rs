//! The MCP port: HTTP and the protocol over it, from a client that sends any bytes.

use std::time::Duration;

use mcp_bridge::{
    base::{http::listener, token::Token},
    mcp::http::{self, admission::HttpAdmission, routes::Routes},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, split},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{bridge, pieces};

/// The token of the port that has one.
const TOKEN: &str = "s3cret";

/// Answers the port may give. Nothing a client sends is this side's fault: no 500.
const STATUSES: [&str; 14] = [
    "200", "202", "204", "400", "401", "403", "404", "405", "406", "408", "413", "414", "415",
    "431",
];

/// Any bytes, in any pieces, are answered in HTTP or by a close; nothing is done for who shows no token where one is
/// wanted, or calls the port by a name that it hasn't.
///
/// The first byte chooses whether a token is wanted, the second the pieces.
pub fn check(data: &[u8]) {
    let [choice, seed, sent @ ..] = data else {
        return;
    };
    let token = choice & 1 != 0;
    // Time passes when nothing else is left to do, so no input takes long.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let answer = runtime.block_on(converse(sent, *seed, token));
    check_answer(&answer, sent, token);
}

/// All that the port sends to a client that sends this and then nothing more.
async fn converse(sent: &[u8], seed: u8, token: bool) -> Vec<u8> {
    let (fleet, server) = bridge::start();
    let admission = HttpAdmission::new(true, token.then(|| Token::new(TOKEN)), &[]);
    let ending = CancellationToken::new();
    let routes = Routes::new(admission, server, fleet, ending.clone());

    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let peer = "127.0.0.1:9".parse().unwrap();
    tokio::spawn(listener::converse(
        theirs,
        peer,
        routes,
        http::BOUNDS,
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
    let read = async {
        // A stream goes on until the bridge leaves.
        let read = timeout(Duration::from_secs(60), reader.read_to_end(&mut answer));
        if read.await.is_err() {
            ending.cancel();
        }
    };
    tokio::join!(write, read);
    answer
}

fn check_answer(answer: &[u8], sent: &[u8], token: bool) {
    // A client that asks whether to go on is told so before it is answered.
    let answer = answer
        .strip_prefix(b"HTTP/1.1 100 Continue\r\n\r\n")
        .unwrap_or(answer);
    if answer.is_empty() {
        return;
    }
    let status = answer
        .strip_prefix(b"HTTP/1.1 ")
        .or(answer.strip_prefix(b"HTTP/1.0 "))
        .and_then(|rest| std::str::from_utf8(rest.get(..3)?).ok())
        .unwrap_or_else(|| panic!("no HTTP: {}", answer.escape_ascii()));
    assert!(STATUSES.contains(&status), "{status}");
    let sent = sent.to_ascii_lowercase();
    let says = |part: &[u8]| sent.windows(part.len()).any(|window| window == part);
    let served = status.starts_with('2');
    if token && !says(TOKEN.as_bytes()) {
        assert!(!served || says(b"health"), "served without a token");
    }
    // Every way to write a loopback address has one of these.
    if ![b"localhost".as_slice(), b"127.", b"::", b":0"]
        .into_iter()
        .any(says)
    {
        assert!(!served, "served under a name that the port has not");
    }
}
