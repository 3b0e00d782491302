//! One session of a client that began with `initialize`: what it sends, and what it is owed.

use std::{
    collections::VecDeque,
    future::Future,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{Stream, stream};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage,
        ClientNotification, GetMeta, JsonRpcError, JsonRpcMessage, ProgressToken, RequestId,
        ServerJsonRpcMessage,
    },
    transport::{Transport, streamable_http_server::session::ServerSseMessage},
};
use thiserror::Error;
use tokio::{
    sync::{Notify, mpsc},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::outbox::{Outbox, STANDALONE, StreamPlace, Taken};
use crate::base::{budget::Budget, json::size_of};

/// The most unanswered requests of one session.
const MAX_UNANSWERED: usize = 256;

/// How many messages of a client may wait for its session.
const MAX_WAITING: usize = 64;

/// How many bytes of answers are kept, of all sessions, for clients that lost the connection before they had them.
const MAX_KEPT_BYTES: usize = 16 * 1024 * 1024;

/// How many bytes the streams of all sessions keep, in which calls that go on tell how; of each the newest message is kept
/// in any case.
const ROOM: usize = 16 * 1024 * 1024;

/// How many of them.
const MAX_KEPT: usize = 1_024;

/// How long a client may have no connection at all while calls of it wait: then it is taken for gone, and they are given
/// up. One that only lost its connection is back within seconds.
const GONE_AFTER: Duration = Duration::from_secs(60);

/// There is no such session, or no more.
#[derive(Debug, Error)]
#[error("there is no such session")]
pub struct NoSession;

/// One session: what its client sends, on the way in, and what it is owed.
#[derive(Debug)]
pub struct HttpSession {
    /// Boxed, since a channel takes room for 32 of them at once.
    incoming: mpsc::Sender<Box<ClientJsonRpcMessage>>,
    outbox: Mutex<Outbox>,
    /// Told when the outbox changes.
    changed: Notify,
    /// When its client was last heard of, or an answer was ready for it.
    used: Mutex<Instant>,
    ended: CancellationToken,
    /// Whether its revision has batches.
    has_batches: AtomicBool,
    kept: Arc<Mutex<KeptAnswers>>,
}

/// Complete streams of all sessions, the oldest first, for clients that lost the connection before they had them.
#[derive(Debug)]
pub struct KeptAnswers {
    streams: VecDeque<(Weak<HttpSession>, u64, usize)>,
    bytes: usize,
    /// The room for all streams, complete or not.
    room: Arc<Budget>,
}

impl Default for KeptAnswers {
    fn default() -> Self {
        Self {
            streams: VecDeque::new(),
            bytes: 0,
            room: Budget::new(ROOM),
        }
    }
}

impl HttpSession {
    /// A new session, and what rmcp serves it by. Its answers are among the `kept`.
    pub fn new(kept: Arc<Mutex<KeptAnswers>>) -> (Arc<Self>, SessionTransport) {
        let (sender, incoming) = mpsc::channel(MAX_WAITING);
        let room = lock(&kept).room.clone();
        let session = Arc::new(Self {
            incoming: sender,
            outbox: Mutex::new(Outbox::new(room)),
            changed: Notify::new(),
            used: Mutex::new(Instant::now()),
            ended: CancellationToken::new(),
            has_batches: AtomicBool::new(false),
            kept,
        });
        let transport = SessionTransport {
            session: session.clone(),
            incoming,
        };
        (session, transport)
    }

    /// Notes whether the revision that was agreed on has batches.
    pub fn agree(&self, has_batches: bool) {
        self.has_batches.store(has_batches, Ordering::Release);
    }

    /// Whether its revision has batches.
    pub fn has_batches(&self) -> bool {
        self.has_batches.load(Ordering::Acquire)
    }

    /// Begins each stream from now on with an event that says how to resume it.
    pub fn prime(&self) {
        lock(&self.outbox).primes = true;
    }

    /// Whether its client can go on in this stream after this message.
    pub fn can_resume(&self, stream: u64, after: u64) -> bool {
        lock(&self.outbox).can_resume(stream, after)
    }

    /// Whether this is the stream of a request that has no answer yet.
    pub fn is_awaited(&self, stream: u64) -> bool {
        stream != STANDALONE && lock(&self.outbox).is_open(stream)
    }

    /// Ends the stream of a request that gets no answer, since the client gave it up.
    pub fn give_up(&self, id: &RequestId) {
        lock(&self.outbox).cancel(id);
        self.changed.notify_waiters();
    }

    /// Hands a request to the session, and reads what it answers.
    pub async fn ask(
        self: &Arc<Self>,
        id: &RequestId,
        message: ClientJsonRpcMessage,
    ) -> Result<Reader, NoSession> {
        let token = match &message {
            JsonRpcMessage::Request(request) => request.request.get_meta().get_progress_token(),
            _ => None,
        };
        let opened = self.open(id, token);
        let stream = *opened.as_ref().unwrap_or_else(|refused| refused);
        let reader = self.read(stream, None).ok_or(NoSession)?;
        if opened.is_ok() {
            self.put_in(message).await?;
        }
        Ok(reader)
    }

    /// Opens the stream of a request or, as the error, one that says why it is refused.
    pub fn open(&self, id: &RequestId, token: Option<ProgressToken>) -> Result<u64, u64> {
        let mut outbox = lock(&self.outbox);
        let problem = if outbox.unanswered() >= MAX_UNANSWERED {
            format!(
                "Invalid request: {MAX_UNANSWERED} requests of this session have no answer yet. Wait for some of \
                 them, or cancel them."
            )
        } else if let Some(stream) = outbox.open(id, token) {
            return Ok(stream);
        } else {
            format!(
                "Invalid request: the id {id} belongs to a request that is still being answered."
            )
        };
        let error = JsonRpcError::new(Some(id.clone()), ErrorData::invalid_request(problem, None));
        Err(outbox.open_answered(ServerJsonRpcMessage::Error(error)))
    }

    /// Hands the session a message.
    pub async fn put_in(&self, message: ClientJsonRpcMessage) -> Result<(), NoSession> {
        tokio::select! {
            sent = self.incoming.send(Box::new(message)) => sent.map_err(|_| NoSession),
            () = self.ended.cancelled() => Err(NoSession),
        }
    }

    /// A place at a stream, from after this message on, or from where the reader before left.
    pub fn read(self: &Arc<Self>, stream: u64, after: Option<u64>) -> Option<Reader> {
        let place = lock(&self.outbox).attach(stream, after)?;
        // Whoever read it before learns that it is over for them.
        self.changed.notify_waiters();
        Some(Reader {
            session: self.clone(),
            place,
        })
    }

    /// Puts a message of the server's where its client will find it.
    fn deliver(self: &Arc<Self>, message: ServerJsonRpcMessage) {
        let bytes = size_of(&message);
        let complete = lock(&self.outbox).deliver(message, bytes);
        self.changed.notify_waiters();
        if let Some(stream) = complete {
            self.use_now();
            keep(&self.kept, self, stream, bytes);
        }
    }

    /// Takes note that its client is there.
    pub fn use_now(&self) {
        *lock(&self.used) = Instant::now();
    }

    /// Since when nobody uses it; none if someone does.
    pub fn unused_since(&self) -> Option<Instant> {
        let outbox = lock(&self.outbox);
        let in_use = outbox.is_read() || outbox.unanswered() > 0;
        (!in_use).then(|| *lock(&self.used))
    }

    /// Waits until calls wait whose client is gone.
    async fn forsaken(&self) {
        loop {
            let changed = self.changed.notified();
            let alone_since = {
                let outbox = lock(&self.outbox);
                let alone = outbox.unanswered() > 0 && !outbox.is_read();
                alone.then(|| *lock(&self.used))
            };
            match alone_since {
                Some(since) if since.elapsed() >= GONE_AFTER => return,
                Some(since) => tokio::select! {
                    () = sleep_until(since + GONE_AFTER) => {}
                    () = changed => {}
                },
                None => changed.await,
            }
        }
    }

    /// Ends it: its streams, and the calls that go on.
    pub fn end(&self) {
        lock(&self.outbox).close();
        self.changed.notify_waiters();
        self.ended.cancel();
    }
}

/// Keeps a complete stream, and forgets the oldest when they are too many.
fn keep(kept: &Mutex<KeptAnswers>, session: &Arc<HttpSession>, stream: u64, bytes: usize) {
    let mut forgotten = Vec::new();
    {
        let mut kept = lock(kept);
        kept.streams
            .push_back((Arc::downgrade(session), stream, bytes));
        kept.bytes += bytes;
        while kept.bytes > MAX_KEPT_BYTES || kept.streams.len() > MAX_KEPT {
            let Some((session, stream, bytes)) = kept.streams.pop_front() else {
                break;
            };
            kept.bytes -= bytes;
            forgotten.push((session, stream));
        }
    }
    for (session, stream) in forgotten {
        if let Some(session) = session.upgrade() {
            lock(&session.outbox).forget(stream);
        }
    }
}

/// One connection's place at a stream of a session.
pub struct Reader {
    session: Arc<HttpSession>,
    place: StreamPlace,
}

impl Reader {
    async fn next(&self) -> Option<ServerSseMessage> {
        loop {
            let changed = self.session.changed.notified();
            match lock(&self.session.outbox).take(self.place) {
                Taken::Message(event) => return Some(event),
                Taken::Over => return None,
                Taken::Nothing => {}
            }
            changed.await;
        }
    }

    /// The next message; events without one are passed over. None once nothing follows.
    pub async fn first_message(&self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.next().await?.message {
                return Some(Arc::unwrap_or_clone(message));
            }
        }
    }

    /// All that follows.
    pub fn into_stream(self) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
        stream::unfold(self, async |reader| {
            let event = reader.next().await?;
            Some((event, reader))
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // Before it is gone: from now on counts how long nobody is there.
        self.session.use_now();
        lock(&self.session.outbox).detach(self.place);
        self.session.changed.notify_waiters();
    }
}

/// A session as rmcp sees it.
#[derive(Debug)]
pub struct SessionTransport {
    session: Arc<HttpSession>,
    incoming: mpsc::Receiver<Box<ClientJsonRpcMessage>>,
}

impl Transport<RoleServer> for SessionTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        // Now and not in the future, so that the order of the calls is the order of the messages.
        self.session.deliver(message);
        std::future::ready(Ok(()))
    }

    // rmcp drops and renews this future at will: nothing is taken out before the last await.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            tokio::select! {
                biased;
                () = self.session.ended.cancelled() => {
                    // Calls of a session that is over are given up at once; rmcp would go on with them for seconds.
                    let given_up = lock(&self.session.outbox).give_up_one();
                    return given_up.map(|id| cancelled(id, "the session ended"));
                }
                message = self.incoming.recv() => return message.map(|message| *message),
                () = self.session.forsaken() => {
                    let given_up = lock(&self.session.outbox).give_up_one();
                    if let Some(id) = given_up {
                        return Some(cancelled(id, "the client is gone"));
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.session.end();
        Ok(())
    }
}

fn cancelled(id: RequestId, why: &str) -> ClientJsonRpcMessage {
    let reason = Some(why.to_owned());
    let cancelled = CancelledNotification::new(CancelledNotificationParam::new(Some(id), reason));
    ClientJsonRpcMessage::notification(ClientNotification::CancelledNotification(cancelled))
}

/// Locks what is never left half changed.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_session_that_waits_for_too_many_answers_gets_an_error_for_the_next_request() {
        let (session, _transport) = HttpSession::new(Arc::default());
        for number in 0..MAX_UNANSWERED {
            let id = RequestId::Number(number as i64);
            session.open(&id, None).unwrap();
        }
        let refused = session.open(&RequestId::Number(-1), None).unwrap_err();
        let reader = session.read(refused, None).unwrap();
        let Some(ServerJsonRpcMessage::Error(error)) = reader.first_message().await else {
            panic!("no error")
        };
        assert_eq!(error.id, Some(RequestId::Number(-1)));
        assert!(error.error.message.contains("256 requests"), "{error:?}");
        assert!(reader.next().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn calls_of_a_client_that_is_gone_for_a_minute_are_given_up() {
        let (session, mut transport) = HttpSession::new(Arc::default());
        let [first, second] = [1, 2].map(RequestId::Number);
        let stream = session.open(&first, None).unwrap();
        let reader = session.read(stream, None).unwrap();
        session.open(&second, None).unwrap();
        // However long it takes, a client that reads one stream is there.
        let long = GONE_AFTER * 100;
        assert!(timeout(long, transport.receive()).await.is_err());
        drop(reader);
        let nearly = GONE_AFTER - Duration::from_secs(1);
        assert!(timeout(nearly, transport.receive()).await.is_err());
        // It is back.
        let reader = session.read(stream, None).unwrap();
        assert!(timeout(long, transport.receive()).await.is_err());
        drop(reader);
        assert!(timeout(nearly, transport.receive()).await.is_err());
        let mut given_up = Vec::new();
        while given_up.len() < 2 {
            let message = timeout(Duration::from_secs(2), transport.receive()).await;
            let Some(JsonRpcMessage::Notification(notification)) = message.unwrap() else {
                panic!("no notification");
            };
            let ClientNotification::CancelledNotification(cancelled) = notification.notification
            else {
                panic!("no cancellation");
            };
            given_up.push(cancelled.params.request_id.unwrap());
        }
        given_up.sort_by_key(ToString::to_string);
        assert_eq!(given_up, [first, second]);
        assert!(timeout(long, transport.receive()).await.is_err());
    }

    #[tokio::test]
    async fn answers_that_nobody_took_are_kept_while_there_is_room() {
        let kept = Arc::default();
        let (session, transport) = HttpSession::new(Arc::clone(&kept));
        let open = |number| {
            let id = RequestId::Number(number);
            lock(&session.outbox).open(&id, None).unwrap()
        };
        let [first, second, third] = [1, 2, 3].map(open);
        keep(&kept, &session, first, MAX_KEPT_BYTES / 2);
        keep(&kept, &session, second, MAX_KEPT_BYTES / 2);
        assert!(session.read(first, None).is_some());
        keep(&kept, &session, third, 1);
        assert!(session.read(first, None).is_none());
        assert!(session.read(second, None).is_some() && session.read(third, None).is_some());
        drop(transport);
    }
}
