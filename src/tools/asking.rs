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
    listener::{Belongs, Printed},
    wording::{ago, name_of},
};
use crate::{
    base::text::one_line,
    computers::{
        Ask, Computer, Job, Page, Presence, Seen, Stage, TooManyJobs, Waited, computer::AWAY_TIME,
    },
};

/// How often a client is told of new output at most, and how often that the job still runs at least.
const TELL_EVERY: Duration = Duration::from_millis(250);
const TELL_WITHIN: Duration = Duration::from_secs(8);

/// How long, once a call's time is up, the computer has to say that it stopped the code.
pub const STOP_TIME: Duration = Duration::from_millis(800);

/// How much output a client is told at once, in bytes.
const TOLD_AT_ONCE: usize = 4 * 1024;

/// What came of asking.
pub struct Asked {
    /// The job.
    pub job: Arc<Job>,
    /// How the waiting for its end ended.
    pub waited: Waited,
    /// How far, as a position in its output, that was handed to whoever waits.
    pub printed: u64,
}

/// Asks a computer, and waits for the job's end for `time` at most. Dropping the future cancels the job. What the job
/// prints `belongs` to the answer, if that is the client's.
///
/// # Errors
/// The computer has too many jobs that have not ended.
pub async fn ask(
    context: Context<'_>,
    computer: &Arc<Computer>,
    ask: Ask<'_>,
    belongs: Belongs,
    time: Duration,
) -> Result<Asked, TooManyJobs> {
    let job = context.fleet.begin(computer, ask)?;
    context.notes.about(computer);
    let _noted = context.call.map(|call| call.waits_for(computer, &job));
    let mut given_up = CancelOnDrop {
        computer: computer.clone(),
        job: Some(job.clone()),
    };
    let run = context.fleet.run(computer, &job, ask, time);
    let mut printing = Printing::new(context, computer, &job, belongs, 0);
    let waited = telling(&mut printing, run).await;
    let printed = printing.cursor;
    given_up.job = None;
    Ok(Asked {
        job,
        waited,
        printed,
    })
}

/// Hands on what a job has printed from `cursor` on, if whoever waits wants it.
pub fn print_rest(
    context: Context<'_>,
    computer: &Computer,
    job: &Job,
    belongs: Belongs,
    cursor: u64,
) {
    Printing::new(context, computer, job, belongs, cursor).go_on();
}

/// Hands on what a job prints.
struct Printing<'a> {
    listener: &'a dyn Listener,
    computer: &'a Computer,
    job: &'a Job,
    belongs: Belongs,
    /// Where in the output the next piece begins.
    cursor: u64,
}

impl<'a> Printing<'a> {
    fn new(
        context: Context<'a>,
        computer: &'a Computer,
        job: &'a Job,
        belongs: Belongs,
        cursor: u64,
    ) -> Self {
        Self {
            listener: context.listener,
            computer,
            job,
            // What a tool answers to a program is no part of what the client is answered.
            belongs: match context.depth {
                0 => belongs,
                _ => Belongs::ToAuthor,
            },
            cursor,
        }
    }

    /// The next piece.
    fn next(&mut self) -> Page {
        let page = self
            .job
            .look(|progress| progress.read(self.cursor, TOLD_AT_ONCE));
        self.cursor = page.next;
        page
    }

    /// Hands on all that there is by now; tells whether there was something.
    fn go_on(&mut self) -> bool {
        if !self.listener.wants_output() {
            return false;
        }
        let before = self.cursor;
        loop {
            let page = self.next();
            self.listener.print(Printed {
                text: &page.text,
                on: Some(self.computer.key),
                belongs: self.belongs,
            });
            if !page.more || page.text.is_empty() {
                return self.cursor > before;
            }
        }
    }
}

/// What is told of something that was held up by a pause before it began: it may have been lifted since.
pub(super) fn held(context: Context<'_>) -> String {
    context.note_refused();
    context.others.paused().unwrap_or_default().told()
}

/// Waits for a job's end, and tells the client meanwhile what it prints, and at once when its computer is away.
async fn telling(printing: &mut Printing<'_>, run: impl Future<Output = Waited>) -> Waited {
    let mut run = pin!(run);
    let (listener, computer, job) = (printing.listener, printing.computer, printing.job);
    if !listener.listens() && !listener.wants_output() {
        return run.await;
    }
    let mut seen = Seen::default();
    let start = Instant::now();
    let (mut last, mut next) = (start, start + TELL_EVERY);
    let mut is_away = None;
    loop {
        tokio::select! {
            waited = &mut run => {
                printing.go_on();
                return waited;
            }
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
        let now = Instant::now();
        let text = if listener.wants_output() {
            if printing.go_on() {
                last = now;
            }
            String::new()
        } else {
            printing.next().text
        };
        let message = if let Some(away) = is_away.take() {
            format!("{text}{away}")
        } else if !text.is_empty() {
            text
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
            waited = &mut run => {
                printing.go_on();
                return waited;
            }
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
