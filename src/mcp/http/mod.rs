//! MCP over streamable HTTP, for clients that find a bridge running: the port, and its connections.

mod accept;
pub mod admission;
mod batch;
mod body;
mod cors;
mod early;
mod outbox;
pub mod routes;
mod session;
mod sessions;
mod stream;

use std::{future::Future, io, net::SocketAddr, sync::Arc, time::Duration};

use thiserror::Error;
use tokio::net::{TcpListener, lookup_host};
use tokio_util::sync::CancellationToken;

use super::server::Server;
use crate::{
    base::{
        host_and_port::HostPort,
        http::listener::{Bounds, Connections},
        token::LONG_ENOUGH,
    },
    computers::Fleet,
    settings::McpConfig,
};
use admission::HttpAdmission;
use routes::Routes;

/// How much the port takes.
pub const BOUNDS: Bounds = Bounds {
    connections: 1_024,
    of_one_machine: 512,
    // Many stay open for as long as their clients, so that to wait for a place could take for ever.
    full: Some(FULL),
    head_time: Duration::from_secs(75),
    head: 64 * 1024,
};

/// What one connection too many is told.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 60\r\n\
    content-type: text/plain\r\ncontent-length: 33\r\n\r\nThere are too many connections.\r\n";

/// How long, at the end, requests that are nearly answered still have.
const LAST_ANSWERS: Duration = Duration::from_millis(250);

/// How long connections then have to end, while computers are told what to stop.
const CLOSING: Duration = Duration::from_millis(150);

/// Why MCP can't be served at this address. The messages say which setting to change.
#[derive(Debug, Error)]
pub enum OpenError {
    /// Others could use the computers.
    #[error(
        "other machines can reach {0}, so clients must show a token there: set MCP_TOKEN (or --mcp-token) to a long \
         random text and give it to the clients, or set MCP_HOST (or --mcp-host) to 127.0.0.1"
    )]
    NoToken(HostPort),
    /// Others could find the token by trying.
    #[error(
        "other machines can reach {0}, and the token has fewer than {LONG_ENOUGH} characters, so that it could be \
         guessed: set MCP_TOKEN (or --mcp-token) to a random text of {LONG_ENOUGH} characters or more and give it to \
         the clients, or set MCP_HOST (or --mcp-host) to 127.0.0.1"
    )]
    ShortToken(HostPort),
    /// The host is none of this machine's names or addresses.
    #[error(
        "MCP can't be served at {address}: {error}. Set MCP_HOST (or --mcp-host) to an address of this machine, such \
         as 127.0.0.1"
    )]
    Host {
        /// The address as configured.
        address: HostPort,
        /// What the system says.
        error: io::Error,
    },
    /// Someone else has the port.
    #[error(
        "MCP can't be served at {0}: the port is taken, perhaps by another `mcp-bridge serve`. End that program, or \
         set MCP_PORT (or --mcp-port) to another port; 0 means any free one"
    )]
    Taken(HostPort),
    /// This user may not listen there.
    #[error(
        "MCP can't be served at {0}: this user may not listen there, or the system keeps the port for itself. Set \
         MCP_PORT (or --mcp-port) to another port over 1023"
    )]
    Forbidden(HostPort),
}

/// The MCP port, open.
#[derive(Debug)]
pub struct McpPort {
    listener: TcpListener,
    address: SocketAddr,
    routes: Routes,
    fleet: Arc<Fleet>,
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
        let address = HostPort {
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
        if !loopback {
            let Some(token) = &config.token else {
                return Err(OpenError::NoToken(address));
            };
            if !token.is_long_enough() {
                return Err(OpenError::ShortToken(address));
            }
        }
        let listener = TcpListener::bind(addresses.as_slice())
            .await
            .map_err(failed)?;
        let admission = HttpAdmission::new(loopback, config.token.clone(), names);
        let ending = CancellationToken::new();
        Ok(Self {
            address: listener.local_addr().map_err(failed)?,
            listener,
            routes: Routes::new(admission, server, fleet.clone(), ending.clone()),
            fleet,
            ending,
        })
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `leave` is done, and ends what is under way then, within half a second: also
    /// what computers were asked.
    pub async fn serve<T>(self, leave: impl Future<Output = T>) -> T {
        let connections = Connections::new(BOUNDS);
        let left = tokio::select! {
            left = leave => left,
            never = connections.accept(&self.listener, &self.routes) => match never {},
        };
        drop(self.listener);
        if !connections.leave(LAST_ANSWERS).await {
            // Streams that stay open, and calls that take long.
            self.ending.cancel();
            tokio::join!(connections.leave(CLOSING), self.fleet.leave());
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
    };

    use super::*;
    use crate::{
        commands::computers,
        settings::{Config, Flags},
        tools::builtin,
    };

    #[tokio::test]
    async fn one_that_does_nothing_makes_way_and_one_too_many_is_told_so() {
        let file = "link_host = '127.0.0.1'\nlink_port = 0\nmcp_port = 0";
        let config =
            Config::resolve(&Flags::default(), |_| None, "config.toml".as_ref(), file).unwrap();
        let mcp =
            McpConfig::resolve(&Flags::default(), |_| None, "config.toml".as_ref(), file).unwrap();
        let fleet = Arc::new(computers::start(&config.link, None));
        let server = Server::new(fleet.clone(), builtin::catalogue(config.probe_timeout));
        let port = McpPort::open(&mcp, &[], server, fleet).await.unwrap();
        let address = port.address();
        let connections = Connections::new(Bounds {
            connections: 1,
            ..BOUNDS
        });
        let asked = async {
            let ask = async |stream: &mut TcpStream| {
                let request = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
                stream.write_all(request).await.unwrap();
                let mut status = [0; 12];
                stream.read_exact(&mut status).await.unwrap();
                String::from_utf8(status.to_vec()).unwrap()
            };
            let mut idle = TcpStream::connect(address).await.unwrap();
            assert_eq!(ask(&mut idle).await, "HTTP/1.1 404");
            let mut first = TcpStream::connect(address).await.unwrap();
            let asks = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n";
            first.write_all(asks).await.unwrap();
            // It reads the rest of its answer, and then the end.
            idle.read_to_end(&mut Vec::new()).await.unwrap();
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
            connections.none_left().await;
            let mut third = TcpStream::connect(address).await.unwrap();
            assert_eq!(ask(&mut third).await, "HTTP/1.1 404");
        };
        tokio::select! {
            () = asked => {}
            never = connections.accept(&port.listener, &port.routes) => match never {},
        }
    }
}
