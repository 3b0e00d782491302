//! The HTTP upgrade that opens a WebSocket, as the game's client asks for it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::address::{Address, Scheme};
use super::socket::SocketRules;

/// The connection ended before the server had answered.
pub(super) const LOST: &str = "Connection closed";

const NOT_CONNECTED: &str = "Could not connect";

/// The longest answer that is read; a handshake's is a few hundred bytes.
const ANSWER_LIMIT: usize = 64 * 1024;

/// What the game offers. A server that takes any of it up is refused, since compression is not simulated.
const EXTENSIONS: &str = "permessage-deflate; client_no_context_takeover; client_max_window_bits, deflate-frame, x-webkit-deflate-frame";

/// What a program asked for.
#[derive(Debug, Clone)]
pub(super) struct Handshake {
    /// The URL exactly as the program wrote it.
    pub(super) url: String,
    /// Headers of its own.
    pub(super) headers: Vec<(String, String)>,
    /// How long the whole may take.
    pub(super) timeout: Duration,
}

/// A stream, the headers of the server's answer, and what it sent right behind them.
type Connected = (TcpStream, Vec<(String, String)>, Vec<u8>);

/// Four bytes that a peer can't guess well; the mask protects proxies, not secrets.
pub(super) fn random_mask() -> [u8; 4] {
    let [a, b, c, d, ..] = RandomState::new().build_hasher().finish().to_le_bytes();
    [a, b, c, d]
}

/// Connects and shakes hands.
///
/// # Errors
/// The text of the `websocket_failure` event.
pub(super) async fn connect(request: &Handshake, rules: &SocketRules) -> Result<Connected, String> {
    let address = Address::parse(&request.url, Scheme::WebSocket)?;
    let addresses = address.resolve(rules.http).await?;
    if address.is_secure() {
        return Err(NOT_CONNECTED.to_owned());
    }
    let mut stream = TcpStream::connect(&addresses[..])
        .await
        .map_err(|_| NOT_CONNECTED)?;
    let key = generate_key();
    let question = question(request, &address, rules, &key);
    stream
        .write_all(question.as_bytes())
        .await
        .map_err(|_| LOST)?;

    let mut received = Vec::new();
    let end = loop {
        if let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if received.len() > ANSWER_LIMIT {
            return Err(NOT_CONNECTED.to_owned());
        }
        match stream.read_buf(&mut received).await {
            Ok(1..) => {}
            _ => return Err(LOST.to_owned()),
        }
    };
    let early = received.split_off(end + 4);
    let headers = check_answer(&String::from_utf8_lossy(&received), &key)?;
    Ok((stream, headers, early))
}

fn question(request: &Handshake, address: &Address, rules: &SocketRules, key: &str) -> String {
    let own = |name: &str| {
        request
            .headers
            .iter()
            .any(|(other, _)| other.eq_ignore_ascii_case(name))
    };
    let mut lines = vec![
        format!("GET {} HTTP/1.1", address.path),
        "upgrade: websocket".to_owned(),
        "connection: upgrade".to_owned(),
        format!("sec-websocket-key: {key}"),
        format!("host: {}", address.host_header()),
        "sec-websocket-version: 13".to_owned(),
        format!("sec-websocket-extensions: {EXTENSIONS}"),
    ];
    if !own("user-agent") && rules.version.at_least(1, 95, 3) {
        lines.push(format!("User-Agent: computercraft/{}", rules.version));
    }
    if !own("origin") && !rules.version.at_least(1, 101, 0) {
        lines.push(format!("origin: http://{}", address.host_header()));
    }
    lines.extend(
        request
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}")),
    );
    lines.push("\r\n".to_owned());
    lines.join("\r\n")
}

fn check_answer(head: &str, key: &str) -> Result<Vec<(String, String)>, String> {
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.split_once(' '))
        .map_or("", |(_, status)| status.trim());
    if status.split(' ').next() != Some("101") {
        return Err(format!("Invalid handshake response getStatus: {status}"));
    }
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    let find = |wanted: &str| {
        headers
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(wanted))
            .map(|(_, value)| value.as_str())
    };
    let upgrade = find("upgrade").unwrap_or("null");
    if !upgrade.eq_ignore_ascii_case("websocket") {
        return Err(format!("Invalid handshake response upgrade: {upgrade}"));
    }
    if find("sec-websocket-accept") != Some(derive_accept_key(key.as_bytes()).as_str()) {
        return Err("Invalid handshake response sec-websocket-accept".to_owned());
    }
    if find("sec-websocket-extensions").is_some() {
        return Err(NOT_CONNECTED.to_owned());
    }
    Ok(headers)
}
