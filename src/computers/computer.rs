//! One computer across its links: whether it is here, and the jobs that it was asked for.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock},
    time::{Duration, SystemTime},
};

use tokio::sync::watch;

use super::{
    ends::Loss,
    facts::Facts,
    holder::{ChangeOfHands, Holder},
    job::{About, Job, Stage},
    job_table::{JobTable, OPEN_JOBS, OPEN_JOBS_OF_OTHERS},
    key::ComputerKey,
    link::{Link, Turn},
};
use crate::wire::{
    frame::{JobReport, OutputPiece, Response},
    names::RequestId,
};

/// How long a request may go without an `accepted` before it is sent again: the game drops events when its queue is
/// full.
pub(super) const ACCEPT_TIME: Duration = Duration::from_secs(2);

/// How long a call waits for a computer that is away. Agents try every 10 s at least, a fifth more or less.
pub const AWAY_TIME: Duration = Duration::from_secs(15);

/// One that is gone for longer than this is not waited for at all.
const COMES_BACK_WITHIN: Duration = Duration::from_secs(120);

/// A computer that has linked at least once.
#[derive(Debug)]
pub struct Computer {
    /// Which one it is.
    pub key: ComputerKey,
    facts: RwLock<Arc<Facts>>,
    pub(super) presence: watch::Sender<Presence>,
    /// Who has the number.
    holder: Mutex<Holder>,
    /// What this bridge asked.
    pub(super) jobs: Mutex<JobTable>,
    /// What other bridges asked, or an earlier run of this one: so that none of them uses up the room of another.
    pub(super) others: Mutex<JobTable>,
    /// This bridge's turn at it.
    pub(super) turn: Turn,
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
        /// Why, as a sentence's end: "its agent closed the link".
        why: String,
    },
}

impl Computer {
    /// A computer that is heard of for the first time.
    pub fn new(facts: Facts, presence: Presence) -> Self {
        let mut holder = Holder::default();
        holder.linked(facts.key_mark.as_ref(), facts.address);
        Self {
            key: facts.key,
            facts: RwLock::new(Arc::new(facts)),
            presence: watch::Sender::new(presence),
            holder: Mutex::new(holder),
            jobs: Mutex::new(JobTable::new(OPEN_JOBS)),
            others: Mutex::new(JobTable::new(OPEN_JOBS_OF_OTHERS)),
            turn: Turn::default(),
        }
    }

    /// The requests of other bridges that it has, or had.
    pub fn known_of_others(&self) -> Vec<RequestId> {
        lock(&self.others).known().cloned().collect()
    }

    /// What it told of itself when it last linked.
    pub fn facts(&self) -> Arc<Facts> {
        // Nothing that holds the lock can panic.
        self.facts
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Follows whether it is here.
    pub fn follow(&self) -> watch::Receiver<Presence> {
        self.presence.subscribe()
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
    pub fn linked(&self, facts: Facts, known: &[RequestId], link: Arc<Link>) -> Option<Arc<Link>> {
        let mut open = lock(&self.jobs).open();
        open.append(&mut lock(&self.others).open());
        for job in open {
            let bound = job.look(|progress| progress.boot.clone());
            let (running, given_up) = job.look(|p| (p.stage == Stage::Running, p.given_up));
            let gone = facts.boot.is_some() && !known.contains(&job.id);
            if bound.is_some() && bound != facts.boot {
                self.lose(&job, Loss::Restarted);
            } else if running && gone {
                self.lose(&job, Loss::ResultGone);
            } else if given_up && gone {
                self.lose(&job, Loss::NotTaken);
            } else if given_up && facts.boot.is_none() {
                self.lose(&job, Loss::LinkEnded("its link ended".to_owned()));
            }
        }
        self.take_over(facts);
        match self.presence.send_replace(Presence::Linked(link)) {
            Presence::Linked(older) => Some(older),
            Presence::Left { .. } => None,
        }
    }

    /// Takes on what it told of itself, and notes if its number has changed hands by that.
    fn take_over(&self, facts: Facts) {
        let former = self.facts().address;
        if self.holder().linked(facts.key_mark.as_ref(), former) {
            tracing::warn!(
                computer = %self.key, label = ?facts.label, address = %facts.address, %former,
                "changed hands: it shows another key than the last time"
            );
        }
        *self.facts.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(facts);
    }

    /// Notes that its number changed hands, as another bridge tells.
    pub fn changed_hands(&self, change: ChangeOfHands) {
        self.holder().note(change);
    }

    /// That its number changed hands within the last day.
    pub fn change_of_hands(&self) -> Option<ChangeOfHands> {
        self.holder().listed().cloned()
    }

    /// That its number changed hands, if the answer that is given now is to say so.
    pub fn say_change_of_hands(&self) -> Option<ChangeOfHands> {
        self.holder().say().cloned()
    }

    fn holder(&self) -> MutexGuard<'_, Holder> {
        // Nothing that holds the lock can panic.
        self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that it has another label, or none. Returns what is known of it now; none if `link` is no longer its link.
    pub fn relabelled(&self, link: &Arc<Link>, label: Option<String>) -> Option<Arc<Facts>> {
        self.link().filter(|current| Arc::ptr_eq(current, link))?;
        let mut facts = self.facts.write().unwrap_or_else(PoisonError::into_inner);
        *facts = Arc::new(facts.with_label(label));
        Some(facts.clone())
    }

    /// Notes that it is gone, though it was never linked to this bridge itself.
    pub fn gone(&self, facts: Facts, since: SystemTime, why: String) {
        self.take_over(facts);
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
    pub fn begin(&self, id: RequestId, about: About<'_>) -> Result<Arc<Job>, TooManyJobs> {
        let job = Job::new(id, about);
        let entered = lock(&self.jobs).enter(job.clone());
        if entered {
            Ok(job)
        } else {
            Err(TooManyJobs(self.key))
        }
    }

    /// A job by its id.
    pub fn job(&self, id: &RequestId) -> Option<Arc<Job>> {
        let own = lock(&self.jobs).get(id);
        own.or_else(|| lock(&self.others).get(id))
    }

    /// All jobs that are running or readable, in no order.
    pub fn jobs(&self) -> Vec<Arc<Job>> {
        let mut jobs = lock(&self.jobs).listed();
        jobs.append(&mut lock(&self.others).listed());
        jobs
    }

    /// The jobs of this bridge without an end for which a call waits.
    pub fn attached_jobs(&self) -> Vec<Arc<Job>> {
        let mut open = lock(&self.jobs).open();
        open.retain(|job| job.is_attached());
        open
    }

    /// The jobs without an end that the bridge asked whose ids begin so.
    pub fn open_jobs_of(&self, prefix: &str) -> Vec<Arc<Job>> {
        let mut open = lock(&self.others).open();
        open.retain(|job| job.id.has_prefix(prefix));
        open
    }

    /// The computer has taken this request, and may know that its job goes on by itself; the job, if there is one.
    pub fn accepted(&self, id: &RequestId, detached: bool) -> Option<Arc<Job>> {
        self.job(id).inspect(|job| {
            job.accept();
            if detached {
                job.note_detached();
            }
        })
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

    /// Notes that nobody sends a request any more, or waits for its end. It is forgotten if it is worth no place in
    /// lists; else what the computer still says of it is taken in.
    pub fn give_up(&self, job: &Job) {
        job.give_up();
        if !job.listed {
            lock(&self.jobs).remove(&job.id);
        }
    }

    /// Ends a job without an answer.
    pub fn lose(&self, job: &Arc<Job>, why: Loss) {
        if job.lose(why) {
            lock(self.table_of(job)).note_end(job);
        }
    }

    /// The agent knows of a job; it is taken on if this bridge doesn't.
    pub fn reported(&self, report: &JobReport) {
        match self.job(&report.id) {
            Some(job) => {
                if !report.not_begun {
                    job.accept();
                }
            }
            None => {
                let boot = self.facts().boot.clone();
                lock(&self.others).enter(Job::adopt(report, boot));
            }
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

pub(super) fn lock(table: &Mutex<JobTable>) -> MutexGuard<'_, JobTable> {
    // Nothing that holds the lock leaves the table half changed.
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A computer has more requests without an end than a bridge keeps.
#[derive(Debug, thiserror::Error)]
#[error(
    "computer {0} already has {OPEN_JOBS} jobs that have not ended. Cancel some: list-jobs shows them"
)]
pub struct TooManyJobs(pub ComputerKey);

pub(super) fn may_come_back(left: SystemTime) -> bool {
    SystemTime::now().duration_since(left).unwrap_or_default() <= COMES_BACK_WITHIN
}
