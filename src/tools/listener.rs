//! Whoever waits for a call's answer, and what they are told meanwhile.

use std::future::ready;

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::model::JsonObject;

use super::hearer::{Logged, Severity};
use crate::computers::ComputerKey;

/// How much a line of a log matters.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// For whoever looks for a fault.
    Debug,
    /// What happens.
    Info,
    /// Something is not as it should be.
    Warning,
    /// Something failed.
    Error,
}

/// How far a call has come.
#[derive(Debug, Clone, Default)]
pub struct Step {
    /// What it does now.
    pub message: String,
    /// How much is done, if the call counts.
    pub done: Option<f64>,
    /// How much there is to do, if that is known.
    pub total: Option<f64>,
}

/// A piece of what code printed, as it comes.
#[derive(Debug, Clone, Copy)]
pub struct Printed<'a> {
    /// The piece: any bytes (see `base::byte_text`), cut anywhere.
    pub text: &'a str,
    /// The computer on which it was printed; none: on the host.
    pub on: Option<ComputerKey>,
    /// What it belongs to.
    pub belongs: Belongs,
}

/// What something that was printed belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Belongs {
    /// The answer of the client's call, which begins with it.
    ToAnswer,
    /// Whoever wrote the code: the answer does not have it, or only where something went wrong.
    ToAuthor,
}

/// The client that waits for a call's answer, to be told how it goes meanwhile.
pub trait Listener: Send + Sync {
    /// Whether it wants to be told.
    fn listens(&self) -> bool;

    /// Whether something that it was told is not on its way yet: what is told now takes its place.
    fn is_behind(&self) -> bool {
        false
    }

    /// Tells it how far its call has come. It is not told everything if that is too often: the latest counts, and the last.
    fn tell(&self, step: Step) -> BoxFuture<'_, ()>;

    /// Hands it a line of the call's log, if it wants such lines.
    fn log(&self, level: Level, logger: &str, text: String) -> BoxFuture<'_, ()>;

    /// Whether it wants what is printed, by [`Listener::print`], while the call goes on.
    fn wants_output(&self) -> bool {
        false
    }

    /// Whether it shows all of that to whoever reads the answer, so that the answer leaves it out.
    fn shows_output(&self) -> bool {
        false
    }

    /// Hands it a piece of what is printed.
    fn print(&self, _: Printed<'_>) {}

    /// From which severity on it wants to be handed what servers log while its call goes on; none: it wants nothing, or
    /// hears of it in any case, as a client with a session does.
    fn hears(&self) -> Option<Severity> {
        None
    }

    /// Hands it what a server logged.
    fn hear(&self, _: Logged) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }

    /// What it attached to its call for whoever answers that.
    fn attached(&self) -> Option<&JsonObject> {
        None
    }
}
