//! MCP over streamable HTTP, for clients that find a bridge running: the port, and its connections.

pub mod admission;
mod body;
mod early;
mod outbox;
pub mod routes;
mod sessions;

use std::{
    convert::Infallible, fmt, future::Future, io, net::SocketAddr, pin::pin, sync::Arc,
    time::Duration,
};

use axum::body::Body;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream, lookup_host},
    sync::Semaphore,
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::server::Server;
use crate::{computers::Fleet, settings::McpConfig};
use admission::HttpAdmission;
use routes::Routes;

/// The most connections at once. One more is told so: many stay open for as long as their clients, so that to wait for
/// a place could take for ever.
const MAX_CONNECTIONS: usize = 1_024;

/// What one connection too many is told.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 60\r\n\
    content-type: text/plain\r\ncontent-length: 33\r\n\r\nThere are too many connections.\r\n";

/// How long it may take to be told.
const REFUSAL: Duration = Duration::from_secs(1);

/// How long a connection may wait for its next request, and take to send its head.
const HEAD_TIME: Duration = Duration::from_secs(75);

/// The largest request head, in bytes.
const MAX_HEAD: usize = 64 * 1024;

/// How long the silence on a connection lasts before the system asks whether the other end is still there.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(30);

/// How long, at the end, requests that are nearly answered still have.
const LAST_ANSWERS: Duration = Duration::from_millis(300);

/// How long connections then have to end.
const CLOSING: Duration = Duration::from_secs(1);

/// Why MCP can't be served at this address. The messages say which setting to change.
#[derive(Debug, Error)]
pub enum OpenError {
    /// Others could use the computers.
    #[error(
        "other machines can reach {0}, so clients must show a token there: set MCP_TOKEN (or --mcp-token) to a long \
         random text and give it to the clients, or set MCP_HOST (or --mcp-host) to 127.0.0.1"
    )]
    NoToken(Address),
    /// The host is none of this machine's names or addresses.
    #[error(
        "MCP can't be served at {address}: {error}. Set MCP_HOST (or --mcp-host) to an address of this machine, such \
         as 127.0.0.1"
    )]
    Host {
        /// The address as configured.
        address: Address,
        /// What the system says.
        error: io::Error,
    },
    /// Someone else has the port.
    #[error(
        "MCP can't be served at {0}: the port is taken, perhaps by another `mcp-bridge serve`. End that program, or \
         set MCP_PORT (or --mcp-port) to another port; 0 means any free one"
    )]
    Taken(Address),
    /// This user may not listen there.
    #[error(
        "MCP can't be served at {0}: this user may not listen there, or the system keeps the port for itself. Set \
         MCP_PORT (or --mcp-port) to another port over 1023"
    )]
    Forbidden(Address),
}

/// A host and port as configured.
#[derive(Debug, Clone)]
pub struct Address {
    host: String,
    port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

/// The MCP port, open.
#[derive(Debug)]
pub struct McpPort {
    listener: TcpListener,
    address: SocketAddr,
    routes: Routes,
    ending: CancellationToken,
}

impl McpPort {
    /// Opens the port. `names` are those by which this machine is reached, in lower case; the computers of `fleet` are
    /// what `/health` tells of.
    ///
    /// # Errors
    /// The port can't be opened, or must not be, since others could use it without a token.
    pub async fn open(
        config: &McpConfig,
        names: &[String],
        server: Server,
        fleet: Arc<Fleet>,
    ) -> Result<Self, OpenError> {
        let address = Address {
            host: config.host.clone(),
            port: config.port,
        };
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AddrInUse => OpenError::Taken(address.clone()),
            io::ErrorKind::PermissionDenied => OpenError::Forbidden(address.clone()),
            _ => OpenError::Host {
                address: address.clone(),
                error,
            },
        };
        let found = lookup_host((config.host.as_str(), config.port)).await;
        let addresses: Vec<_> = found.map_err(failed)?.collect();
        // Before the port is open: nobody gets in meanwhile.
        let loopback = addresses
            .iter()
            .all(|address| address.ip().to_canonical().is_loopback());
        if !loopback && config.token.is_none() {
            return Err(OpenError::NoToken(address));
        }
        let listener = TcpListener::bind(addresses.as_slice())
            .await
            .map_err(failed)?;
        let admission = HttpAdmission::new(loopback, config.token.clone(), names);
        let ending = CancellationToken::new();
        Ok(Self {
            address: listener.local_addr().map_err(failed)?,
            listener,
            routes: Routes::new(admission, server, fleet, ending.clone()),
            ending,
        })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `leave` is done, and ends what is under way then, within a second and a half.
    pub async fn serve<T>(self, leave: impl Future<Output = T>) -> T {
        let connections = TaskTracker::new();
        let leaving = CancellationToken::new();
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let left = tokio::select! {
            left = leave => left,
            never = accept(&self.listener, places, &self.routes, &connections, &leaving) => match never {},
        };
        drop(self.listener);
        leaving.cancel();
        connections.close();
        if timeout(LAST_ANSWERS, connections.wait()).await.is_err() {
            // Streams that stay open, and calls that take long.
            self.ending.cancel();
            let _ = timeout(CLOSING, connections.wait()).await;
        }
        left
    }
}

async fn accept(
    listener: &TcpListener,
    places: Arc<Semaphore>,
    routes: &Routes,
    connections: &TaskTracker,
    leaving: &CancellationToken,
) -> Infallible {
    loop {
        match listener.accept().await {
            Ok((mut stream, peer)) => {
                let Ok(place) = places.clone().try_acquire_owned() else {
                    tracing::warn!(%peer, "a connection is refused: there are too many");
                    connections.spawn(async move {
                        let _ = timeout(REFUSAL, stream.write_all(FULL)).await;
                    });
                    continue;
                };
                let connection = serve(stream, peer, routes.clone(), leaving.clone());
                connections.spawn(async move {
                    connection.await;
                    drop(place);
                });
            }
            Err(error) => {
                // Most often the limit on open files: some connection has to end first.
                tracing::warn!(%error, "a connection can't be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Sets a socket up, and serves its connection.
async fn serve(stream: TcpStream, peer: SocketAddr, routes: Routes, leaving: CancellationToken) {
    let probes = socket2::TcpKeepalive::new()
        .with_time(KEEPALIVE_AFTER)
        .with_interval(Duration::from_secs(10));
    // An event is one small write: waiting to fill a packet only delays it.
    if let Err(error) = stream
        .set_nodelay(true)
        .and_then(|()| socket2::SockRef::from(&stream).set_tcp_keepalive(&probes))
    {
        tracing::debug!(%peer, %error, "a socket option can't be set");
    }
    converse(stream, peer, routes, leaving).await;
}

/// Serves one connection, whatever carries it, until it ends or, once the bridge is leaving, its request is answered.
pub async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    routes: Routes,
    leaving: CancellationToken,
) {
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let routes = routes.clone();
        async move { Ok::<_, Infallible>(routes.answer(request.map(Body::new), peer).await) }
    });
    let mut connection = pin!(
        hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(MAX_HEAD)
            // As on the link port: answers go out in their order, hyper's own too.
            .writev(false)
            .serve_connection(TokioIo::new(stream), service)
    );
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = leaving.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, %error, "a connection ended early");
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::{
        settings::{Config, Flags},
        tools::builtin,
    };

    #[tokio::test]
    async fn one_connection_too_many_is_told_so_and_its_place_comes_free() {
        let file = "link_host = '127.0.0.1'\nlink_port = 0\nmcp_port = 0";
        let config =
            Config::resolve(&Flags::default(), |_| None, "config.toml".as_ref(), file).unwrap();
        let mcp =
            McpConfig::resolve(&Flags::default(), |_| None, "config.toml".as_ref(), file).unwrap();
        let fleet = Arc::new(Fleet::start(&config.link, None));
        let server = Server::new(fleet.clone(), builtin::catalogue(config.probe_timeout));
        let port = McpPort::open(&mcp, &[], server, fleet).await.unwrap();
        let address = port.address();
        let connections = TaskTracker::new();
        let leaving = CancellationToken::new();
        let places = Arc::new(Semaphore::new(1));
        let asked = async {
            let ask = async |stream: &mut TcpStream| {
                let request = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
                stream.write_all(request).await.unwrap();
                let mut status = [0; 12];
                stream.read_exact(&mut status).await.unwrap();
                String::from_utf8(status.to_vec()).unwrap()
            };
            let mut first = TcpStream::connect(address).await.unwrap();
            assert_eq!(ask(&mut first).await, "HTTP/1.1 404");
            let mut told = String::new();
            let mut second = TcpStream::connect(address).await.unwrap();
            second.read_to_string(&mut told).await.unwrap();
            let (head, body) = told.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with("HTTP/1.1 503 "), "{told}");
            assert!(
                head.contains(&format!("content-length: {}\r\n", body.len()))
                    || head.ends_with(&format!("content-length: {}", body.len())),
                "{told}"
            );
            drop(first);
            connections.close();
            connections.wait().await;
            connections.reopen();
            let mut third = TcpStream::connect(address).await.unwrap();
            assert_eq!(ask(&mut third).await, "HTTP/1.1 404");
        };
        tokio::select! {
            () = asked => {}
            never = accept(&port.listener, places, &port.routes, &connections, &leaving) => match never {},
        }
    }
}
