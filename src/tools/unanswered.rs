//! What may be said of a request that has no answer, when nobody waits for it any longer.
//!
//! A model acts on these words: it runs again what was not run. So they say no more than is known.

use std::{fmt, sync::Arc, time::SystemTime};

use super::wording::{name_of, whether_it_runs};
use crate::{
    base::text::one_line,
    computers::{Computer, Job, Loss, RequestId, Sent, Stage},
};

/// A request without an answer.
#[derive(Debug)]
pub struct Unanswered {
    /// The computer's name.
    computer: String,
    /// The request's id, which is its job's.
    job: RequestId,
    /// How long it was waited for, in milliseconds.
    ms: u128,
    /// Why the computer is away, if it is, as a sentence's end.
    away: Option<String>,
    known: Known,
}

/// What is known of whether it ran.
#[derive(Debug)]
enum Known {
    /// Nothing of it was sent.
    NotRun,
    /// It was sent; what follows, as a sentence.
    Unknown { whether: &'static str },
    /// The computer took it; what is known of it since, as a sentence.
    Began { whether: String },
}

impl Unanswered {
    /// What there is to say of `job`, which nobody waits for any longer; `away`: why its computer is not here. A
    /// request of which nothing was sent has ended by that.
    pub fn new(computer: &Computer, job: &Arc<Job>, ms: u128, away: Option<&str>) -> Self {
        let known = match job.look(|progress| (progress.stage, progress.sent)) {
            (Stage::Running, _) => Known::Began {
                whether: whether_it_runs(computer, SystemTime::now()),
            },
            (_, Sent::Nothing) => Known::NotRun,
            (_, Sent::Timed) => Known::Unknown {
                whether: "It may have begun in its time; now it does not begin any more.",
            },
            (_, Sent::Untimed) => Known::Unknown {
                whether: "It may run there, or yet begin.",
            },
        };
        if matches!(known, Known::NotRun) {
            let why = away.unwrap_or("the computer had no room for it");
            computer.lose(job, Loss::NeverReached(why.to_owned()));
        } else {
            computer.give_up(job);
        }
        Self {
            computer: name_of(&computer.facts()),
            job: job.id.clone(),
            ms,
            away: away.map(|why| one_line(why).into_owned()),
            known,
        }
    }
}

impl std::error::Error for Unanswered {}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            computer,
            job,
            ms,
            away,
            known,
        } = self;
        match away {
            Some(why) => write!(
                f,
                "offline error on computer {computer}: {why}, and it has not come back. "
            )?,
            None => write!(
                f,
                "timeout on computer {computer}: no answer within {ms} ms. "
            )?,
        }
        match (known, away) {
            (Known::NotRun, Some(_)) => f.write_str(
                "The code was not run. list-computers shows when the computer is back.",
            ),
            (Known::NotRun, None) => f.write_str(
                "The computer had no room for the request, so the code was not run. list-jobs shows what it is busy with.",
            ),
            (Known::Began { whether }, Some(_)) => write!(
                f,
                "{whether} The computer had said that it begins, as job {job}: get-job {job} shows it once the computer is back."
            ),
            (Known::Began { .. }, None) => write!(
                f,
                "The code has begun there, as job {job}. It was told to stop, but has not confirmed that: get-job {job} \
                 shows what becomes of it."
            ),
            (Known::Unknown { whether }, _) => write!(
                f,
                "It is not known whether the code ran: the request was sent, and the computer has not said that it \
                 came. {whether} Look at what it would have changed before you run it again. get-job {job} shows what \
                 is learned of it."
            ),
        }
    }
}
