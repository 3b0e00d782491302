//! An HTTP request as a program makes it, and what came back.

use std::time::Duration;

/// What a program asked for.
#[derive(Debug, Clone)]
pub(super) struct HttpRequest {
    /// The URL exactly as the program wrote it.
    pub(super) url: String,
    pub(super) method: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<Vec<u8>>,
    pub(super) redirect: bool,
    pub(super) timeout: Duration,
}

/// What came back.
#[derive(Debug)]
pub(super) struct HttpResponse {
    pub(super) status: u16,
    /// The words beside the number, such as `Not Found`.
    pub(super) reason: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}
