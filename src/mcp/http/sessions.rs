//! The sessions of clients that begin with `initialize`: one each, kept while they are used.
//!
//! rmcp's own sessions (3.11) stop as a whole at a stream with 16 messages that nobody reads, for one task of theirs waits
//! there; keep what was sent by its count, whatever its size; and an answer that no connection was there to take for a
//! minute. That is inside of them, where nothing around them mends it. These live until their client ends them or their
//! room is needed.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::http::HeaderName;
use futures_util::Stream;
use rmcp::{
    model::{
        ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, ProtocolVersion,
        ServerJsonRpcMessage, ServerResult,
    },
    transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager},
};
use thiserror::Error;
use tokio::time::timeout;

use crate::{base::http::room::Origin, mcp::incoming};

use super::{
    outbox::{STANDALONE, read_event_id},
    session::{HttpSession, KeptAnswers, NoSession, SessionTransport, lock},
};

/// The header by which a client names its session.
pub const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// What a client is told whose session there is not.
pub const NO_SESSION: &str = "There is no such session: it has ended, or mcp-bridge was restarted. Begin a new one with \
    initialize.\n";

/// The most sessions at once. Each takes some 35 KiB.
const MAX_SESSIONS: usize = 1_024;

/// The most of one other machine.
const MAX_OF_ONE: usize = 512;

/// How many sessions stay however long nobody uses them.
const SPARED: usize = 128;

/// How long nobody uses a session of which it is taken that its client went without ending it, while there are more.
const ABANDONED_AFTER: Duration = Duration::from_secs(600);

/// How long a session may take to answer `initialize`.
const INITIALIZE_TIME: Duration = Duration::from_secs(10);

/// Why a session can't do something.
#[derive(Debug, Error)]
pub enum SessionError {
    /// There are too many.
    #[error("there are {MAX_SESSIONS} sessions, and all of them are in use")]
    Full,
    /// It does not exist, or no more.
    #[error(transparent)]
    Unknown(#[from] NoSession),
    /// What a client wants to resume is not there.
    #[error("there is no stream to resume from that event")]
    NothingToResume,
}

/// All sessions. When they are too many, one that nobody uses makes way for a new one, and of more than [`SPARED`] those
/// go that nobody has used for long: a client that comes back to it begins anew, as the specification has it. One that is
/// read, or waits for an answer, stays.
#[derive(Debug, Default)]
pub struct Sessions {
    sessions: Mutex<HashMap<SessionId, Kept>>,
    kept: Arc<Mutex<KeptAnswers>>,
}

#[derive(Debug)]
struct Kept {
    session: Arc<HttpSession>,
    /// Where its client is, once that is known.
    origin: Option<Origin>,
    /// Whether its client did anything with it but begin it.
    is_used: bool,
}

impl Sessions {
    /// Makes room for one more of this origin; tells whether there is some.
    pub fn make_room(&self, origin: Origin) -> bool {
        let mut sessions = lock(&self.sessions);
        end_abandoned(&mut sessions);
        let all = sessions.values();
        let of_origin = all.filter(|session| session.origin == Some(origin));
        let crowded = of_origin.count() >= origin.share(MAX_SESSIONS, MAX_OF_ONE);
        if crowded {
            make_way(&mut sessions, Some(origin))
        } else {
            sessions.len() < MAX_SESSIONS || make_way(&mut sessions, None)
        }
    }

    /// Notes where the client of a session is.
    pub fn came_from(&self, id: &str, origin: Origin) {
        if let Some(session) = lock(&self.sessions).get_mut(id) {
            session.origin = Some(origin);
        }
    }

    /// Whether there is this session.
    pub fn contains(&self, id: &str) -> bool {
        lock(&self.sessions).contains_key(id)
    }

    /// Whether this session has batches; none if there is no such session.
    pub fn has_batches(&self, id: &str) -> Option<bool> {
        let sessions = lock(&self.sessions);
        sessions.get(id).map(|kept| kept.session.has_batches())
    }

    /// The answer to a message in this session; none if it gets none.
    pub async fn answer(
        &self,
        id: &str,
        message: ClientJsonRpcMessage,
    ) -> Option<ServerJsonRpcMessage> {
        let id = SessionId::from(id);
        let JsonRpcMessage::Request(request) = &message else {
            // Where the session has ended meanwhile, nobody can be told.
            let _ = self.accept_message(&id, message).await;
            return None;
        };
        let session = self.get(&id).ok()?;
        let reader = session.ask(&request.id.clone(), message).await.ok()?;
        loop {
            let said = reader.first_message().await?;
            if matches!(said, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)) {
                return Some(said);
            }
        }
    }

    /// Whether a client of this session can go on after this event.
    pub fn can_resume(&self, id: &str, event: &str) -> bool {
        let sessions = lock(&self.sessions);
        let session = sessions.get(id).map(|kept| kept.session.clone());
        drop(sessions);
        match (session, read_event_id(event)) {
            (Some(session), Some((stream, after))) => session.can_resume(stream, after),
            _ => false,
        }
    }

    fn get(&self, id: &SessionId) -> Result<Arc<HttpSession>, SessionError> {
        let sessions = lock(&self.sessions);
        let session = sessions.get(id).map(|kept| kept.session.clone());
        drop(sessions);
        let session = session.ok_or(NoSession)?;
        session.use_now();
        Ok(session)
    }

    /// The session, which a client uses for what it began it for.
    fn get_to_use(&self, id: &SessionId) -> Result<Arc<HttpSession>, SessionError> {
        if let Some(kept) = lock(&self.sessions).get_mut(id) {
            kept.is_used = true;
        }
        self.get(id)
    }

    fn create(&self) -> Result<(SessionId, SessionTransport), SessionError> {
        let (session, transport) = HttpSession::new(self.kept.clone());
        let id: SessionId = uuid::Uuid::new_v4().to_string().into();
        let mut sessions = lock(&self.sessions);
        // Room was made, but another may have been faster.
        if sessions.len() >= MAX_SESSIONS && !make_way(&mut sessions, None) {
            return Err(SessionError::Full);
        }
        let kept = Kept {
            session,
            origin: None,
            is_used: false,
        };
        sessions.insert(id.clone(), kept);
        drop(sessions);
        Ok((id, transport))
    }
}

/// Ends sessions that were abandoned, those first that nobody has used for the longest time, until no more are left than
/// stay in any case.
fn end_abandoned(sessions: &mut HashMap<SessionId, Kept>) {
    let over = sessions.len().saturating_sub(SPARED);
    if over == 0 {
        return;
    }
    let mut abandoned: Vec<_> = sessions
        .iter()
        .filter_map(|(id, kept)| Some((kept.session.unused_since()?, id.clone())))
        .filter(|(since, _)| since.elapsed() >= ABANDONED_AFTER)
        .collect();
    abandoned.sort_unstable_by_key(|(since, _)| *since);
    for (_, id) in abandoned.into_iter().take(over) {
        if let Some(kept) = sessions.remove(&id) {
            tracing::info!("a session ended that nobody has used for long");
            kept.session.end();
        }
    }
}

/// Ends a session that nobody uses: one of that origin, or else of the one that has the most. Those that were only begun
/// come first, and then those that nobody has used for the longest time.
fn make_way(sessions: &mut HashMap<SessionId, Kept>, origin: Option<Origin>) -> bool {
    let mut held: HashMap<Option<Origin>, usize> = HashMap::new();
    for kept in sessions.values() {
        *held.entry(kept.origin).or_default() += 1;
    }
    let unused = sessions
        .iter()
        .filter(|(_, kept)| origin.is_none() || kept.origin == origin)
        .filter_map(|(id, kept)| {
            let least = usize::MAX - held[&kept.origin];
            let since = kept.session.unused_since()?;
            Some(((least, kept.is_used, since), id))
        });
    let first = unused.min_by_key(|(rank, _)| *rank);
    let Some(id) = first.map(|(_, id)| id.clone()) else {
        return false;
    };
    if let Some(kept) = sessions.remove(&id) {
        tracing::info!("a session that nobody used made way for a new one: there are too many");
        kept.session.end();
    }
    true
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
            return Err(NoSession.into());
        };
        let reader = session.ask(&request.id.clone(), message).await?;
        let answer = timeout(INITIALIZE_TIME, reader.first_message()).await;
        let answer = answer.ok().flatten().ok_or(NoSession)?;
        if let JsonRpcMessage::Response(response) = &answer
            && let ServerResult::InitializeResult(result) = &response.result
        {
            let version = &result.protocol_version;
            session.agree(incoming::has_batches(version));
            if version.as_str() >= ProtocolVersion::V_2025_11_25.as_str() {
                session.prime();
            }
        }
        Ok(answer)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        Ok(self.contains(id))
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        if let Some(kept) = lock(&self.sessions).remove(id) {
            kept.session.end();
        }
        Ok(())
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let session = self.get_to_use(id)?;
        let JsonRpcMessage::Request(request) = &message else {
            return Err(NoSession.into());
        };
        let reader = session.ask(&request.id.clone(), message).await?;
        Ok(reader.into_stream())
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let session = self.get_to_use(id)?;
        let reader = session.read(STANDALONE, None);
        Ok(reader.ok_or(NoSession)?.into_stream())
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let session = self.get_to_use(id)?;
        let (stream, after) = read_event_id(&last_event_id).ok_or(SessionError::NothingToResume)?;
        let reader = session.read(stream, Some(after));
        let reader = reader.ok_or(SessionError::NothingToResume)?;
        // Some clients come back for any stream, also where there is nothing more to come.
        if session.is_awaited(stream) {
            tracing::info!("a client came back for an answer that is not there yet");
        }
        Ok(reader.into_stream())
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
            session.give_up(&id);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::RequestId;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_session_that_nobody_uses_makes_way_and_one_in_use_never_does() {
        let sessions = Sessions::default();
        let mut begun = Vec::new();
        for _ in 0..MAX_SESSIONS {
            begun.push(sessions.create().unwrap());
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        // Of the first three one was asked something, one reads, and one waits for an answer.
        let [asked, read, waiting] = [0, 1, 2].map(|at| begun[at].0.clone());
        sessions.get_to_use(&asked).unwrap();
        let _reader = sessions.get(&read).unwrap().read(STANDALONE, None).unwrap();
        let request = RequestId::Number(1);
        let waiting_session = sessions.get(&waiting).unwrap();
        waiting_session.open(&request, None).unwrap();

        assert!(sessions.make_room(Origin::Here));
        let gone = |begun: &[(SessionId, _)]| -> Vec<usize> {
            let all = begun.iter().enumerate();
            all.filter(|(_, (id, _))| !sessions.contains(id))
                .map(|(at, _)| at)
                .collect()
        };
        // The oldest of those that were only begun.
        assert_eq!(gone(&begun), [3]);
        for at in 0..MAX_SESSIONS - 3 {
            begun.push(sessions.create().unwrap());
            assert!(sessions.contains(&asked), "{at}");
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        // However many come, and however long it takes, who reads or waits is not idle.
        tokio::time::advance(Duration::from_secs(360_000)).await;
        for _ in 0..2 * MAX_SESSIONS {
            let (id, transport) = sessions.create().unwrap();
            sessions.get_to_use(&id).unwrap();
            begun.push((id, transport));
            assert!(sessions.contains(&read) && sessions.contains(&waiting));
        }
        assert!(!sessions.contains(&asked));
    }

    #[tokio::test(start_paused = true)]
    async fn abandoned_sessions_end_while_there_are_many_and_a_few_stay() {
        let sessions = Sessions::default();
        let begin = || {
            assert!(sessions.make_room(Origin::Here));
            sessions.create().unwrap()
        };
        let mut begun: Vec<_> = (0..SPARED).map(|_| begin()).collect();
        // Few of them stay, for however long.
        tokio::time::advance(ABANDONED_AFTER * 100).await;
        begun.extend((0..10).map(|_| begin()));
        let there = |begun: &[(SessionId, _)]| -> Vec<bool> {
            begun.iter().map(|(id, _)| sessions.contains(id)).collect()
        };
        assert_eq!(there(&begun[SPARED..]), [true; 10]);
        let left = |begun: &[_]| there(begun).iter().filter(|there| **there).count();
        assert_eq!(left(&begun), SPARED + 1);
        // Nor do many of which each was used not long ago.
        begun.extend((0..SPARED).map(|_| begin()));
        let used = left(&begun);
        tokio::time::advance(ABANDONED_AFTER - Duration::from_secs(1)).await;
        begun.push(begin());
        assert_eq!(left(&begun), used + 1);
        // One that is read stays.
        let read = begun[SPARED].0.clone();
        let _reader = sessions.get(&read).unwrap().read(STANDALONE, None).unwrap();
        tokio::time::advance(ABANDONED_AFTER).await;
        begun.push(begin());
        assert_eq!(left(&begun), SPARED + 1);
        assert!(sessions.contains(&read));
    }

    #[tokio::test]
    async fn an_address_that_has_its_share_makes_way_for_itself() {
        let sessions = Sessions::default();
        let [near, far] = [Origin::Here, Origin::of([192, 0, 2, 1].into())];
        let begin = |origin| {
            assert!(sessions.make_room(origin));
            let (id, transport) = sessions.create().unwrap();
            sessions.came_from(&id, origin);
            (id, transport)
        };
        let mine = begin(near);
        let all: Vec<_> = (0..MAX_SESSIONS).map(|_| begin(far)).collect();
        let left = all.iter().filter(|(id, _)| sessions.contains(id)).count();
        assert_eq!(left, MAX_OF_ONE);
        assert!(sessions.contains(&mine.0));
        // All of its own are in use: no more for it, but for others.
        let mut readers = Vec::new();
        for (id, _) in all.iter().filter(|(id, _)| sessions.contains(id)) {
            readers.push(sessions.get(id).unwrap().read(STANDALONE, None).unwrap());
        }
        assert!(!sessions.make_room(far));
        assert!(sessions.make_room(near) && sessions.make_room(Origin::of([192, 0, 2, 2].into())));
    }
}
