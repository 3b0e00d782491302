//! Why a server over HTTP could not be reached or used, in a person's words.

use std::error::Error;

use http::StatusCode;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use crate::base::http::client::{behind, of_the_network};

/// How much of what a server says is passed on, in characters.
const LONGEST: usize = 300;

/// The reason in `error`, or in what is behind it.
pub fn reason(error: &(dyn Error + 'static)) -> String {
    behind(error).find_map(in_words).unwrap_or_else(|| {
        behind(error)
            .last()
            .map(ToString::to_string)
            .unwrap_or_default()
    })
}

/// Whether a request that failed for this never reached the server.
pub fn was_not_sent(error: &(dyn Error + 'static)) -> bool {
    behind(error).any(|error| {
        matches!(
            error.downcast_ref::<StreamableHttpError<reqwest::Error>>(),
            Some(StreamableHttpError::Client(error)) if error.is_connect()
        )
    })
}

/// Whether a session is over with a request that failed for this: nobody is there, it is lost, or the server wants to know
/// first who asks. Whatever else comes in place of an answer says nothing of what else the server was asked.
pub fn ends_session(error: &(dyn Error + 'static)) -> bool {
    let failure =
        behind(error).find_map(|error| error.downcast_ref::<StreamableHttpError<reqwest::Error>>());
    match failure {
        Some(StreamableHttpError::Client(error)) => error.is_connect(),
        Some(StreamableHttpError::UnexpectedServerResponse(said)) => is_about_login(said),
        Some(
            StreamableHttpError::Sse(_)
            | StreamableHttpError::Io(_)
            | StreamableHttpError::HttpStatus(_)
            | StreamableHttpError::UnexpectedEndOfStream
            | StreamableHttpError::ResponseBodyTooLarge { .. }
            | StreamableHttpError::UnexpectedContentType(_)
            | StreamableHttpError::Deserialize(_)
            | StreamableHttpError::InsufficientScope(_)
            // There may be a new one, in which this request was not awaited any more.
            | StreamableHttpError::SessionRecoveryTimeout,
        ) => false,
        Some(_) | None => true,
    }
}

/// Whether a server says that it wants to know who asks, in its words or in those of the login.
fn is_about_login(said: &str) -> bool {
    match said.strip_prefix("HTTP ") {
        Some(status) => status.starts_with("401"),
        None => said.contains(" (HTTP 401): "),
    }
}

/// Whether it is that the server takes no posts: where they speak the older transport, servers don't.
pub fn takes_no_posts(error: &(dyn Error + 'static)) -> bool {
    behind(error).any(|error| {
        matches!(
            error.downcast_ref::<StreamableHttpError<reqwest::Error>>(),
            Some(StreamableHttpError::UnexpectedServerResponse(said))
                if said.starts_with("HTTP 404") || said.starts_with("HTTP 405")
        )
    })
}

fn in_words(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(error) = error.downcast_ref::<reqwest::Error>() {
        return Some(of_the_network(error));
    }
    let error = error.downcast_ref::<StreamableHttpError<reqwest::Error>>()?;
    Some(match error {
        StreamableHttpError::Client(error) => of_the_network(error),
        StreamableHttpError::HttpStatus(error) => format!("it answers {}", status(error.status)),
        StreamableHttpError::UnexpectedServerResponse(said) => match said.strip_prefix("HTTP ") {
            Some(answer) => format!("it answers HTTP {}", shortened(answer)),
            None => shortened(said),
        },
        StreamableHttpError::UnexpectedContentType(kind) => format!(
            "it answers {}, which is not MCP; perhaps its `url` is not that of its MCP endpoint",
            kind.as_deref().unwrap_or("without saying what")
        ),
        StreamableHttpError::AuthRequired(_) => {
            "it refuses what its entry sends to show who asks (HTTP 401)".to_owned()
        }
        StreamableHttpError::InsufficientScope(_) => {
            "it asks for more rights than the token in its entry has (HTTP 403)".to_owned()
        }
        StreamableHttpError::SessionExpired => {
            "it does not know its own session, also after a new `initialize`".to_owned()
        }
        StreamableHttpError::ReinitializationFailed(error) => format!(
            "it lost its session, and refused a new `initialize`: {}",
            shortened(&error.message)
        ),
        StreamableHttpError::SessionRecoveryTimeout => {
            "it lost its session, and this answer or a new session took too long".to_owned()
        }
        StreamableHttpError::UnexpectedEndOfStream => {
            "its answer broke off before it was whole".to_owned()
        }
        StreamableHttpError::ResponseBodyTooLarge { max_size } => format!(
            "its answer has more than {} MiB, which can't be passed on",
            max_size / 1024 / 1024
        ),
        StreamableHttpError::ReservedHeaderConflict(name) => {
            format!("its entry sets the header `{name}`, which only mcp-bridge can set")
        }
        _ => return None,
    })
}

/// `HTTP 503 Service Unavailable`.
fn status(code: u16) -> String {
    let reason = StatusCode::from_u16(code).ok();
    let reason = reason.and_then(|status| status.canonical_reason());
    match reason {
        Some(reason) => format!("HTTP {code} {reason}"),
        None => format!("HTTP {code}"),
    }
}

/// The first line of what a server says, as far as it is shown.
fn shortened(said: &str) -> String {
    let line = said.lines().find(|line| !line.trim().is_empty());
    let line = line.unwrap_or_default().trim().trim_end_matches(':');
    crate::base::excerpt::shortened(line, LONGEST).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_outlives_what_is_said_of_one_request() {
        let ends = |said: &str| {
            let said = said.to_owned().into();
            let error = StreamableHttpError::<reqwest::Error>::UnexpectedServerResponse(said);
            ends_session(&error)
        };
        for said in [
            "HTTP 503 Service Unavailable: busy",
            "HTTP 400 Bad Request: no (HTTP 401): ",
            "its answer is text/html, and no message of the protocol: Welcome",
            "it asks for more rights than this login has (HTTP 403): log in",
        ] {
            assert!(!ends(said), "{said}");
        }
        for said in [
            "HTTP 401 Unauthorized: ",
            "it does not take the login any more (HTTP 401): log in",
        ] {
            assert!(ends(said), "{said}");
        }
        let lost = StreamableHttpError::<reqwest::Error>::SessionExpired;
        assert!(ends_session(&lost));
    }
}
