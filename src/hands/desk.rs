//! A bridge's end: it looks for what a person asks, and answers it.

use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::future::join_all;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::{
    sync::Notify,
    task::{JoinHandle, spawn_blocking},
    time::timeout,
};

use super::{
    mailbox::{self, Presence, Questions},
    message::{
        Answer, CallRow, ComputerRow, JobRow, Orders, Question, StoppedCall, StoppedJob,
        SyncErrand, Told,
    },
};
use crate::{
    base::text::one_line,
    computers::{
        Cancelled, Computer, ComputerKey, End, ErrorKind, Fleet, Job, Loss, Presence as Away,
        RequestId, Sent, Stage, updating, updating::NotUpdated,
    },
    tools::{Catalogue, calls::Calls, syncing::Errands, wording::name_of},
};

/// How often questions are looked for where the system tells of them, and where it does not.
const POLL: Duration = Duration::from_secs(1);
const POLL_WITHOUT_EVENTS: Duration = Duration::from_millis(200);

/// How long the owner of the link port has to tell of the jobs of other bridges.
const TO_TELL: Duration = Duration::from_secs(2);

/// How long computers have to say that they stopped a job, and a call to end in this process.
const TO_STOP: Duration = Duration::from_secs(3);
const TO_END: Duration = Duration::from_secs(2);

/// A bridge answers what a person asks, for as long as this is kept.
pub struct Desk {
    task: JoinHandle<()>,
    presence: Arc<Mutex<Option<Presence>>>,
}

/// What a desk knows and moves.
struct Clerk {
    shared: PathBuf,
    fleet: Arc<Fleet>,
    calls: Arc<Calls>,
    /// What of tools a person allows.
    catalogue: Arc<Catalogue>,
    /// What brings a sync's Lua to computers.
    errands: Errands,
    /// Whether a client started this process, to have it for itself.
    has_one_client: bool,
}

impl Desk {
    /// Opens it, in the background; without a folder that can be written there is none. To be called in the runtime.
    pub fn open(
        shared: &Path,
        fleet: Arc<Fleet>,
        calls: Arc<Calls>,
        catalogue: Arc<Catalogue>,
        has_one_client: bool,
    ) -> Self {
        let presence = Arc::new(Mutex::new(None));
        let clerk = Arc::new(Clerk {
            shared: shared.to_owned(),
            fleet,
            calls,
            catalogue,
            errands: Errands::default(),
            has_one_client,
        });
        Self {
            task: tokio::spawn(clerk.work(presence.clone())),
            presence,
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.task.abort();
        // Nothing that holds the lock can panic.
        let mut presence = self.presence.lock().unwrap_or_else(PoisonError::into_inner);
        presence.take();
    }
}

impl Clerk {
    async fn work(self: Arc<Self>, presence: Arc<Mutex<Option<Presence>>>) {
        let shared = self.shared.clone();
        let slot = presence.clone();
        let opened = spawn_blocking(move || {
            // Whoever sees this bridge has not asked yet: so nothing is missed.
            let questions = Questions::new(&shared)?;
            let presence = Presence::begin(&shared)?;
            let name = presence.name.clone();
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(presence);
            Ok::<_, std::io::Error>((questions, name))
        });
        let (mut questions, name) = match opened.await {
            Ok(Ok(opened)) => opened,
            Ok(Err(error)) => {
                tracing::warn!(%error, "mcp-bridge jobs and stop can't reach this bridge: its folder can't be written");
                return;
            }
            // The process ends.
            Err(_) => return,
        };
        let asked = Arc::new(Notify::new());
        let watcher = watch(&questions, asked.clone());
        let poll = if watcher.is_some() {
            POLL
        } else {
            POLL_WITHOUT_EVENTS
        };
        loop {
            let _ = timeout(poll, asked.notified()).await;
            // The folder may be on a network that hangs.
            let taken = spawn_blocking(move || {
                let taken = questions.take();
                (questions, taken)
            });
            let Ok((back, taken)) = taken.await else {
                return;
            };
            questions = back;
            for (question, what) in taken {
                let (clerk, name) = (self.clone(), name.clone());
                tokio::spawn(async move {
                    let Some(told) = clerk.answer(&name, what).await else {
                        return;
                    };
                    let written = spawn_blocking(move || {
                        mailbox::answer(&clerk.shared, &question, &name, &told)
                    });
                    if let Ok(Err(error)) = written.await {
                        tracing::warn!(%error, "a person's question can't be answered");
                    }
                });
            }
        }
    }

    /// What there is to answer; nothing to what is for others.
    async fn answer(&self, name: &str, question: Question) -> Option<Told> {
        let answer = match question {
            Question::Jobs => self.jobs().await,
            Question::Computers => self.computers().await,
            Question::Stop(mut orders) => self.stop(orders.remove(name)?).await,
            Question::Update(mut orders) => self.update(orders.remove(name)?).await,
            Question::Sync(mut orders) => self.sync(orders.remove(name)?).await,
        };
        Some(Told {
            pid: std::process::id(),
            client: self.has_one_client.then(parent).flatten(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            answer,
        })
    }

    async fn jobs(&self) -> Answer {
        let calls = self.calls.running();
        let calls = calls.iter().map(|call| CallRow {
            number: call.number,
            caller: call.caller.clone(),
            kind: call.kind,
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            since: call.since,
            jobs: call.jobs().iter().map(|(_, job)| job.id.clone()).collect(),
            servers: call.servers().into_iter().collect(),
        });
        let calls = calls.collect();
        let own = self.fleet.own_jobs();
        let known: HashSet<_> = own.iter().map(|(_, job)| job.id.clone()).collect();
        // An owner that hangs is not waited for.
        let all = timeout(TO_TELL, self.fleet.jobs()).await;
        let all = all.ok().and_then(Result::ok).unwrap_or_default();
        let others = all.iter().filter(|(_, job)| !known.contains(&job.id));
        let jobs = own.iter().chain(others);
        let jobs = jobs
            .filter(|(_, job)| job.listed && !job.has_ended())
            .map(|(computer, job)| JobRow {
                id: job.id.clone(),
                computer: computer.key,
                computer_name: name_of(&computer.facts()),
                is_away: computer.link().is_none(),
                has_begun: job.stage() == Stage::Running && !job.is_asking(),
                waits_for_player: job.is_asking(),
                since: job.started,
                code: self.calls.secrets.hidden_in(&job.code),
                is_own: known.contains(&job.id),
            });
        Answer::Jobs {
            jobs: jobs.collect(),
            calls,
        }
    }

    async fn computers(&self) -> Answer {
        // How they are reached may not be known yet; a person is not to wait for that.
        let (known, unreachable) = match timeout(TO_TELL, self.fleet.computers()).await {
            Ok(Ok(known)) => (known, None),
            Ok(Err(error)) => (Vec::new(), Some(error.to_string())),
            Err(_) => (Vec::new(), None),
        };
        let computers = known.iter().map(|computer| {
            let facts = computer.facts();
            let (since, left) = match computer.presence() {
                Away::Linked(_) => (facts.linked_since, None),
                Away::Left { since, why } => (since, Some(why)),
            };
            ComputerRow {
                computer: computer.key,
                name: name_of(&facts),
                agent: updating::version_of(computer),
                since,
                left,
            }
        });
        Answer::Computers {
            computers: computers.collect(),
            unreachable,
            read_only: self.catalogue.policy().read_only,
        }
    }

    async fn update(&self, key: ComputerKey) -> Answer {
        let (said, is_well) = match self.fleet.computer(key).await {
            Ok(Some(computer)) => {
                let name = name_of(&computer.facts());
                let version = env!("CARGO_PKG_VERSION");
                match self.fleet.update_agent(&computer, None).await {
                    Ok(updated) => (
                        format!("{name} was updated from {} to {version}.", updated.from),
                        true,
                    ),
                    Err(why) => {
                        let is_well = matches!(why, NotUpdated::Current(_));
                        (format!("{name} {why}."), is_well)
                    }
                }
            }
            Ok(None) => (format!("There is no computer {key}."), false),
            Err(error) => (error.to_string(), false),
        };
        Answer::Updated { said, is_well }
    }

    async fn sync(&self, order: SyncErrand) -> Answer {
        let SyncErrand { computer, errand } = order;
        let policy = self.catalogue.policy();
        let ran = self
            .errands
            .run_for_person(&self.fleet, policy, computer, errand);
        Answer::Synced(ran.await)
    }

    async fn stop(&self, orders: Orders) -> Answer {
        let is_meant = |computer: &Computer, job: &Job| {
            orders.all || orders.computer == Some(computer.key) || orders.jobs.contains(&job.id)
        };
        let mut jobs = BTreeMap::new();
        let mut ended = Vec::new();
        for call in self.calls.running() {
            let waits = |(computer, job): &(Arc<Computer>, Arc<Job>)| is_meant(computer, job);
            let by_itself = orders.all || orders.calls.contains(&call.number);
            if by_itself || call.jobs().iter().any(waits) {
                tracing::info!(
                    call = call.number,
                    name = call.name,
                    "a person ended a call"
                );
                jobs.extend(call.stop().into_iter().map(by_id));
                ended.push(call);
            }
        }
        let own = self.fleet.own_jobs().into_iter();
        let own =
            own.filter(|(computer, job)| job.listed && !job.has_ended() && is_meant(computer, job));
        jobs.extend(own.map(by_id));
        let of_others = orders.jobs.iter().filter(|id| !jobs.contains_key(*id));
        let of_others: Vec<_> = of_others.cloned().collect();

        let calls = join_all(ended.into_iter().map(async |call| StoppedCall {
            number: call.number,
            name: call.name.clone(),
            is_over: timeout(TO_END, call.over()).await.is_ok(),
            servers: call.servers().into_iter().collect(),
        }));
        let jobs = join_all(jobs.into_values().map(async |(computer, job)| {
            let told = match job.has_ended() {
                true => Cancelled::Ended,
                false => computer.stop(&job, TO_STOP).await,
            };
            what_became(&computer, &job, told)
        }));
        let of_others = join_all(of_others.iter().map(|id| self.stop_of_another(id)));
        let (calls, mut jobs, of_others) = tokio::join!(calls, jobs, of_others);
        jobs.extend(of_others.into_iter().flatten());
        Answer::Stopped { calls, jobs }
    }

    /// Stops a job that another bridge asked for, which can't be asked itself.
    async fn stop_of_another(&self, id: &RequestId) -> Option<StoppedJob> {
        let cancelled = self.fleet.cancel(id, TO_STOP).await.ok().flatten();
        let ((computer, job), told) = cancelled?;
        Some(what_became(&computer, &job, told))
    }
}

fn by_id((computer, job): (Arc<Computer>, Arc<Job>)) -> (RequestId, (Arc<Computer>, Arc<Job>)) {
    (job.id.clone(), (computer, job))
}

/// What is known of a job that was to stop.
fn what_became(computer: &Computer, job: &Job, told: Cancelled) -> StoppedJob {
    let (how, is_over) = match told {
        Cancelled::Ended => (job.look(|progress| how_it_ended(progress.end.as_deref())), true),
        Cancelled::Told => (
            "was told to stop, but its computer has not confirmed it: it stops at its next yield, or when the game ends \
             code that never yields"
                .to_owned(),
            false,
        ),
        // It waited for the computer, and ends with its call.
        Cancelled::Unreachable if job.look(|progress| progress.sent) == Sent::Nothing => {
            ("was not begun: nothing of it had been sent".to_owned(), true)
        }
        Cancelled::Unreachable if computer.link().is_none() => (
            "could not be told to stop, since its computer is out of reach: it is not known whether it runs there. It is \
             told should the computer come back within two minutes"
                .to_owned(),
            false,
        ),
        Cancelled::Unreachable => (
            "can't be stopped: the agent of its computer is too old, or the link to it broke just then"
                .to_owned(),
            false,
        ),
    };
    StoppedJob {
        id: job.id.clone(),
        computer_name: name_of(&computer.facts()),
        how,
        is_over,
    }
}

fn how_it_ended(end: Option<&End>) -> String {
    let error = match end {
        Some(End::Answered(answer)) => answer.error.as_ref(),
        Some(End::Lost(Loss::NeverReached(_))) => return "was not begun".to_owned(),
        Some(End::Lost(loss)) => return format!("is lost: {}", one_line(&loss.to_string())),
        None => None,
    };
    match error {
        Some(error) if error.not_begun || error.kind == ErrorKind::Expired => "was not begun",
        Some(error) if error.kind == ErrorKind::Cancelled => "was stopped",
        Some(_) | None => "had ended by itself",
    }
    .to_owned()
}

/// Follows the folder of questions; none where the system tells of no changes.
fn watch(questions: &Questions, asked: Arc<Notify>) -> Option<RecommendedWatcher> {
    let tell = move |event: notify::Result<notify::Event>| {
        if event.is_ok_and(|event| !event.kind.is_access()) {
            asked.notify_one();
        }
    };
    let mut watcher = notify::recommended_watcher(tell).ok()?;
    watcher
        .watch(&questions.folder(), RecursiveMode::NonRecursive)
        .ok()?;
    Some(watcher)
}

/// The process that started this one.
#[cfg(unix)]
fn parent() -> Option<u32> {
    Some(std::os::unix::process::parent_id())
}

/// The process that started this one, which the system does not tell.
#[cfg(not(unix))]
fn parent() -> Option<u32> {
    None
}
