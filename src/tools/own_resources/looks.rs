//! One thing that is looked at until it is another.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{alone, files};
use crate::{
    computers::{
        About, Answer, Ask, Computer, ComputerKey, End, Fleet, Job, Method, Presence, Waited,
    },
    tools::{Notes, couriers::Couriers},
};

/// How long a computer waits for its screen to change before it answers that it has not.
const WAIT: Duration = Duration::from_secs(25);

/// How long it has to answer beside that.
const ANSWER_TIME: Duration = Duration::from_secs(20);

/// How often a file is looked at.
const EVERY: Duration = Duration::from_secs(2);

/// How long after a computer could not say anything it is asked again.
const AGAIN: Duration = Duration::from_secs(10);

/// Something that can be followed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Watched {
    /// All computers.
    Computers,
    /// Whether a computer is here, and what it tells of itself.
    Computer(ComputerKey),
    /// Its player's screen.
    Screen(ComputerKey),
    /// A file or folder of it, by its path.
    File(ComputerKey, String),
}

/// What is looked at, and how it was.
pub struct Look {
    fleet: Arc<Fleet>,
    couriers: Arc<Couriers>,
    watched: Watched,
    last: Option<Seen>,
}

/// How something was.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    /// Which computers, or the one: whether each is linked, by which start of its agent, and its label.
    Computers(Vec<(ComputerKey, bool, Option<String>)>),
    /// A screen of this version.
    Screen(u64),
    /// A file that leaves this stamp.
    File(String),
}

impl Look {
    /// One that has not looked yet.
    pub fn new(fleet: Arc<Fleet>, couriers: Arc<Couriers>, watched: Watched) -> Self {
        Self {
            fleet,
            couriers,
            watched,
            last: None,
        }
    }

    /// Looks for the first time.
    pub async fn first(&mut self) {
        self.last = self.seen(Duration::ZERO).await;
    }

    /// Waits until it is another than it was. Dropping the future gives that up.
    pub async fn changed(&mut self) {
        loop {
            let mut changes = self.fleet.changes();
            let is_by_registry = matches!(self.watched, Watched::Computers | Watched::Computer(_));
            let began = Instant::now();
            let seen = self.seen(WAIT).await;
            let is_known = seen.is_some();
            if is_known && seen != self.last {
                let was_seen = self.last.is_some();
                self.last = seen;
                if was_seen {
                    return;
                }
                continue;
            }
            let next = match (&self.watched, is_known) {
                // It has waited by itself.
                (Watched::Screen(_), true) if began.elapsed() >= EVERY => continue,
                (_, true) => EVERY,
                (_, false) => AGAIN,
            };
            tokio::select! {
                // A computer that comes back is looked at soon.
                _ = changes.changed(), if is_by_registry || !is_known => {}
                () = sleep(next), if !is_by_registry => {}
            }
        }
    }

    /// How it is now; none if that can't be told. A screen is waited for, if it still is what it was.
    async fn seen(&self, wait: Duration) -> Option<Seen> {
        match &self.watched {
            Watched::Computers => {
                let known = self.fleet.known();
                let all = known.iter().map(|computer| facts_of(computer));
                Some(Seen::Computers(all.collect()))
            }
            Watched::Computer(key) => {
                let computer = self.computer(*key);
                let one = computer.iter().map(|computer| facts_of(computer));
                Some(Seen::Computers(one.collect()))
            }
            Watched::Screen(key) => {
                let computer = self.linked(*key)?;
                let since = match &self.last {
                    Some(Seen::Screen(version)) => Some(*version),
                    _ => None,
                };
                let wait = if since.is_some() {
                    wait
                } else {
                    Duration::ZERO
                };
                let version = self.version(&computer, since, wait).await?;
                Some(Seen::Screen(version))
            }
            Watched::File(key, path) => {
                let computer = self.linked(*key)?;
                let notes = Notes::default();
                let context = alone::context(&self.fleet, &notes);
                let stamp = files::stamp(&self.couriers, context, &computer, path).await;
                stamp.ok().map(Seen::File)
            }
        }
    }

    fn computer(&self, key: ComputerKey) -> Option<Arc<Computer>> {
        self.fleet.known_as(key)
    }

    fn linked(&self, key: ComputerKey) -> Option<Arc<Computer>> {
        self.computer(key)
            .filter(|computer| computer.link().is_some())
    }

    /// The version of a computer's screen, once it is another than `since`, or after this time.
    async fn version(
        &self,
        computer: &Arc<Computer>,
        since: Option<u64>,
        wait: Duration,
    ) -> Option<u64> {
        let ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let params = json!({ "target": "terminal", "since": since, "waitMs": ms });
        let ask = Ask {
            method: Method::ReadScreen,
            params: Some(&params),
            about: About::unlisted(),
            gate: None,
        };
        let job = self.fleet.begin(computer, ask).ok()?;
        let mut stops = StopOnDrop {
            computer,
            job: Some(&job),
        };
        let waited = self
            .fleet
            .run(computer, &job, ask, wait + ANSWER_TIME)
            .await;
        if matches!(waited, Waited::Ended) {
            stops.job = None;
        }
        job.look(|progress| match progress.end.as_deref() {
            Some(End::Answered(Answer {
                error: None,
                result: Some(screen),
            })) => version_of(screen),
            _ => None,
        })
    }
}

/// What is followed of a computer.
fn facts_of(computer: &Computer) -> (ComputerKey, bool, Option<String>) {
    let is_linked = matches!(computer.presence(), Presence::Linked(_));
    (computer.key, is_linked, computer.facts().label.clone())
}

/// A screen's version, which may be written as a float.
fn version_of(screen: &Value) -> Option<u64> {
    let version = screen.get("version")?;
    // Whole numbers far below what the conversion keeps.
    version
        .as_u64()
        .or_else(|| version.as_f64().map(|version| version as u64))
}

/// Stops a job when nobody waits for it any more.
struct StopOnDrop<'a> {
    computer: &'a Arc<Computer>,
    job: Option<&'a Arc<Job>>,
}

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(job) = self.job {
            self.computer.stop_later(job);
        }
    }
}
