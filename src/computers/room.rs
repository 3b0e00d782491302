//! How much all computers together may make this bridge hold of jobs, and what goes first.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::SystemTime,
};

use super::{
    job::{Job, Progress},
    job_table::{ENDED_TIME, JobTable, lock},
    output::Bound,
};
use crate::base::budget::Budget;

/// How many bytes of output and results are held of the jobs that bridges asked for. Of those that have ended, the
/// oldest go first.
const ASKED: usize = 32 * 1024 * 1024;

/// How many bytes of output such a job may hold in any case while it runs: more than an answer shows.
const ALWAYS_KEPT: usize = 64 * 1024;

/// How many bytes are held of jobs that only agents tell of, their results and output included.
const ANNOUNCED: usize = 16 * 1024 * 1024;

/// How many of these one computer may take up.
const ANNOUNCED_BY_ONE: usize = 1024 * 1024;

/// About how many bytes a job takes without its output and result.
const JOB_SIZE: usize = 1_024;

/// What the jobs of all computers share.
#[derive(Debug)]
pub struct Room {
    asked: Arc<Budget>,
    announced: Arc<Budget>,
    /// Jobs that were asked for and have ended, oldest first, each with the table that it stands in.
    ended: Mutex<VecDeque<Ended>>,
}

#[derive(Debug)]
struct Ended {
    job: Weak<Job>,
    table: Weak<Mutex<JobTable>>,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            asked: Budget::new(ASKED),
            announced: Budget::new(ANNOUNCED),
            ended: Mutex::default(),
        }
    }
}

impl Room {
    /// Room for what one agent tells of by itself.
    pub fn of_agent(&self) -> Arc<Budget> {
        self.announced.part(ANNOUNCED_BY_ONE)
    }

    /// Binds a job that a bridge asked for.
    pub fn bind_asked(&self, job: &Job) {
        job.bind(Bound::asked(self.asked.share(), JOB_SIZE, ALWAYS_KEPT));
    }

    /// Makes room for so many bytes more of jobs that were asked for, as far as others have ended. Not while any table
    /// of jobs is locked.
    pub fn make(&self, bytes: usize) {
        while self.asked.left() < bytes && self.forget_oldest(|_| true) {}
    }

    /// Notes that a job has ended that was asked for and stands in this table, and forgets those that are over the
    /// bounds. Not while any table of jobs is locked.
    pub fn note_end(&self, job: &Arc<Job>, table: &Arc<Mutex<JobTable>>) {
        {
            let mut ended = self.lock();
            // Before it has to grow: most may have been forgotten by their tables.
            if ended.len() == ended.capacity() {
                ended.retain(|ended| ended.job.strong_count() > 0);
            }
            ended.push_back(Ended {
                job: Arc::downgrade(job),
                table: Arc::downgrade(table),
            });
        }
        let now = SystemTime::now();
        let too_old = |job: &Job| {
            let at = job
                .look(|progress: &Progress| progress.ended)
                .unwrap_or(now);
            now.duration_since(at).unwrap_or_default() > ENDED_TIME
        };
        while self.forget_oldest(too_old) {}
        self.make(1);
    }

    /// Forgets the job that ended first, if `which` says so; tells whether there was one.
    fn forget_oldest(&self, which: impl Fn(&Job) -> bool) -> bool {
        let oldest = {
            let mut ended = self.lock();
            let Some(oldest) = ended.front() else {
                return false;
            };
            let job = oldest.job.upgrade();
            if job.as_deref().is_some_and(|job| !which(job)) {
                return false;
            }
            let table = oldest.table.upgrade();
            ended.pop_front();
            job.zip(table)
        };
        if let Some((job, table)) = oldest {
            lock(&table).forget_ended(&job.id);
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Ended>> {
        // It is never left half changed.
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes room for a job that only its agent tells of; tells whether there was some.
pub fn bind_announced(job: &Job, budget: &Arc<Budget>) -> bool {
    let mut share = budget.share();
    let room = share.take(JOB_SIZE);
    if room {
        job.bind(Bound::announced(share, JOB_SIZE));
    }
    room
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        computers::{
            Computer,
            computer::tests::{computer, link},
            job::About,
        },
        wire::frame::{Answer, JobReport, OutputPiece, Response},
    };

    const MIB: usize = 1024 * 1024;

    fn print(computer: &Computer, id: &str, bytes: usize) {
        let piece = OutputPiece {
            id: id.into(),
            seq: 1,
            at: None,
            bytes: vec![b'x'; bytes],
            dropped: 0,
            told: Vec::new(),
        };
        computer.printed(piece);
    }

    fn answer(computer: &Computer, id: &str, result: serde_json::Value) {
        let answer = Answer {
            result: Some(result),
            error: None,
        };
        computer.answered(Response {
            id: id.into(),
            answer,
            output_bytes: None,
            halts: false,
        });
    }

    fn report(computer: &Computer, id: &str) {
        let report = format!(r#"{{"id":"{id}","code":"x"}}"#);
        computer.reported(&serde_json::from_str::<JobReport>(&report).unwrap());
    }

    #[test]
    fn jobs_of_all_computers_share_a_bound_and_the_oldest_that_ended_go_first() {
        let room = Arc::new(Room::default());
        let computers: Vec<_> = (0..50).map(|id| computer(id, &room)).collect();
        let begin = |computer: &Computer| {
            let about = About::listed("", false);
            computer.begin("a-1".into(), about).unwrap()
        };
        let first = begin(&computers[0]);
        for computer in &computers[1..] {
            begin(computer);
            print(computer, "a-1", MIB);
            answer(computer, "a-1", "done".into());
        }
        let readable = computers.iter().map(|computer| computer.jobs().len());
        let readable: Vec<_> = readable.collect();
        // That which runs stays, and of those that have ended the last 31.
        assert_eq!(readable[..2], [1, 0]);
        assert_eq!((readable.iter().sum::<usize>(), readable[49]), (32, 1));
        // It finds room too.
        print(&computers[0], "a-1", MIB);
        assert_eq!(first.look(|progress| progress.read(0, 2 * MIB).lost), 0);
        drop((computers, first));
        assert_eq!(room.asked.left(), ASKED);
    }

    #[test]
    fn a_job_that_runs_keeps_some_output_though_all_others_run_too() {
        let room = Arc::new(Room::default());
        let computers: Vec<_> = (0..40).map(|id| computer(id, &room)).collect();
        for computer in &computers {
            let job = computer.begin("a-1".into(), About::listed("", false));
            print(computer, "a-1", MIB / 20);
            print_more(computer, MIB - MIB / 20);
            let lost = job.unwrap().look(|progress| progress.read(0, 2 * MIB).lost);
            assert!(lost < MIB as u64);
        }
        let kept: usize = computers
            .iter()
            .map(|computer| computer.jobs()[0].look(Progress::size))
            .sum();
        assert!(kept < ASKED + 40 * ALWAYS_KEPT + 40 * 1024, "{kept}");
    }

    fn print_more(computer: &Computer, bytes: usize) {
        for seq in 2.. {
            if (seq as usize - 2) * 1_000 >= bytes {
                return;
            }
            computer.printed(OutputPiece {
                id: "a-1".into(),
                seq,
                at: None,
                bytes: vec![b'y'; 1_000],
                dropped: 0,
                told: Vec::new(),
            });
        }
    }

    #[test]
    fn what_an_agent_tells_of_by_itself_holds_little_and_goes_with_its_link() {
        let room = Arc::new(Room::default());
        let computers: Vec<_> = (0..40).map(|id| computer(id, &room)).collect();
        for computer in &computers {
            for job in 0..2_000 {
                let id = format!("made-up-{job}");
                report(computer, &id);
                print(computer, &id, 100_000);
            }
            assert!(computer.jobs().len() <= ANNOUNCED_BY_ONE / JOB_SIZE);
        }
        let kept = |computer: &Arc<Computer>| {
            let jobs = computer.jobs();
            jobs.iter()
                .map(|job| job.look(Progress::size))
                .sum::<usize>()
        };
        assert!(computers.iter().map(kept).sum::<usize>() <= ANNOUNCED);
        // Others are not kept from what they were asked for.
        let job = computers[39].begin("a-1".into(), About::listed("", false));
        print(&computers[39], "a-1", MIB);
        assert_eq!(
            job.unwrap().look(|progress| progress.read(0, 2 * MIB).lost),
            0
        );
        for computer in &computers {
            computer.left(&link(computer), "gone");
        }
        assert_eq!(room.announced.left(), ANNOUNCED);
    }

    #[test]
    fn a_result_that_nobody_asked_for_is_kept_where_there_is_room() {
        let room = Arc::new(Room::default());
        let computer = computer(1, &room);
        for (id, size) in [("b-1", 10), ("b-2", MIB)] {
            report(&computer, id);
            answer(&computer, id, "x".repeat(size).into());
        }
        let end = |id: &str| {
            computer
                .job(&id.into())
                .unwrap()
                .look(|progress| progress.end.clone())
        };
        let result = |id: &str| match end(id).as_deref() {
            Some(crate::computers::End::Answered(answer)) => answer.clone(),
            other => panic!("{other:?}"),
        };
        assert!(result("b-1").result.is_some());
        let not_kept = result("b-2");
        assert!(not_kept.result.is_none() && not_kept.error.unwrap().message.contains("not kept"));
    }

    #[test]
    fn a_job_that_a_bridge_claims_is_its_own_from_then_on() {
        let room = Arc::new(Room::default());
        let computer = computer(1, &room);
        report(&computer, "b-1");
        assert!(!computer.is_asked());
        computer.claim(&"b-1".into());
        assert!(computer.is_asked() && room.announced.left() == ANNOUNCED);
        print(&computer, "b-1", MIB);
        computer.left(&link(&computer), "gone");
        let job = computer.job(&"b-1".into()).unwrap();
        assert_eq!(job.look(|progress| progress.read(0, 2 * MIB).lost), 0);
    }
}
