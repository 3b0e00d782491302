//! What takes the place of requests in a program that was built without HTTP.

use serde_json::Value;
use thiserror::Error;
use tokio::time::Instant;

use super::request::Request;
use crate::tools::manifest::HostSpec;

/// That there are none.
#[derive(Debug, Error)]
#[error("this mcp-bridge was built without HTTP (the feature `upstream-http`)")]
pub struct HttpError;

/// What makes none.
#[derive(Default)]
pub struct Requests;

impl Requests {
    /// Makes no request.
    pub async fn make(&self, _: Request, _: &[HostSpec], _: Instant) -> Result<Value, HttpError> {
        Err(HttpError)
    }
}
