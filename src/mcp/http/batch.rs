//! A batch over HTTP: the answers to its messages go back as one array, each as soon as it is there.
//!
//! Sessions of revisions up to 2025-03-26 have batches. How its calls come along is not told: that would need a stream
//! of events, and the array is what any client of a batch reads.

use std::{sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::{
    StreamExt,
    future::ready,
    stream::{self, BoxStream},
};
use rmcp::model::JsonRpcMessage;
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::{
    body::JSON,
    sessions::{NO_SESSION, SESSION_ID, Sessions},
};
use crate::{
    base::http::text,
    mcp::incoming::{self, Incoming},
};

/// How many messages of a batch are being answered at once.
const AT_ONCE: usize = 64;

/// How often a connection shows that it is alive. Blanks between the parts of an array mean nothing.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

const NO_JSON: &str = "Content-Type must be application/json.\n";

/// The answer to a request with these headers, whose body is a batch.
pub async fn answer(
    sessions: &Arc<Sessions>,
    headers: &HeaderMap,
    messages: Vec<Box<RawValue>>,
) -> Response {
    // What a page of another site can send without asking first is of other types.
    let kind = text(headers, &header::CONTENT_TYPE).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case("application/json") {
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, NO_JSON).into_response();
    }
    let has_batches = match text(headers, &SESSION_ID) {
        Some(id) => match sessions.has_batches(id) {
            Some(has_batches) => has_batches,
            None => return (StatusCode::NOT_FOUND, NO_SESSION).into_response(),
        },
        // The only revision without sessions has no batches either.
        None => false,
    };
    let Some(id) = text(headers, &SESSION_ID).filter(|_| has_batches) else {
        let refusal = incoming::no_batches(&[]).concat();
        return (StatusCode::BAD_REQUEST, JSON, refusal).into_response();
    };
    let messages: Vec<_> = messages
        .iter()
        .map(|message| incoming::read_in_batch(message))
        .collect();
    let is_answered = messages.iter().any(|incoming| match incoming {
        Incoming::Message(message) => matches!(**message, JsonRpcMessage::Request(_)),
        Incoming::Refused(_) => true,
        Incoming::Batch(_) | Incoming::Nothing => false,
    });
    let (sessions, id) = (sessions.clone(), id.to_owned());
    let mut answers = stream::iter(messages)
        .map(move |incoming| {
            let (sessions, id) = (sessions.clone(), id.clone());
            async move { one(&sessions, &id, incoming).await }
        })
        .buffer_unordered(AT_ONCE)
        .filter_map(ready)
        .boxed();
    if is_answered {
        return (JSON, Body::from_stream(array(answers))).into_response();
    }
    while answers.next().await.is_some() {}
    StatusCode::ACCEPTED.into_response()
}

/// The answer to one message, as JSON; none if it gets none.
async fn one(sessions: &Sessions, id: &str, incoming: Incoming) -> Option<Vec<u8>> {
    match incoming {
        Incoming::Message(message) => {
            let answer = sessions.answer(id, *message).await?;
            serde_json::to_vec(&answer).ok()
        }
        Incoming::Refused(reply) => Some(reply.into_bytes()),
        Incoming::Batch(_) | Incoming::Nothing => None,
    }
}

enum State {
    /// The array is not open yet.
    Begin,
    /// It is; what stands before the next answer.
    Open(&'static [u8]),
    Over,
}

/// These answers as the text of one array.
fn array(
    answers: BoxStream<'static, Vec<u8>>,
) -> BoxStream<'static, Result<Bytes, std::convert::Infallible>> {
    stream::unfold((answers, State::Begin), async |(mut answers, state)| {
        let (bytes, state) = match state {
            // The head goes out with the first bytes.
            State::Begin => (Bytes::from_static(b"["), State::Open(b"")),
            State::Open(before) => match timeout(ALIVE_EVERY, answers.next()).await {
                Err(_) => (Bytes::from_static(b" "), State::Open(before)),
                Ok(Some(answer)) => ([before, &answer].concat().into(), State::Open(b",")),
                Ok(None) => (Bytes::from_static(b"]"), State::Over),
            },
            State::Over => return None,
        };
        Some((Ok(bytes), (answers, state)))
    })
    .boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn text_of(answers: BoxStream<'static, Vec<u8>>) -> String {
        let parts: Vec<_> = array(answers).map(Result::unwrap).collect().await;
        String::from_utf8(parts.concat()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn answers_are_one_array_and_blanks_keep_its_connection_alive() {
        let slow = |answer: &'static str| async move {
            tokio::time::sleep(ALIVE_EVERY * 5 / 2).await;
            answer.as_bytes().to_vec()
        };
        let answers = stream::iter(["1", "[2]"]).then(slow).boxed();
        assert_eq!(text_of(answers).await, "[  1  ,[2]]");
        assert_eq!(text_of(stream::empty().boxed()).await, "[]");
    }
}
