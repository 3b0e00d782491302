//! Which computers exist, and ask one something, whoever holds the link port.
//!
//! They may be linked to this process or to another bridge: [`Reach`] says which. Either way the [`Registry`] has them,
//! so a call lives through any change of that as it lives through a broken link.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use thiserror::Error;
use tokio::{
    sync::{Notify, watch},
    time::{Instant, timeout},
};

use super::{
    ask::Ask,
    asking::Waited,
    computer::{Computer, TooManyJobs},
    ends::Cancelled,
    job::Job,
    key::ComputerKey,
    reach::{Elsewhere, JobElsewhere, Outdated, Owner, Reach, Unreachable},
    registry::Registry,
};
use crate::{
    base::text::{one_line, timestamp},
    wire::names::RequestId,
};

/// How long whoever wants the computers waits for it to be known how they are reached.
const KNOWN_WITHIN: Duration = Duration::from_secs(5);

/// The agent's text, for the one who reaches the link port by this host.
pub type AgentText = fn(Option<&str>) -> String;

/// The computers, as tools see them.
#[derive(Debug)]
pub struct Fleet {
    pub(super) registry: Arc<Registry>,
    reach: watch::Receiver<Reach>,
    wanted: Arc<Notify>,
    /// What computers can be given as their agent.
    pub(super) agent: Option<AgentText>,
}

/// Why a job's name does not say which job is meant.
#[derive(Debug, Error)]
pub enum NoSuchName {
    /// Nothing is known of any job.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// It is the short form of several ids.
    #[error(
        "There are several jobs {name}, of several bridges, among them {} and {}: say one of these longer ids.",
        one_line(.one), one_line(.other)
    )]
    Several {
        /// The short form.
        name: RequestId,
        /// The whole id of one of them.
        one: String,
        /// That of another.
        other: String,
    },
}

/// A job, and its computer.
pub type Found = (Arc<Computer>, Arc<Job>);

/// What `/health` tells: whether it works, how many computers are linked, who holds the link port, since when, and how
/// many bridges share it.
pub fn health(registry: &Registry, port: &LinkPort) -> Value {
    let mut health = json!({
        "ok": true,
        "computers": registry.linked(),
        "name": env!("CARGO_PKG_NAME"),
        "version": env!("CARGO_PKG_VERSION"),
    });
    if let Some(owner) = &port.owner {
        health["owner"] = json!({ "pid": owner.pid, "since": timestamp(owner.since) });
        health["bridges"] = json!(port.bridges);
    }
    health
}

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

impl LinkPort {
    /// What to know if another bridge holds it that is older than this one.
    pub fn outdated(&self) -> Option<Outdated> {
        self.owner.as_ref()?.outdated()
    }

    /// What is known of it at this moment.
    pub fn of(reach: &Reach) -> Self {
        let (owner, own, bridges) = match reach {
            Reach::Here { owner, bridges } => (Some(owner.clone()), true, *bridges),
            Reach::Through { owner, bridges, .. } => (Some(owner.clone()), false, *bridges),
            Reach::Unknown | Reach::Blocked(_) => (None, false, 0),
        };
        Self {
            owner,
            own,
            bridges,
        }
    }
}

impl Fleet {
    /// The computers of `registry`, which are reached as `reach` says; `wanted` is told when a client that stays wants
    /// them.
    pub fn new(
        registry: Arc<Registry>,
        reach: watch::Receiver<Reach>,
        wanted: Arc<Notify>,
    ) -> Self {
        Self {
            registry,
            reach,
            wanted,
            agent: None,
        }
    }

    /// The same, whose computers can be given this agent.
    pub fn with_agent(self, agent: AgentText) -> Self {
        Self {
            agent: Some(agent),
            ..self
        }
    }

    /// Makes the computers reachable now, for a client that stays.
    pub fn want(&self) {
        self.wanted.notify_one();
    }

    /// A number that is another whenever a computer has linked, left or got another label.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.registry.changes()
    }

    /// How the computers are reached, for whoever wants to know what changes of that.
    pub fn reach(&self) -> watch::Receiver<Reach> {
        self.reach.clone()
    }

    /// Tells the computers what to stop, now that this bridge leaves, and closes its lines. Ends within 170 ms.
    pub async fn leave(&self) {
        self.registry.depart().await;
    }

    /// The link port, and who holds it.
    pub async fn port(&self) -> LinkPort {
        self.look(LinkPort::of).await
    }

    /// What `/health` of this bridge tells.
    pub async fn health(&self) -> Value {
        health(&self.registry, &self.port().await)
    }

    /// All computers, in order of their numbers, those that left included.
    ///
    /// # Errors
    /// No computer can be reached.
    pub async fn computers(&self) -> Result<Vec<Arc<Computer>>, Unreachable> {
        self.reachable().await?;
        Ok(self.registry.all())
    }

    /// The same whether or not any can be reached, as far as they are known by now.
    pub fn known(&self) -> Vec<Arc<Computer>> {
        self.registry.all()
    }

    /// One of them.
    pub fn known_as(&self, key: ComputerKey) -> Option<Arc<Computer>> {
        self.registry.get(key)
    }

    /// One computer, if it was ever linked.
    ///
    /// # Errors
    /// No computer can be reached.
    pub async fn computer(&self, key: ComputerKey) -> Result<Option<Arc<Computer>>, Unreachable> {
        self.reachable().await?;
        Ok(self.registry.get(key))
    }

    /// All jobs that are running or still readable, whichever bridge asked for them, oldest first. Those of other
    /// bridges come without their output.
    ///
    /// # Errors
    /// No computer can be reached.
    pub async fn jobs(&self) -> Result<Vec<Found>, Unreachable> {
        let elsewhere = self.reachable().await?;
        let mut jobs = Vec::new();
        for computer in self.registry.all() {
            let own = computer.jobs().into_iter();
            // What this bridge once knew of others' jobs is older than what the owner knows now.
            let own = own.filter(|job| elsewhere.is_none() || !job.adopted);
            jobs.extend(own.map(|job| (computer.clone(), job)));
        }
        if let Some(elsewhere) = elsewhere
            && let Some(others) = elsewhere.jobs().await
        {
            let others = others
                .into_iter()
                .filter(|told| !self.registry.ids.made(&told.job.id));
            jobs.extend(others.filter_map(|told| self.found(told)));
        }
        jobs.sort_by(|(_, a), (_, b)| a.started.cmp(&b.started).then_with(|| a.id.cmp(&b.id)));
        Ok(jobs)
    }

    /// The id of the job that is called so, by its whole id or the short form of it (see [`RequestId`]). Of two jobs with
    /// one short form, the one that this bridge asked for is meant. Whether there is such a job at all is not said.
    ///
    /// # Errors
    /// No computer can be reached, or the short form is that of several jobs of other bridges.
    pub async fn id_called(&self, name: &str) -> Result<RequestId, NoSuchName> {
        let name = name.trim();
        let as_it_stands = RequestId::from(name);
        if as_it_stands.is_whole() {
            return Ok(as_it_stands);
        }
        let mut ids: Vec<_> = self
            .jobs()
            .await?
            .iter()
            .map(|(_, job)| job.id.clone())
            .collect();
        ids.retain(|id| id.is_called(name));
        if let Some(own) = ids.iter().find(|id| self.registry.ids.made(id)) {
            return Ok(own.clone());
        }
        match ids.as_slice() {
            [] => Ok(as_it_stands),
            [one] => Ok(one.clone()),
            [one, .., other] => Err(NoSuchName::Several {
                name: as_it_stands,
                one: one.as_str().to_owned(),
                other: other.as_str().to_owned(),
            }),
        }
    }

    /// The jobs that this bridge asked for, running or still readable, whether or not any computer can be reached.
    pub fn own_jobs(&self) -> Vec<Found> {
        let computers = self.registry.all().into_iter();
        let jobs = computers.flat_map(|computer| {
            let own = computer.jobs().into_iter();
            let own = own.filter(|job| self.registry.ids.made(&job.id));
            own.map(move |job| (computer.clone(), job))
                .collect::<Vec<_>>()
        });
        jobs.collect()
    }

    /// A job that is running or still readable, once it has printed past `cursor` or has ended, or after `wait`. Of the
    /// job of another bridge, only the output from `cursor` on is known.
    ///
    /// # Errors
    /// No computer can be reached.
    pub async fn job(
        &self,
        id: &RequestId,
        cursor: u64,
        wait: Duration,
    ) -> Result<Option<Found>, Unreachable> {
        let elsewhere = self.reachable().await?;
        if let Some((computer, job)) = self.here(id, elsewhere.is_none()) {
            let mut progress = job.follow();
            let news = progress.wait_for(|progress| progress.has_news(cursor));
            // Without news in time, what is known is the answer.
            let _ = timeout(wait, news).await;
            return Ok(Some((computer, job)));
        }
        let Some(elsewhere) = elsewhere else {
            return Ok(None);
        };
        let told = elsewhere.job(id, cursor, wait).await;
        Ok(told.and_then(|told| self.found(told)))
    }

    /// Stops a job at its next yield, and waits `time` for word that it did; none if there is no such job.
    ///
    /// # Errors
    /// No computer can be reached.
    pub async fn cancel(
        &self,
        id: &RequestId,
        time: Duration,
    ) -> Result<Option<(Found, Cancelled)>, Unreachable> {
        let elsewhere = self.reachable().await?;
        if let Some((computer, job)) = self.here(id, elsewhere.is_none()) {
            let cancelled = computer.stop(&job, time).await;
            return Ok(Some(((computer, job), cancelled)));
        }
        let Some(elsewhere) = elsewhere else {
            return Ok(None);
        };
        let told = elsewhere.cancel(id, time).await;
        Ok(told.and_then(|(told, how)| Some((self.found(told)?, how))))
    }

    /// A job that this process knows all of: one of its own, or any while computers link to it.
    fn here(&self, id: &RequestId, all: bool) -> Option<Found> {
        let found = self.registry.job(id)?;
        (all || self.registry.ids.made(id)).then_some(found)
    }

    /// A job that another bridge told of.
    fn found(&self, told: JobElsewhere) -> Option<Found> {
        Some((self.registry.get(told.computer)?, told.job))
    }

    /// Whom to ask about what only another bridge knows, if computers link to that.
    async fn reachable(&self) -> Result<Option<Arc<dyn Elsewhere>>, Unreachable> {
        let look = |reach: &Reach| match reach {
            Reach::Blocked(blocked) => Err(Unreachable(blocked.clone())),
            Reach::Through { elsewhere, .. } => Ok(Some(elsewhere.clone())),
            Reach::Unknown | Reach::Here { .. } => Ok(None),
        };
        self.look(look).await
    }

    /// Looks at how computers are reached as soon as that is known, or after five seconds all the same.
    async fn look<T>(&self, look: impl FnOnce(&Reach) -> T) -> T {
        if !matches!(*self.reach.borrow(), Reach::Unknown) {
            return look(&self.reach.borrow());
        }
        let mut reach = self.reach.clone();
        let known = reach.wait_for(|reach| !matches!(reach, Reach::Unknown));
        match timeout(KNOWN_WITHIN, known).await {
            Ok(Ok(reach)) => look(&reach),
            _ => look(&Reach::Unknown),
        }
    }

    /// Enters a request to a computer, to be sent by [`Fleet::run`].
    ///
    /// # Errors
    /// The computer has too many jobs that have not ended.
    pub fn begin(&self, computer: &Computer, ask: Ask<'_>) -> Result<Arc<Job>, TooManyJobs> {
        computer.begin(self.registry.ids.next(), ask.about)
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
        computer.run(job, ask, Instant::now() + time).await
    }
}
