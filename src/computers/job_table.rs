//! The jobs of one computer that are running or still readable, within bounds. No I/O.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use super::{
    ends::End,
    job::{Job, Progress},
};
use crate::wire::names::RequestId;

/// How many of a bridge's own jobs may be without an end.
pub const OPEN_JOBS: usize = 256;

/// How many of all other bridges' jobs may be.
pub const OPEN_JOBS_OF_OTHERS: usize = 4_096;

/// How many ended jobs stay readable, for how long, and how many bytes they may take together.
const ENDED_JOBS: usize = 128;
pub(super) const ENDED_TIME: Duration = Duration::from_secs(3_600);
const ENDED_BYTES: usize = 16 * 1024 * 1024;

/// The jobs by id.
#[derive(Debug)]
pub struct JobTable {
    /// How many may be without an end.
    room: usize,
    all: HashMap<RequestId, Arc<Job>>,
    /// Those that have ended, in that order, with their size in bytes.
    ended: VecDeque<(Arc<Job>, usize)>,
    ended_bytes: usize,
}

impl JobTable {
    /// An empty table for this many jobs without an end.
    pub fn new(room: usize) -> Self {
        Self {
            room,
            all: HashMap::new(),
            ended: VecDeque::new(),
            ended_bytes: 0,
        }
    }

    /// Takes a job in, if there is room.
    pub fn enter(&mut self, job: Arc<Job>) -> bool {
        let room = self.all.len() - self.ended.len() < self.room;
        if room {
            self.all.insert(job.id.clone(), job);
        }
        room
    }

    /// A job by its id.
    pub fn get(&self, id: &RequestId) -> Option<Arc<Job>> {
        self.all.get(id).cloned()
    }

    /// Whether there is one that has not ended.
    pub fn has_open(&self) -> bool {
        self.all.len() > self.ended.len()
    }

    /// Forgets a job that has not ended.
    pub fn remove(&mut self, id: &RequestId) {
        self.all.remove(id);
    }

    /// Takes out a job that has not ended.
    pub fn take_open(&mut self, id: &RequestId) -> Option<Arc<Job>> {
        let is_open = self.all.get(id).is_some_and(|job| !job.has_ended());
        is_open.then(|| self.all.remove(id)).flatten()
    }

    /// Forgets a job that has ended.
    pub fn forget_ended(&mut self, id: &RequestId) {
        if let Some(at) = self.ended.iter().position(|(job, _)| job.id == *id)
            && let Some((_, size)) = self.ended.remove(at)
        {
            self.ended_bytes -= size;
            self.all.remove(id);
        }
    }

    /// Notes that a job has just ended. One that is not listed is forgotten.
    pub fn note_end(&mut self, job: &Arc<Job>) {
        if !job.listed {
            self.all.remove(&job.id);
            return;
        }
        let size = job.look(Progress::size);
        self.ended_bytes += size;
        self.ended.push_back((job.clone(), size));
        self.forget_old();
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::new(self.room);
    }

    /// Jobs that have not ended.
    pub fn open(&self) -> Vec<Arc<Job>> {
        self.all
            .values()
            .filter(|job| !job.has_ended())
            .cloned()
            .collect()
    }

    /// All that are worth a look, in no order.
    pub fn listed(&mut self) -> Vec<Arc<Job>> {
        self.forget_old();
        let listed = self.all.values().filter(|job| job.listed);
        listed.cloned().collect()
    }

    /// The ids of those that the computer has, or has answered. What it came back without it does not know.
    pub fn known(&self) -> impl Iterator<Item = &RequestId> {
        let known = self.all.values().filter(|job| job.look(is_known));
        known.map(|job| &job.id)
    }

    fn forget_old(&mut self) {
        let now = SystemTime::now();
        while let Some((oldest, size)) = self.ended.front() {
            let at = oldest.look(|progress| progress.ended).unwrap_or(now);
            let too_old = now.duration_since(at).unwrap_or_default() > ENDED_TIME;
            // The newest stays, however large it is.
            let too_many = self.ended.len() > ENDED_JOBS
                || self.ended_bytes > ENDED_BYTES && self.ended.len() > 1;
            if !too_old && !too_many {
                return;
            }
            self.ended_bytes -= size;
            self.all.remove(&oldest.id);
            self.ended.pop_front();
        }
    }
}

/// Locks a table that tasks share.
pub fn lock(table: &Mutex<JobTable>) -> MutexGuard<'_, JobTable> {
    // Nothing that holds the lock leaves the table half changed.
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_known(progress: &Progress) -> bool {
    !progress.is_asked() && !matches!(progress.end.as_deref(), Some(End::Lost(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{computers::job::About, wire::frame::Answer};

    fn enter(table: &mut JobTable, id: usize) -> Arc<Job> {
        let job = Job::new(format!("{id:05}").into(), About::listed("", false));
        assert!(table.enter(job.clone()));
        job
    }

    fn end(table: &mut JobTable, job: &Arc<Job>, output: usize) {
        let result = serde_json::json!({"output": "x".repeat(output)});
        assert!(job.answer(
            Answer {
                result: Some(result),
                error: None
            },
            None
        ));
        table.note_end(job);
    }

    #[test]
    fn the_last_128_ended_jobs_stay_readable() {
        let mut table = JobTable::new(OPEN_JOBS);
        let running = enter(&mut table, 99_999);
        for id in 0..200 {
            let job = enter(&mut table, id);
            end(&mut table, &job, 10);
        }
        let listed: Vec<_> = table.listed().iter().map(|job| job.id.clone()).collect();
        assert_eq!(listed.len(), 129);
        assert!(
            listed.contains(&running.id)
                && !listed.contains(&"00071".into())
                && listed.contains(&"00072".into())
        );
    }

    #[test]
    fn ended_jobs_share_a_bound_in_bytes() {
        let mut table = JobTable::new(OPEN_JOBS);
        for id in 0..40 {
            let job = enter(&mut table, id);
            end(&mut table, &job, 1024 * 1024);
        }
        // What holds the output takes a little too.
        assert_eq!(table.listed().len(), 15);
        assert!(table.ended_bytes > 15 * 1024 * 1024 && table.ended_bytes <= ENDED_BYTES);
        let oldest = table.ended.front().unwrap().0.id.clone();
        table.forget_ended(&oldest);
        assert!(table.get(&oldest).is_none() && table.listed().len() == 14);
        assert!(table.ended_bytes < 15 * 1024 * 1024);
    }

    #[test]
    fn open_jobs_are_bounded_and_unlisted_ones_leave_no_trace() {
        let mut table = JobTable::new(OPEN_JOBS);
        let jobs: Vec<_> = (0..OPEN_JOBS).map(|id| enter(&mut table, id)).collect();
        let one_more = Job::new("more".into(), About::unlisted());
        assert!(!table.enter(one_more.clone()));
        end(&mut table, &jobs[0], 0);
        assert!(table.enter(one_more.clone()));
        end(&mut table, &one_more, 0);
        assert!(table.get(&"more".into()).is_none() && table.get(&"00000".into()).is_some());
    }
}
