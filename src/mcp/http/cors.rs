//! What pages may do that admission lets in, in the words of the Fetch standard (section 3.2): without them a browser
//! keeps our answers from the page.

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

/// Headers of answers that a page's client has to read.
const SHOWN_HEADERS: HeaderValue =
    HeaderValue::from_static("mcp-session-id, mcp-protocol-version, www-authenticate, retry-after");

/// How long a browser may go by an answer to `OPTIONS`, in seconds.
const KEPT: HeaderValue = HeaderValue::from_static("600");

/// The answer to `OPTIONS` where these methods are `allowed`. A page asks so before it sends anything of its own; it has
/// no token then, so none is asked for.
pub fn options(allowed: &'static str, headers: &HeaderMap) -> Response {
    let allowed = HeaderValue::from_static(allowed);
    let mut answer = StatusCode::NO_CONTENT.into_response();
    answer.headers_mut().insert(header::ALLOW, allowed.clone());
    if headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD) {
        let mut say = |name: HeaderName, value| answer.headers_mut().insert(name, value);
        say(header::ACCESS_CONTROL_ALLOW_METHODS, allowed);
        say(header::ACCESS_CONTROL_MAX_AGE, KEPT);
        // Whatever it wants to send: tools may name headers of their own (SEP-2243).
        if let Some(wanted) = headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
            say(header::ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
        }
    }
    answer
}

/// Lets a page of this origin, which was admitted, read an answer.
pub fn allow(origin: HeaderValue, answer: &mut HeaderMap) {
    answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    answer.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, SHOWN_HEADERS);
    // Another origin's answer is another one.
    answer.append(header::VARY, HeaderValue::from_static("origin"));
}
