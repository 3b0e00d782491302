//! Clients with a session, as far as they hear what no call of theirs brought about: what servers log.

#[expect(deprecated, reason = "servers of today still log, and clients read it")]
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};

use super::client::Client;

/// What a server logs.
#[expect(deprecated, reason = "servers of today still log, and clients read it")]
pub type Logged = LoggingMessageNotificationParam;

/// How much that matters.
#[expect(deprecated, reason = "servers of today still log, and clients read it")]
pub type Severity = LoggingLevel;

/// A client that hears.
pub trait Hearer: Send + Sync {
    /// What kind of client it is.
    fn client(&self) -> Client;

    /// From which severity on it asked for what is logged; none: it never did.
    fn asked_for(&self) -> Option<Severity>;

    /// Hands it what was logged, if it wants that. Does not wait: for a client that does not read, the oldest is left out.
    fn hear(&self, logged: &Logged);
}

/// The number of a severity: it grows with what it stands for.
pub fn rank(severity: Severity) -> u8 {
    severity as u8
}
