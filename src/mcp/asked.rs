//! The client of a session, as one that servers may ask things of.

use std::time::Duration;

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::{
    ErrorData, RoleServer, ServiceError,
    model::{
        CancelledNotificationParam, ClientCapabilities, ClientResult, CustomRequest, GetMeta,
        RequestId, ServerRequest,
    },
    service::{Peer, PeerRequestOptions},
};
use serde_json::Value;
use tokio::{sync::watch, time::timeout};

use super::numbers::as_meant;
use crate::tools::asked::{Asked, method};

/// How long a client may take to read that a question was taken back.
const TO_TAKE_BACK: Duration = Duration::from_secs(5);

/// The client of a session.
pub struct Session {
    capabilities: ClientCapabilities,
    peer: Peer<RoleServer>,
    /// Whether it has said that it is ready: nothing is asked of it before.
    is_open: watch::Receiver<bool>,
}

impl Session {
    /// The client at the other end of `peer`, which can be asked this once `is_open`.
    pub fn new(
        capabilities: ClientCapabilities,
        peer: Peer<RoleServer>,
        is_open: watch::Receiver<bool>,
    ) -> Self {
        Self {
            capabilities,
            peer,
            is_open,
        }
    }
}

impl Asked for Session {
    fn capabilities(&self) -> &ClientCapabilities {
        &self.capabilities
    }

    fn ask(&self, question: ServerRequest) -> BoxFuture<'_, Result<ClientResult, ErrorData>> {
        async move {
            let mut is_open = self.is_open.clone();
            if is_open.wait_for(|open| *open).await.is_err() {
                return Err(gone());
            }
            let question = as_it_was(question)?;
            let asked = self
                .peer
                .send_cancellable_request(question, PeerRequestOptions::no_options());
            let handle = asked.await.map_err(told)?;
            let mut back = TakenBack(Some((self.peer.clone(), handle.id.clone())));
            let answer = handle.await_response().await;
            back.0 = None;
            answer.map_err(told)
        }
        .boxed()
    }
}

/// The question with its numbers as its server wrote them, and what the server attached for the client.
fn as_it_was(question: ServerRequest) -> Result<ServerRequest, ErrorData> {
    let method = method(&question).to_owned();
    let written = serde_json::to_value(&question);
    let mut written =
        written.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let mut params = written.get_mut("params").map(Value::take);
    let fields = params.as_mut().and_then(Value::as_object_mut);
    let attached = fields.and_then(|fields| fields.shift_remove("_meta"));
    if let Some(params) = &mut params {
        as_meant(params);
    }
    let has_some = |params: &Value| params.as_object().is_some_and(|fields| !fields.is_empty());
    let mut custom = CustomRequest::new(method, params.filter(has_some));
    if let Some(Value::Object(attached)) = attached {
        // A token for progress that there is among it is replaced by ours.
        custom.get_meta_mut().extend(attached.into());
    }
    Ok(ServerRequest::CustomRequest(custom))
}

fn gone() -> ErrorData {
    ErrorData::internal_error("the client is gone", None)
}

fn told(error: ServiceError) -> ErrorData {
    match error {
        // Its own, such as that its person does not want it.
        ServiceError::McpError(error) => error,
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => gone(),
        other => ErrorData::internal_error(other.to_string(), None),
    }
}

/// Tells the client that nobody waits for its answer any more.
struct TakenBack(Option<(Peer<RoleServer>, RequestId)>);

impl Drop for TakenBack {
    fn drop(&mut self) {
        let (Some((peer, id)), Ok(runtime)) =
            (self.0.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        runtime.spawn(async move {
            let reason = Some("the server no longer waits for the answer".to_owned());
            let cancelled = CancelledNotificationParam::new(Some(id), reason);
            let _ = timeout(TO_TAKE_BACK, peer.notify_cancelled(cancelled)).await;
        });
    }
}
