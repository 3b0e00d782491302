//! Routes a server's progress to the call that it is about, and what it tells of its own accord to those who want that.
//!
//! rmcp hands out notifications in tasks of their own, in any order, and tells a call's progress token only after the
//! call is on its way. Here they pass in their order: a call's progress is routed before its request is sent, and comes
//! before its answer, as does what was logged before.

use std::{
    collections::HashMap,
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use rmcp::{
    RoleClient,
    model::{
        ClientJsonRpcMessage, GetExtensions, GetMeta, JsonRpcMessage, ProgressNotificationParam,
        ProgressToken, RequestId, ServerJsonRpcMessage, ServerNotification,
    },
    transport::Transport,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{following::Following, hearing::Hearing, mending};

/// Attached to a request: where its progress goes. What does not fit is dropped.
#[derive(Clone)]
pub struct Route(pub mpsc::Sender<ProgressNotificationParam>);

/// How many requests of a server may be unanswered. Those beyond are dropped: it does not read the answers.
const MOST_ASKED: usize = 64;

/// Who wants what a server tells of its own accord.
#[derive(Clone)]
pub struct Ears {
    /// Who hears what it logs.
    pub hearing: Arc<Hearing>,
    /// Who follows its resources.
    pub following: Arc<Following>,
}

/// A transport whose progress notifications take the way of [`Route`].
pub struct Tap<T> {
    inner: T,
    ears: Ears,
    /// How many requests of the server are unanswered.
    asked: Arc<AtomicUsize>,
    routes: Arc<Mutex<HashMap<ProgressToken, (RequestId, Route)>>>,
    /// Cancelled when the server sends no more.
    ended: CancellationToken,
    /// Whether it has answered: its first answer is that to `initialize`.
    has_answered: bool,
}

impl<T> Tap<T> {
    /// Taps `inner`, and cancels `ended` with its end.
    pub fn new(inner: T, ears: Ears, ended: CancellationToken) -> Self {
        Self {
            inner,
            ears,
            asked: Arc::default(),
            routes: Arc::default(),
            ended,
            has_answered: false,
        }
    }

    fn routes(&self) -> MutexGuard<'_, HashMap<ProgressToken, (RequestId, Route)>> {
        // The map is never left half changed.
        self.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers where the progress of this request goes.
    fn route(&self, message: &ClientJsonRpcMessage) {
        let JsonRpcMessage::Request(request) = message else {
            return;
        };
        let Some(route) = request.request.extensions().get::<Route>() else {
            return;
        };
        if let Some(token) = request.request.get_meta().get_progress_token() {
            let mut routes = self.routes();
            // Those that nobody waits for any more: they were cancelled, and so are not answered.
            routes.retain(|_, (_, route)| !route.0.is_closed());
            routes.insert(token, (request.id.clone(), route.clone()));
        }
    }

    /// Whether the message is for rmcp.
    fn passes(&self, message: &ServerJsonRpcMessage) -> bool {
        let answered = match message {
            JsonRpcMessage::Notification(notification) => match &notification.notification {
                ServerNotification::ProgressNotification(progress) => {
                    if let Some((_, route)) = self.routes().get(&progress.params.progress_token) {
                        let _ = route.0.try_send(progress.params.clone());
                    }
                    return false;
                }
                ServerNotification::LoggingMessageNotification(logged) => {
                    self.ears.hearing.logged(logged.params.clone());
                    return false;
                }
                ServerNotification::ResourceUpdatedNotification(update) => {
                    self.ears.following.changed(&update.params.uri);
                    return false;
                }
                // rmcp answers a cancelled request no more.
                ServerNotification::CancelledNotification(_) => {
                    one_less(&self.asked);
                    return true;
                }
                _ => return true,
            },
            JsonRpcMessage::Response(response) => &response.id,
            JsonRpcMessage::Error(error) => match &error.id {
                Some(id) => id,
                None => return true,
            },
            JsonRpcMessage::Request(_) => {
                if self.asked.load(Ordering::Acquire) >= MOST_ASKED {
                    return false;
                }
                self.asked.fetch_add(1, Ordering::AcqRel);
                return true;
            }
        };
        self.routes().retain(|_, (id, _)| id != answered);
        true
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Tap<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.route(&message);
        let answers = matches!(
            message,
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)
        );
        let sent = self.inner.send(message);
        let asked = self.asked.clone();
        async move {
            let sent = sent.await;
            if answers {
                one_less(&asked);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let Some(message) = self.inner.receive().await else {
                self.ended.cancel();
                return None;
            };
            if self.passes(&message) {
                let is_answer = matches!(message, JsonRpcMessage::Response(_));
                let is_first = is_answer && !std::mem::replace(&mut self.has_answered, is_answer);
                return Some(match is_first {
                    true => mending::greeting(message),
                    false => message,
                });
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.ended.cancel();
        self.inner.close().await
    }
}

fn one_less(count: &AtomicUsize) {
    let _ = count.fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| {
        Some(count.saturating_sub(1))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// A transport that gives these messages, and takes any.
    struct Given(std::vec::IntoIter<Value>);

    impl Transport<RoleClient> for Given {
        type Error = std::io::Error;

        fn send(
            &mut self,
            _: ClientJsonRpcMessage,
        ) -> impl Future<Output = std::io::Result<()>> + Send + 'static {
            std::future::ready(Ok(()))
        }

        async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
            self.0
                .next()
                .map(|message| serde_json::from_value(message).unwrap())
        }

        async fn close(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_server_that_asks_without_end_is_heard_no_more_until_it_was_answered() {
        let ping = |id: usize| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        let messages: Vec<_> = (0..200).map(ping).collect();
        let ended = CancellationToken::new();
        let ears = Ears {
            hearing: Arc::new(Hearing::new("s".to_owned(), None, Arc::default())),
            following: Arc::new(Following::new("s+".to_owned())),
        };
        let mut tap = Tap::new(Given(messages.into_iter()), ears, ended.clone());
        for _ in 0..MOST_ASKED {
            assert!(tap.receive().await.is_some());
        }
        let answer = json!({"jsonrpc": "2.0", "id": 0, "result": {}});
        tap.send(serde_json::from_value(answer).unwrap())
            .await
            .unwrap();
        assert!(tap.receive().await.is_some());
        assert!(tap.receive().await.is_none());
        assert!(ended.is_cancelled());
    }
}
