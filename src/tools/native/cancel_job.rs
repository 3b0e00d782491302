//! `cancel-job`: stops a job.

use std::time::Duration;

use rmcp::model::CallToolResult;
use serde::Deserialize;
use thiserror::Error;

use super::{get_job::UnknownJob, typed::Native};
use crate::{
    computers::{Answer, Cancelled, End, ErrorKind, Job, RequestId, Unreachable},
    tools::{Context, text, wording::name_of},
};

/// How long the computer has to say that it stopped the job.
const STOP_TIME: Duration = Duration::from_secs(3);

pub struct CancelJob;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arguments {
    job_id: RequestId,
}

#[derive(Debug, Error)]
pub enum CancelError {
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    #[error(transparent)]
    Unknown(#[from] UnknownJob),
    #[error(
        "Job {job} was told to stop, but computer {computer} has not confirmed it yet: it stops at its next yield, or when \
         the game ends code that never yields. get-job shows when it has."
    )]
    NotConfirmed { job: RequestId, computer: String },
    #[error(
        "Job {job} can't be stopped now: computer {computer} is not linked, or its agent is too old to stop jobs."
    )]
    NotTold { job: RequestId, computer: String },
}

impl Native for CancelJob {
    const NAME: &'static str = "cancel-job";
    type Arguments = Arguments;
    type Error = CancelError;

    async fn run(
        &self,
        context: Context<'_>,
        Arguments { job_id }: Arguments,
    ) -> Result<CallToolResult, CancelError> {
        let fleet = context.fleet;
        let before = fleet.job(&job_id, 0, Duration::ZERO).await?;
        if let Some((_, job)) = before
            && job.has_ended()
        {
            return Ok(text(format!(
                "Job {} had ended before. get-job shows its result.",
                job.id
            )));
        }
        let cancelled = fleet.cancel(&job_id, STOP_TIME).await?;
        let ((computer, job), cancelled) = cancelled.ok_or(UnknownJob(job_id))?;
        let computer = name_of(&computer.facts());
        match cancelled {
            Cancelled::Ended if was_stopped(&job) => Ok(text(format!(
                "Job {} on computer {computer} was stopped.",
                job.id
            ))),
            Cancelled::Ended => Ok(text(format!(
                "Job {} on computer {computer} had ended by itself. get-job shows its result.",
                job.id
            ))),
            Cancelled::Told => Err(CancelError::NotConfirmed {
                job: job.id.clone(),
                computer,
            }),
            Cancelled::Unreachable => Err(CancelError::NotTold {
                job: job.id.clone(),
                computer,
            }),
        }
    }
}

fn was_stopped(job: &Job) -> bool {
    job.look(|progress| match progress.end.as_deref() {
        Some(End::Answered(Answer {
            error: Some(error), ..
        })) => error.kind == ErrorKind::Cancelled,
        _ => false,
    })
}
