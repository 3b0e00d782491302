//! A message that is posted to a server, and what that answers.
//!
//! rmcp can do that too. But it reads an answer where all others wait for that, however many JSON values it has: one of
//! 16 MB took a second and a gigabyte. Here they are counted first, and what is long is read beside.

use std::{collections::HashMap, sync::Arc};

use futures_util::StreamExt;
use http::{
    HeaderName, HeaderValue,
    header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage},
    transport::streamable_http_client::{
        AuthRequiredError, InsufficientScopeError, StreamableHttpError, StreamableHttpPostResponse,
        StreamableHttpResponseLimits,
    },
};

use super::bodies::{EVENTS, Failure, JSON, beginning, events, is_of_type, whole};
use crate::upstream::reading::read_beside;

/// The header with the session.
const SESSION: &str = "mcp-session-id";

/// The headers that are not an entry's to set.
const OURS: [&str; 3] = ["accept", SESSION, "last-event-id"];

/// How much of what is no message is shown, in bytes.
const SHOWN: usize = 256;

/// One message to a server.
#[derive(Clone)]
pub struct Post {
    /// It.
    pub message: ClientJsonRpcMessage,
    /// The session that it is of.
    pub session: Option<Arc<str>>,
    /// What shows who asks.
    pub auth: Option<String>,
    /// What else is sent with it.
    pub headers: HashMap<HeaderName, HeaderValue>,
    /// How long the answer may be.
    pub limits: StreamableHttpResponseLimits,
}

impl Post {
    /// Posts it, and reads the answer, or the beginning of that if it is a stream.
    ///
    /// # Errors
    /// The server can't be reached, refuses it, or answers something else.
    pub async fn send(
        &self,
        client: &Client,
        uri: &str,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let answer = self.request(client, uri)?.send().await?;
        let status = answer.status();
        if let Some(refusal) = refusal(&answer) {
            return Err(refusal);
        }
        match status {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                return Ok(StreamableHttpPostResponse::Accepted);
            }
            StatusCode::NOT_FOUND if self.session.is_some() => {
                return Err(StreamableHttpError::SessionExpired);
            }
            _ => {}
        }
        let kind = answer.headers().get(CONTENT_TYPE);
        let kind = kind.map(|kind| String::from_utf8_lossy(kind.as_bytes()).into_owned());
        let is = |wanted| kind.as_deref().is_some_and(|kind| is_of_type(kind, wanted));
        let session = said(&answer, SESSION);
        if !status.is_success() {
            return self.failed(answer, is(JSON), session).await;
        }
        let awaits_nothing = !matches!(self.message, JsonRpcMessage::Request(_));
        if awaits_nothing && answer.content_length() == Some(0) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if is(EVENTS) {
            let events = events(answer, self.limits.max_sse_event_size).boxed();
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        if !is(JSON) {
            return match &self.message {
                JsonRpcMessage::Request(request) => Err(match request.request {
                    // Of what was never spoken to, the address is to be doubted first.
                    ClientRequest::InitializeRequest(_) => {
                        StreamableHttpError::UnexpectedContentType(kind)
                    }
                    _ => {
                        let longest = self.limits.max_error_response_size;
                        of_another_kind(kind.as_deref(), &beginning(answer, longest).await)
                    }
                }),
                _ => Ok(StreamableHttpPostResponse::Accepted),
            };
        }
        let body = whole(answer, self.limits.max_json_response_size).await?;
        let shown = text(&body, SHOWN);
        match read_beside(body).await {
            Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
            Err(Some(instead)) => Ok(StreamableHttpPostResponse::Json(*instead, session)),
            Err(None) if awaits_nothing => Ok(StreamableHttpPostResponse::Accepted),
            Err(None) => Err(StreamableHttpError::UnexpectedServerResponse(
                format!("its answer is no message of the protocol, or too large for one: {shown}")
                    .into(),
            )),
        }
    }

    fn request(&self, client: &Client, uri: &str) -> Result<RequestBuilder, Failure> {
        let mut request = client.post(uri).header(ACCEPT, format!("{EVENTS}, {JSON}"));
        if let Some(auth) = &self.auth {
            request = request.bearer_auth(auth);
        }
        for (name, value) in &self.headers {
            if OURS.contains(&name.as_str()) {
                let name = name.to_string();
                return Err(StreamableHttpError::ReservedHeaderConflict(name));
            }
            request = request.header(name, value);
        }
        if let Some(session) = &self.session {
            request = request.header(SESSION, session.as_ref());
        }
        Ok(request.json(&self.message))
    }

    /// What an answer means that says that all is not well: perhaps in an error of the protocol.
    async fn failed(
        &self,
        answer: Response,
        is_json: bool,
        session: Option<String>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let status = answer.status();
        let later = said(&answer, RETRY_AFTER.as_str());
        let later = later.as_deref().and_then(in_words).unwrap_or_default();
        let is_no_error = matches!(
            status,
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS
        );
        let longest = self.limits.max_error_response_size;
        let body = if is_json && !is_no_error {
            // One that is too large or breaks off says no more.
            let body = whole(answer, self.limits.max_json_response_size).await;
            let body = body.unwrap_or_default();
            let shown = text(&body, longest);
            if let Ok(message @ JsonRpcMessage::Error(_)) = read_beside(body).await {
                return Ok(StreamableHttpPostResponse::Json(message, session));
            }
            shown
        } else {
            beginning(answer, longest).await
        };
        let body = readable(&body);
        Err(StreamableHttpError::UnexpectedServerResponse(
            format!("HTTP {status}{later}: {body}").into(),
        ))
    }
}

/// What a server that was spoken to before answers, where that is neither a message nor a stream of events.
fn of_another_kind(kind: Option<&str>, body: &str) -> Failure {
    let kind = kind.unwrap_or("something that has no content type");
    StreamableHttpError::UnexpectedServerResponse(
        format!(
            "its answer is {kind}, and no message of the protocol: {}",
            readable(body)
        )
        .into(),
    )
}

/// What a body says to a person: of a page of HTML its title, if it has one.
fn readable(body: &str) -> &str {
    let body = body.trim();
    let title = || {
        let lower = body.to_ascii_lowercase();
        let begin = lower.find("<title")?;
        let begin = begin + lower[begin..].find('>')? + 1;
        let end = begin + lower[begin..].find("</")?;
        Some(body[begin..end].trim())
    };
    match body.starts_with('<') {
        true => title().unwrap_or(body),
        false => body,
    }
}

/// When a server wants to be asked again, as far as it says that as it should: in so many seconds, or at a date.
fn in_words(retry_after: &str) -> Option<String> {
    let said = retry_after.trim();
    if let Ok(seconds) = said.parse::<u64>() {
        return Some(format!(" (to be tried again in {seconds} s)"));
    }
    let is_date = said.len() <= 40
        && said.ends_with(" GMT")
        && said
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || " ,:-".contains(char));
    is_date.then(|| format!(" (to be tried again on {said})"))
}

/// What a header of an answer says.
fn said(answer: &Response, header: &str) -> Option<String> {
    let value = answer.headers().get(header)?.to_str().ok()?;
    Some(value.to_owned())
}

fn text(body: &[u8], most: usize) -> String {
    String::from_utf8_lossy(&body[..body.len().min(most)]).into_owned()
}

/// That the server wants to know who asks, or who asks may not, if that is what it says.
fn refusal(answer: &Response) -> Option<Failure> {
    let challenge = said(answer, WWW_AUTHENTICATE.as_str())?;
    match answer.status() {
        StatusCode::UNAUTHORIZED => {
            let error = AuthRequiredError::new(challenge);
            Some(StreamableHttpError::AuthRequired(error))
        }
        StatusCode::FORBIDDEN => {
            let scope = scope_in(&challenge);
            let error = InsufficientScopeError::new(challenge, scope);
            Some(StreamableHttpError::InsufficientScope(error))
        }
        _ => None,
    }
}

/// The `scope="a b"` of a challenge.
fn scope_in(challenge: &str) -> Option<String> {
    const KEY: &str = "scope=";
    let at = challenge.to_ascii_lowercase().find(KEY)?;
    let value = &challenge[at + KEY.len()..];
    let scope = match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => value.split([',', ';', ' ']).next()?,
    };
    (!scope.is_empty()).then(|| scope.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn when_to_ask_again_is_told_as_far_as_it_is_said() {
        for (said, words) in [
            ("120", Some(" (to be tried again in 120 s)")),
            (
                "Wed, 21 Oct 2026 07:28:00 GMT",
                Some(" (to be tried again on Wed, 21 Oct 2026 07:28:00 GMT)"),
            ),
            ("soon", None),
            ("-1", None),
            ("\u{1b}[31m GMT", None),
            ("", None),
        ] {
            assert_eq!(in_words(said).as_deref(), words, "{said}");
        }
    }

    #[test]
    fn of_a_page_its_title_is_shown() {
        for (body, shown) in [
            ("\n busy\nvery", "busy\nvery"),
            (
                "<html><head><TITLE lang=en>\n502 Bad Gateway</title>",
                "502 Bad Gateway",
            ),
            ("<html>Welcome", "<html>Welcome"),
            ("<title>cut", "<title>cut"),
            ("", ""),
        ] {
            assert_eq!(readable(body), shown, "{body}");
        }
    }

    #[test]
    fn the_scope_of_a_challenge_is_found() {
        for (challenge, scope) in [
            (
                r#"Bearer error="insufficient_scope", Scope="a b", x="y""#,
                Some("a b"),
            ),
            ("Bearer scope=a, x=y", Some("a")),
            (r#"Bearer scope="""#, None),
            ("Bearer", None),
        ] {
            assert_eq!(scope_in(challenge).as_deref(), scope, "{challenge}");
        }
    }
}
