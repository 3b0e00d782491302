//! One computer across its links: whether it is here, and the jobs that it was asked for.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use super::{
    ends::Loss,
    facts::Facts,
    holder::{ChangeOfHands, Holder},
    job::{About, Job, Progress, Stage},
    job_table::{JobTable, OPEN_JOBS, OPEN_JOBS_OF_OTHERS, lock},
    key::ComputerKey,
    link::{Link, Turn},
    pings::Pings,
    presence::{Presence, Seen, Whereabouts},
    room::{self, Room},
};
use crate::{
    base::budget::{Budget, Share},
    wire::{
        frame::{JobReport, OutputPiece, Response},
        names::RequestId,
    },
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
    pub(super) presence: Whereabouts,
    /// Who has the number.
    holder: Mutex<Holder>,
    /// What this bridge asked.
    pub(super) jobs: Arc<Mutex<JobTable>>,
    /// What other bridges asked that are here: so that none of them uses up the room of another.
    pub(super) others: Arc<Mutex<JobTable>>,
    /// What only the agent tells of: of bridges that are gone, or not here yet, or made up. It goes with the link.
    pub(super) announced: Mutex<JobTable>,
    /// The pings under way to it.
    pub(super) pings: Pings,
    /// The requests that the agent knew when it linked.
    told: Mutex<Told>,
    /// What these may hold.
    announced_room: Arc<Budget>,
    /// What the jobs of all computers share.
    pub(super) room: Arc<Room>,
    /// Whether code was ever to be run on it.
    used: AtomicBool,
    /// This bridge's turn at it.
    pub(super) turn: Turn,
}

/// How many ids of requests an agent may tell of as it links, however much is held for other computers.
const ALWAYS_KNOWN: usize = 16;

/// About how many bytes an id takes beside its own.
const ID_SIZE: usize = 16;

/// Which requests an agent knew when it linked.
#[derive(Debug)]
struct Told {
    ids: Vec<RequestId>,
    /// Whether these are all that it told of.
    whole: bool,
    _room: Share,
}

impl Computer {
    /// A computer that is heard of for the first time.
    pub fn new(facts: Facts, presence: Presence, room: Arc<Room>) -> Self {
        let mut holder = Holder::default();
        holder.linked(facts.key_mark.as_ref(), facts.address);
        let announced_room = room.of_agent();
        Self {
            key: facts.key,
            facts: RwLock::new(Arc::new(facts)),
            presence: Whereabouts::new(presence),
            holder: Mutex::new(holder),
            jobs: Arc::new(Mutex::new(JobTable::new(OPEN_JOBS))),
            others: Arc::new(Mutex::new(JobTable::new(OPEN_JOBS_OF_OTHERS))),
            announced: Mutex::new(JobTable::new(OPEN_JOBS_OF_OTHERS)),
            pings: Pings::default(),
            told: Mutex::new(Told {
                ids: Vec::new(),
                whole: true,
                _room: announced_room.share(),
            }),
            announced_room,
            room,
            used: AtomicBool::new(false),
            turn: Turn::default(),
        }
    }

    /// The requests that its agent knew when it linked, and those of other bridges that it has, or had, since.
    pub fn known(&self) -> Vec<RequestId> {
        let mut known = self.told().ids.clone();
        known.extend(lock(&self.others).known().cloned());
        known.extend(lock(&self.announced).known().cloned());
        known
    }

    /// Notes which requests its agent knows as it links.
    pub(super) fn told_of(&self, ids: Vec<RequestId>) {
        let mut room = self.announced_room.share();
        let size = |id: &RequestId| size_of::<RequestId>() + id.as_str().len() + ID_SIZE;
        let more = ids.iter().skip(ALWAYS_KNOWN).map(size).sum();
        let whole = room.take(more);
        let ids = if whole { ids } else { Vec::new() };
        *self.told() = Told {
            ids,
            whole,
            _room: room,
        };
    }

    /// Whether there was room for the ids of all requests that its agent knew when it linked.
    pub fn is_told_whole(&self) -> bool {
        self.told().whole
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        // It is never left half changed.
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether code was ever to be run on it: it is worth remembering.
    pub fn was_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    /// Notes that code is to be run on it.
    pub(super) fn note_use(&self) {
        self.used.store(true, Ordering::Relaxed);
    }

    /// What its agent may make this bridge hold by itself.
    pub fn announced_room(&self) -> &Arc<Budget> {
        &self.announced_room
    }

    /// Whether a bridge that is here waits for something of it.
    pub fn is_asked(&self) -> bool {
        lock(&self.jobs).has_open() || lock(&self.others).has_open() || !self.pings.is_empty()
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
        self.presence.look(Presence::clone)
    }

    /// Whether it is here, which is seen by that.
    pub fn see(&self, seen: &mut Seen) -> Presence {
        self.presence.see(seen, Presence::clone)
    }

    /// Waits until its presence is another one than was seen.
    pub async fn comes_or_goes(&self, seen: Seen) {
        self.presence.changed(seen).await;
    }

    /// Since when it is gone; none if it is linked.
    pub fn gone_since(&self) -> Option<SystemTime> {
        self.presence.look(|presence| match presence {
            Presence::Left { since, .. } => Some(*since),
            Presence::Linked(_) => None,
        })
    }

    /// The link, if it is linked.
    pub fn link(&self) -> Option<Arc<Link>> {
        self.presence.look(|presence| match presence {
            Presence::Linked(link) => Some(link.clone()),
            Presence::Left { .. } => None,
        })
    }

    /// Whether it is worth asking: it is linked, or left so lately that it may be back in a moment.
    pub fn may_answer(&self) -> bool {
        self.presence.look(|presence| match presence {
            Presence::Linked(_) => true,
            Presence::Left { since, .. } => may_come_back(*since),
        })
    }

    /// Notes a new link, and returns the older one that it replaces. `known` are the jobs that the agent still has.
    pub fn linked(
        &self,
        facts: Facts,
        known: Vec<RequestId>,
        link: Arc<Link>,
    ) -> Option<Arc<Link>> {
        let mut open = lock(&self.jobs).open();
        open.append(&mut lock(&self.others).open());
        open.append(&mut lock(&self.announced).open());
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
        self.told_of(known);
        self.take_over(facts);
        match self.presence.change(|_| Some(Presence::Linked(link)))? {
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

    /// Notes what has changed of what it told. Returns what is known of it now; none if `link` is no longer its link.
    pub fn changed(
        &self,
        link: &Arc<Link>,
        change: impl FnOnce(&Facts) -> Facts,
    ) -> Option<Arc<Facts>> {
        self.link().filter(|current| Arc::ptr_eq(current, link))?;
        let mut facts = self.facts.write().unwrap_or_else(PoisonError::into_inner);
        *facts = Arc::new(change(&facts));
        Some(facts.clone())
    }

    /// Notes that it is gone, though it was never linked to this bridge itself.
    pub fn gone(&self, facts: Facts, since: SystemTime, why: String) {
        self.take_over(facts);
        self.presence
            .change(|_| Some(Presence::Left { since, why }));
    }

    /// Notes that `link` ended, unless a newer one has taken its place; tells whether it had not.
    pub fn left(&self, link: &Arc<Link>, why: &str) -> bool {
        let left = self.presence.change(|presence| match presence {
            Presence::Linked(current) if Arc::ptr_eq(current, link) => Some(Presence::Left {
                since: SystemTime::now(),
                why: why.to_owned(),
            }),
            _ => None,
        });
        let left = left.is_some();
        if left {
            // An agent that comes back tells of them anew.
            lock(&self.announced).clear();
            self.told_of(Vec::new());
        }
        left
    }

    /// Makes a request, which [`Computer::run`] then sends.
    ///
    /// # Errors
    /// Too many requests have no end yet.
    pub fn begin(&self, id: RequestId, about: About<'_>) -> Result<Arc<Job>, TooManyJobs> {
        let job = Job::new(id, about);
        let entered = lock(&self.jobs).enter(job.clone());
        if entered {
            self.room.bind_asked(&job);
            if job.listed {
                self.note_use();
            }
            Ok(job)
        } else {
            Err(TooManyJobs(self.key))
        }
    }

    /// A job by its id.
    pub fn job(&self, id: &RequestId) -> Option<Arc<Job>> {
        let own = lock(&self.jobs).get(id);
        own.or_else(|| lock(&self.others).get(id))
            .or_else(|| lock(&self.announced).get(id))
    }

    /// All jobs that are running or readable, in no order.
    pub fn jobs(&self) -> Vec<Arc<Job>> {
        let mut jobs = lock(&self.jobs).listed();
        jobs.append(&mut lock(&self.others).listed());
        jobs.append(&mut lock(&self.announced).listed());
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
        open.append(&mut lock(&self.announced).open());
        open.retain(|job| job.id.has_prefix(prefix));
        open
    }

    /// The computer has taken this request, and may know that its job goes on by itself, or be asking its player whether it
    /// may run; tells whether it is known.
    pub fn accepted(&self, id: &RequestId, detached: bool, asking: bool) -> bool {
        if self.pings.accepted(id) {
            return true;
        }
        let job = self.job(id);
        if let Some(job) = &job {
            job.accept(asking);
            if detached {
                job.note_detached();
            }
        }
        job.is_some()
    }

    /// A job has printed; the job, if there is one.
    pub fn printed(&self, piece: OutputPiece) -> Option<Arc<Job>> {
        self.job(&piece.id).inspect(|job| {
            job.accept(false);
            self.room.make(piece.bytes.len());
            job.print(piece);
        })
    }

    /// A request has ended; tells whether it is known.
    pub fn answered(&self, response: Response) -> bool {
        if self.pings.answered(&response) {
            return true;
        }
        let Some(job) = self.job(&response.id) else {
            return false;
        };
        if job.answer(response.answer, response.output_bytes) {
            self.note_end(&job);
        }
        true
    }

    /// Notes that a link of it has ended, which its presence has to show before.
    pub fn note_link_end(&self, link: &Arc<Link>) {
        link.note_end();
        self.pings.link_ended(link);
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
            self.note_end(job);
        }
    }

    /// The agent knows of a job; it is taken on if this bridge doesn't.
    pub fn reported(&self, report: &JobReport) {
        match self.job(&report.id) {
            Some(job) => {
                if !report.not_begun {
                    job.accept(report.asking);
                }
            }
            None => {
                let boot = self.facts().boot.clone();
                let job = Job::adopt(report, boot);
                if room::bind_announced(&job, &self.announced_room) {
                    lock(&self.announced).enter(job);
                } else {
                    tracing::debug!(computer = %self.key, request = %job.id, "no room for a job that no bridge here asked for");
                }
            }
        }
    }

    /// Another bridge that is here asks for a job that so far only the agent told of.
    pub(super) fn claim(&self, id: &RequestId) {
        let announced = lock(&self.announced).take_open(id);
        if let Some(job) = announced {
            self.room.bind_asked(&job);
            lock(&self.others).enter(job);
        }
    }

    fn note_end(&self, job: &Arc<Job>) {
        {
            let mut announced = lock(&self.announced);
            if announced.get(&job.id).is_some() {
                return announced.note_end(job);
            }
        }
        let table = if job.adopted {
            &self.others
        } else {
            &self.jobs
        };
        lock(table).note_end(job);
        if job.look(Progress::wants_source) {
            // Nothing of it ran, and it is asked again at once.
            lock(table).forget_ended(&job.id);
        } else if job.listed {
            self.room.note_end(job, table);
        }
    }
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        computers::link::{Terms, tests::Nowhere},
        wire::{
            frame::{self, AgentFrame},
            text::TextMode,
        },
    };

    /// A linked computer.
    pub fn computer(id: u64, room: &Arc<Room>) -> Arc<Computer> {
        let hello = format!(r#"{{"type":"hello","computerId":{id},"protocol":2,"boot":"a"}}"#);
        let Ok(AgentFrame::Hello(hello)) = frame::read(&hello, TextMode::Plain) else {
            panic!("no hello");
        };
        let facts = Facts::new(&hello, "127.0.0.1:1".parse().unwrap());
        let terms = Terms {
            serial: id,
            dialect: hello.dialect(),
            max_message: 1_000,
            knows_detach: true,
            clock: None,
        };
        let link = Link::new(terms, Box::new(Nowhere));
        let presence = Presence::Linked(link);
        Arc::new(Computer::new(facts, presence, room.clone()))
    }

    /// Its link.
    pub fn link(computer: &Computer) -> Arc<Link> {
        computer.link().unwrap()
    }

    #[test]
    fn the_ids_that_an_agent_tells_of_share_a_bound_beyond_a_few() {
        let room = Arc::new(Room::default());
        let ids = |count: usize| (0..count).map(|id| format!("a-{id}").into()).collect();
        let computers: Vec<_> = (0..60).map(|id| computer(id, &room)).collect();
        let told = |computer: &Arc<Computer>| {
            computer.told_of(ids(10_000));
            computer.is_told_whole()
        };
        let whole = computers.iter().filter(|computer| told(computer)).count();
        assert!((20..60).contains(&whole), "{whole}");
        let last = &computers[59];
        last.told_of(ids(ALWAYS_KNOWN));
        assert!(last.is_told_whole() && last.known().len() == ALWAYS_KNOWN);
        for computer in &computers {
            computer.left(&link(computer), "gone");
        }
        last.told_of(ids(10_000));
        assert!(last.is_told_whole());
    }
}
