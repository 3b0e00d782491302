//! What the MCP port answers: `/mcp`, the protocol itself, and `/health`.

use std::{fmt, net::SocketAddr, sync::Arc};

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use rmcp::{
    model::{ClientRequest, JsonRpcMessage, ProtocolVersion},
    transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService},
};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::{
    accept,
    admission::{HttpAdmission, Unauthorized},
    batch,
    body::{self, JSON, LARGE, LargePlaces, MAX_BODY, Message, Unread},
    cors, early,
    sessions::{NO_SESSION, SESSION_ID, Sessions},
};
use crate::{
    base::{
        http::{listener::Answers, room::Origin, text},
        late::LateAnswers,
    },
    computers::Fleet,
    mcp::{
        incoming::{self, Incoming, LONG},
        server::Server,
    },
};

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// What can be done at each path.
const MCP_METHODS: &str = "GET, POST, DELETE, OPTIONS";
const HEALTH_METHODS: &str = "GET, HEAD, OPTIONS";

/// The MCP port's routes, shared by all connections.
#[derive(Clone)]
pub struct Routes {
    inner: Arc<Inner>,
}

struct Inner {
    admission: HttpAdmission,
    /// Those who showed a wrong token.
    late: LateAnswers,
    sessions: Arc<Sessions>,
    protocol: StreamableHttpService<Server, Sessions>,
    fleet: Arc<Fleet>,
    places: LargePlaces,
    /// Cancelled when all streams are to end.
    ending: CancellationToken,
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routes")
            .field("admission", &self.inner.admission)
            .finish_non_exhaustive()
    }
}

impl Routes {
    /// Routes to `server`, for those whom `admission` lets in, until `ending` is cancelled.
    pub fn new(
        admission: HttpAdmission,
        server: Server,
        fleet: Arc<Fleet>,
        ending: CancellationToken,
    ) -> Self {
        let sessions = Arc::new(Sessions::default());
        // Host and Origin are checked here, for all paths; the size of a body too. Sessions say themselves how to
        // resume a stream. Where nothing comes before an answer, JSON is enough, and the Python SDK takes more of it
        // than of an event.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(MAX_BODY)
            .with_sse_retry(None)
            .with_json_response(true)
            .with_cancellation_token(ending.clone());
        let protocol =
            StreamableHttpService::new(move || Ok(server.for_another()), sessions.clone(), config);
        Self {
            inner: Arc::new(Inner {
                admission,
                late: LateAnswers::default(),
                sessions,
                protocol,
                fleet,
                places: LargePlaces::default(),
                ending,
            }),
        }
    }
}

impl Answers for Routes {
    async fn answer(&self, request: Request, peer: SocketAddr) -> Response {
        let (mut parts, body) = request.into_parts();
        if let Err(refusal) = self.inner.admission.check(&parts.headers) {
            tracing::warn!(%peer, %refusal, "request refused");
            let answer = (StatusCode::FORBIDDEN, format!("{refusal}\n")).into_response();
            return unread(answer, body, &parts.headers).await;
        }
        let origin = parts.headers.get(header::ORIGIN).cloned();
        let mut answer = match self.at_once(&parts, peer).await {
            Some(answer) => unread(answer, body, &parts.headers).await,
            None => {
                accept::spell_out(&mut parts.headers);
                self.protocol(parts, body, peer).await
            }
        };
        if let Some(origin) = origin {
            cors::allow(origin, answer.headers_mut());
        }
        answer
    }
}

impl Routes {
    /// The answer to what needs no look at the request's body.
    async fn at_once(&self, parts: &Parts, peer: SocketAddr) -> Option<Response> {
        let path = parts.uri.path();
        // Some clients end every address with a slash.
        let (methods, is_health) = match path.strip_suffix('/').unwrap_or(path) {
            "/mcp" => (MCP_METHODS, false),
            "/health" => (HEALTH_METHODS, true),
            _ => return Some((StatusCode::NOT_FOUND, NOT_FOUND).into_response()),
        };
        if parts.method == Method::OPTIONS {
            return Some(cors::options(methods, &parts.headers));
        }
        if !methods
            .split(", ")
            .any(|method| method == parts.method.as_str())
        {
            let allowed = [(header::ALLOW, methods)];
            return Some((StatusCode::METHOD_NOT_ALLOWED, allowed).into_response());
        }
        if is_health {
            let health = format!("{}\n", self.inner.fleet.health().await);
            return Some((JSON, health).into_response());
        }
        if let Err(refusal) = self.inner.admission.check_token(&parts.headers) {
            tracing::warn!(%peer, %refusal, "request refused");
            // Clients that know of no token yet ask without one, to learn that there is one.
            if refusal == Unauthorized::Wrong {
                self.inner.late.wait().await;
            }
            let wanted = [(header::WWW_AUTHENTICATE, "Bearer")];
            let answer = (StatusCode::UNAUTHORIZED, wanted, format!("{refusal}\n"));
            return Some(answer.into_response());
        }
        self.unknown(&parts.method, &parts.headers)
    }

    /// The answer to what is the protocol's own.
    async fn protocol(&self, parts: Parts, body: Body, peer: SocketAddr) -> Response {
        if parts.method == Method::POST {
            return self.message(parts, body, Origin::of(peer.ip())).await;
        }
        let ends = parts.method == Method::DELETE;
        let request = Request::from_parts(parts, body);
        let mut response = self.inner.protocol.handle(request).await.map(Body::new);
        if ends && response.status() == StatusCode::ACCEPTED {
            // The session has ended already. The Python SDK takes anything but this for a failure.
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        response
    }

    /// The answer to a request about a session or a stream that there is not. rmcp would say that all is well.
    fn unknown(&self, method: &Method, headers: &HeaderMap) -> Option<Response> {
        let session = text(headers, &SESSION_ID)?;
        if method == Method::DELETE && !self.inner.sessions.contains(session) {
            return Some((StatusCode::NOT_FOUND, NO_SESSION).into_response());
        }
        let event = text(headers, &LAST_EVENT_ID)?;
        let resumes = method == Method::GET && self.inner.sessions.contains(session);
        if resumes && !self.inner.sessions.can_resume(session, event) {
            // Clients ask again and again as long as they get a stream, an empty one too. This is how the specification
            // lets a server say that there is none.
            let allowed = [(header::ALLOW, "POST, DELETE, OPTIONS")];
            return Some((StatusCode::METHOD_NOT_ALLOWED, allowed, NO_STREAM).into_response());
        }
        None
    }

    /// Which session a message with these headers is of.
    fn session_of(&self, headers: &HeaderMap) -> Session {
        let version = text(headers, &PROTOCOL_VERSION);
        // Later revisions have none; their requests must say by this header that they are of them.
        if version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str()) {
            return Session::Known;
        }
        match text(headers, &SESSION_ID) {
            Some(id) if self.inner.sessions.contains(id) => Session::Known,
            Some(_) => Session::Gone,
            None => Session::None,
        }
    }

    async fn message(&self, parts: Parts, body: Body, origin: Origin) -> Response {
        let declared = text(&parts.headers, &header::CONTENT_LENGTH)
            .and_then(|length| length.parse::<u64>().ok());
        let waits = parts.headers.contains_key(header::EXPECT);
        if waits && declared.is_some_and(|length| length > MAX_BODY as u64) {
            // It sends the message only if it is told to go on.
            return closing(too_large(None));
        }
        let message = match body::read(body, declared, &self.inner.places).await {
            Ok(message) => message,
            Err(Unread::TooLarge(id)) => return closing(too_large(id.as_deref())),
            Err(Unread::Stopped) => {
                let answer = (StatusCode::REQUEST_TIMEOUT, "The message did not come.\n");
                return closing(answer.into_response());
            }
        };
        let is_of_session = match self.session_of(&parts.headers) {
            Session::Gone if message.bytes.len() > LARGE => {
                return (StatusCode::NOT_FOUND, NO_SESSION).into_response();
            }
            // It can't be anything but an `initialize`, which is small.
            Session::None => message.bytes.len() <= LARGE,
            Session::Gone | Session::Known => true,
        };
        let Some((read, message)) = read(message, is_of_session).await else {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        };
        let (message, opens_session) = match read {
            Incoming::Message(read) => {
                let opens_session = matches!(
                    &*read,
                    JsonRpcMessage::Request(request)
                        if matches!(request.request, ClientRequest::InitializeRequest(_))
                );
                if opens_session && !self.inner.sessions.make_room(origin) {
                    let later = [(header::RETRY_AFTER, "60")];
                    return (StatusCode::SERVICE_UNAVAILABLE, later, FULL).into_response();
                }
                let is_another = opens_session || matches!(&*read, JsonRpcMessage::Error(_));
                match is_another.then(|| serde_json::to_vec(&read)) {
                    // As it was meant, which may not be as it came.
                    Some(Ok(read)) => (read.into(), opens_session),
                    _ => (message.into_bytes(), opens_session),
                }
            }
            Incoming::Batch(messages) => {
                drop(message);
                return batch::answer(&self.inner.sessions, &parts.headers, messages).await;
            }
            Incoming::Refused(reply) => {
                return (StatusCode::BAD_REQUEST, JSON, reply).into_response();
            }
            Incoming::Nothing => {
                return (StatusCode::BAD_REQUEST, NOTHING).into_response();
            }
        };
        // A place is for reading, not for the time that a call takes.
        let request = Request::from_parts(parts, Body::from(message));
        let inner = self.inner.clone();
        early::answer(Box::pin(async move {
            let answer = inner.protocol.handle(request).await.map(Body::new);
            if let Some(id) = text(answer.headers(), &SESSION_ID).filter(|_| opens_session) {
                inner.sessions.came_from(id, origin);
            }
            if answer.status() == StatusCode::INTERNAL_SERVER_ERROR && inner.ending.is_cancelled() {
                return (StatusCode::SERVICE_UNAVAILABLE, LEAVING).into_response();
            }
            answer
        }))
        .await
    }
}

/// What is known of a message's session before the message is read.
#[derive(Debug, Clone, Copy)]
enum Session {
    /// There is one, or it needs none.
    Known,
    /// It is over, or never was.
    Gone,
    /// It names none.
    None,
}

/// Reads a message, beside the one thread that serves all if it is long; a large one keeps its place for that time. None
/// if that failed.
async fn read(message: Message, is_of_session: bool) -> Option<(Incoming, Message)> {
    if message.bytes.len() <= LONG {
        return Some((incoming::read(&message.bytes), message));
    }
    let read = spawn_blocking(move || {
        let read = match is_of_session {
            true => incoming::read(&message.bytes),
            false => Incoming::Refused(incoming::without_session(&message.bytes)),
        };
        (read, message)
    });
    read.await.ok()
}

/// This answer, to a request whose body is not wanted: it is read all the same, or the client is told that the connection
/// ends, so that it does not send its next request where nobody reads it.
async fn unread(answer: Response, body: Body, headers: &HeaderMap) -> Response {
    if body::discard(body, headers).await {
        answer
    } else {
        closing(answer)
    }
}

/// This answer as the last one on its connection.
fn closing(mut answer: Response) -> Response {
    let close = HeaderValue::from_static("close");
    answer.headers_mut().insert(header::CONNECTION, close);
    answer
}

fn too_large(id: Option<&str>) -> Response {
    let reply = incoming::too_long(id, MAX_BODY);
    (StatusCode::PAYLOAD_TOO_LARGE, JSON, reply).into_response()
}

const NOT_FOUND: &str = "This is the MCP port of mcp-bridge.\n\
    /mcp         for MCP clients (streamable HTTP)\n\
    GET /health  whether it works, and how many computers are linked\n";

const NO_STREAM: &str = "There is no stream to resume from that event: all of it was sent, or its request was \
    cancelled.\n";

const FULL: &str = "There are too many sessions, and all of them are in use. A client ends its session with DELETE \
    /mcp.\n";

const LEAVING: &str = "mcp-bridge is leaving, and gave the call up.\n";

const NOTHING: &str = "The message is empty, or a notification that can't be read.\n";
