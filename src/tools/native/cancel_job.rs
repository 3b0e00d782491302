//! `cancel-job`: stops a job.

use std::time::{Duration, SystemTime};

use rmcp::model::CallToolResult;
use serde::Deserialize;
use thiserror::Error;

use super::{get_job::UnknownJob, typed::Native};
use crate::{
    computers::{Cancelled, NoSuchName, RequestId, Unreachable},
    tools::{
        Context,
        bounds::MaxChars,
        job_text::so_far,
        outcome, text,
        wording::{name_of, why_out_of_reach},
    },
};

/// How long the computer has to say that it stopped the job.
const STOP_TIME: Duration = Duration::from_secs(3);

pub struct CancelJob;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arguments {
    job_id: String,
}

#[derive(Debug, Error)]
pub enum CancelError {
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    #[error(transparent)]
    Name(#[from] NoSuchName),
    #[error(transparent)]
    Unknown(#[from] UnknownJob),
    #[error(
        "Job {job} was told to stop, but computer {computer} has not confirmed it yet: it stops at its next yield, or when \
         the game ends code that never yields. get-job shows when it has."
    )]
    NotConfirmed { job: RequestId, computer: String },
    #[error(
        "Job {job} can't be stopped now: computer {computer} has been {away}, and it is not known whether the job runs \
         there. It is told should the computer come back within two minutes; get-job shows what becomes of it."
    )]
    OutOfReach {
        job: RequestId,
        computer: String,
        away: String,
    },
    #[error(
        "Job {job} was not stopped: computer {computer} was out of reach just then. Cancel it again."
    )]
    NotTold { job: RequestId, computer: String },
    #[error(
        "Job {job} can't be stopped: the agent on computer {computer} is too old to stop jobs."
    )]
    TooOld { job: RequestId, computer: String },
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
        let id = fleet.id_called(&job_id).await?;
        let before = fleet.job(&id, 0, Duration::ZERO).await?;
        if let Some((_, job)) = before
            && job.has_ended()
        {
            return Ok(text(format!(
                "Job {} had ended before. get-job shows its result.",
                job.id
            )));
        }
        let cancelled = fleet.cancel(&id, STOP_TIME).await?;
        let ((computer, job), cancelled) = cancelled.ok_or(UnknownJob(job_id))?;
        let away = why_out_of_reach(&computer, SystemTime::now());
        let is_too_old = computer.facts().boot.is_none();
        let name = name_of(&computer.facts());
        match cancelled {
            Cancelled::Ended if job.look(outcome::was_stopped) => {
                // Of another bridge's job all that came with the word of its end is that.
                let whole = fleet.job(&job.id, 0, Duration::ZERO).await?;
                let job = whole.map_or(job, |(_, job)| job);
                let said = format!("Job {} on computer {name} was stopped.", job.id);
                Ok(text(so_far(
                    |_| said,
                    &computer,
                    &job,
                    MaxChars::default().into(),
                )))
            }
            Cancelled::Ended if job.look(outcome::was_taken_back) => Ok(text(format!(
                "Job {} on computer {name} was taken back: the player had not allowed it yet, and nothing of it was run.",
                job.id
            ))),
            Cancelled::Ended => Ok(text(format!(
                "Job {} on computer {name} had ended by itself. get-job shows its result.",
                job.id
            ))),
            Cancelled::Told => Err(CancelError::NotConfirmed {
                job: job.id.clone(),
                computer: name,
            }),
            Cancelled::Unreachable => {
                let (job, computer) = (job.id.clone(), name);
                Err(match away {
                    Some(away) => CancelError::OutOfReach {
                        job,
                        computer,
                        away,
                    },
                    None if is_too_old => CancelError::TooOld { job, computer },
                    // It came back in this moment.
                    None => CancelError::NotTold { job, computer },
                })
            }
        }
    }
}
