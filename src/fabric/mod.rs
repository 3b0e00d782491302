//! Which computers exist, and ask one something, whoever holds the link port.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use serde_json::Value;
use thiserror::Error;

pub use crate::link::{
    frame::{AgentError, Answer, ComputerId},
    port::{Blocked, PortState},
    registry::{Computer, Facts, Presence},
    session::AskError,
    text::one_line,
};
use crate::{config::LinkConfig, link::port::LinkPort};

/// The computers, as tools see them.
#[derive(Debug)]
pub struct Fabric {
    port: LinkPort,
    ids: RequestIds,
}

/// Why the computers can't be reached at all.
#[derive(Debug, Error)]
#[error("The link port {} can't be opened, so no computer can link: {}", .0.address, .0.reason)]
pub struct Unreachable(pub Blocked);

impl Fabric {
    /// Starts the link port in this process.
    pub fn start(config: &LinkConfig) -> Self {
        Self {
            port: LinkPort::start(config),
            ids: RequestIds::new(),
        }
    }

    /// Makes the computers reachable now, for a client that stays.
    pub fn want(&self) {
        self.port.want();
    }

    /// Where computers link.
    pub async fn port(&self) -> PortState {
        self.port.state().await
    }

    /// All computers, in order of their numbers, those that left included.
    ///
    /// # Errors
    /// The link port can't be opened.
    pub async fn computers(&self) -> Result<Vec<Computer>, Unreachable> {
        self.reachable().await?;
        Ok(self.port.registry().all())
    }

    /// One computer, if it was ever linked.
    ///
    /// # Errors
    /// The link port can't be opened.
    pub async fn computer(&self, id: ComputerId) -> Result<Option<Computer>, Unreachable> {
        self.reachable().await?;
        Ok(self.port.registry().get(id))
    }

    async fn reachable(&self) -> Result<(), Unreachable> {
        match self.port.state().await {
            PortState::Blocked(blocked) => Err(Unreachable(blocked)),
            PortState::Starting | PortState::Listening(_) => Ok(()),
        }
    }

    /// Asks a linked computer, and waits `time` at most.
    ///
    /// # Errors
    /// It gave no answer, and why.
    pub async fn ask(
        &self,
        computer: &Computer,
        method: &str,
        params: Option<&Value>,
        time: Duration,
    ) -> Result<Answer, AskError> {
        match &computer.presence {
            Presence::Linked(link) => {
                let id = self.ids.next();
                tracing::debug!(computer = %computer.facts.id, request = id, method, "asking");
                link.ask(id, method, params, time).await
            }
            Presence::Left { why, .. } => Err(AskError::LinkLost(why.clone())),
        }
    }
}

/// Makes request ids that no other bridge, and no earlier run of this one, makes.
#[derive(Debug)]
struct RequestIds {
    /// Drawn at the start.
    bridge: u64,
    next: AtomicU64,
}

impl RequestIds {
    fn new() -> Self {
        // The standard library keys each RandomState from the system's random source.
        let bridge =
            RandomState::new().hash_one((std::process::id(), std::time::SystemTime::now()));
        Self {
            bridge: bridge >> 16,
            next: AtomicU64::new(1),
        }
    }

    fn next(&self) -> String {
        format!(
            "{:012x}-{}",
            self.bridge,
            self.next.fetch_add(1, Ordering::Relaxed)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_bridges_never_make_the_same_request_id() {
        let (one, other) = (RequestIds::new(), RequestIds::new());
        assert_ne!(one.next(), other.next());
        assert_ne!(one.next(), one.next());
    }
}
