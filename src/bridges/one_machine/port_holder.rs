//! Who holds the link port, asked from outside: its `/health`, and what its last owner left in the state folder.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use hyper::{Request, body::Bytes, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use thiserror::Error;
use tokio::{
    net::{TcpStream, lookup_host},
    time::timeout,
};

use crate::{
    base::{host_and_port::HostPort, store},
    computers::Owner,
};

/// How long a holder may take to be reached, and to answer.
const ANSWER_TIME: Duration = Duration::from_secs(2);

/// The largest answer that is read, in bytes.
const MOST: usize = 64 * 1024;

/// What `/health` of an mcp-bridge says.
#[derive(Debug, Clone, Deserialize)]
pub struct Health {
    /// `mcp-bridge`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// How many computers are linked.
    pub computers: u64,
    /// Who holds the port.
    #[serde(default)]
    pub owner: Option<HealthOwner>,
    /// How many bridges share it.
    #[serde(default)]
    pub bridges: Option<usize>,
}

/// The owner, as `/health` tells of it.
#[derive(Debug, Clone, Deserialize)]
pub struct HealthOwner {
    /// Its process id.
    pub pid: u32,
    /// Since when it holds the port: RFC 3339, UTC.
    pub since: String,
}

/// Why the holder's health is not known.
#[derive(Debug, Error)]
pub enum Unknown {
    /// Nothing listens there.
    #[error("nothing listens there")]
    Free,
    /// It took too long.
    #[error("it does not answer")]
    Silent,
    /// It is no mcp-bridge.
    #[error("it is no mcp-bridge")]
    Stranger,
    /// It can't be reached.
    #[error("it can't be reached: {0}")]
    Unreachable(io::Error),
}

/// Connects to the link port at this place, as programs on this machine reach it.
///
/// # Errors
/// The system's; of kind `TimedOut` when it takes too long.
pub async fn connect(place: &HostPort) -> io::Result<(TcpStream, SocketAddr)> {
    // An address that stands for all of this machine's is no address to connect to everywhere.
    let host = match place.host.as_str() {
        "0.0.0.0" => "127.0.0.1",
        "::" => "::1",
        host => host,
    };
    let connecting = async {
        let mut last = io::Error::from(io::ErrorKind::NotFound);
        for address in lookup_host((host, place.port)).await? {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok((stream, address)),
                Err(error) => last = error,
            }
        }
        Err(last)
    };
    let (stream, address) = timeout(ANSWER_TIME, connecting)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
    stream.set_nodelay(true)?;
    Ok((stream, address))
}

/// Asks the holder of the link port how it is.
///
/// # Errors
/// There is none, or it is no mcp-bridge, or does not answer.
pub async fn health(place: &HostPort) -> Result<Health, Unknown> {
    let (stream, address) = connect(place).await.map_err(|error| match error.kind() {
        io::ErrorKind::ConnectionRefused => Unknown::Free,
        io::ErrorKind::TimedOut => Unknown::Silent,
        _ => Unknown::Unreachable(error),
    })?;
    timeout(ANSWER_TIME, ask(stream, address))
        .await
        .map_err(|_| Unknown::Silent)?
        .ok_or(Unknown::Stranger)
}

async fn ask(stream: TcpStream, address: SocketAddr) -> Option<Health> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
    let request = Request::get("/health")
        .header(header::HOST, address.to_string())
        .body(String::new())
        .ok()?;
    let answer = async {
        let response = sender.send_request(request).await.ok()?;
        let body = axum::body::Body::new(response.into_body());
        axum::body::to_bytes(body, MOST).await.ok()
    };
    let bytes: Bytes = tokio::select! {
        answer = answer => answer?,
        _ = connection => return None,
    };
    let health: Health = serde_json::from_slice(&bytes).ok()?;
    (health.name == env!("CARGO_PKG_NAME")).then_some(health)
}

/// Writes down who holds the port: of an owner that is frozen nothing else can be learned.
pub fn note_owner(state: &Path, port: u16, owner: &Owner) {
    let file = owner_file(state, port);
    if let Err(error) = store::write(&file, owner) {
        tracing::warn!(file = %file.display(), %error, "the owner of the link port can't be written down");
    }
}

/// Who held the port last, as far as it was written down.
pub fn last_owner(state: &Path, port: u16) -> Option<Owner> {
    store::read(&owner_file(state, port))
}

fn owner_file(state: &Path, port: u16) -> PathBuf {
    state.join(format!("owner-of-port-{port}.json"))
}
