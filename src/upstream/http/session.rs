//! What rmcp's HTTP transport asks servers by, as they are.
//!
//! A server that was restarted knows nothing of a session from before, and says so in many ways: not only by 404, as it
//! should, but by 400, 500, or 200 and an error that is nobody's, since it could read no id, or sends another. rmcp waits
//! for an answer with the right id, and would wait for ever. Here an answer to a POST is the answer to its request,
//! whatever its id; a session that is lost is given up, and rmcp initialises a new one. It repeats the request only if the
//! server can't have begun it. What a server has moved, within itself, is followed.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{StreamExt, stream::BoxStream};
use http::{HeaderName, HeaderValue};
use reqwest::{StatusCode, Url, redirect};
use rmcp::{
    ErrorData,
    model::{
        ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, PingRequest, RequestId,
        ServerJsonRpcMessage,
    },
    transport::streamable_http_client::{
        SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
        StreamableHttpResponseLimits,
    },
};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;
use sse_stream::Sse;

use super::{
    bodies::{Failure, TooLarge, too_large},
    posting::Post,
};
use crate::{
    base::http::client::builder,
    upstream::{login::pass::Pass, reading::in_place_of_too_many},
};

/// How often in a row a server may say that it is elsewhere.
const MOST_MOVES: usize = 5;

/// How long a server has to say whether it still knows a session.
const TO_TELL: Duration = Duration::from_secs(5);

/// The id of the request that asks for that. rmcp's own are numbers.
const STILL_THERE: &str = "still-there";

/// See the module.
#[derive(Clone)]
pub struct Client {
    inner: reqwest::Client,
    state: Arc<State>,
    /// The login there, unless its entry says by itself who asks.
    pass: Option<Arc<Pass>>,
}

#[derive(Default)]
struct State {
    /// Where the server has moved to, if it has.
    moved: Mutex<Option<Arc<str>>>,
    /// Where it said last that it is.
    told: Mutex<Option<Moved>>,
    /// The session that it no longer knows.
    lost: Mutex<Option<Arc<str>>>,
}

/// Where a server says that it is.
#[derive(Debug, Clone)]
enum Moved {
    /// Elsewhere on itself.
    Within(Url),
    /// On another.
    Away(Url),
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is ever left half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The part of a message that says what it is.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<IgnoredAny>,
}

/// A client that follows no server anywhere.
///
/// # Errors
/// TLS can't be set up.
pub fn plain() -> Result<reqwest::Client, reqwest::Error> {
    builder().redirect(redirect::Policy::none()).build()
}

impl Client {
    /// A client for one server, which shows it this login.
    ///
    /// # Errors
    /// TLS can't be set up.
    pub fn new(pass: Option<Arc<Pass>>) -> Result<Self, reqwest::Error> {
        let state = Arc::new(State::default());
        let told = state.clone();
        let policy = redirect::Policy::custom(move |attempt| {
            let from = attempt.previous().last();
            let is_within = from.is_some_and(|from| from.origin() == attempt.url().origin());
            let keeps_method = matches!(
                attempt.status(),
                StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT
            );
            if is_within && keeps_method && attempt.previous().len() <= MOST_MOVES {
                return attempt.follow();
            }
            // A POST would be followed by a GET: it is sent again instead.
            let url = attempt.url().clone();
            *locked(&told.told) = Some(match is_within {
                true => Moved::Within(url),
                false => Moved::Away(url),
            });
            attempt.stop()
        });
        let inner = builder().redirect(policy).build()?;
        Ok(Self { inner, state, pass })
    }

    /// Where the server is, as far as is known.
    fn uri(&self, given: Arc<str>) -> Arc<str> {
        locked(&self.state.moved).clone().unwrap_or(given)
    }

    /// What shows the server who asks.
    async fn token(&self) -> Result<Option<String>, Failure> {
        match &self.pass {
            Some(pass) => pass
                .token()
                .await
                .map_err(|error| failure(error.to_string())),
            None => Ok(None),
        }
    }

    /// Another token than one that the server refused, before it did anything.
    async fn other_token(&self, refused: Option<&str>) -> Result<Option<String>, Failure> {
        match (&self.pass, refused) {
            (Some(pass), Some(refused)) => {
                let renewed = pass.renewed(refused).await;
                renewed.map_err(|error| failure(error.to_string()))
            }
            _ => Ok(None),
        }
    }

    /// The token of a login that was made since one that gives too few rights.
    async fn newer_token(&self, refused: Option<&str>) -> Option<String> {
        let newer = self.pass.as_ref()?.newer(refused?).await;
        newer.unwrap_or_default()
    }

    /// What a refusal means to a person.
    fn refused(&self, error: Failure) -> Failure {
        match (&error, &self.pass) {
            (StreamableHttpError::AuthRequired(_), Some(pass)) => failure(pass.what_to_do()),
            (StreamableHttpError::InsufficientScope(refusal), Some(pass)) => {
                failure(pass.what_lacks(refusal.required_scope.as_deref().unwrap_or_default()))
            }
            _ => error,
        }
    }

    /// Posts a message with what shows who asks. What the server refuses for that alone, it did not begin.
    async fn post(
        &self,
        uri: Arc<str>,
        post: &Post,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let mut post = post.clone();
        post.auth = self.token().await?;
        let mut answer = self.post_as(uri.clone(), &post).await;
        let refused = post.auth.as_deref();
        let other = match &answer {
            Err(StreamableHttpError::AuthRequired(_)) => self.other_token(refused).await?,
            Err(StreamableHttpError::InsufficientScope(_)) => self.newer_token(refused).await,
            _ => None,
        };
        if let Some(token) = other {
            post.auth = Some(token);
            answer = self.post_as(uri, &post).await;
        }
        answer.map_err(|error| self.refused(error))
    }

    /// Posts a message to where the server is, and follows it there.
    async fn post_as(
        &self,
        uri: Arc<str>,
        post: &Post,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let mut moves = 0;
        loop {
            let answer = post.send(&self.inner, &self.uri(uri.clone())).await;
            let Err(StreamableHttpError::UnexpectedServerResponse(said)) = &answer else {
                return answer;
            };
            if !said.starts_with("HTTP 30") {
                return answer;
            }
            let told = locked(&self.state.told).take();
            match told {
                Some(Moved::Within(url)) if moves < MOST_MOVES => {
                    moves += 1;
                    *locked(&self.state.moved) = Some(url.as_str().into());
                }
                Some(Moved::Away(url)) => {
                    return Err(failure(format!(
                        "it says that it is at {url}: if you trust that, write it as its `url`"
                    )));
                }
                _ => return answer,
            }
        }
    }

    /// Whether the server still knows a session; if it doesn't say, it does.
    async fn knows(&self, uri: Arc<str>, post: &Post) -> bool {
        let id = RequestId::String(STILL_THERE.into());
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let ping = Post {
            message: ClientJsonRpcMessage::request(ping, id.clone()),
            ..post.clone()
        };
        match tokio::time::timeout(TO_TELL, self.post(uri, &ping)).await {
            Ok(Ok(StreamableHttpPostResponse::Json(answer, _))) => id_of(&answer) == Some(&id),
            Ok(Ok(_)) | Err(_) => true,
            Ok(Err(StreamableHttpError::SessionExpired)) => false,
            Ok(Err(StreamableHttpError::UnexpectedServerResponse(said))) => !may_be_lost(&said),
            Ok(Err(_)) => true,
        }
    }
}

/// A failure in these words.
fn failure(words: String) -> Failure {
    StreamableHttpError::UnexpectedServerResponse(words.into())
}

impl StreamableHttpClient for Client {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session, auth, headers, limits)
            .await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        auth: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        if session.is_some() && *locked(&self.state.lost) == session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let id = match &message {
            JsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        let post = Post {
            message,
            session,
            auth,
            headers,
            limits,
        };
        let answer = self.post(uri.clone(), &post).await;
        let Some(id) = id else {
            return answer;
        };
        let has_session = post.session.is_some();
        match answer {
            Ok(StreamableHttpPostResponse::Json(answer, session))
                if id_of(&answer) != Some(&id) =>
            {
                match answer {
                    JsonRpcMessage::Error(error) => {
                        if has_session && is_about_sessions(&error.error.message) {
                            return Err(StreamableHttpError::SessionExpired);
                        }
                        if has_session && !self.knows(uri, &post).await {
                            locked(&self.state.lost).clone_from(&post.session);
                        }
                        let answer = ServerJsonRpcMessage::error(error.error, Some(id));
                        Ok(StreamableHttpPostResponse::Json(answer, session))
                    }
                    JsonRpcMessage::Response(mut response) => {
                        response.id = id;
                        let answer = JsonRpcMessage::Response(response);
                        Ok(StreamableHttpPostResponse::Json(answer, session))
                    }
                    other => Ok(StreamableHttpPostResponse::Json(other, session)),
                }
            }
            Ok(StreamableHttpPostResponse::Sse(stream, session)) => {
                let stream = stream.map(move |event| match event {
                    Ok(event) => Ok(addressed(bounded(event), &id)),
                    // Asked for again it would be no smaller.
                    Err(error) => match too_large(&error) {
                        Some(large) => Ok(of_a_large_event(large, &id)),
                        None => Err(error),
                    },
                });
                Ok(StreamableHttpPostResponse::Sse(stream.boxed(), session))
            }
            Err(StreamableHttpError::UnexpectedServerResponse(said))
                if has_session && may_be_lost(&said) =>
            {
                if said.starts_with("HTTP 4") && is_about_sessions(&said) {
                    return Err(StreamableHttpError::SessionExpired);
                }
                // That is told of this message alone, unless it is so with all.
                if !self.knows(uri, &post).await {
                    locked(&self.state.lost).clone_from(&post.session);
                }
                Err(StreamableHttpError::UnexpectedServerResponse(said))
            }
            other => other,
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        let uri = self.uri(uri);
        let auth = self.token().await?;
        self.inner.delete_session(uri, session, auth, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let uri = self.uri(uri);
        let auth = self.token().await?;
        let stream = self
            .inner
            .get_stream(uri, session, last_event, auth, headers)
            .await?;
        Ok(stream.map(|event| event.map(bounded)).boxed())
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        largest: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let uri = self.uri(uri);
        let auth = self.token().await?;
        let stream = self
            .inner
            .get_stream_with_max_sse_event_size(uri, session, last_event, auth, headers, largest)
            .await?;
        Ok(stream.map(|event| event.map(bounded)).boxed())
    }
}

/// The id of the request that a message answers.
fn id_of(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

/// Whether an error says that a session is unknown, so that nothing can have begun in it: in the words of the SDKs, and of
/// servers without one.
fn is_about_sessions(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    ["session", "not initialized", "not initialised"]
        .iter()
        .any(|word| said.contains(word))
}

/// Whether a server may answer so because it does not know a session: not where it says who may ask or how often, and not
/// what stands before a server that is away.
fn may_be_lost(said: &str) -> bool {
    let status = said.strip_prefix("HTTP ").and_then(|said| said.get(..3));
    match status.and_then(|status| status.parse().ok()) {
        Some(401 | 403 | 429) => false,
        Some(400..=500) => true,
        _ => false,
    }
}

/// What stands for the answer to a request in whose stream there is an event that is too large to be read.
fn of_a_large_event(error: &TooLarge, id: &RequestId) -> Sse {
    let problem =
        format!("the server's answer ({error}) is not passed on; ask it for less at once");
    let error = ErrorData::internal_error(problem, None);
    let answer = ServerJsonRpcMessage::error(error, Some(id.clone()));
    Sse {
        data: serde_json::to_string(&answer).ok(),
        ..Sse::default()
    }
}

/// An event that has not more values than are read: an error in place of an answer that has, nothing in place of the rest.
fn bounded(mut event: Sse) -> Sse {
    let data = event.data.as_deref().unwrap_or_default();
    if let Some(instead) = in_place_of_too_many(data.as_bytes()) {
        event.data = instead.and_then(|instead| serde_json::to_string(&instead).ok());
    }
    event
}

/// An event of the answer to a request, with the request's id if it is the answer itself.
fn addressed(mut event: Sse, id: &RequestId) -> Sse {
    let Some(data) = &event.data else {
        return event;
    };
    let Ok(head) = serde_json::from_str::<Head<'_>>(data) else {
        return event;
    };
    let Ok(right) = serde_json::to_value(id) else {
        return event;
    };
    let is_answer = head.method.is_none();
    if is_answer
        && head.id.map(RawValue::get) != Some(right.to_string().as_str())
        && let Ok(serde_json::Value::Object(mut message)) = serde_json::from_str(data)
    {
        message.insert("id".to_owned(), right);
        event.data = Some(serde_json::Value::Object(message).to_string());
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_in_a_stream_is_that_to_its_request() {
        let id = RequestId::Number(7);
        let addressed = |data: &str| {
            let event = addressed(Sse::default().data(data), &id);
            event.data.unwrap()
        };
        for (data, after) in [
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
                r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":"7","result":{}}"#,
                r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":""}}"#,
                r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":""}}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#,
                r#"{"jsonrpc":"2.0","method":"notifications/progress"}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            ),
            ("no JSON", "no JSON"),
        ] {
            assert_eq!(addressed(data), after);
        }
    }

    #[test]
    fn an_event_of_too_many_values_is_an_error_for_its_request_or_nothing() {
        let many = format!("[{}0]", "0,".repeat(200_000));
        let bounded = |data: String| bounded(Sse::default().data(data)).data;
        let answer = bounded(format!(r#"{{"jsonrpc":"2.0","id":7,"result":{many}}}"#)).unwrap();
        assert!(
            answer.contains(r#""id":7"#) && answer.contains("200000 JSON values"),
            "{answer}"
        );
        let told = format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{many}}}"#);
        assert_eq!(bounded(told), None);
        let small = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;
        assert_eq!(bounded(small.to_owned()).as_deref(), Some(small));
    }

    #[test]
    fn a_server_that_is_busy_or_away_may_well_know_its_sessions() {
        for said in [
            "HTTP 400 Bad Request: busy",
            "HTTP 404 Not Found: ",
            "HTTP 500 Internal Server Error: ",
        ] {
            assert!(may_be_lost(said), "{said}");
        }
        for said in [
            "HTTP 301 Moved Permanently: ",
            "HTTP 401 Unauthorized: ",
            "HTTP 429 Too Many Requests: too many sessions",
            "HTTP 502 Bad Gateway: ",
            "HTTP 503 Service Unavailable: ",
            "HTTP",
            "its answer is text/html, and no message of the protocol: ",
        ] {
            assert!(!may_be_lost(said), "{said}");
        }
    }

    #[test]
    fn a_lost_session_is_known_by_what_servers_say_of_it() {
        for said in [
            "Bad Request: No valid session ID provided",
            "Session not found",
            "Bad Request: Server not initialized",
            "HTTP 400 Bad Request: Invalid session",
        ] {
            assert!(is_about_sessions(said), "{said}");
        }
        for said in ["Unknown tool", "Invalid params", "HTTP 400 Bad Request: "] {
            assert!(!is_about_sessions(said), "{said}");
        }
    }
}
