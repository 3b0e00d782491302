//! The link port: binds it, and hands each connection to HTTP, which makes a link of it or answers.

use std::{convert::Infallible, io, net::SocketAddr, time::Duration};

use tokio::net::TcpListener;

use super::http::Routes;
use crate::{
    base::http::{
        authority,
        listener::{Bounds, Connections},
    },
    settings::LinkConfig,
};

/// How much the port takes.
pub const BOUNDS: Bounds = Bounds {
    connections: 16_384,
    // A computer that waits links in the end; one that is refused has to dial again.
    full: None,
    head_time: Duration::from_secs(10),
    head: 16 * 1024,
};

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

/// Accepts connections for ever, and hands each to HTTP, which answers or makes a link of it.
pub async fn accept(listener: TcpListener, routes: Routes) -> Infallible {
    Connections::new(BOUNDS).accept(&listener, &routes).await
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
        Self {
            address: authority::join(&config.host, config.port),
            reason,
        }
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
