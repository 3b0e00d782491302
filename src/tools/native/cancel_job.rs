//! `cancel-job`: stops a job.

use std::time::Duration;

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::model::JsonObject;

use super::get_job;
use crate::{
    computers::{Answer, Cancelled, End, Fleet, Job, Stage, Unreachable},
    tools::{
        Context,
        arguments::{Arguments, Problem},
        entry::{Handled, Handler},
        failure, text,
        wording::name_of,
    },
};

/// How long the computer has to say that it stopped the job.
const STOP_TIME: Duration = Duration::from_secs(3);

/// The tool.
pub struct CancelJob;

impl Handler for CancelJob {
    fn run<'a>(&'a self, context: Context<'a>, arguments: JsonObject) -> BoxFuture<'a, Handled> {
        async move {
            let mut arguments = Arguments::new(arguments);
            match arguments
                .text("jobId")
                .and_then(|id| arguments.end().map(|()| id))
            {
                Ok(id) => cancel(context.fleet, &id).await.map_or_else(failure, text),
                Err(problem) => failure(problem),
            }
        }
        .map(Handled::Result)
        .boxed()
    }
}

async fn cancel(fleet: &Fleet, id: &str) -> Result<String, Problem> {
    let unreachable = |problem: Unreachable| problem.to_string();
    let before = fleet.job(id, 0, Duration::ZERO);
    if let Some((_, job)) = before.await.map_err(unreachable)?
        && job.stage() == Stage::Ended
    {
        return Ok(format!(
            "Job {} had ended before. get-job shows its result.",
            job.id
        ));
    }
    let cancelled = fleet.cancel(id, STOP_TIME).await.map_err(unreachable)?;
    let Some(((computer, job), cancelled)) = cancelled else {
        return Err(get_job::unknown(id));
    };
    let name = name_of(&computer.facts());
    match cancelled {
        Cancelled::Ended if was_stopped(&job) => {
            Ok(format!("Job {} on computer {name} was stopped.", job.id))
        }
        Cancelled::Ended => Ok(format!(
            "Job {} on computer {name} had ended by itself. get-job shows its result.",
            job.id
        )),
        Cancelled::Told => Err(format!(
            "Job {} was told to stop, but computer {name} has not confirmed it yet: it stops at its next yield, or when \
             the game ends code that never yields. get-job shows when it has.",
            job.id
        )),
        Cancelled::Unreachable => Err(format!(
            "Job {} can't be stopped now: computer {name} is not linked, or its agent is too old to stop jobs.",
            job.id
        )),
    }
}

fn was_stopped(job: &Job) -> bool {
    job.look(|progress| match progress.end.as_deref() {
        Some(End::Answered(Answer {
            error: Some(error), ..
        })) => error.kind == "cancelled",
        _ => false,
    })
}
