//! `get-job`: how a job goes on, what it printed, and what came of it.

use std::time::{Duration, SystemTime};

use rmcp::model::CallToolResult;
use serde::Deserialize;
use thiserror::Error;

use super::{list_jobs, typed::Native};
use crate::{
    base::text::one_line,
    computers::{Computer, Job, NoSuchName, Progress, Stage, Unreachable},
    tools::{
        Context, outcome, text,
        wording::{name_of, why_out_of_reach},
    },
};

/// How much output one call shows, in bytes.
pub const PAGE: usize = 32 * 1024;

/// What becomes of a job whose computer is away.
const WHEN_IT_IS_BACK: &str = "If it comes back with this job, what it printed meanwhile follows here. If it comes \
    back without it, the job ends as lost.";

pub struct GetJob;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arguments {
    job_id: String,
    cursor: u64,
    wait_ms: u64,
}

#[derive(Debug, Error)]
pub enum GetError {
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    #[error(transparent)]
    Name(#[from] NoSuchName),
    #[error(transparent)]
    Unknown(#[from] UnknownJob),
}

/// No computer has such a job.
#[derive(Debug, Error)]
#[error("There is no job {}. list-jobs shows those there are; ended ones stay for an hour.", one_line(.0))]
pub struct UnknownJob(pub String);

impl Native for GetJob {
    const NAME: &'static str = "get-job";
    type Arguments = Arguments;
    type Error = GetError;

    async fn run(
        &self,
        context: Context<'_>,
        Arguments {
            job_id,
            cursor,
            wait_ms,
        }: Arguments,
    ) -> Result<CallToolResult, GetError> {
        let wait = Duration::from_millis(wait_ms);
        let id = context.fleet.id_called(&job_id).await?;
        let found = context.fleet.job(&id, cursor, wait).await?;
        let (computer, job) = found.ok_or(UnknownJob(job_id))?;
        context.notes.about(&computer);
        Ok(text(
            job.look(|progress| shown(&computer, &job, progress, cursor)),
        ))
    }
}

fn shown(computer: &Computer, job: &Job, progress: &Progress, cursor: u64) -> String {
    let state = list_jobs::state(computer, job, progress, SystemTime::now());
    let page = progress.read(cursor, PAGE);
    let mut shown = format!(
        "Job {} on computer {}: {state}, {} bytes printed. Cursor: {}",
        job.id,
        name_of(&computer.facts()),
        progress.printed(),
        page.next
    );
    shown.push_str(if page.more {
        ", and there is more.\n"
    } else {
        ".\n"
    });
    shown.push_str(&page.text);
    if page.more {
        return shown;
    }
    if progress.stage == Stage::Running
        && let Some(away) = why_out_of_reach(computer, SystemTime::now())
    {
        outcome::end_line(&mut shown);
        shown.push_str(&format!("The computer has been {away}. {WHEN_IT_IS_BACK}"));
    }
    if let Some(end) = progress.end.as_deref() {
        for part in outcome::values(end)
            .into_iter()
            .chain([outcome::failure(computer, end)])
        {
            if !part.is_empty() {
                outcome::end_line(&mut shown);
                shown.push_str(&part);
            }
        }
        outcome::push_screen(&mut shown, end);
    }
    shown
}
