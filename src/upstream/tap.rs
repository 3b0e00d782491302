//! Routes a server's progress to the call that it is about.
//!
//! rmcp hands out notifications in tasks of their own, in any order, and tells a call's progress token only after the
//! call is on its way. Here both pass in their order: a call's progress is routed before its request is sent, and comes
//! before its answer.

use std::{
    collections::HashMap,
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
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

/// Attached to a request: where its progress goes. What does not fit is dropped.
#[derive(Clone)]
pub struct Route(pub mpsc::Sender<ProgressNotificationParam>);

/// A transport whose progress notifications take the way of [`Route`].
pub struct Tap<T> {
    inner: T,
    routes: Arc<Mutex<HashMap<ProgressToken, (RequestId, Route)>>>,
    /// Cancelled when the server sends no more.
    ended: CancellationToken,
}

impl<T> Tap<T> {
    /// Taps `inner`, and cancels `ended` with its end.
    pub fn new(inner: T, ended: CancellationToken) -> Self {
        Self {
            inner,
            routes: Arc::default(),
            ended,
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
            JsonRpcMessage::Notification(notification) => {
                let ServerNotification::ProgressNotification(progress) = &notification.notification
                else {
                    return true;
                };
                if let Some((_, route)) = self.routes().get(&progress.params.progress_token) {
                    let _ = route.0.try_send(progress.params.clone());
                }
                return false;
            }
            JsonRpcMessage::Response(response) => &response.id,
            JsonRpcMessage::Error(error) => match &error.id {
                Some(id) => id,
                None => return true,
            },
            JsonRpcMessage::Request(_) => return true,
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
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let Some(message) = self.inner.receive().await else {
                self.ended.cancel();
                return None;
            };
            if self.passes(&message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.ended.cancel();
        self.inner.close().await
    }
}
