//! Takes a port's connections, and serves HTTP on each, within the port's own bounds.

use std::{convert::Infallible, future::Future, io, net::SocketAddr, pin::pin, sync::Arc};

use axum::{extract::Request, response::Response};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::{Duration, sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    intake::{Counted, Intake},
    room::{Origin, Place, Room},
};

/// How long the silence on a connection lasts before the system asks whether the other end is still there.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(30);

/// How long after an unanswered question it asks again.
const KEEPALIVE_AGAIN: Duration = Duration::from_secs(10);

/// How long the next connection waits for a place, and all that come after it with it.
const PLACE_TIME: Duration = Duration::from_secs(1);

/// How long it may take to be told that there are too many connections.
const REFUSAL: Duration = Duration::from_secs(1);

/// How much one port takes.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The most connections at once. Those that do nothing make way for more.
    pub connections: usize,
    /// The most that one other machine may hold.
    pub of_one_machine: usize,
    /// What one is told, in HTTP, for which none makes way. Without it, it waits a moment, and more in the system's queue.
    pub full: Option<&'static [u8]>,
    /// How long a connection may wait for its next request, and take to send its head.
    pub head_time: Duration,
    /// The largest request head, in bytes.
    pub head: usize,
}

/// What a port answers.
pub trait Answers: Clone + Send + Sync + 'static {
    /// Answers one request from `peer`.
    fn answer(&self, request: Request, peer: SocketAddr) -> impl Future<Output = Response> + Send;
}

/// All connections of a port.
#[derive(Debug)]
pub struct Connections {
    bounds: Bounds,
    room: Arc<Room>,
    open: TaskTracker,
    /// Cancelled when no connection is to take another request.
    leaving: CancellationToken,
}

impl Connections {
    /// None yet.
    pub fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            room: Arc::new(Room::new(bounds.connections, bounds.of_one_machine)),
            open: TaskTracker::new(),
            leaving: CancellationToken::new(),
        }
    }

    /// Accepts connections for ever, and serves each. Dropping this leaves those that are open as they are.
    pub async fn accept(&self, listener: &TcpListener, answers: &impl Answers) -> Infallible {
        loop {
            let (stream, peer) = match listener.accept().await {
                Ok(connection) => connection,
                Err(error) => {
                    // Most often the limit on open files: some connection has to end first.
                    tracing::warn!(%error, "a connection can't be accepted");
                    self.room.make_way();
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let Some(place) = self.place_for(peer).await else {
                self.refuse(stream, peer);
                continue;
            };
            let (answers, bounds, leaving) = (answers.clone(), self.bounds, self.leaving.clone());
            self.open.spawn(async move {
                set_up(&stream, peer);
                converse_at(place, stream, peer, answers, bounds, leaving).await;
            });
        }
    }

    async fn place_for(&self, peer: SocketAddr) -> Option<Place> {
        let origin = Origin::of(peer.ip());
        if self.bounds.full.is_some() {
            return self.room.take(origin);
        }
        let waiting = async {
            loop {
                match self.room.take(origin) {
                    Some(place) => return place,
                    None => self.room.freed().await,
                }
            }
        };
        timeout(PLACE_TIME, waiting).await.ok()
    }

    fn refuse(&self, mut stream: TcpStream, peer: SocketAddr) {
        tracing::warn!(%peer, "a connection is refused: there are too many");
        let words = self.bounds.full.unwrap_or_default();
        self.open.spawn(async move {
            let _ = timeout(REFUSAL, stream.write_all(words)).await;
        });
    }

    /// Lets each connection answer its request, and take no other. Whether all have ended within this time.
    pub async fn leave(&self, within: Duration) -> bool {
        self.leaving.cancel();
        timeout(within, self.none_left()).await.is_ok()
    }

    /// Waits until no connection is open.
    pub async fn none_left(&self) {
        self.open.close();
        self.open.wait().await;
        self.open.reopen();
    }
}

fn set_up(stream: &TcpStream, peer: SocketAddr) {
    // An answer or an event is one small write: waiting to fill a packet only delays it.
    if let Err(error) = stream.set_nodelay(true).and_then(|()| keep_alive(stream)) {
        tracing::debug!(%peer, %error, "a socket option can't be set");
    }
}

/// A machine that was cut off closes nothing: only the system's own probes notice it.
fn keep_alive(stream: &TcpStream) -> io::Result<()> {
    let probes = socket2::TcpKeepalive::new()
        .with_time(KEEPALIVE_AFTER)
        .with_interval(KEEPALIVE_AGAIN);
    socket2::SockRef::from(stream).set_tcp_keepalive(&probes)
}

/// Serves one connection, whatever carries it, until it ends, becomes a WebSocket or, once the port is `leaving`, its
/// request is answered. Its [`Intake`] is an extension of each request.
pub async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    answers: impl Answers,
    bounds: Bounds,
    leaving: CancellationToken,
) {
    converse_at(Place::alone(), stream, peer, answers, bounds, leaving).await;
}

/// [`converse`], for as long as the connection has its place.
async fn converse_at(
    place: Place,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: SocketAddr,
    answers: impl Answers,
    bounds: Bounds,
    leaving: CancellationToken,
) {
    let place = Arc::new(place);
    let at = place.clone();
    let intake = Arc::new(Intake::default());
    let stream = Counted {
        stream,
        intake: intake.clone(),
    };
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(intake.clone());
        let (answers, place) = (answers.clone(), at.clone());
        async move {
            let mut request = request.map(|body| place.asks(body));
            place.beside(&mut request);
            let answer = answers.answer(request, peer).await;
            Ok::<_, Infallible>(answer.map(|body| place.is_answered(body)))
        }
    });
    let mut connection = pin!(
        hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(bounds.head_time)
            .max_buf_size(bounds.head)
            // Else hyper's own answer to a bad request goes out before what is left of the answer to the last one.
            .writev(false)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades()
    );
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = leaving.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = place.lost() => {
            tracing::debug!(%peer, "a connection that did nothing made way for another");
            return;
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, %error, "a connection ended early");
    }
}
