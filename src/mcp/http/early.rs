//! An answer whose head does not wait until the answer is there.
//!
//! rmcp sends nothing before a call's first message where there are no sessions, and that may take minutes. Clients and
//! proxies wait one to five minutes for a head, and then give up.

use std::time::Duration;

use axum::{
    body::{Body, BodyDataStream, Bytes, to_bytes},
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use futures_util::{
    StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use tokio::time::timeout;

/// When the head is sent at the latest. An answer that comes sooner has its own status and form.
const HEAD_WITHIN: Duration = Duration::from_secs(5);

/// How often a connection shows that it is alive.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

/// The largest answer that is no stream, in bytes. rmcp has made it by then.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// This answer, or the head of a stream in which it will come. Dropping either gives the answer up.
pub async fn answer(mut answer: BoxFuture<'static, Response>) -> Response {
    match timeout(HEAD_WITHIN, &mut answer).await {
        Ok(answer) => answer,
        Err(_) => (
            [
                (header::CONTENT_TYPE, "text/event-stream"),
                (header::CACHE_CONTROL, "no-cache"),
            ],
            Body::from_stream(events(answer)),
        )
            .into_response(),
    }
}

enum State {
    /// There is no answer yet.
    Waiting(BoxFuture<'static, Response>),
    /// The answer is a stream itself.
    Passing(BodyDataStream),
    Over,
}

fn events(answer: BoxFuture<'static, Response>) -> BoxStream<'static, Result<Bytes, axum::Error>> {
    // The head goes out with the first bytes.
    let first = stream::once(async { Ok(Bytes::from_static(ALIVE)) });
    let rest = stream::unfold(State::Waiting(answer), |state| async {
        match state {
            State::Waiting(mut answer) => match timeout(ALIVE_EVERY, &mut answer).await {
                Err(_) => Some((Ok(Bytes::from_static(ALIVE)), State::Waiting(answer))),
                Ok(answer) if is_of(answer.headers(), "text/event-stream") => {
                    pass(answer.into_body().into_data_stream()).await
                }
                Ok(answer) if is_of(answer.headers(), "application/json") => {
                    let message = to_bytes(answer.into_body(), MAX_ANSWER).await;
                    Some((message.map(event), State::Over))
                }
                // No message: the bridge is leaving.
                Ok(_) => None,
            },
            State::Passing(body) => pass(body).await,
            State::Over => None,
        }
    });
    first.chain(rest).boxed()
}

async fn pass(mut body: BodyDataStream) -> Option<(Result<Bytes, axum::Error>, State)> {
    let bytes = body.next().await?;
    Some((bytes, State::Passing(body)))
}

/// A comment (HTML, section 9.2.6).
const ALIVE: &[u8] = b":\n\n";

/// A message as an event. JSON as it is written here has no line breaks.
fn event(message: Bytes) -> Bytes {
    [b"data: ", &message[..], b"\n\n"].concat().into()
}

fn is_of(headers: &HeaderMap, kind: &str) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(kind.as_bytes()))
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    fn after(
        time: Duration,
        kind: &'static str,
        body: &'static str,
    ) -> BoxFuture<'static, Response> {
        Box::pin(async move {
            tokio::time::sleep(time).await;
            (StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, kind)], body).into_response()
        })
    }

    async fn text(response: Response) -> String {
        let bytes = to_bytes(response.into_body(), MAX_ANSWER).await.unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_there_soon_stays_as_it_is() {
        let answer = answer(after(HEAD_WITHIN / 2, "application/json", "{}")).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND);
        assert_eq!(text(answer).await, "{}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_answer_becomes_an_event_and_the_connection_is_kept_alive_until_then() {
        let answer = answer(after(Duration::from_secs(600), "application/json", "{}")).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let text = text(answer).await;
        assert_eq!(text.matches(":\n\n").count(), 40);
        assert!(text.ends_with(":\n\ndata: {}\n\n"), "{text}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_no_message_is_no_event() {
        let answer = answer(after(2 * HEAD_WITHIN, "text/plain", "leaving")).await;
        assert_eq!(text(answer).await, ":\n\n");
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_stream_is_passed_on() {
        let answer = answer(after(2 * HEAD_WITHIN, "text/event-stream", "data: 1\n\n")).await;
        assert_eq!(text(answer).await, ":\n\ndata: 1\n\n");
    }
}
