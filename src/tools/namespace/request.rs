//! A request over HTTP, as a handler makes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A request, as a handler makes it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Where to.
    pub url: String,
    /// `GET`, if it does not say.
    #[serde(default)]
    pub method: Option<String>,
    /// Its headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// What it sends.
    #[serde(default)]
    pub body: Option<String>,
    /// How long it may take, in milliseconds.
    #[serde(default)]
    pub timeout_ms: Option<f64>,
}
