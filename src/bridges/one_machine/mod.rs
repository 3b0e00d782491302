//! Bridges on one machine: whoever binds the link port is the owner, and guests link to that port by WebSocket, as
//! computers do.

pub mod port_holder;
mod socket;
mod watchdog;

use std::{fmt, io, net::SocketAddr, path::PathBuf, sync::Arc, time::SystemTime};

use axum::extract::ws::WebSocket;
use futures_util::{
    FutureExt,
    future::{BoxFuture, OptionFuture, pending},
};
use tokio::{net::TcpListener, time::timeout};
use tokio_tungstenite::{
    client_async_with_config,
    tungstenite::{
        self, client::IntoClientRequest, http::header::SEC_WEBSOCKET_PROTOCOL,
        protocol::WebSocketConfig,
    },
};

use self::port_holder::Unknown;
use super::{
    GREETING_TIME, MAX_MESSAGE,
    carrier::{Carrier, Claimed, NotClaimed, NotJoined},
    channel::Channel,
    owner_end::OwnerEnd,
};
use crate::{
    base::{host_and_port::HostPort, http::intake::Intake, scribe::FILES, websocket::Failure},
    computers::{Blocked, Owner},
};

/// The WebSocket subprotocol (RFC 6455, section 1.9) by which a bridge that links is told from a computer.
pub const SUBPROTOCOL: &str = "mcp-bridge.guest";

/// What a guest is told that comes to a bridge that shares with no other.
pub const NOT_SHARED: &str = "This mcp-bridge shares its link port with no other, since it has no state folder to keep a \
    secret in. Its log says why.\n";

/// The largest message of a guest, in bytes.
pub const MAX_GUEST_MESSAGE: usize = MAX_MESSAGE;

/// The exit code of an owner whose runtime hung: `EX_SOFTWARE` of BSD's sysexits.
const HUNG: i32 = 70;

/// The bridges on one machine that are given the same link port.
pub struct OneMachine {
    /// The link port.
    pub place: HostPort,
    /// The folder where it is written down who holds the port, if there is one.
    pub state: Option<PathBuf>,
    /// What the link port does with connections. It is put together by whoever knows the game's side too.
    pub serve: ServePort,
}

/// Serves a bound link port for ever. A guest's WebSocket goes to the second argument; without that the port is shared
/// with no other bridge.
pub type ServePort =
    Arc<dyn Fn(TcpListener, Option<Enter>) -> BoxFuture<'static, ()> + Send + Sync>;

/// Serves a guest that has come to the port, to its end.
pub type Enter =
    Box<dyn Fn(WebSocket, SocketAddr, Arc<Intake>) -> BoxFuture<'static, ()> + Send + Sync>;

impl Carrier for OneMachine {
    fn claim(&self) -> BoxFuture<'_, Result<Claimed, NotClaimed>> {
        async {
            let place = (self.place.host.as_str(), self.place.port);
            let (listener, address) = match bind(place).await {
                Ok(bound) => bound,
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    return Err(NotClaimed::Held);
                }
                Err(error) => return Err(NotClaimed::Blocked(blocked(&self.place, &error))),
            };
            let owner = Owner {
                pid: std::process::id(),
                since: SystemTime::now(),
                address,
                version: env!("CARGO_PKG_VERSION").to_owned(),
            };
            let named = self.state.clone().map(|state| {
                let owner = owner.clone();
                tokio::task::spawn_blocking(move || port_holder::name_owner(&state, &owner))
            });
            if let Err(error) = watchdog::start(hung) {
                tracing::warn!(%error, "no watchdog can be started");
            }
            let serve = self.serve.clone();
            let serve = move |end: Option<OwnerEnd>| {
                async move {
                    let naming = async {
                        let _name = OptionFuture::from(named).await;
                        pending::<()>().await;
                    };
                    // Named for as long as it serves.
                    tokio::select! {
                        () = serve(listener, end.map(enter)) => {}
                        () = naming => {}
                    }
                }
                .boxed()
            };
            Ok(Claimed {
                owner,
                serve: Box::new(serve),
            })
        }
        .boxed()
    }

    fn connect(&self) -> BoxFuture<'_, Result<Channel, NotJoined>> {
        async {
            let (stream, address) = match port_holder::connect(&self.place).await {
                Ok(connected) => connected,
                Err(error) if error.kind() == io::ErrorKind::TimedOut => return Err(self.silent()),
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    return Err(NotJoined::Gone);
                }
                Err(error) => return Err(NotJoined::Broken(error.to_string())),
            };
            let broken = |error: tungstenite::Error| NotJoined::Broken(Failure::of(&error).why());
            let mut request = format!("ws://{address}/")
                .into_client_request()
                .map_err(broken)?;
            let protocol = tungstenite::http::HeaderValue::from_static(SUBPROTOCOL);
            request
                .headers_mut()
                .insert(SEC_WEBSOCKET_PROTOCOL, protocol);
            let limits = WebSocketConfig::default()
                .max_message_size(Some(MAX_MESSAGE))
                .max_frame_size(Some(MAX_MESSAGE));
            let upgrade = client_async_with_config(request, stream, Some(limits));
            match timeout(GREETING_TIME, upgrade).await {
                Ok(Ok((socket, _))) => Ok(socket::of_guest(socket)),
                Ok(Err(_)) => Err(self.who_else().await),
                Err(_) => Err(self.silent()),
            }
        }
        .boxed()
    }

    fn silent(&self) -> NotJoined {
        let state = self.state.as_ref();
        NotJoined::Silent(state.and_then(|state| port_holder::named_owner(state, &self.place)))
    }

    fn place(&self) -> String {
        self.place.to_string()
    }
}

impl OneMachine {
    /// Who holds the port, if it makes no guest of this bridge.
    async fn who_else(&self) -> NotJoined {
        match port_holder::health(&self.place).await {
            Ok(health) => NotJoined::Incompatible {
                theirs: health.version,
            },
            Err(Unknown::Free) => NotJoined::Gone,
            Err(Unknown::Silent) => self.silent(),
            Err(Unknown::Stranger) => NotJoined::Stranger,
            Err(Unknown::Unreachable(error)) => NotJoined::Broken(error.to_string()),
        }
    }
}

impl fmt::Debug for OneMachine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneMachine")
            .field("place", &self.place)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// Guests by their WebSockets.
fn enter(end: OwnerEnd) -> Enter {
    let end = Arc::new(end);
    Box::new(move |socket, peer, intake| {
        let end = end.clone();
        async move { end.serve(socket::of_owner(socket, intake), peer).await }.boxed()
    })
}

async fn bind(place: (&str, u16)) -> io::Result<(TcpListener, SocketAddr)> {
    let listener = TcpListener::bind(place).await?;
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Why a port can't be bound, and what to do.
fn blocked(place: &HostPort, error: &io::Error) -> Blocked {
    Blocked {
        address: place.to_string(),
        reason: format!("{error}. {}", advice(error)),
    }
}

/// What to do about a port that can't be bound.
pub(crate) fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "This user may not listen there, or the system keeps the port for itself. Set CC_LINK_PORT to another \
             port over 1023."
        }
        io::ErrorKind::AddrNotAvailable => {
            "That is no address of this machine. Set CC_LINK_HOST to one it has, or to 0.0.0.0 for all of them."
        }
        _ => "Set CC_LINK_HOST to an address of this machine, or to 0.0.0.0 for all of them.",
    }
}

/// Leaves the port to a bridge that works. Nothing of this process that needs the runtime can be asked any more.
fn hung() {
    watchdog::end(HUNG, || {
        tracing::error!(
            "this process hangs; it ends itself, so that another bridge can take the link port"
        );
        FILES.flush(watchdog::TO_TELL);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocked_port_says_which_setting_to_change() {
        let of = |host: &str, kind: io::ErrorKind| {
            let place = HostPort {
                host: host.into(),
                port: 3001,
            };
            blocked(&place, &kind.into())
        };
        let kept = of("0.0.0.0", io::ErrorKind::PermissionDenied);
        assert_eq!(kept.address, "0.0.0.0:3001");
        assert!(kept.reason.contains("CC_LINK_PORT"), "{}", kept.reason);
        let elsewhere = of("fd00::1", io::ErrorKind::AddrNotAvailable);
        assert_eq!(elsewhere.address, "[fd00::1]:3001");
        assert!(
            elsewhere.reason.contains("CC_LINK_HOST"),
            "{}",
            elsewhere.reason
        );
    }
}
