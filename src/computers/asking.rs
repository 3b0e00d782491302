//! Asking a computer: one request from its first frame to its end.
//!
//! A request runs at most once and is answered once, through dropped frames, broken links and reboots: the agent runs
//! an id once and remembers it, and the bridge sends the request again until the computer says that it has it, on
//! whichever link there is, until the deadline.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until, timeout_at},
};
use tracing::Instrument;

use super::{
    computer::{ACCEPT_TIME, Computer, Presence, lock, may_come_back},
    ends::{Cancelled, Loss},
    job::{Job, Progress, Stage},
    link::{Link, Outbound},
};
use crate::wire::{
    names::{Dialect, Method},
    outgoing::{self, Request},
    parts,
    text::TextMode,
};

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

impl Computer {
    /// Sends a request until the computer has it, and waits for its end until `deadline`.
    pub async fn run(
        &self,
        job: &Arc<Job>,
        method: Method,
        params: Option<&Value>,
        deadline: Instant,
    ) -> Waited {
        let span = tracing::debug_span!(
            "request",
            computer = %self.key,
            request = %job.id,
            method = method.as_str()
        );
        self.run_until(job, method, params, deadline)
            .instrument(span)
            .await
    }

    async fn run_until(
        &self,
        job: &Arc<Job>,
        method: Method,
        params: Option<&Value>,
        deadline: Instant,
    ) -> Waited {
        let mut presence = self.presence.subscribe();
        loop {
            let link = match self.wait_for_link(&mut presence, job, deadline).await {
                Ok(link) => link,
                Err(waited) => return waited,
            };
            if !job.bind(link.dialect().boot()) {
                self.lose(job, Loss::Restarted);
                return Waited::Ended;
            }
            match self.send(&link, job, method, params, deadline).await {
                Sent::Ended => return Waited::Ended,
                Sent::Deadline if job.is_running() => return Waited::Running,
                Sent::Deadline => return Waited::NotTaken,
                Sent::TooLarge { size, limit } => {
                    lock(&self.jobs).remove(&job.id);
                    return Waited::TooLarge { size, limit };
                }
                // To an agent of version 1 nothing is sent twice: it would run twice.
                Sent::LinkEnded if *link.dialect() == Dialect::V1 => {
                    self.lose(job, Loss::LinkEnded(link.why_ended()));
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
            if job.has_ended() {
                return Err(Waited::Ended);
            }
            tokio::select! {
                changed = presence.changed() => if changed.is_err() { return Err(Waited::Offline(why)) },
                // A new link may end the job at once: the computer has restarted.
                _ = progress.changed() => {}
                () = sleep_until(deadline) => {
                    return Err(if job.is_running() { Waited::Running } else { Waited::Offline(why) });
                }
            }
        }
    }

    /// Sends a request over one link, and waits for what comes of it there.
    async fn send(
        &self,
        link: &Link,
        job: &Arc<Job>,
        method: Method,
        params: Option<&Value>,
        deadline: Instant,
    ) -> Sent {
        let mut request = Request::new(&job.id, method, params);
        let left = deadline
            .saturating_duration_since(Instant::now())
            .as_millis();
        if let Dialect::V2(boot) = link.dialect() {
            request = request.for_boot(boot, u64::try_from(left).unwrap_or(u64::MAX));
            if link.terms.knows_detach {
                request = request.attached();
            }
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
        tracing::debug!("asked");
        let again = match link.dialect() {
            Dialect::V2(_) => Instant::now() + ACCEPT_TIME,
            Dialect::V1 => deadline,
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
                () = link.ended() => return if job.has_ended() { Sent::Ended } else { Sent::LinkEnded },
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
        let limit = link.terms.max_message;
        let outbound = |frame| Outbound {
            job,
            frame,
            deadline,
        };
        // Escapes only make it longer, so what is longer than the limit unescaped needs no escaping.
        let mut unescaped = request
            .unescaped(link.dialect().text_mode())
            .map_err(|_| Sent::TooLarge { size: 0, limit })?;
        let message = if unescaped.len() > limit {
            None
        } else if unescaped.is_ascii() {
            // Most are, and need no escape to be a message.
            Some(std::mem::take(&mut unescaped))
        } else {
            let message = request.message(link.dialect().text_mode()).ok();
            message.filter(|message| message.len() <= limit)
        };
        if let Some(message) = message {
            return timeout_at(deadline, link.request(outbound(message)))
                .await
                .map_err(|_| Sent::Deadline)?
                .map_err(|_| Sent::LinkGone);
        }
        if *link.dialect() == Dialect::V1 {
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
            sent = link.long_request(outbound(unescaped)) => sent.map_err(|_| Sent::LinkEnded),
            () = link.ended() => Err(Sent::LinkEnded),
            () = sleep_until(deadline) => Err(Sent::Deadline),
        }
    }

    /// Stops a job at its next yield, and waits `time` for word that it did.
    pub async fn cancel(&self, job: &Job, time: Duration) -> Cancelled {
        let deadline = Instant::now() + time;
        let mut progress = job.follow();
        let mut told = Cancelled::Unreachable;
        // Twice, since the game may drop one.
        for until in [Instant::now() + time / 2, deadline] {
            if job.has_ended() {
                return Cancelled::Ended;
            }
            let Some(link) = self.link().filter(|link| link.dialect().is_v2()) else {
                return told;
            };
            if !matches!(
                timeout_at(until, link.note(outgoing::cancel(&job.id))).await,
                Ok(Ok(_))
            ) {
                return told;
            }
            told = Cancelled::Told;
            if timeout_at(until, progress.wait_for(Progress::has_ended))
                .await
                .is_ok()
            {
                return Cancelled::Ended;
            }
        }
        told
    }
}
