//! One request to a computer on behalf of a call: who waits is told how it goes, and a call that is given up takes its
//! job with it.

use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::time::{Instant, sleep_until};

use super::{
    Context, Listener, Step,
    wording::{ago, name_of},
};
use crate::{
    base::text::one_line,
    computers::{
        Ask, Computer, Job, Presence, Seen, Stage, TooManyJobs, Waited, computer::AWAY_TIME,
    },
};

/// How often a client is told of new output at most, and how often that the job still runs at least.
const TELL_EVERY: Duration = Duration::from_millis(250);
const TELL_WITHIN: Duration = Duration::from_secs(8);

/// How long, once a call's time is up, the computer has to say that it stopped the code.
pub const STOP_TIME: Duration = Duration::from_millis(800);

/// How much output a client is told at once, in bytes.
const TOLD_AT_ONCE: usize = 4 * 1024;

/// Asks a computer, and waits for the job's end for `time` at most. Dropping the future cancels the job.
///
/// # Errors
/// The computer has too many jobs that have not ended.
pub async fn ask(
    context: Context<'_>,
    computer: &Arc<Computer>,
    ask: Ask<'_>,
    time: Duration,
) -> Result<(Arc<Job>, Waited), TooManyJobs> {
    let job = context.fleet.begin(computer, ask)?;
    context.notes.about(computer);
    let _noted = context.call.map(|call| call.waits_for(computer, &job));
    let mut given_up = CancelOnDrop {
        computer: computer.clone(),
        job: Some(job.clone()),
    };
    let run = context.fleet.run(computer, &job, ask, time);
    let waited = telling(context.listener, computer, &job, run).await;
    given_up.job = None;
    Ok((job, waited))
}

/// What is told of something that was held up by a pause before it began: it may have been lifted since.
pub(super) fn held(context: Context<'_>) -> String {
    context.note_refused();
    context.others.paused().unwrap_or_default().told()
}

/// Waits for a job's end, and tells the client meanwhile what it prints, and at once when its computer is away.
async fn telling(
    listener: &dyn Listener,
    computer: &Computer,
    job: &Job,
    run: impl Future<Output = Waited>,
) -> Waited {
    let mut run = pin!(run);
    if !listener.listens() {
        return run.await;
    }
    let mut seen = Seen::default();
    let start = Instant::now();
    let (mut cursor, mut last, mut next) = (0, start, start + TELL_EVERY);
    let mut is_away = None;
    loop {
        tokio::select! {
            waited = &mut run => return waited,
            () = computer.comes_or_goes(seen) => {
                is_away = away(computer, &computer.see(&mut seen));
                if is_away.is_none() {
                    continue;
                }
            }
            () = sleep_until(next) => next += TELL_EVERY,
        }
        // Nothing of the output is to be told in the place of what was printed before it.
        if listener.is_behind() {
            continue;
        }
        let page = job.look(|progress| progress.read(cursor, TOLD_AT_ONCE));
        cursor = page.next;
        let now = Instant::now();
        let message = if let Some(away) = is_away.take() {
            format!("{}{away}", page.text)
        } else if !page.text.is_empty() {
            page.text
        } else if now >= last + TELL_WITHIN {
            let state = if job.stage() == Stage::Running {
                "still running"
            } else {
                "waiting for the computer"
            };
            format!("{state} after {} s", start.elapsed().as_secs())
        } else {
            continue;
        };
        last = now;
        let step = Step {
            message,
            ..Step::default()
        };
        // A client that does not read must not hold up its own answer.
        tokio::select! {
            waited = &mut run => return waited,
            () = listener.tell(step) => {}
        }
    }
}

/// What there is to say while a computer is away that is waited for.
fn away(computer: &Computer, presence: &Presence) -> Option<String> {
    let Presence::Left { since, why } = presence else {
        return None;
    };
    Some(format!(
        "computer {} left {}: {}. Waiting for it to come back, for {} s at most",
        name_of(&computer.facts()),
        ago(*since, SystemTime::now()),
        one_line(why),
        AWAY_TIME.as_secs()
    ))
}

/// Cancels a job when nobody waits for it any more.
struct CancelOnDrop {
    computer: Arc<Computer>,
    job: Option<Arc<Job>>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(job) = self.job.take() {
            tracing::info!(computer = %self.computer.key, request = %job.id, "the client cancelled a call");
            self.computer.stop_later(&job);
        }
    }
}
