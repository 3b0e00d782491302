//! Passing on what another bridge asks of a computer.

use tokio::time::{Instant, timeout_at};

use super::{
    computer::{ACCEPT_TIME, Computer},
    job::{About, Job, Progress},
    job_table::lock,
    link::{Link, Outbound, Turn},
};
use crate::wire::names::{Dialect, RequestId};

/// Another bridge's request.
#[derive(Debug)]
pub struct Relayed<'a> {
    /// Its id.
    pub id: RequestId,
    /// What it is about.
    pub about: About<'a>,
    /// Its frame.
    pub frame: String,
    /// Until when it is worth sending.
    pub deadline: Instant,
    /// Whether a call waits for it until then.
    pub attached: bool,
}

impl Computer {
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
            attached,
        } = relayed;
        if about.listed {
            self.note_use();
        }
        self.claim(&id);
        let job = {
            let mut others = lock(&self.others);
            match others.get(&id) {
                Some(job) => job,
                None => {
                    let job = Job::relayed(id, about, link.dialect().boot().cloned());
                    if !others.enter(job.clone()) {
                        tracing::warn!(computer = %self.key, request = %job.id, "too many jobs of other bridges");
                        return;
                    }
                    self.room.bind_asked(&job);
                    job
                }
            }
        };
        if attached {
            job.attach(Some(deadline));
        }
        let outbound = |frame| Outbound::of(&job, frame, deadline);
        let sent = async {
            let place = link.place(turn).await?;
            // A message of the game is pure ASCII. What is not, or is too long, goes out in parts.
            if frame.is_ascii() && frame.len() <= link.terms.max_message {
                link.request(outbound(frame)).await.ok()?;
            } else {
                link.long_request(outbound(frame)).await.ok()?;
                arrived();
            }
            let until = match link.dialect() {
                Dialect::V2(_) => deadline.min(Instant::now() + ACCEPT_TIME),
                Dialect::V1 => deadline,
            };
            let mut progress = job.follow();
            let taken = progress.wait_for(|progress| !progress.is_asked());
            // If it does not take the request, the other bridge sends it again.
            let _ = timeout_at(until, taken).await;
            drop(place);
            Some(())
        };
        tokio::select! {
            _ = timeout_at(deadline, sent) => {}
            () = link.ended() => {}
        }
        if job.look(Progress::is_asked) {
            lock(&self.others).remove(&job.id);
        }
    }
}
