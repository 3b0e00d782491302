//! What becomes of a job for which no call waits any more: it is stopped, or goes on by itself.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::{
    computer::{ACCEPT_TIME, Computer},
    ends::Cancelled,
    job::{Job, Progress},
    presence::Seen,
};
use crate::wire::outgoing;

/// For how long a computer is told to stop a job, again and again. One that is away for longer stops by itself what
/// nobody asks for any more.
const STOP_WITHIN: Duration = Duration::from_secs(120);

/// How long a call's answer waits for its agent to be told that the job goes on.
const TOLD_WITHIN: Duration = Duration::from_millis(250);

impl Computer {
    /// Lets a job go on by itself, whose call is about to be answered. Its agent is told before, if it is there, and
    /// again and again until it says that it knows.
    pub async fn detach(self: &Arc<Self>, job: &Arc<Job>) {
        job.detach();
        let mut seen = self.seen();
        // Who takes nothing now is told later.
        let _ = timeout(TOLD_WITHIN, self.tell_detached(job)).await;
        let (computer, job) = (self.clone(), job.clone());
        tokio::spawn(async move {
            let mut progress = job.follow();
            loop {
                // A computer that is away is told on its next link, or has lost the job.
                let again = async {
                    match computer.link() {
                        Some(_) => sleep(ACCEPT_TIME).await,
                        None => computer.comes_or_goes(seen).await,
                    }
                };
                let known = async {
                    let known = progress.wait_for(|progress| !progress.is_detaching());
                    drop(known.await);
                };
                tokio::select! {
                    () = known => return,
                    () = again => seen = computer.seen(),
                }
                computer.tell_detached(&job).await;
            }
        });
    }

    /// Tells a job's agent, and the owner of the link port on the way to it, that it goes on by itself. Whoever doesn't
    /// know the frame passes over it.
    async fn tell_detached(&self, job: &Job) {
        let Some(link) = self.link() else { return };
        // A bridge that holds the link port and tells no capabilities is one of 1.0.0, which would note it in its log.
        let may_pass = self.facts().capabilities.is_some();
        let told = match link.dialect().is_v2() && may_pass {
            // A link that has ended is followed by another.
            true => link.note(outgoing::detach(&job.id)).await.is_ok(),
            false => true,
        };
        if told && !link.terms.knows_detach {
            job.note_detached();
        }
    }

    /// Stops a job at its next yield, and waits `time` for word that it did. If none comes, the computer is told again,
    /// over this link or the next ones, after this has returned.
    pub async fn stop(self: &Arc<Self>, job: &Arc<Job>, time: Duration) -> Cancelled {
        let how = self.cancel(job, time).await;
        if how != Cancelled::Ended {
            self.stop_later(job);
        }
        how
    }

    /// Has a job stopped for which nobody waits any more, as soon as its computer can be told, and returns at once.
    pub fn stop_later(self: &Arc<Self>, job: &Arc<Job>) {
        let (computer, job) = (self.clone(), job.clone());
        tokio::spawn(async move {
            let cancelled = computer.abandon(&job).await;
            tracing::debug!(computer = %computer.key, request = %job.id, ?cancelled, "abandoned");
        });
    }

    /// Stops a job for which nobody waits any more, over this link or the next ones.
    pub async fn abandon(&self, job: &Job) -> Cancelled {
        let give_up = Instant::now() + STOP_WITHIN;
        loop {
            let seen = self.seen();
            let how = self.cancel(job, 2 * ACCEPT_TIME).await;
            if how == Cancelled::Ended || Instant::now() >= give_up || self.speaks_version_1() {
                return how;
            }
            if how == Cancelled::Unreachable && !self.may_be_told(job, seen, give_up).await {
                return how;
            }
        }
    }

    /// Waits for another link, until then. Whether there is one and the job has not ended meanwhile.
    async fn may_be_told(&self, job: &Job, seen: Seen, until: Instant) -> bool {
        let mut progress = job.follow();
        tokio::select! {
            changed = timeout_at(until, self.comes_or_goes(seen)) => changed.is_ok(),
            _ = progress.wait_for(Progress::has_ended) => true,
        }
    }

    /// Its presence of now counts as seen.
    fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        self.see(&mut seen);
        seen
    }

    /// Whether its agent can't be told to stop anything.
    fn speaks_version_1(&self) -> bool {
        self.link().is_some_and(|link| !link.dialect().is_v2())
    }
}
