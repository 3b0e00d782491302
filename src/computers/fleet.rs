//! Which computers exist, and ask one something, whoever holds the link port.
//!
//! The computers may be linked to this process or to another bridge (a guest); [`role`](crate::bridges::role) says which, and changes it
//! when owners come and go. Both feed one [`Registry`](crate::computers::registry::Registry) of computers, each with a
//! [`Link`](crate::computers::link::Link) that carries frames there and back. Whatever else brings computers one day, from
//! another machine even, does so by feeding links too; nothing here or above depends on where a link ends.

use std::{path::Path, sync::Arc, time::Duration};

use serde_json::Value;
use thiserror::Error;
use tokio::time::{Instant, timeout};

use super::{
    computer::{Computer, TooManyJobs, Waited},
    job::{About, Cancelled, Job},
};
use crate::{
    bridges::{
        message::{Owner, Question, Reply},
        owner_line::OwnerLine,
        role::{Player, Role},
        snapshot::JobSnapshot,
    },
    link::{http, port::Blocked},
    settings::LinkConfig,
    wire::{frame::ComputerId, text},
};

/// How long the owner may take to tell of its jobs.
const TELL_TIME: Duration = Duration::from_secs(5);

/// A value of an agent's own making, whose strings stand for bytes (wire/PROTOCOL.md, "Byte strings"), as text.
pub fn decode_bytes(value: Value) -> Value {
    text::decode_value(value, text::TextMode::Bytes)
}

/// The computers, as tools see them.
#[derive(Debug)]
pub struct Fleet {
    player: Player,
}

/// Why the computers can't be reached at all.
#[derive(Debug, Error)]
#[error("No computer can be reached over the link port {}: {}", .0.address, .0.reason)]
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

/// A job, and its computer.
pub type Found = (Arc<Computer>, Arc<Job>);

/// The link port, as far as it is known.
#[derive(Debug, Clone)]
pub struct LinkPort {
    /// Who holds it; none while that is not known.
    pub owner: Option<Owner>,
    /// Whether that is this bridge.
    pub own: bool,
    /// How many bridges share it, the owner among them.
    pub bridges: usize,
}

impl Fleet {
    /// Starts with this configuration. `state` is the folder where the bridges of a user keep what they share; without
    /// one, this bridge shares its link port with no other.
    pub fn start(config: &LinkConfig, state: Option<&Path>) -> Self {
        Self {
            player: Player::start(config, state),
        }
    }

    /// Makes the computers reachable now, for a client that stays.
    pub fn want(&self) {
        self.player.want();
    }

    /// The link port, and who holds it.
    pub async fn port(&self) -> LinkPort {
        let guests = self.player.registry().guests.count();
        let look = |role: &Role| match role {
            Role::Owner(owner) => LinkPort {
                owner: Some(owner.clone()),
                own: true,
                bridges: guests + 1,
            },
            Role::Guest { owner, bridges, .. } => LinkPort {
                owner: Some(owner.clone()),
                own: false,
                bridges: *bridges,
            },
            Role::Unknown | Role::Blocked(_) => LinkPort {
                owner: None,
                own: false,
                bridges: 0,
            },
        };
        self.player.look(look).await
    }

    /// What `/health` of this bridge tells.
    pub async fn health(&self) -> Value {
        let port = self.port().await;
        let registry = self.player.registry();
        http::health(registry, port.owner.as_ref(), Some(port.bridges))
    }

    /// All computers, in order of their numbers, those that left included.
    ///
    /// # Errors
    /// No computer can be reached.
    pub async fn computers(&self) -> Result<Vec<Arc<Computer>>, Unreachable> {
        self.reachable().await?;
        Ok(self.player.registry().all())
    }

    /// One computer, if it was ever linked.
    ///
    /// # Errors
    /// No computer can be reached.
    pub async fn computer(&self, id: ComputerId) -> Result<Option<Arc<Computer>>, Unreachable> {
        self.reachable().await?;
        Ok(self.player.registry().get(id))
    }

    /// All jobs that are running or still readable, whichever bridge asked for them, oldest first. Those of other
    /// bridges come without their output.
    ///
    /// # Errors
    /// No computer can be reached.
    pub async fn jobs(&self) -> Result<Vec<Found>, Unreachable> {
        let line = self.reachable().await?;
        let registry = self.player.registry();
        let mut jobs = Vec::new();
        for computer in registry.all() {
            let own = computer.jobs().into_iter();
            // What this bridge once knew of others' jobs is older than what the owner knows now.
            let own = own.filter(|job| line.is_none() || !job.adopted);
            jobs.extend(own.map(|job| (computer.clone(), job)));
        }
        if let Some(line) = line
            && let Some(Reply::Jobs { jobs: others }) = line.ask(Question::Jobs, TELL_TIME).await
        {
            let others = others.into_iter().filter(|job| !registry.ids.made(&job.id));
            jobs.extend(others.filter_map(|job| self.found(job)));
        }
        jobs.sort_by(|(_, a), (_, b)| a.started.cmp(&b.started).then_with(|| a.id.cmp(&b.id)));
        Ok(jobs)
    }

    /// A job that is running or still readable, once it has printed past `cursor` or has ended, or after `wait`. Of the
    /// job of another bridge, only the output from `cursor` on is known.
    ///
    /// # Errors
    /// No computer can be reached.
    pub async fn job(
        &self,
        id: &str,
        cursor: u64,
        wait: Duration,
    ) -> Result<Option<Found>, Unreachable> {
        let line = self.reachable().await?;
        if let Some((computer, job)) = self.here(id, line.as_deref()) {
            let mut progress = job.follow();
            let news = progress.wait_for(|progress| progress.has_news(cursor));
            // Without news in time, what is known is the answer.
            let _ = timeout(wait, news).await;
            return Ok(Some((computer, job)));
        }
        let Some(line) = line else { return Ok(None) };
        let question = Question::Job {
            id: id.to_owned(),
            cursor,
            wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        };
        Ok(match line.ask(question, wait).await {
            Some(Reply::Job { job }) => job.and_then(|job| self.found(*job)),
            _ => None,
        })
    }

    /// Stops a job at its next yield, and waits `time` for word that it did; none if there is no such job.
    ///
    /// # Errors
    /// No computer can be reached.
    pub async fn cancel(
        &self,
        id: &str,
        time: Duration,
    ) -> Result<Option<(Found, Cancelled)>, Unreachable> {
        let line = self.reachable().await?;
        if let Some((computer, job)) = self.here(id, line.as_deref()) {
            let cancelled = computer.cancel(&job, time).await;
            return Ok(Some(((computer, job), cancelled)));
        }
        let Some(line) = line else { return Ok(None) };
        let question = Question::Cancel {
            id: id.to_owned(),
            time_ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
        };
        Ok(match line.ask(question, time).await {
            Some(Reply::Cancelled { how, job }) => job
                .and_then(|job| self.found(*job))
                .map(|found| (found, how)),
            _ => None,
        })
    }

    /// A job that this process knows all of: one of its own, or any while it holds the link port.
    fn here(&self, id: &str, line: Option<&OwnerLine>) -> Option<Found> {
        let registry = self.player.registry();
        let found = registry.job(id)?;
        (line.is_none() || registry.ids.made(id)).then_some(found)
    }

    /// A job that the owner told of.
    fn found(&self, job: JobSnapshot) -> Option<Found> {
        let computer = self.player.registry().get(job.computer_id)?;
        Some((computer, job.into_job()))
    }

    /// The line to the owner, if that is another bridge.
    async fn reachable(&self) -> Result<Option<Arc<OwnerLine>>, Unreachable> {
        let look = |role: &Role| match role {
            Role::Blocked(blocked) => Err(Unreachable(blocked.clone())),
            Role::Guest { line, .. } => Ok(Some(line.clone())),
            Role::Unknown | Role::Owner(_) => Ok(None),
        };
        self.player.look(look).await
    }

    /// Enters a request to a computer, to be sent by [`Fleet::run`].
    ///
    /// # Errors
    /// The computer has too many jobs that have not ended.
    pub fn begin(&self, computer: &Computer, ask: Ask<'_>) -> Result<Arc<Job>, TooManyJobs> {
        computer.begin(self.player.registry().ids.next(), ask.about)
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
