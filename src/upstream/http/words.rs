//! Why a server over HTTP could not be reached or used, in a person's words.

use std::{error::Error, io};

use http::StatusCode;
use rmcp::transport::streamable_http_client::StreamableHttpError;

/// How much of what a server says is passed on, in characters.
const LONGEST: usize = 300;

/// The reason in `error`, or in what is behind it.
pub fn reason(error: &(dyn Error + 'static)) -> String {
    chain(error).find_map(in_words).unwrap_or_else(|| {
        chain(error)
            .last()
            .map(ToString::to_string)
            .unwrap_or_default()
    })
}

/// An error and all that is behind it.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

/// Whether a request that failed for this never reached the server.
pub fn was_not_sent(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|error| {
        matches!(
            error.downcast_ref::<StreamableHttpError<reqwest::Error>>(),
            Some(StreamableHttpError::Client(error)) if error.is_connect()
        )
    })
}

/// Whether it is that the server takes no posts: where they speak the older transport, servers don't.
pub fn takes_no_posts(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|error| {
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
            "it lost its session, and a new one took too long".to_owned()
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

fn of_the_network(error: &reqwest::Error) -> String {
    let place = error.url().map_or_else(
        || "its address".to_owned(),
        |url| {
            let host = url.host_str().unwrap_or_default();
            match url.port_or_known_default() {
                Some(port) => format!("{host}:{port}"),
                None => host.to_owned(),
            }
        },
    );
    let behind: Vec<_> = chain(error).skip(1).collect();
    let kind = behind
        .iter()
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .map(io::Error::kind)
        .next_back();
    let tls = behind.iter().find_map(|error| tls_words(*error));
    let is_name = behind.iter().any(|error| {
        let text = error.to_string();
        text.contains("dns error") || text.contains("failed to lookup address")
    });
    if let Some(words) = tls {
        return format!("{place} can't be trusted (TLS): {words}");
    }
    if is_name {
        let host = error
            .url()
            .and_then(|url| url.host_str())
            .unwrap_or_default();
        return format!(
            "the name {host} is not known (DNS); look at its `url`, and whether this machine is online"
        );
    }
    match kind {
        Some(io::ErrorKind::ConnectionRefused) => {
            format!("nothing listens at {place} (connection refused); perhaps it does not run")
        }
        Some(
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe,
        ) => {
            format!("{place} closed the connection")
        }
        Some(io::ErrorKind::UnexpectedEof) => {
            format!("{place} closed the connection in mid answer")
        }
        _ if error.is_timeout() => format!("{place} did not answer in time"),
        _ => {
            let last = behind
                .last()
                .map_or_else(|| error.to_string(), ToString::to_string);
            format!("{place}: {last}")
        }
    }
}

/// What is wrong with TLS, if that is what an error is about.
fn tls_words(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return Some(error.to_string());
    }
    // An I/O error hides what it holds from those who ask what is behind it.
    let inner = error.downcast_ref::<io::Error>()?.get_ref()?;
    inner
        .downcast_ref::<rustls::Error>()
        .map(ToString::to_string)
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
