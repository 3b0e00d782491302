//! The client's side of HTTP: how connections to others are made and kept, and why one can't be, in a person's words.

use std::{error::Error, io, time::Duration};

/// How long a connection may take.
const TO_CONNECT: Duration = Duration::from_secs(10);

/// How long a connection that nothing uses is kept. What servers are mostly made with, Node.js and uvicorn, close theirs
/// after five seconds, without a word: a request that is sent at that moment fails, and nobody can say whether it began.
const KEPT_IDLE: Duration = Duration::from_secs(4);

/// What every client of ours begins with.
pub fn builder() -> reqwest::ClientBuilder {
    // It may be there already, which is as good: whose cryptography TLS uses is said once for the whole process.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .connect_timeout(TO_CONNECT)
        .pool_idle_timeout(KEPT_IDLE)
}

/// An error and all that is behind it.
pub fn behind<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

/// Why a request failed, in words that are about where it went.
pub fn of_the_network(error: &reqwest::Error) -> String {
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
    let causes: Vec<_> = behind(error).skip(1).collect();
    let kind = causes
        .iter()
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .map(io::Error::kind)
        .next_back();
    let tls = causes.iter().find_map(|error| tls_words(*error));
    let is_name = causes.iter().any(|error| {
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
            "the name {host} is not known (DNS); look at how it is written, and whether this machine is online"
        );
    }
    // hyper has no kind for it.
    let is_hung_up = causes.iter().any(|error| {
        error
            .to_string()
            .contains("closed before message completed")
    });
    match kind {
        _ if is_hung_up => format!("{place} closed the connection before it answered"),
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
            let last = causes
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
