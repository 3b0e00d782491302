//! The sessions of clients that begin with `initialize`: one each, kept while they are used.
//!
//! rmcp's own sessions end after a while without requests, lose an answer that no connection was there to take, and
//! stop at a stream that nobody reads. These live until their client ends them or their room is needed.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

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

use super::{
    outbox::{STANDALONE, read_event_id},
    session::{HttpSession, KeptAnswers, NoSession, SessionTransport, lock},
};

/// The most sessions at once. Each takes some 30 KiB.
const MAX_SESSIONS: usize = 1_024;

/// How long nobody may have used a session before it gives way to a new one when there are too many. A person may
/// leave a client open over lunch, or overnight; few clients begin anew by themselves.
const MAY_GO_AFTER: Duration = Duration::from_secs(60 * 60);

/// How long a session may take to answer `initialize`.
const INITIALIZE_TIME: Duration = Duration::from_secs(10);

/// Why a session can't do something.
#[derive(Debug, Error)]
pub enum SessionError {
    /// There are too many.
    #[error("there are {MAX_SESSIONS} sessions, and all were used within the last hour")]
    Full,
    /// It does not exist, or no more.
    #[error(transparent)]
    Unknown(#[from] NoSession),
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
            (Some(session), Some((stream, after))) => session.can_resume(stream, after),
            _ => false,
        }
    }

    fn get(&self, id: &SessionId) -> Result<Arc<HttpSession>, SessionError> {
        let session = lock(&self.sessions).get(id).cloned();
        let session = session.ok_or(NoSession)?;
        session.use_now();
        Ok(session)
    }

    fn create(&self) -> Result<(SessionId, SessionTransport), SessionError> {
        let (session, transport) = HttpSession::new(self.kept.clone());
        let id: SessionId = uuid::Uuid::new_v4().to_string().into();
        let mut sessions = lock(&self.sessions);
        if sessions.len() >= MAX_SESSIONS {
            let oldest = oldest_unused(&sessions).ok_or(SessionError::Full)?;
            if let Some(oldest) = sessions.remove(&oldest) {
                tracing::info!("a session that nobody used for an hour gave way to a new one");
                oldest.end();
            }
        }
        sessions.insert(id.clone(), session);
        drop(sessions);
        Ok((id, transport))
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
            return Err(NoSession.into());
        };
        let reader = session.ask(&request.id.clone(), message).await?;
        let answer = timeout(INITIALIZE_TIME, reader.first_message()).await;
        let answer = answer.ok().flatten().ok_or(NoSession)?;
        if let JsonRpcMessage::Response(response) = &answer
            && let ServerResult::InitializeResult(result) = &response.result
            && result.protocol_version.as_str() >= ProtocolVersion::V_2025_11_25.as_str()
        {
            session.prime();
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
            return Err(NoSession.into());
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
        Ok(reader.ok_or(NoSession)?.into_stream())
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
        let waiting_session = sessions.get(&waiting).unwrap();
        waiting_session.open(&request, None).unwrap();

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
}
