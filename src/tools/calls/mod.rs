//! The calls of this bridge's clients that have not been answered: whose each is, what it does, and its end from outside.
//!
//! Each is noted where it comes in, and told to the [`journal`] when it is over, however that came.

pub mod journal;
mod marked;
pub mod short;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use self::{journal::Journal, short::Secrets};
use crate::{
    base::text::timestamp,
    computers::{Computer, ComputerKey, Job, Sent},
};

/// How many computers the journal names of a call.
const NAMED_COMPUTERS: usize = 20;

/// How long calls have to be answered when this process is to end.
const TO_ANSWER: Duration = Duration::from_millis(200);

/// How long answers have then to go out to their clients.
const ON_THE_WAY: Duration = Duration::from_millis(30);

/// The calls that have not been answered.
#[derive(Default)]
pub struct Calls {
    next: AtomicU64,
    running: Mutex<BTreeMap<u64, Arc<Call>>>,
    /// What is shown of no argument.
    pub secrets: Secrets,
    journal: Option<Journal>,
    /// Whether this process is to end.
    leaving: AtomicBool,
}

/// Who made a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// What the client calls itself; empty if it does not say.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it came over HTTP, and not by standard input.
    pub over_http: bool,
}

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource.
    Resource,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was answered.
    Ok,
    /// It was answered with an error.
    Error,
    /// It was not made: the policy refuses it, it is withheld, or a person has paused it.
    Refused,
    /// There is nothing of that name.
    Unknown,
    /// A person ended it from outside.
    Stopped,
    /// This process was asked to end.
    Left,
    /// The client gave it up, or is gone.
    Cancelled,
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::Stopped => "stopped",
            Self::Left => "left",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A call that has not been answered.
pub struct Call {
    /// Its number in this process.
    pub number: u64,
    /// Who made it.
    pub caller: Caller,
    /// What is called.
    pub kind: Kind,
    /// Its name, or a resource's URI.
    pub name: String,
    /// Its arguments, in short and without secrets.
    pub arguments: Value,
    /// When it came.
    pub since: SystemTime,
    start: Instant,
    reached: Mutex<Reached>,
    stop: CancellationToken,
    /// Whether it was ended since this process is to end, and not by a person.
    left_behind: AtomicBool,
    over: CancellationToken,
    /// Whether something that it asked for is refused.
    refused: AtomicBool,
}

/// What a call has to do with.
#[derive(Default)]
struct Reached {
    /// The jobs that it waits for.
    jobs: Vec<(Arc<Computer>, Arc<Job>)>,
    /// Those that it waited for when it was ended from outside.
    left: Vec<(Arc<Computer>, Arc<Job>)>,
    /// The computers that it has asked; not more than the journal names, and one.
    computers: BTreeSet<ComputerKey>,
    /// The MCP servers that it has asked.
    servers: BTreeSet<String>,
}

impl Calls {
    /// Calls that are told to `journal`, if there is one, in which `secrets` do not appear.
    pub fn new(journal: Option<Journal>, secrets: Secrets) -> Self {
        Self {
            secrets,
            journal,
            ..Self::default()
        }
    }

    /// Notes a call that has just come in.
    pub fn begin(
        self: &Arc<Self>,
        caller: Caller,
        kind: Kind,
        name: &str,
        arguments: Value,
    ) -> UnderWay {
        let call = Arc::new(Call {
            number: self.next.fetch_add(1, Ordering::Relaxed) + 1,
            caller,
            kind,
            name: short::name(name),
            arguments,
            since: SystemTime::now(),
            start: Instant::now(),
            reached: Mutex::default(),
            stop: CancellationToken::new(),
            left_behind: AtomicBool::new(false),
            over: CancellationToken::new(),
            refused: AtomicBool::new(false),
        });
        if self.leaving.load(Ordering::Relaxed) {
            call.leave_behind();
        }
        lock(&self.running).insert(call.number, call.clone());
        UnderWay {
            calls: self.clone(),
            call,
            outcome: Outcome::Cancelled,
        }
    }

    /// All that have not been answered, oldest first.
    pub fn running(&self) -> Vec<Arc<Call>> {
        lock(&self.running).values().cloned().collect()
    }

    /// Has all calls answered with that this process is to end, and those that still come. Returns when the answers have
    /// gone out, or after a moment.
    pub async fn leave(&self) {
        self.leaving.store(true, Ordering::Relaxed);
        let running = self.running();
        if running.is_empty() {
            return;
        }
        for call in &running {
            call.leave_behind();
        }
        let answered = join_all(running.iter().map(|call| call.over()));
        let _ = timeout(TO_ANSWER, answered).await;
        sleep(ON_THE_WAY).await;
    }

    /// Sees to it that all calls are told to the journal: what has not been answered is given up.
    pub fn finish(&self) {
        let Some(journal) = &self.journal else {
            return;
        };
        let given_up = std::mem::take(&mut *lock(&self.running));
        for call in given_up.values() {
            journal.note(call.line(match call.left_behind.load(Ordering::Relaxed) {
                true => Outcome::Left,
                false => Outcome::Cancelled,
            }));
        }
    }
}

/// A call for as long as it is not over. Dropped before it [`ends`](Self::ends), it was given up.
pub struct UnderWay {
    calls: Arc<Calls>,
    /// The call.
    pub call: Arc<Call>,
    outcome: Outcome,
}

impl UnderWay {
    /// It has ended.
    pub fn ends(mut self, outcome: Outcome) {
        self.outcome = match outcome {
            Outcome::Error | Outcome::Stopped if self.call.left_behind.load(Ordering::Relaxed) => {
                Outcome::Left
            }
            Outcome::Error if self.call.stop.is_cancelled() => Outcome::Stopped,
            Outcome::Error if self.call.refused.load(Ordering::Relaxed) => Outcome::Refused,
            other => other,
        };
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let was_there = lock(&self.calls.running)
            .remove(&self.call.number)
            .is_some();
        self.call.over.cancel();
        if let Some(journal) = self.calls.journal.as_ref().filter(|_| was_there) {
            journal.note(self.call.line(self.outcome));
        }
    }
}

impl Call {
    /// Ends it, whatever it does; whoever asks is told that a person did so. Returns the jobs that it waits for, which
    /// are told to stop when it is over.
    pub fn stop(&self) -> Vec<(Arc<Computer>, Arc<Job>)> {
        let mut reached = lock(&self.reached);
        if !self.stop.is_cancelled() {
            reached.left = reached.jobs.clone();
            self.stop.cancel();
        }
        reached.left.clone()
    }

    /// Ends it, whatever it does, since this process is to end.
    fn leave_behind(&self) {
        // One that a person has ended is answered with that.
        if !self.stop.is_cancelled() {
            self.left_behind.store(true, Ordering::Relaxed);
            self.stop();
        }
    }

    /// What whoever asks is told when it was ended from outside.
    pub fn told_of_its_stop(&self) -> String {
        let left = &lock(&self.reached).left;
        let jobs: Vec<_> = left
            .iter()
            .filter(|(_, job)| job.look(|progress| progress.sent) != Sent::Nothing)
            .take(NAMED_COMPUTERS)
            .map(|(_, job)| job.id.to_string())
            .collect();
        let jobs = match jobs.as_slice() {
            [] => String::new(),
            jobs => format!(
                " What ran on computers was told to stop: get-job shows what became of it ({}).",
                jobs.join(", ")
            ),
        };
        match self.left_behind.load(Ordering::Relaxed) {
            true => format!(
                "mcp-bridge was asked to end before this call was answered.{jobs} What it did until then is done: look before \
                 you start it again."
            ),
            false => format!(
                "A person ended this call from outside (mcp-bridge stop).{jobs} Do not start it again unless your user asks \
                 for it."
            ),
        }
    }

    /// Waits until it is to be ended.
    pub async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    /// Waits until it is over, and nothing of it goes on in this process.
    pub async fn over(&self) {
        self.over.cancelled().await;
    }

    /// The jobs that it waits for.
    pub fn jobs(&self) -> Vec<(Arc<Computer>, Arc<Job>)> {
        lock(&self.reached).jobs.clone()
    }

    /// The MCP servers that it has asked.
    pub fn servers(&self) -> BTreeSet<String> {
        lock(&self.reached).servers.clone()
    }

    /// Notes that it waits for a job, for as long as what is returned is kept.
    pub(super) fn waits_for(&self, computer: &Arc<Computer>, job: &Arc<Job>) -> WaitsFor<'_> {
        let mut reached = lock(&self.reached);
        reached.jobs.push((computer.clone(), job.clone()));
        if reached.computers.len() <= NAMED_COMPUTERS {
            reached.computers.insert(computer.key);
        }
        WaitsFor {
            call: self,
            job: job.clone(),
        }
    }

    /// Notes that something it asks for is refused: if it ends with an error, it is for that.
    pub(super) fn note_refused(&self) {
        self.refused.store(true, Ordering::Relaxed);
    }

    /// Notes that it asks an MCP server.
    pub fn asks_server(&self, name: &str) {
        lock(&self.reached).servers.insert(name.to_owned());
    }

    /// What stands in the journal of it.
    fn line(&self, outcome: Outcome) -> Value {
        let reached = lock(&self.reached);
        let mut line = json!({
            "time": timestamp(self.since),
            "bridge": std::process::id(),
            "client": short::name(&self.caller.name),
            "version": short::name(&self.caller.version),
            "over": if self.caller.over_http { "http" } else { "stdio" },
        });
        let kind = match self.kind {
            Kind::Tool => "tool",
            Kind::Prompt => "prompt",
            Kind::Resource => "resource",
        };
        line[kind] = json!(self.name);
        let mut computers = reached.computers.iter();
        match (computers.next(), reached.computers.len()) {
            (Some(one), 1) => line["computer"] = json!(one),
            (Some(_), count) => {
                let named: Vec<_> = reached.computers.iter().take(NAMED_COMPUTERS).collect();
                line["computers"] = json!(named);
                if count > NAMED_COMPUTERS {
                    line["andMore"] = json!(true);
                }
            }
            (None, _) => {}
        }
        if !self.arguments.is_null() {
            line["arguments"] = self.arguments.clone();
        }
        line["ms"] = json!(u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX));
        line["outcome"] = json!(outcome.word());
        line
    }
}

/// A call waits for a job.
pub(super) struct WaitsFor<'a> {
    call: &'a Call,
    job: Arc<Job>,
}

impl Drop for WaitsFor<'_> {
    fn drop(&mut self) {
        let jobs = &mut lock(&self.call.reached).jobs;
        if let Some(at) = jobs.iter().position(|(_, job)| Arc::ptr_eq(job, &self.job)) {
            jobs.swap_remove(at);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that holds such a lock can panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller() -> Caller {
        Caller {
            name: "a client".to_owned(),
            version: "1".to_owned(),
            over_http: false,
        }
    }

    #[tokio::test]
    async fn a_call_is_among_those_that_run_until_it_is_answered_or_given_up() {
        let calls = Arc::new(Calls::default());
        let first = calls.begin(caller(), Kind::Tool, "one", json!({}));
        let second = calls.begin(caller(), Kind::Prompt, "two", Value::Null);
        let running: Vec<_> = calls.running().iter().map(|call| call.number).collect();
        assert_eq!(running, [1, 2]);
        let call = second.call.clone();
        call.stop();
        call.stopped().await;
        second.ends(Outcome::Stopped);
        call.over().await;
        drop(first);
        assert!(calls.running().is_empty());
    }
}
