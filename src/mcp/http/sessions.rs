//! The sessions of clients that begin with `initialize`: one each, kept while they are used.
//!
//! rmcp's own sessions end after a while without requests, lose an answer that no connection was there to take, and
//! stop at a stream that nobody reads. These live until their client ends them or their room is needed.

use std::{
    collections::{HashMap, VecDeque},
    future::Future,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use futures_util::{Stream, stream};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage,
        ClientNotification, GetMeta, JsonRpcError, JsonRpcMessage, ProgressToken, ProtocolVersion,
        RequestId, ServerJsonRpcMessage, ServerResult,
    },
    transport::{
        Transport,
        streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager},
    },
};
use thiserror::Error;
use tokio::{
    sync::{Notify, mpsc},
    time::{Instant, timeout},
};
use tokio_util::sync::CancellationToken;

use super::outbox::{Outbox, STANDALONE, StreamPlace, Taken, read_event_id};

/// The most sessions at once. Each takes some 30 KiB.
const MAX_SESSIONS: usize = 1_024;

/// How long nobody may have used a session before it gives way to a new one when there are too many. A person may
/// leave a client open over lunch, or overnight; few clients begin anew by themselves.
const MAY_GO_AFTER: Duration = Duration::from_secs(60 * 60);

/// The most unanswered requests of one session.
const MAX_UNANSWERED: usize = 256;

/// How many messages of a client may wait for its session.
const MAX_WAITING: usize = 64;

/// How many bytes of answers are kept, of all sessions, for clients that lost the connection before they had them.
const MAX_KEPT_BYTES: usize = 16 * 1024 * 1024;

/// How many of them.
const MAX_KEPT: usize = 1_024;

/// How long a session may take to answer `initialize`.
const INITIALIZE_TIME: Duration = Duration::from_secs(10);

/// Why a session can't do something.
#[derive(Debug, Error)]
pub enum SessionError {
    /// There are too many.
    #[error("there are {MAX_SESSIONS} sessions, and all were used within the last hour")]
    Full,
    /// It does not exist, or no more.
    #[error("there is no such session")]
    Unknown,
    /// What a client wants to resume is not there.
    #[error("there is no stream to resume from that event")]
    NothingToResume,
}

/// All sessions.
#[derive(Debug, Default)]
pub struct Sessions {
    sessions: Mutex<HashMap<SessionId, Arc<HttpSession>>>,
    kept: Arc<Mutex<KeptAnswers>>,
}

/// One session: what its client sends, on the way in, and what it is owed.
#[derive(Debug)]
pub struct HttpSession {
    incoming: mpsc::Sender<ClientJsonRpcMessage>,
    outbox: Mutex<Outbox>,
    /// Told when the outbox changes.
    changed: Notify,
    /// When its client was last heard of, or an answer was ready for it.
    used: Mutex<Instant>,
    ended: CancellationToken,
    kept: Arc<Mutex<KeptAnswers>>,
}

/// Complete streams, the oldest first.
#[derive(Debug, Default)]
struct KeptAnswers {
    streams: VecDeque<(Weak<HttpSession>, u64, usize)>,
    bytes: usize,
}

impl Sessions {
    /// Whether there is room for one more.
    pub fn has_room(&self) -> bool {
        let sessions = lock(&self.sessions);
        sessions.len() < MAX_SESSIONS || oldest_unused(&sessions).is_some()
    }

    /// Whether there is this session.
    pub fn contains(&self, id: &str) -> bool {
        lock(&self.sessions).contains_key(id)
    }

    /// Whether a client of this session can go on after this event.
    pub fn can_resume(&self, id: &str, event: &str) -> bool {
        let session = lock(&self.sessions).get(id).cloned();
        match (session, read_event_id(event)) {
            (Some(session), Some((stream, after))) => {
                lock(&session.outbox).can_resume(stream, after)
            }
            _ => false,
        }
    }

    fn get(&self, id: &SessionId) -> Result<Arc<HttpSession>, SessionError> {
        let session = lock(&self.sessions).get(id).cloned();
        let session = session.ok_or(SessionError::Unknown)?;
        session.use_now();
        Ok(session)
    }

    fn create(&self) -> Result<(SessionId, SessionTransport), SessionError> {
        let (sender, incoming) = mpsc::channel(MAX_WAITING);
        let session = Arc::new(HttpSession {
            incoming: sender,
            outbox: Mutex::default(),
            changed: Notify::new(),
            used: Mutex::new(Instant::now()),
            ended: CancellationToken::new(),
            kept: self.kept.clone(),
        });
        let id: SessionId = uuid::Uuid::new_v4().to_string().into();
        let mut sessions = lock(&self.sessions);
        if sessions.len() >= MAX_SESSIONS {
            let oldest = oldest_unused(&sessions).ok_or(SessionError::Full)?;
            if let Some(oldest) = sessions.remove(&oldest) {
                tracing::info!("a session that nobody used for an hour gave way to a new one");
                oldest.end();
            }
        }
        sessions.insert(id.clone(), session.clone());
        drop(sessions);
        Ok((id, SessionTransport { session, incoming }))
    }
}

/// The session that nobody has used for the longest time, if that was long enough.
fn oldest_unused(sessions: &HashMap<SessionId, Arc<HttpSession>>) -> Option<SessionId> {
    let unused = sessions.iter().filter_map(|(id, session)| {
        let used = session.unused_since()?;
        (used.elapsed() >= MAY_GO_AFTER).then_some((used, id))
    });
    unused.min().map(|(_, id)| id.clone())
}

impl SessionManager for Sessions {
    type Error = SessionError;
    type Transport = SessionTransport;

    async fn create_session(&self) -> Result<(SessionId, SessionTransport), SessionError> {
        self.create()
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        let session = self.get(id)?;
        let JsonRpcMessage::Request(request) = &message else {
            return Err(SessionError::Unknown);
        };
        let reader = session.ask(&request.id.clone(), message).await?;
        let answer = timeout(INITIALIZE_TIME, reader.first_message()).await;
        let answer = answer.ok().flatten().ok_or(SessionError::Unknown)?;
        if let JsonRpcMessage::Response(response) = &answer
            && let ServerResult::InitializeResult(result) = &response.result
        {
            lock(&session.outbox).primes =
                result.protocol_version.as_str() >= ProtocolVersion::V_2025_11_25.as_str();
        }
        Ok(answer)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        Ok(self.contains(id))
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        if let Some(session) = lock(&self.sessions).remove(id) {
            session.end();
        }
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let session = self.get(id)?;
        let JsonRpcMessage::Request(request) = &message else {
            return Err(SessionError::Unknown);
        };
        let reader = session.ask(&request.id.clone(), message).await?;
        Ok(reader.into_stream())
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let session = self.get(id)?;
        let reader = session.read(STANDALONE, None);
        Ok(reader.ok_or(SessionError::Unknown)?.into_stream())
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let session = self.get(id)?;
        let reader = read_event_id(&last_event_id)
            .and_then(|(stream, after)| session.read(stream, Some(after)));
        Ok(reader.ok_or(SessionError::NothingToResume)?.into_stream())
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionError> {
        let session = self.get(id)?;
        let given_up = match &message {
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ClientNotification::CancelledNotification(cancelled) => {
                    cancelled.params.request_id.clone()
                }
                _ => None,
            },
            _ => None,
        };
        session.put_in(message).await?;
        if let Some(id) = given_up {
            // rmcp answers it no more.
            lock(&session.outbox).cancel(&id);
            session.changed.notify_waiters();
        }
        Ok(())
    }
}

impl HttpSession {
    /// Hands a request to the session, and reads what it answers.
    async fn ask(
        self: &Arc<Self>,
        id: &RequestId,
        message: ClientJsonRpcMessage,
    ) -> Result<Reader, SessionError> {
        let token = match &message {
            JsonRpcMessage::Request(request) => request.request.get_meta().get_progress_token(),
            _ => None,
        };
        let opened = self.open(id, token);
        let stream = *opened.as_ref().unwrap_or_else(|refused| refused);
        let reader = self.read(stream, None).ok_or(SessionError::Unknown)?;
        if opened.is_ok() {
            self.put_in(message).await?;
        }
        Ok(reader)
    }

    /// Opens the stream of a request or, as the error, one that says why it is refused.
    fn open(&self, id: &RequestId, token: Option<ProgressToken>) -> Result<u64, u64> {
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

    async fn put_in(&self, message: ClientJsonRpcMessage) -> Result<(), SessionError> {
        tokio::select! {
            sent = self.incoming.send(message) => sent.map_err(|_| SessionError::Unknown),
            () = self.ended.cancelled() => Err(SessionError::Unknown),
        }
    }

    fn read(self: &Arc<Self>, stream: u64, after: Option<u64>) -> Option<Reader> {
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

    fn use_now(&self) {
        *lock(&self.used) = Instant::now();
    }

    /// Since when nobody uses it; none if someone does.
    fn unused_since(&self) -> Option<Instant> {
        let outbox = lock(&self.outbox);
        let in_use = outbox.is_read() || outbox.unanswered() > 0;
        (!in_use).then(|| *lock(&self.used))
    }

    fn end(&self) {
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
struct Reader {
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

    async fn first_message(&self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(message) = self.next().await?.message {
                return Some(Arc::unwrap_or_clone(message));
            }
        }
    }

    fn into_stream(self) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
        stream::unfold(self, async |reader| {
            let event = reader.next().await?;
            Some((event, reader))
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        lock(&self.session.outbox).detach(self.place);
        self.session.use_now();
    }
}

/// A session as rmcp sees it.
#[derive(Debug)]
pub struct SessionTransport {
    session: Arc<HttpSession>,
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
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
        tokio::select! {
            biased;
            () = self.session.ended.cancelled() => {
                // Calls of a session that is over are given up at once; rmcp would go on with them for seconds.
                lock(&self.session.outbox).give_up_one().map(cancelled)
            }
            message = self.incoming.recv() => message,
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.session.end();
        Ok(())
    }
}

fn cancelled(id: RequestId) -> ClientJsonRpcMessage {
    let reason = Some("the session ended".to_owned());
    let cancelled = CancelledNotification::new(CancelledNotificationParam::new(Some(id), reason));
    ClientJsonRpcMessage::notification(ClientNotification::CancelledNotification(cancelled))
}

/// How many bytes of JSON a message is.
fn size_of(message: &ServerJsonRpcMessage) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // What can't be written has no size, and is not sent either.
    let _ = serde_json::to_writer(&mut count, message);
    count.0
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What these guard is never left half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_session_gives_way_only_after_an_hour_without_use() {
        let sessions = Sessions::default();
        let mut transports = Vec::new();
        for _ in 0..MAX_SESSIONS {
            transports.push(sessions.create().unwrap());
        }
        assert!(!sessions.has_room());
        assert!(matches!(sessions.create(), Err(SessionError::Full)));

        tokio::time::advance(MAY_GO_AFTER - Duration::from_secs(1)).await;
        assert!(!sessions.has_room());
        // Of these three one is asked something, one reads, and one waits for an answer.
        let [asked, read, waiting] = [0, 1, 2].map(|at| transports[at].0.clone());
        sessions.get(&asked).unwrap();
        let _reader = sessions.get(&read).unwrap().read(STANDALONE, None).unwrap();
        let request = RequestId::Number(1);
        lock(&sessions.get(&waiting).unwrap().outbox).open(&request, None);

        tokio::time::advance(Duration::from_secs(1)).await;
        let new = sessions.create().unwrap().0;
        assert!(sessions.contains(&new));
        let gone: Vec<_> = transports
            .iter()
            .filter(|(id, _)| !sessions.contains(id))
            .collect();
        assert_eq!(gone.len(), 1);
        assert!(![&asked, &read, &waiting].contains(&&gone[0].0));

        // However long it takes, who reads or waits is not idle.
        tokio::time::advance(100 * MAY_GO_AFTER).await;
        while sessions.create().is_ok() {
            assert!(sessions.contains(&read) && sessions.contains(&waiting));
        }
    }

    #[tokio::test]
    async fn a_session_that_waits_for_too_many_answers_gets_an_error_for_the_next_request() {
        let sessions = Sessions::default();
        let (id, _transport) = sessions.create().unwrap();
        let session = sessions.get(&id).unwrap();
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

    #[tokio::test]
    async fn answers_that_nobody_took_are_kept_while_there_is_room() {
        let sessions = Sessions::default();
        let (id, transport) = sessions.create().unwrap();
        let session = sessions.get(&id).unwrap();
        let open = |number| {
            let id = RequestId::Number(number);
            lock(&session.outbox).open(&id, None).unwrap()
        };
        let [first, second, third] = [1, 2, 3].map(open);
        keep(&sessions.kept, &session, first, MAX_KEPT_BYTES / 2);
        keep(&sessions.kept, &session, second, MAX_KEPT_BYTES / 2);
        assert!(session.read(first, None).is_some());
        keep(&sessions.kept, &session, third, 1);
        assert!(session.read(first, None).is_none());
        assert!(session.read(second, None).is_some() && session.read(third, None).is_some());
        drop(transport);
    }
}
