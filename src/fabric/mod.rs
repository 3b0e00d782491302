//! Which computers exist, and ask one something, whoever holds the link port.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use thiserror::Error;
use tokio::time::Instant;

pub use crate::link::{
    computer::{Cancelled, Computer, Facts, Presence, Waited},
    frame::{AgentError, Answer, ComputerId},
    job::{About, End, Job, Progress, Stage},
    port::{Blocked, PortState},
    text::one_line,
};
use crate::{
    config::LinkConfig,
    link::{port::LinkPort, text},
};

/// A value of an agent's own making, whose strings stand for bytes (PROTOCOL.md, "Byte strings"), as text.
pub fn decode_bytes(value: Value) -> Value {
    text::decode_value(value, text::TextMode::Bytes)
}

/// The computers, as tools see them.
#[derive(Debug)]
pub struct Fabric {
    port: LinkPort,
}

/// Why the computers can't be reached at all.
#[derive(Debug, Error)]
#[error("The link port {} can't be opened, so no computer can link: {}", .0.address, .0.reason)]
pub struct Unreachable(pub Blocked);

/// One thing to ask of a computer.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The method of the link protocol.
    pub method: &'a str,
    /// Its parameters.
    pub params: Option<&'a Value>,
    /// What it is about.
    pub about: About<'a>,
}

impl Fabric {
    /// Starts the link port in this process.
    pub fn start(config: &LinkConfig) -> Self {
        Self {
            port: LinkPort::start(config),
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
    pub async fn computers(&self) -> Result<Vec<Arc<Computer>>, Unreachable> {
        self.reachable().await?;
        Ok(self.port.registry().all())
    }

    /// One computer, if it was ever linked.
    ///
    /// # Errors
    /// The link port can't be opened.
    pub async fn computer(&self, id: ComputerId) -> Result<Option<Arc<Computer>>, Unreachable> {
        self.reachable().await?;
        Ok(self.port.registry().get(id))
    }

    /// A job that is running or still readable, and its computer.
    ///
    /// # Errors
    /// The link port can't be opened.
    pub async fn job(&self, id: &str) -> Result<Option<(Arc<Computer>, Arc<Job>)>, Unreachable> {
        self.reachable().await?;
        Ok(self.port.registry().job(id))
    }

    async fn reachable(&self) -> Result<(), Unreachable> {
        match self.port.state().await {
            PortState::Blocked(blocked) => Err(Unreachable(blocked)),
            PortState::Starting | PortState::Listening(_) => Ok(()),
        }
    }

    /// Enters a request to a computer, to be sent by [`Fabric::run`].
    ///
    /// # Errors
    /// The computer has too many jobs that have not ended.
    pub fn begin(&self, computer: &Computer, ask: Ask<'_>) -> Result<Arc<Job>, String> {
        computer
            .begin(self.port.registry().ids.next(), ask.about)
            .map_err(|error| error.to_string())
    }

    /// Sends a request until the computer has it, and waits for its end, `time` at most. Dropping the future gives up
    /// the wait; the job goes on.
    pub async fn run(
        &self,
        computer: &Computer,
        job: &Arc<Job>,
        ask: Ask<'_>,
        time: Duration,
    ) -> Waited {
        computer
            .run(job, ask.method, ask.params, Instant::now() + time)
            .await
    }
}
