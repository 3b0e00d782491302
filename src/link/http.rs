//! What the link port answers over HTTP: links on any path, `/health`, and the agent to download.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    extract::{FromRequestParts, Request, ws::WebSocketUpgrade},
    http::{HeaderMap, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    admission::LinkAdmission,
    agent,
    session::{self, Shared},
};
use crate::{
    base::{http::listener::Answers, text::timestamp},
    bridges::{self, message::Owner, owner_end::Ownership},
    computers::registry::Registry,
    settings::LinkConfig,
    wire::frame::DEFAULT_MAX_MESSAGE,
};

/// The size of a link's read buffer, in bytes. Links are many and most of their frames are short.
const READ_BUFFER: usize = 1_536;

/// How much may wait to be written to a link, in bytes, beyond one message.
const WRITE_BUFFER: usize = 2 * DEFAULT_MAX_MESSAGE;

/// The link port's routes, shared by all connections.
#[derive(Debug, Clone)]
pub struct Routes {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    admission: LinkAdmission,
    /// Without it, this bridge shares the port with no other.
    ownership: Option<Arc<Ownership>>,
}

/// The routes of a port with this configuration.
pub fn routes(
    config: &LinkConfig,
    shared: Arc<Shared>,
    ownership: Option<Arc<Ownership>>,
) -> Routes {
    let admission = LinkAdmission::new(config.token.is_some(), config.names.clone());
    Routes {
        inner: Arc::new(Inner {
            shared,
            admission,
            ownership,
        }),
    }
}

impl Answers for Routes {
    async fn answer(&self, request: Request, peer: SocketAddr) -> Response {
        let admission = &self.inner.admission;
        if let Err(refusal) = admission.check_origin(request.headers()) {
            tracing::warn!(%peer, %refusal, "request refused");
            return (StatusCode::FORBIDDEN, format!("{refusal}\n")).into_response();
        }
        if asks_for_websocket(request.headers()) {
            return if is_guest(request.headers()) {
                self.guest(request, peer).await
            } else {
                self.link(request, peer).await
            };
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            return (
                StatusCode::METHOD_NOT_ALLOWED,
                [(header::ALLOW, "GET, HEAD")],
                "",
            )
                .into_response();
        }
        match request.uri().path() {
            "/health" => self.health(),
            "/mcp-computer.lua" => lua(agent::program_for(own_address(request.headers()))),
            "/install.lua" => lua(agent::installer_for(own_address(request.headers()))),
            _ => (StatusCode::NOT_FOUND, NOT_FOUND).into_response(),
        }
    }
}

impl Routes {
    async fn link(&self, request: Request, peer: SocketAddr) -> Response {
        let admission = &self.inner.admission;
        if let Err(refusal) = admission.check_link(request.headers(), peer.ip()) {
            tracing::warn!(%peer, %refusal, "link refused");
            return (StatusCode::FORBIDDEN, format!("{refusal}\n")).into_response();
        }
        let (mut parts, _) = request.into_parts();
        let shared = self.inner.shared.clone();
        match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
            Ok(upgrade) => upgrade
                .read_buffer_size(READ_BUFFER)
                .write_buffer_size(0)
                .max_write_buffer_size(WRITE_BUFFER)
                .max_message_size(DEFAULT_MAX_MESSAGE)
                .max_frame_size(DEFAULT_MAX_MESSAGE)
                .on_upgrade(move |socket| session::run(Box::new(socket), peer, shared)),
            Err(rejection) => rejection.into_response(),
        }
    }

    /// Another bridge wants to share the port. Whether it may is up to the challenge.
    async fn guest(&self, request: Request, peer: SocketAddr) -> Response {
        let Some(ownership) = self.inner.ownership.clone() else {
            return (StatusCode::SERVICE_UNAVAILABLE, NOT_SHARED).into_response();
        };
        let (mut parts, _) = request.into_parts();
        let shared = self.inner.shared.clone();
        match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
            Ok(upgrade) => upgrade
                .protocols([bridges::SUBPROTOCOL])
                .max_message_size(bridges::MAX_MESSAGE)
                .max_frame_size(bridges::MAX_MESSAGE)
                .on_upgrade(move |socket| bridges::owner_end::run(socket, peer, shared, ownership)),
            Err(rejection) => rejection.into_response(),
        }
    }

    fn health(&self) -> Response {
        let owner = self.inner.ownership.as_ref().map(|own| &own.owner);
        let health = health(&self.inner.shared.registry, owner, None);
        (
            [(header::CONTENT_TYPE, "application/json")],
            format!("{health}\n"),
        )
            .into_response()
    }
}

/// What `/health` tells: whether it works, how many computers are linked, who holds the link port, since when, and how
/// many bridges share it (by default this one and its guests).
pub fn health(registry: &Registry, owner: Option<&Owner>, bridges: Option<usize>) -> Value {
    let mut health = json!({
        "ok": true,
        "computers": registry.linked(),
        "name": env!("CARGO_PKG_NAME"),
        "version": env!("CARGO_PKG_VERSION"),
    });
    if let Some(owner) = owner {
        health["owner"] = json!({ "pid": owner.pid, "since": timestamp(owner.since) });
        health["bridges"] = json!(bridges.unwrap_or(registry.guests.count() + 1));
    }
    health
}

const NOT_SHARED: &str = "This mcp-bridge shares its link port with no other, since it has no state folder to keep a \
    secret in. Its log says why.\n";

const NOT_FOUND: &str = "This is the link port of mcp-bridge. Computers link here by WebSocket, on any path.\n\
    GET /health            whether it works, and how many computers are linked\n\
    GET /install.lua       in the game: wget run http://HOST:PORT/install.lua\n\
    GET /mcp-computer.lua  the agent itself\n";

fn asks_for_websocket(headers: &HeaderMap) -> bool {
    headers
        .get(header::UPGRADE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
}

/// Whether the one who asks is another bridge.
fn is_guest(headers: &HeaderMap) -> bool {
    headers
        .get(header::SEC_WEBSOCKET_PROTOCOL)
        .is_some_and(|protocol| protocol == bridges::SUBPROTOCOL)
}

/// How the one who asks reaches this port, by its own word.
fn own_address(headers: &HeaderMap) -> Option<&str> {
    headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
}

fn lua(program: String) -> Response {
    (
        [
            (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
            (header::CACHE_CONTROL, "no-store"),
        ],
        program,
    )
        .into_response()
}
