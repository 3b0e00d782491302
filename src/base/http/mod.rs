//! HTTP as both ports speak it: who is who by its headers, who may come in, and the listener.

pub mod admission;
pub mod authority;
#[cfg(feature = "upstream-http")]
pub mod client;
pub mod intake;
pub mod listener;
pub mod room;

use axum::http::{HeaderMap, HeaderName};

/// A header as text.
pub fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    // A header that is no text is still a header: it must not pass as absent.
    headers
        .get(name)
        .map(|value| value.to_str().unwrap_or("\u{fffd}"))
}
