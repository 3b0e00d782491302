//! What is asked of a computer.

use std::fmt;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::job::About;
use crate::wire::names::Method;

/// One thing to ask of a computer.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The method of the link protocol.
    pub method: Method,
    /// Its parameters.
    pub params: Option<&'a Value>,
    /// What it is about.
    pub about: About<'a>,
    /// Whether it may still begin: asked right before anything of it is sent. Without one it may.
    pub gate: Option<Gate<'a>>,
}

/// Says whether something may still begin.
#[derive(Clone, Copy)]
pub struct Gate<'a>(pub &'a dyn Gatekeeper);

/// Whoever knows that.
pub trait Gatekeeper: Send + Sync {
    /// Whether it may begin at this moment.
    fn may_begin(&self) -> BoxFuture<'_, bool>;
}

impl Gate<'_> {
    pub(super) async fn is_open(&self) -> bool {
        self.0.may_begin().await
    }
}

impl fmt::Debug for Gate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gate")
    }
}
