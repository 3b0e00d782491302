//! One computer across its links: what it told of itself, whether it is here, and what it was asked.
//!
//! A request runs at most once and is answered once, through dropped frames, broken links and reboots: the agent runs
//! an id once and remembers it, and the bridge sends the request again until the computer says that it has it, on
//! whichever link there is, until the deadline.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime},
};

use serde_json::Value;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout_at},
};

use super::{
    bridges::message::Introduction,
    frame::{AgentProgram, ComputerId, Hello, JobReport, Machine, OutputPiece, Response},
    handle::{Link, Turn},
    job::{About, Job, Stage},
    job_table::{JobTable, OPEN_JOBS, OPEN_JOBS_OF_OTHERS},
    outgoing::{self, Request},
    parts,
    text::TextMode,
};

/// How long a request may go without an `accepted` before it is sent again: the game drops events when its queue is
/// full.
const ACCEPT_TIME: Duration = Duration::from_secs(2);

/// How long a call waits for a computer that just left. One that is gone for longer is not waited for.
const COMES_BACK_WITHIN: Duration = Duration::from_secs(120);

/// A computer that has linked at least once.
#[derive(Debug)]
pub struct Computer {
    /// Its number.
    pub id: ComputerId,
    facts: RwLock<Arc<Facts>>,
    presence: watch::Sender<Presence>,
    /// What this bridge asked.
    jobs: Mutex<JobTable>,
    /// What other bridges asked, or an earlier run of this one: so that none of them uses up the room of another.
    others: Mutex<JobTable>,
    /// This bridge's turn at it.
    turn: Turn,
}

/// What a computer told of itself when it last linked.
#[derive(Debug)]
pub struct Facts {
    /// Its number.
    pub id: ComputerId,
    /// Its label.
    pub label: Option<String>,
    /// The agent program, if it told (version 2).
    pub agent: Option<AgentProgram>,
    /// The machine, if it told (version 2).
    pub machine: Option<Machine>,
    /// This start of the agent program (version 2).
    pub boot: Option<String>,
    /// Where the link came from.
    pub address: SocketAddr,
    /// When the link was made.
    pub linked_since: SystemTime,
    /// When the last frame came.
    last_seen: LastSeen,
}

/// A moment that many tasks read and one writes, without a lock.
#[derive(Debug)]
struct LastSeen {
    start: Instant,
    /// Milliseconds after `start`.
    elapsed: AtomicU64,
}

impl Facts {
    /// What this hello tells.
    pub fn new(hello: &Hello, address: SocketAddr) -> Self {
        Self {
            id: hello.computer,
            label: hello.label.clone(),
            agent: hello.agent.clone(),
            machine: hello.machine.clone(),
            boot: hello.boot_name(),
            address,
            linked_since: SystemTime::now(),
            last_seen: LastSeen {
                start: Instant::now(),
                elapsed: AtomicU64::new(0),
            },
        }
    }

    /// What another bridge tells of a computer that is, or was, linked to it.
    pub fn introduced(introduction: &Introduction) -> Self {
        Self {
            id: introduction.computer_id,
            label: introduction.label.clone(),
            agent: introduction.agent.clone(),
            machine: introduction.machine.clone(),
            boot: introduction.boot.clone(),
            address: introduction.address,
            linked_since: introduction.linked_since,
            last_seen: LastSeen {
                start: Instant::now(),
                elapsed: AtomicU64::new(0),
            },
        }
    }

    /// Notes that a frame came just now.
    pub fn seen_now(&self) {
        let elapsed = self.last_seen.start.elapsed().as_millis();
        self.last_seen.elapsed.store(
            u64::try_from(elapsed).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
    }

    /// Notes that another bridge heard from it, and how long ago.
    pub fn seen_before(&self, age: Duration) {
        let since = SystemTime::now() - age;
        let elapsed = since.duration_since(self.linked_since).unwrap_or_default();
        self.last_seen.elapsed.store(
            u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
    }

    /// When the last frame came.
    pub fn last_seen(&self) -> SystemTime {
        self.linked_since + Duration::from_millis(self.last_seen.elapsed.load(Ordering::Relaxed))
    }
}

/// Whether a computer can be asked now.
#[derive(Debug, Clone)]
pub enum Presence {
    /// Over this link.
    Linked(Arc<Link>),
    /// It is gone.
    Left {
        /// Since when.
        since: SystemTime,
        /// Why, as a sentence's end: "the connection broke".
        why: String,
    },
}

/// What came of the wait for a job.
#[derive(Debug, PartialEq)]
pub enum Waited {
    /// The job has ended.
    Ended,
    /// The time is up; the computer has the job.
    Running,
    /// The time is up, and the computer never said that it has the job. An agent of version 1 never does.
    NotTaken,
    /// The time is up, and the computer was not here.
    Offline(String),
    /// The request is larger than what the computer takes.
    TooLarge {
        /// Its length in bytes.
        size: usize,
        /// What the computer takes, in bytes.
        limit: usize,
    },
}

/// What came of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cancelled {
    /// The job has ended, by the cancellation or by itself.
    Ended,
    /// The computer was told, but has not answered yet.
    Told,
    /// The computer can't be told: it is gone, or its agent is too old.
    Unreachable,
}

impl Computer {
    /// A computer that is heard of for the first time.
    pub fn new(facts: Facts, presence: Presence) -> Self {
        Self {
            id: facts.id,
            facts: RwLock::new(Arc::new(facts)),
            presence: watch::Sender::new(presence),
            jobs: Mutex::new(JobTable::new(OPEN_JOBS)),
            others: Mutex::new(JobTable::new(OPEN_JOBS_OF_OTHERS)),
            turn: Turn::default(),
        }
    }

    /// What another bridge is told of it and this link.
    pub fn introduction(&self, facts: &Facts, link: Option<&Link>) -> Introduction {
        let mut known = link.map_or_else(Vec::new, |link| link.known.clone());
        known.extend(lock(&self.others).known().map(str::to_owned));
        Introduction {
            computer_id: self.id,
            link: link.map_or(0, |link| link.serial),
            label: facts.label.clone(),
            agent: facts.agent.clone(),
            machine: facts.machine.clone(),
            boot: facts.boot.clone(),
            address: facts.address,
            linked_since: facts.linked_since,
            max_message: link.map_or(0, Link::max_message),
            known,
        }
    }

    /// What it told of itself when it last linked.
    pub fn facts(&self) -> Arc<Facts> {
        // Nothing that holds the lock can panic.
        self.facts
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Whether it is here.
    pub fn presence(&self) -> Presence {
        self.presence.borrow().clone()
    }

    /// The link, if it is linked.
    pub fn link(&self) -> Option<Arc<Link>> {
        match &*self.presence.borrow() {
            Presence::Linked(link) => Some(link.clone()),
            Presence::Left { .. } => None,
        }
    }

    /// Whether it is worth asking: it is linked, or left so lately that it may be back in a moment.
    pub fn may_answer(&self) -> bool {
        match &*self.presence.borrow() {
            Presence::Linked(_) => true,
            Presence::Left { since, .. } => may_come_back(*since),
        }
    }

    /// Notes a new link, and returns the older one that it replaces. `known` are the jobs that the agent still has.
    pub fn linked(&self, facts: Facts, known: &[String], link: Arc<Link>) -> Option<Arc<Link>> {
        let mut open = lock(&self.jobs).open();
        open.append(&mut lock(&self.others).open());
        for job in open {
            let bound = job.look(|progress| progress.boot.clone());
            if bound.is_some() && bound != facts.boot {
                self.lose(&job, "the computer has restarted since");
            } else if job.stage() == Stage::Running
                && facts.boot.is_some()
                && !known.contains(&job.id)
            {
                self.lose(&job, "the computer no longer has the result");
            }
        }
        *self.facts.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(facts);
        match self.presence.send_replace(Presence::Linked(link)) {
            Presence::Linked(older) => Some(older),
            Presence::Left { .. } => None,
        }
    }

    /// Notes that it is gone, though it was never linked to this bridge itself.
    pub fn gone(&self, facts: Facts, since: SystemTime, why: String) {
        *self.facts.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(facts);
        self.presence.send_replace(Presence::Left { since, why });
    }

    /// Notes that `link` ended, unless a newer one has taken its place; tells whether it had not.
    pub fn left(&self, link: &Arc<Link>, why: &str) -> bool {
        self.presence.send_if_modified(|presence| {
            let current =
                matches!(presence, Presence::Linked(current) if Arc::ptr_eq(current, link));
            if current {
                *presence = Presence::Left {
                    since: SystemTime::now(),
                    why: why.to_owned(),
                };
            }
            current
        })
    }

    /// Makes a request, which [`Computer::run`] then sends.
    ///
    /// # Errors
    /// Too many requests have no end yet.
    pub fn begin(&self, id: String, about: About<'_>) -> Result<Arc<Job>, TooManyJobs> {
        // What is asked now is meant for the program that runs now.
        let job = Job::new(id, about, self.facts().boot.clone());
        let entered = lock(&self.jobs).enter(job.clone());
        if entered {
            Ok(job)
        } else {
            Err(TooManyJobs(self.id))
        }
    }

    /// A job by its id.
    pub fn job(&self, id: &str) -> Option<Arc<Job>> {
        let own = lock(&self.jobs).get(id);
        own.or_else(|| lock(&self.others).get(id))
    }

    /// All jobs that are running or readable, in no order.
    pub fn jobs(&self) -> Vec<Arc<Job>> {
        let mut jobs = lock(&self.jobs).listed();
        jobs.append(&mut lock(&self.others).listed());
        jobs
    }

    /// The jobs without an end that the bridge asked whose ids begin so.
    pub fn open_jobs_of(&self, prefix: &str) -> Vec<Arc<Job>> {
        let mut open = lock(&self.others).open();
        open.retain(|job| job.id.starts_with(prefix));
        open
    }

    /// Sends a request until the computer has it, and waits for its end until `deadline`.
    pub async fn run(
        &self,
        job: &Arc<Job>,
        method: &str,
        params: Option<&Value>,
        deadline: Instant,
    ) -> Waited {
        let mut presence = self.presence.subscribe();
        loop {
            let link = match self.wait_for_link(&mut presence, job, deadline).await {
                Ok(link) => link,
                Err(waited) => return waited,
            };
            if !job.bind(link.boot()) {
                self.lose(job, "the computer has restarted since");
                return Waited::Ended;
            }
            match self.send(&link, job, method, params, deadline).await {
                Sent::Ended => return Waited::Ended,
                Sent::Deadline if job.stage() == Stage::Running => return Waited::Running,
                Sent::Deadline => return Waited::NotTaken,
                Sent::TooLarge { size, limit } => {
                    lock(&self.jobs).remove(&job.id);
                    return Waited::TooLarge { size, limit };
                }
                // To an agent of version 1 nothing is sent twice: it would run twice.
                Sent::LinkEnded if link.boot().is_none() => {
                    self.lose(job, &link.why_ended());
                    return Waited::Ended;
                }
                // What the link's end changes is noted a moment later.
                Sent::LinkGone => tokio::task::yield_now().await,
                Sent::LinkEnded | Sent::NotTaken => {}
            }
        }
    }

    /// The link, or what there is to say when none comes in time.
    async fn wait_for_link(
        &self,
        presence: &mut watch::Receiver<Presence>,
        job: &Job,
        deadline: Instant,
    ) -> Result<Arc<Link>, Waited> {
        let mut progress = job.follow();
        loop {
            let why = match &*presence.borrow_and_update() {
                Presence::Linked(link) if !link.has_ended() => return Ok(link.clone()),
                Presence::Linked(link) => link.why_ended(),
                Presence::Left { since, why } => {
                    if !may_come_back(*since) {
                        return Err(Waited::Offline(why.clone()));
                    }
                    why.clone()
                }
            };
            if job.stage() == Stage::Ended {
                return Err(Waited::Ended);
            }
            tokio::select! {
                changed = presence.changed() => if changed.is_err() { return Err(Waited::Offline(why)) },
                // A new link may end the job at once: the computer has restarted.
                _ = progress.changed() => {}
                () = sleep_until(deadline) => {
                    let running = job.stage() == Stage::Running;
                    return Err(if running { Waited::Running } else { Waited::Offline(why) });
                }
            }
        }
    }

    /// Sends a request over one link, and waits for what comes of it there.
    async fn send(
        &self,
        link: &Link,
        job: &Arc<Job>,
        method: &str,
        params: Option<&Value>,
        deadline: Instant,
    ) -> Sent {
        let mut request = Request::new(&job.id, method, params);
        let left = deadline
            .saturating_duration_since(Instant::now())
            .as_millis();
        if let Some(boot) = link.boot() {
            request = request.for_boot(boot, u64::try_from(left).unwrap_or(u64::MAX));
        }
        // A place in the computer's event queue: held until the computer has taken the request from there.
        let place = tokio::select! {
            place = link.place(&self.turn) => match place {
                Some(place) => place,
                None => return Sent::LinkGone,
            },
            () = sleep_until(deadline) => return Sent::Deadline,
        };
        if let Err(sent) = self.deliver(link, &request, job, deadline).await {
            return sent;
        }
        tracing::debug!(computer = %self.id, request = job.id, method, "asked");
        let again = match link.boot() {
            Some(_) => Instant::now() + ACCEPT_TIME,
            None => deadline,
        };
        let mut place = Some(place);
        let mut progress = job.follow();
        loop {
            match progress.borrow_and_update().stage {
                Stage::Ended => return Sent::Ended,
                Stage::Running => place = None,
                Stage::Asked => {}
            }
            tokio::select! {
                // The job holds the sender.
                _ = progress.changed() => {}
                () = link.ended() => return if job.stage() == Stage::Ended { Sent::Ended } else { Sent::LinkEnded },
                () = sleep_until(deadline) => return Sent::Deadline,
                () = sleep_until(again), if place.is_some() && again < deadline => return Sent::NotTaken,
            }
        }
    }

    /// Hands a request to the link's session, in parts if it is too long for one message.
    async fn deliver(
        &self,
        link: &Link,
        request: &Request<'_>,
        job: &Job,
        deadline: Instant,
    ) -> Result<(), Sent> {
        let limit = link.max_message();
        // Escapes only make it longer, so what is longer than the limit unescaped needs no escaping.
        let mut unescaped = request
            .unescaped()
            .map_err(|_| Sent::TooLarge { size: 0, limit })?;
        let message = if unescaped.len() > limit {
            None
        } else if unescaped.is_ascii() {
            // Most are, and need no escape to be a message.
            Some(std::mem::take(&mut unescaped))
        } else {
            let message = request.message(link.text_mode()).ok();
            message.filter(|message| message.len() <= limit)
        };
        if let Some(message) = message {
            return timeout_at(deadline, link.send_request(job, message, deadline))
                .await
                .map_err(|_| Sent::Deadline)?
                .map_err(|_| Sent::LinkGone);
        }
        if link.text_mode() == TextMode::Plain {
            // An agent of version 1 takes no parts, and what counts is the message as it would be sent.
            let escaped = request.message(TextMode::Plain);
            let size = escaped.map_or(unescaped.len(), |message| message.len());
            return Err(Sent::TooLarge { size, limit });
        }
        if unescaped.len() > parts::MAX_FRAME {
            return Err(Sent::TooLarge {
                size: unescaped.len(),
                limit: parts::MAX_FRAME,
            });
        }
        tokio::select! {
            sent = link.send_request_in_parts(job, unescaped, deadline) => sent.map_err(|_| Sent::LinkEnded),
            () = link.ended() => Err(Sent::LinkEnded),
            () = sleep_until(deadline) => Err(Sent::Deadline),
        }
    }

    /// Passes another bridge's request on over this link, once, in that bridge's turn: the other bridge sees to the
    /// rest. `arrived` is told when a frame that goes out in parts has arrived. Ends when the computer has taken the
    /// request from its queue, or won't.
    pub async fn relay(
        &self,
        link: &Link,
        relayed: Relayed<'_>,
        turn: &Turn,
        arrived: impl FnOnce(),
    ) {
        let Relayed {
            id,
            about,
            frame,
            deadline,
        } = relayed;
        let job = {
            let mut others = lock(&self.others);
            match others.get(&id) {
                Some(job) => job,
                None => {
                    let job = Job::relayed(id, about, link.boot().map(str::to_owned));
                    if !others.enter(job.clone()) {
                        tracing::warn!(computer = %self.id, request = job.id, "too many jobs of other bridges");
                        return;
                    }
                    job
                }
            }
        };
        let sent = async {
            let place = link.place(turn).await?;
            // A message of the game is pure ASCII. What is not, or is too long, goes out in parts.
            if frame.is_ascii() && frame.len() <= link.max_message() {
                link.send_request(&job, frame, deadline).await.ok()?;
            } else {
                link.send_request_in_parts(&job, frame, deadline)
                    .await
                    .ok()?;
                arrived();
            }
            let until = match link.boot() {
                Some(_) => deadline.min(Instant::now() + ACCEPT_TIME),
                None => deadline,
            };
            let mut progress = job.follow();
            let taken = progress.wait_for(|progress| progress.stage != Stage::Asked);
            // If it does not take the request, the other bridge sends it again.
            let _ = timeout_at(until, taken).await;
            drop(place);
            Some(())
        };
        tokio::select! {
            _ = timeout_at(deadline, sent) => {}
            () = link.ended() => {}
        }
        if job.stage() == Stage::Asked {
            lock(&self.others).remove(&job.id);
        }
    }

    /// Stops a job at its next yield, and waits `time` for word that it did.
    pub async fn cancel(&self, job: &Job, time: Duration) -> Cancelled {
        let deadline = Instant::now() + time;
        let mut progress = job.follow();
        let mut told = Cancelled::Unreachable;
        // Twice, since the game may drop one.
        for until in [Instant::now() + time / 2, deadline] {
            if job.stage() == Stage::Ended {
                return Cancelled::Ended;
            }
            let Some(link) = self.link().filter(|link| link.boot().is_some()) else {
                return told;
            };
            if !matches!(
                timeout_at(until, link.send(outgoing::cancel(&job.id))).await,
                Ok(Ok(_))
            ) {
                return told;
            }
            told = Cancelled::Told;
            if timeout_at(
                until,
                progress.wait_for(|progress| progress.stage == Stage::Ended),
            )
            .await
            .is_ok()
            {
                return Cancelled::Ended;
            }
        }
        told
    }

    /// The computer has taken this request; the job, if there is one.
    pub fn accepted(&self, id: &str) -> Option<Arc<Job>> {
        self.job(id).inspect(|job| job.accept())
    }

    /// A job has printed; the job, if there is one.
    pub fn printed(&self, piece: OutputPiece) -> Option<Arc<Job>> {
        self.job(&piece.id).inspect(|job| {
            job.accept();
            job.print(piece);
        })
    }

    /// A job has ended; the job, if there is one.
    pub fn answered(&self, response: Response) -> Option<Arc<Job>> {
        let job = self.job(&response.id)?;
        if job.answer(response.answer, response.output_bytes) {
            lock(self.table_of(&job)).note_end(&job);
        }
        Some(job)
    }

    /// Forgets a request that nobody waits for any more and that is worth no place in lists.
    pub fn give_up(&self, job: &Job) {
        if !job.listed {
            lock(&self.jobs).remove(&job.id);
        }
    }

    /// Ends a job without an answer.
    pub fn lose(&self, job: &Arc<Job>, why: &str) {
        if job.lose(why) {
            lock(self.table_of(job)).note_end(job);
        }
    }

    /// The agent knows of a job; it is taken on if this bridge doesn't.
    pub fn reported(&self, report: &JobReport) {
        if self.job(&report.id).is_none() {
            let boot = self.facts().boot.clone();
            lock(&self.others).enter(Job::adopt(report, boot));
        }
    }

    fn table_of(&self, job: &Job) -> &Mutex<JobTable> {
        if job.adopted {
            &self.others
        } else {
            &self.jobs
        }
    }
}

fn lock(table: &Mutex<JobTable>) -> MutexGuard<'_, JobTable> {
    // Nothing that holds the lock leaves the table half changed.
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Another bridge's request.
#[derive(Debug)]
pub struct Relayed<'a> {
    /// Its id.
    pub id: String,
    /// What it is about.
    pub about: About<'a>,
    /// Its frame.
    pub frame: String,
    /// Until when it is worth sending.
    pub deadline: Instant,
}

/// A computer has more requests without an end than a bridge keeps.
#[derive(Debug, thiserror::Error)]
#[error(
    "computer {0} already has {OPEN_JOBS} jobs that have not ended. Cancel some: list-jobs shows them"
)]
pub struct TooManyJobs(pub ComputerId);

/// What came of sending a request over one link.
enum Sent {
    /// The job has ended.
    Ended,
    /// The time is up.
    Deadline,
    /// The link ended before the request was handed to it.
    LinkGone,
    /// The link ended after that.
    LinkEnded,
    /// The computer did not say that it has it.
    NotTaken,
    /// It is larger than what the computer takes.
    TooLarge { size: usize, limit: usize },
}

fn may_come_back(left: SystemTime) -> bool {
    SystemTime::now().duration_since(left).unwrap_or_default() <= COMES_BACK_WITHIN
}
