//! Asking a computer: one request from its first frame to its end.
//!
//! A request runs at most once and is answered once, through dropped frames, broken links and reboots: the agent runs
//! an id once and remembers it, and the bridge sends the request again until the computer says that it has it, on
//! whichever link there is, until the deadline.

use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until, timeout_at};
use tracing::Instrument;

use super::{
    ask::Ask,
    computer::{ACCEPT_TIME, AWAY_TIME, Computer, may_come_back},
    ends::{Cancelled, Loss},
    job::{Job, Progress, Sent, Stage},
    job_table::lock,
    link::{Link, Outbound},
    presence::{Presence, Seen},
};
use crate::wire::{
    names::{Dialect, RequestId},
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
    /// The time is up, and the computer never said that it has the job. An agent of version 1 never does. What may be
    /// said of it, [`Sent`](super::Sent) tells.
    NotTaken,
    /// The computer is away, for too long to be waited for; why, as a sentence's end. It may have the job.
    Away(String),
    /// The request is larger than what the computer takes.
    TooLarge {
        /// Its length in bytes.
        size: usize,
        /// What the computer takes, in bytes.
        limit: usize,
    },
    /// Its gate was shut before anything of it was sent. It has ended by that.
    Held,
}

/// What came of sending a request over one link.
enum Delivery {
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
    /// It may not begin any more.
    Held,
}

impl Computer {
    /// Sends a request until the computer has it, and waits for its end until `deadline`.
    pub async fn run(&self, job: &Arc<Job>, ask: Ask<'_>, deadline: Instant) -> Waited {
        let span = tracing::debug_span!(
            "request",
            computer = %self.key,
            request = %job.id,
            method = ask.method.as_str()
        );
        self.run_until(job, ask, deadline).instrument(span).await
    }

    async fn run_until(&self, job: &Arc<Job>, ask: Ask<'_>, deadline: Instant) -> Waited {
        loop {
            let link = match self.wait_for_link(job, deadline).await {
                Ok(link) => link,
                Err(waited) => return waited,
            };
            if !job.fits(link.dialect().boot()) {
                self.lose(job, Loss::Restarted);
                return Waited::Ended;
            }
            match self.send(&link, job, ask, deadline).await {
                Delivery::Ended => return Waited::Ended,
                Delivery::Deadline if job.is_running() => return Waited::Running,
                Delivery::Deadline => return Waited::NotTaken,
                Delivery::TooLarge { size, limit } => {
                    lock(&self.jobs).remove(&job.id);
                    return Waited::TooLarge { size, limit };
                }
                Delivery::Held => {
                    self.lose(
                        job,
                        Loss::NeverReached("it may not begin any more".to_owned()),
                    );
                    return Waited::Held;
                }
                // To an agent of version 1 nothing is sent twice: it would run twice.
                Delivery::LinkEnded if *link.dialect() == Dialect::V1 => {
                    self.lose(job, Loss::LinkEnded(link.why_ended()));
                    return Waited::Ended;
                }
                // What the link's end changes is noted a moment later.
                Delivery::LinkGone => tokio::task::yield_now().await,
                Delivery::LinkEnded | Delivery::NotTaken => {}
            }
        }
    }

    /// The link, or what there is to say when none comes in time.
    ///
    /// A job that runs is not waited for any longer than one that is still to be sent: while the computer is away, all
    /// that can be told of it is that it is not known.
    async fn wait_for_link(&self, job: &Job, deadline: Instant) -> Result<Arc<Link>, Waited> {
        let mut progress = job.follow();
        let mut seen = Seen::default();
        let until = deadline.min(Instant::now() + AWAY_TIME);
        loop {
            let why = match self.see(&mut seen) {
                Presence::Linked(link) if !link.has_ended() => return Ok(link),
                Presence::Linked(link) => link.why_ended(),
                Presence::Left { since, why } if may_come_back(since) => why,
                Presence::Left { why, .. } => return Err(Waited::Away(why)),
            };
            if job.has_ended() {
                return Err(Waited::Ended);
            }
            tokio::select! {
                () = self.comes_or_goes(seen) => {}
                // A new link may end the job at once: the computer has restarted.
                _ = progress.changed() => {}
                () = sleep_until(until) => return Err(Waited::Away(why)),
            }
        }
    }

    /// Sends a request over one link, and waits for what comes of it there.
    async fn send(&self, link: &Link, job: &Arc<Job>, ask: Ask<'_>, deadline: Instant) -> Delivery {
        // A place in the computer's event queue: held until the computer has taken the request from there.
        let place = tokio::select! {
            place = link.place(&self.turn) => match place {
                Some(place) => place,
                None => return Delivery::LinkGone,
            },
            () = sleep_until(deadline) => return Delivery::Deadline,
        };
        let is_new = job.look(|progress| progress.sent) == Sent::Nothing;
        if let Some(gate) = ask.gate.filter(|_| is_new) {
            tokio::select! {
                is_open = gate.is_open() => if !is_open {
                    return Delivery::Held;
                },
                () = sleep_until(deadline) => return Delivery::Deadline,
            }
        }
        let request = Self::request(link, &job.id, ask, deadline);
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
                Stage::Ended => return Delivery::Ended,
                Stage::Running => place = None,
                Stage::Asked => {}
            }
            tokio::select! {
                // The job holds the sender.
                _ = progress.changed() => {}
                () = link.ended() => return if job.has_ended() { Delivery::Ended } else { Delivery::LinkEnded },
                () = sleep_until(deadline) => return Delivery::Deadline,
                () = sleep_until(again), if place.is_some() && again < deadline => return Delivery::NotTaken,
            }
        }
    }

    /// A request as the agent at the other end of the link knows it.
    pub(super) fn request<'a>(
        link: &'a Link,
        id: &'a RequestId,
        ask: Ask<'a>,
        deadline: Instant,
    ) -> Request<'a> {
        let mut request = Request::new(id, ask.method, ask.params);
        if let Dialect::V2(boot) = link.dialect() {
            let left = deadline
                .saturating_duration_since(Instant::now())
                .as_millis();
            request = request.for_boot(boot, u64::try_from(left).unwrap_or(u64::MAX));
            if link.terms.knows_detach {
                request = request.attached();
            }
        }
        match &link.terms.clock {
            Some(clock) => request.start_before(clock.at(deadline)),
            None => request,
        }
    }

    /// Hands a request to the link's session, in parts if it is too long for one message.
    async fn deliver(
        &self,
        link: &Link,
        request: &Request<'_>,
        job: &Job,
        deadline: Instant,
    ) -> Result<(), Delivery> {
        let limit = link.terms.max_message;
        let outbound = |frame| Outbound::of(job, frame, deadline);
        // Escapes only make it longer, so what is longer than the limit unescaped needs no escaping.
        let mut unescaped = request
            .unescaped(link.dialect().text_mode())
            .map_err(|_| Delivery::TooLarge { size: 0, limit })?;
        let message = if unescaped.len() > limit {
            None
        } else if unescaped.is_ascii() {
            // Most are, and need no escape to be a message.
            Some(std::mem::take(&mut unescaped))
        } else {
            let message = request.message(link.dialect().text_mode()).ok();
            message.filter(|message| message.len() <= limit)
        };
        let note_sent = || job.note_sent(link.dialect().boot(), link.terms.clock.is_some());
        if let Some(message) = message {
            // It is handed over or not, whichever way this ends.
            timeout_at(deadline, link.request(outbound(message)))
                .await
                .map_err(|_| Delivery::Deadline)?
                .map_err(|_| Delivery::LinkGone)?;
            note_sent();
            return Ok(());
        }
        if *link.dialect() == Dialect::V1 {
            // An agent of version 1 takes no parts, and what counts is the message as it would be sent.
            let escaped = request.message(TextMode::Plain);
            let size = escaped.map_or(unescaped.len(), |message| message.len());
            return Err(Delivery::TooLarge { size, limit });
        }
        if unescaped.len() > parts::MAX_FRAME {
            return Err(Delivery::TooLarge {
                size: unescaped.len(),
                limit: parts::MAX_FRAME,
            });
        }
        note_sent();
        tokio::select! {
            sent = link.long_request(outbound(unescaped)) => sent.map_err(|_| Delivery::LinkEnded),
            () = link.ended() => Err(Delivery::LinkEnded),
            () = sleep_until(deadline) => Err(Delivery::Deadline),
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

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::{
        computers::{facts::Facts, job::About},
        wire::{
            frame::{self, AgentFrame},
            names::Method,
            text::TextMode,
        },
    };

    /// A computer that left so long ago.
    fn gone_for(time: Duration) -> Computer {
        let hello = r#"{"type":"hello","computerId":7,"protocol":2,"boot":"a"}"#;
        let Ok(AgentFrame::Hello(hello)) = frame::read(hello, TextMode::Plain) else {
            panic!("no hello");
        };
        let facts = Facts::new(&hello, "127.0.0.1:1".parse().unwrap());
        let presence = Presence::Left {
            since: SystemTime::now() - time,
            why: "it was unloaded".to_owned(),
        };
        Computer::new(facts, presence, Arc::default())
    }

    #[tokio::test(start_paused = true)]
    async fn a_computer_that_is_away_is_waited_for_and_one_that_has_long_gone_is_not() {
        for (gone, waits) in [(1, 15), (119, 15), (121, 0)] {
            let computer = gone_for(Duration::from_secs(gone));
            let job = computer.begin("a-1".into(), About::unlisted()).unwrap();
            let start = Instant::now();
            let deadline = start + Duration::from_secs(60);
            let ask = Ask {
                method: Method::Ping,
                params: None,
                about: About::unlisted(),
                gate: None,
            };
            let waited = computer.run(&job, ask, deadline).await;
            assert_eq!(waited, Waited::Away("it was unloaded".to_owned()));
            assert_eq!(start.elapsed().as_secs(), waits, "gone for {gone} s");
            assert_eq!(job.look(|progress| progress.sent), Sent::Nothing);
        }
    }
}
