//! What the link port answers over HTTP: links on any path, `/health`, and the agent to download.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    extract::{
        FromRequestParts, Request,
        ws::{WebSocket, WebSocketUpgrade},
    },
    http::{Extensions, HeaderMap, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::future::BoxFuture;
use serde_json::Value;

use super::{
    admission::LinkAdmission,
    agent,
    packages::{self, Page},
    session::{self, Shared},
};
use crate::{
    base::http::{intake::Intake, listener::Answers, room::Place},
    wire::limits::DEFAULT_MAX_MESSAGE,
};

/// The size of a link's read buffer, in bytes. Links are many and most of their frames are short.
const READ_BUFFER: usize = 1_024;

/// The same for those who come by the door, whose messages may be long.
const READ_BUFFER_AT_DOOR: usize = 16 * 1024;

/// How much they may send before it is known that they may, in bytes.
const LARGEST_GREETING: usize = 16 * 1024;

/// How much may wait to be written to a link, in bytes, beyond one message.
const WRITE_BUFFER: usize = 2 * DEFAULT_MAX_MESSAGE;

/// The link port's routes, shared by all connections.
#[derive(Clone)]
pub struct Routes {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    admission: LinkAdmission,
    /// What `/health` answers.
    health: Box<dyn Fn() -> Value + Send + Sync>,
    /// The port's number, once it is known.
    port: Box<dyn Fn() -> Option<u16> + Send + Sync>,
    door: Door,
}

/// Where others than computers come in on the port: whoever names this WebSocket subprotocol (RFC 6455, section 1.9).
pub struct Door {
    /// The subprotocol.
    pub subprotocol: &'static str,
    /// The largest message they may send, in bytes.
    pub max_message: usize,
    /// Serves one of them to its end; without it, the door is closed, and they are told why.
    pub enter: Result<Enter, &'static str>,
}

/// Serves whoever has come by a [`Door`] to its end. Until they are known, they may send no more than a greeting.
pub type Enter =
    Box<dyn Fn(WebSocket, SocketAddr, Arc<Intake>) -> BoxFuture<'static, ()> + Send + Sync>;

/// The routes of a port that admits as `admission` says. `health` tells what `/health` answers, `port` the port's number.
pub fn routes(
    admission: LinkAdmission,
    shared: Arc<Shared>,
    health: impl Fn() -> Value + Send + Sync + 'static,
    port: impl Fn() -> Option<u16> + Send + Sync + 'static,
    door: Door,
) -> Routes {
    Routes {
        inner: Arc::new(Inner {
            shared,
            admission,
            health: Box::new(health),
            port: Box::new(port),
            door,
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
            return if self.inner.door.is_named_by(request.headers()) {
                self.enter(request, peer).await
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
            "/health" => match admission.check_name(request.headers()) {
                Ok(()) => self.health(),
                Err(refusal) => {
                    tracing::warn!(%peer, %refusal, "request refused");
                    (StatusCode::FORBIDDEN, format!("{refusal}\n")).into_response()
                }
            },
            "/mcp-computer.lua" => lua(agent::program_for(
                self.own_address(request.headers()).as_deref(),
            )),
            "/install.lua" => lua(agent::installer_for(
                self.own_address(request.headers()).as_deref(),
            )),
            path => match packages::page(path, self.own_address(request.headers()).as_deref()) {
                Some(Page::Json(text)) => json(text),
                Some(Page::Lua(program)) => lua(program),
                None => (StatusCode::NOT_FOUND, NOT_FOUND).into_response(),
            },
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
        let place = Place::of(&request);
        let (mut parts, _) = request.into_parts();
        let shared = self.inner.shared.clone();
        let intake = intake(&parts.extensions);
        intake.share(&shared.messages);
        match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
            Ok(upgrade) => upgrade
                .read_buffer_size(READ_BUFFER)
                .write_buffer_size(0)
                .max_write_buffer_size(WRITE_BUFFER)
                .max_message_size(DEFAULT_MAX_MESSAGE)
                .max_frame_size(DEFAULT_MAX_MESSAGE)
                .on_upgrade(move |socket| {
                    let from = (intake, place);
                    // In a task of its own: that of the upgrade would keep what the upgrade needed.
                    tokio::spawn(session::run(Box::new(socket), peer, from, shared));
                    std::future::ready(())
                }),
            Err(rejection) => rejection.into_response(),
        }
    }

    /// Lets in someone else than a computer. Whether they may stay is up to whoever serves them.
    async fn enter(&self, request: Request, peer: SocketAddr) -> Response {
        let door = &self.inner.door;
        if let Err(closed) = door.enter {
            return (StatusCode::SERVICE_UNAVAILABLE, closed).into_response();
        }
        let (subprotocol, max_message) = (door.subprotocol, door.max_message);
        let (mut parts, _) = request.into_parts();
        let inner = self.inner.clone();
        let intake = intake(&parts.extensions);
        intake.limit(LARGEST_GREETING);
        match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
            Ok(upgrade) => upgrade
                .protocols([subprotocol])
                .read_buffer_size(READ_BUFFER_AT_DOOR)
                .max_message_size(max_message)
                .max_frame_size(max_message)
                .on_upgrade(async move |socket| {
                    if let Ok(enter) = &inner.door.enter {
                        enter(socket, peer, intake).await;
                    }
                }),
            Err(rejection) => rejection.into_response(),
        }
    }

    /// How the one who asks reaches this port, by its own word. The games of Minecraft 1.12.2 leave the port out, as others
    /// do for port 80: unless something stands between us, it is the one they reached.
    fn own_address(&self, headers: &HeaderMap) -> Option<String> {
        let host = headers.get(header::HOST)?.to_str().ok()?;
        let names_port = host.rfind(':') > host.rfind(']');
        let is_forwarded =
            headers.contains_key(header::FORWARDED) || headers.contains_key("x-forwarded-for");
        match (self.inner.port)() {
            Some(port) if !names_port && !is_forwarded => Some(format!("{host}:{port}")),
            _ => Some(host.to_owned()),
        }
    }

    fn health(&self) -> Response {
        let health = (self.inner.health)();
        json(format!("{health}\n"))
    }
}

impl Door {
    fn is_named_by(&self, headers: &HeaderMap) -> bool {
        headers
            .get(header::SEC_WEBSOCKET_PROTOCOL)
            .is_some_and(|protocol| protocol == self.subprotocol)
    }
}

const NOT_FOUND: &str = "This is the link port of mcp-bridge. Computers link here by WebSocket, on any path.\n\
    GET /health            whether it works, and how many computers are linked\n\
    GET /install.lua       in the game: wget run http://HOST:PORT/install.lua\n\
    GET /mcp-computer.lua  the agent itself\n\
    GET /packages/         the same for TrapOS: ccpm registry add http://HOST:PORT --type http\n";

/// What the listener counts of the connection that a request came on.
fn intake(extensions: &Extensions) -> Arc<Intake> {
    extensions.get::<Arc<Intake>>().cloned().unwrap_or_default()
}

fn asks_for_websocket(headers: &HeaderMap) -> bool {
    headers
        .get(header::UPGRADE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
}

fn json(text: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
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
