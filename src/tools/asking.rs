//! One request to a computer on behalf of a call: who waits is told how it goes, and a call that is given up takes its
//! job with it.

use std::{pin::pin, sync::Arc, time::Duration};

use tokio::time::{Instant, sleep_until};

use super::{Context, Listener, Step};
use crate::computers::{Ask, Computer, Job, Stage, TooManyJobs, Waited};

/// How often a client is told of new output at most, and how often that the job still runs at least.
const TELL_EVERY: Duration = Duration::from_millis(250);
const TELL_WITHIN: Duration = Duration::from_secs(8);

/// How long, once a call's time is up, the computer has to say that it stopped the code.
pub const STOP_TIME: Duration = Duration::from_millis(800);

/// How much output a client is told at once, in bytes.
const TOLD_AT_ONCE: usize = 16 * 1024;

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
    let mut given_up = CancelOnDrop {
        computer: computer.clone(),
        job: Some(job.clone()),
    };
    let run = context.fleet.run(computer, &job, ask, time);
    let waited = telling(context.listener, &job, run).await;
    given_up.job = None;
    Ok((job, waited))
}

/// Waits for a job's end, and tells the client meanwhile what it prints.
async fn telling(listener: &dyn Listener, job: &Job, run: impl Future<Output = Waited>) -> Waited {
    let mut run = pin!(run);
    if !listener.listens() {
        return run.await;
    }
    let start = Instant::now();
    let (mut cursor, mut last, mut next) = (0, start, start + TELL_EVERY);
    loop {
        tokio::select! {
            waited = &mut run => return waited,
            () = sleep_until(next) => {}
        }
        next += TELL_EVERY;
        let page = job.look(|progress| progress.read(cursor, TOLD_AT_ONCE));
        cursor = page.next;
        let now = Instant::now();
        let message = if !page.text.is_empty() {
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

/// Cancels a job when nobody waits for it any more.
struct CancelOnDrop {
    computer: Arc<Computer>,
    job: Option<Arc<Job>>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(job) = self.job.take() {
            let computer = self.computer.clone();
            tokio::spawn(async move {
                let cancelled = computer.abandon(&job).await;
                tracing::info!(computer = %computer.key, request = %job.id, ?cancelled, "the client cancelled a call");
            });
        }
    }
}
