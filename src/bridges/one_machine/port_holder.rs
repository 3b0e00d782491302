//! Who holds the link port, asked from outside: its `/health`, and what its owner says in the state folder.

use std::{
    fs::{self, File},
    io,
    net::{IpAddr, SocketAddr},
    path::{Path, PathBuf},
    thread,
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

/// How often, and how many times more, an owner tries to write itself down while the one before still ends: 5 s in all.
const BETWEEN_TRIES: Duration = Duration::from_millis(100);
const LOCK_TRIES: u32 = 50;

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

/// The owner's name in the state folder: of an owner that is frozen nothing else can be learned. It counts for as long as
/// this is held, and ends with the process, however that ends.
#[derive(Debug)]
pub struct OwnersName {
    file: PathBuf,
    _lock: File,
}

/// Writes down who holds the port, once the owner before has gone; none if that can't be done. Blocks for moments.
pub fn name_owner(state: &Path, owner: &Owner) -> Option<OwnersName> {
    match lock_and_write(state, owner) {
        Ok(name) => Some(name),
        Err(error) => {
            tracing::warn!(folder = %state.display(), %error, "the owner of the link port can't be written down");
            None
        }
    }
}

fn lock_and_write(state: &Path, owner: &Owner) -> io::Result<OwnersName> {
    let Names { lock, file } = Names::of(state, owner.address.port());
    let mut tries = 0..LOCK_TRIES;
    let lock = loop {
        if let Some(lock) = store::try_lock(&lock)? {
            break lock;
        }
        // The owner before has left the port, and ends. Or it has the same port at another address.
        if tries.next().is_none() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        thread::sleep(BETWEEN_TRIES);
    };
    store::write(&file, owner)?;
    Ok(OwnersName { file, _lock: lock })
}

impl Drop for OwnersName {
    fn drop(&mut self) {
        // Without the lock it counts no more, whether it is there or not.
        let _ = fs::remove_file(&self.file);
    }
}

/// Who holds the port at this place, if it is a bridge that lives and has written that down.
pub fn named_owner(state: &Path, place: &HostPort) -> Option<Owner> {
    let Names { lock, file } = Names::of(state, place.port);
    let owner: Owner = store::is_locked(&lock).then(|| store::read(&file))??;
    // The same port of another address may be another program's.
    let owns = match place.host.parse::<IpAddr>() {
        Ok(host) if !host.is_unspecified() => {
            let own = owner.address.ip();
            own == host || own.is_unspecified()
        }
        _ => true,
    };
    owns.then_some(owner)
}

/// The files of a port's owner.
struct Names {
    /// Locked by the owner.
    lock: PathBuf,
    /// Says who it is.
    file: PathBuf,
}

impl Names {
    fn of(state: &Path, port: u16) -> Self {
        let name = format!("owner-of-port-{port}");
        Self {
            lock: state.join(format!("{name}.lock")),
            file: state.join(format!("{name}.json")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_named_only_as_long_as_it_holds_the_port() {
        let folder = tempfile::tempdir().unwrap();
        let place = |host: &str| HostPort {
            host: host.to_owned(),
            port: 3001,
        };
        let owner = Owner {
            pid: 4242,
            since: std::time::SystemTime::UNIX_EPOCH,
            address: "127.0.0.1:3001".parse().unwrap(),
            version: "1.0.0".to_owned(),
        };
        let named = |host| named_owner(folder.path(), &place(host)).map(|owner| owner.pid);
        assert_eq!(named("127.0.0.1"), None);
        let name = name_owner(folder.path(), &owner).unwrap();
        assert_eq!(named("127.0.0.1"), Some(4242));
        assert_eq!(named("localhost"), Some(4242));
        assert_eq!(named("192.168.1.5"), None);
        drop(name);
        assert_eq!(named("127.0.0.1"), None);
        // What an owner leaves behind that was killed, or one up to 1.0.0.
        store::write(&folder.path().join("owner-of-port-3001.json"), &owner).unwrap();
        assert_eq!(named("127.0.0.1"), None);
    }
}
