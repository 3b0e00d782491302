//! The link port: binds it, and hands each connection to HTTP, which makes a link of it or answers.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

use super::http;
use crate::settings::LinkConfig;

/// The most connections at once; more wait in the system's queue.
const MAX_CONNECTIONS: usize = 16_384;

/// How long a connection may take to send its request's headers.
const HEADER_TIME: Duration = Duration::from_secs(10);

/// The largest request head, in bytes.
const MAX_HEAD: usize = 16 * 1024;

/// How long the silence on a connection lasts before the system asks whether the other end is still there.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(30);

/// Why the port can't be bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocked {
    /// The address as configured, such as `0.0.0.0:3001`.
    pub address: String,
    /// What the system says, and what to do, as whole sentences.
    pub reason: String,
}

/// Binds the port.
///
/// # Errors
/// The system's, such as that another program holds it.
pub async fn bind(config: &LinkConfig) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind((config.host.as_str(), config.port)).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Accepts connections for ever, and hands each to HTTP or to a session.
pub async fn accept(listener: TcpListener, routes: http::Routes) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        // The semaphore is never closed.
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, peer)) => {
                let routes = routes.clone();
                tokio::spawn(async move {
                    serve(stream, peer, routes).await;
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

async fn serve(stream: TcpStream, peer: SocketAddr, routes: http::Routes) {
    // An answer is one small write: waiting to fill a packet only delays it.
    if let Err(error) = stream.set_nodelay(true).and_then(|()| keep_alive(&stream)) {
        tracing::debug!(%peer, %error, "a socket option can't be set");
    }
    converse(stream, peer, routes).await;
}

/// Serves one connection, whatever carries it, until it ends or becomes a link.
pub async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    routes: http::Routes,
) {
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(MAX_HEAD)
        // Else hyper's own answer to a bad request goes out before what is left of the answer to the last one.
        .writev(false)
        .serve_connection(TokioIo::new(stream), routes.for_peer(peer))
        .with_upgrades();
    if let Err(error) = connection.await {
        tracing::debug!(%peer, %error, "a connection ended early");
    }
}

/// A game whose machine was cut off closes nothing: only the system's own probes notice it.
fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    let probes = socket2::TcpKeepalive::new()
        .with_time(KEEPALIVE_AFTER)
        .with_interval(Duration::from_secs(10));
    socket2::SockRef::from(stream).set_tcp_keepalive(&probes)
}

impl Blocked {
    /// What there is to say of this error.
    pub fn new(config: &LinkConfig, error: &io::Error) -> Self {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "Another program holds it. Stop that program, or set CC_LINK_PORT to another port and give the agents \
                 the new one."
            }
            io::ErrorKind::PermissionDenied => {
                "This user may not listen there, or the system keeps the port for itself. Set CC_LINK_PORT to another \
                 port over 1023."
            }
            io::ErrorKind::AddrNotAvailable => {
                "That is no address of this machine. Set CC_LINK_HOST to one it has, or to 0.0.0.0 for all of them."
            }
            _ => "Set CC_LINK_HOST to an address of this machine, or to 0.0.0.0 for all of them.",
        };
        Self::because(config, format!("{error}. {advice}"))
    }

    /// The port of this configuration, blocked for a reason in whole sentences.
    pub fn because(config: &LinkConfig, reason: String) -> Self {
        let address = if config.host.contains(':') {
            format!("[{}]:{}", config.host, config.port)
        } else {
            format!("{}:{}", config.host, config.port)
        };
        Self { address, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocked(host: &str, kind: io::ErrorKind) -> Blocked {
        let config = LinkConfig {
            host: host.into(),
            port: 3001,
            token: None,
            names: Vec::new(),
        };
        Blocked::new(&config, &kind.into())
    }

    #[test]
    fn a_blocked_port_says_which_setting_to_change() {
        let taken = blocked("0.0.0.0", io::ErrorKind::AddrInUse);
        assert_eq!(taken.address, "0.0.0.0:3001");
        assert!(taken.reason.contains("CC_LINK_PORT"), "{}", taken.reason);
        let elsewhere = blocked("fd00::1", io::ErrorKind::AddrNotAvailable);
        assert_eq!(elsewhere.address, "[fd00::1]:3001");
        assert!(
            elsewhere.reason.contains("CC_LINK_HOST"),
            "{}",
            elsewhere.reason
        );
    }
}
