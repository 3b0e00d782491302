//! `list-jobs`: what runs on the computers, and what has ended lately.

use std::time::SystemTime;

use rmcp::model::CallToolResult;
use serde::Deserialize;

use super::typed::Native;
use crate::{
    base::text::one_line,
    computers::{
        Answer, Computer, ComputerKey, End, ErrorKind, Job, Loss, Progress, Stage, Unreachable,
    },
    tools::{
        Context, text,
        wording::{ago, name_of, out_of_reach, time_between},
    },
};

pub struct ListJobs;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arguments {
    computer_id: Option<ComputerKey>,
}

impl Native for ListJobs {
    const NAME: &'static str = "list-jobs";
    type Arguments = Arguments;
    type Error = Unreachable;

    async fn run(
        &self,
        context: Context<'_>,
        Arguments { computer_id }: Arguments,
    ) -> Result<CallToolResult, Unreachable> {
        let jobs = context.fleet.jobs().await?;
        let now = SystemTime::now();
        let lines: Vec<_> = jobs
            .iter()
            .filter(|(computer, _)| computer_id.is_none_or(|id| computer.key == id))
            .map(|(computer, job)| line(computer, job, now))
            .collect();
        Ok(text(if lines.is_empty() {
            "No jobs.".to_owned()
        } else {
            lines.join("\n")
        }))
    }
}

/// One job: `ID on 12 (Label: base-turtle): running for 12 s, 340 bytes printed: print("hi")`.
fn line(computer: &Computer, job: &Job, now: SystemTime) -> String {
    let mut parts = vec![job.look(|progress| state(computer, job, progress, now))];
    parts.push(format!("{} bytes printed", job.look(Progress::printed)));
    if job.exclusive {
        parts.push("holds the turtle".to_owned());
    }
    if job.adopted {
        parts.push("asked by another bridge".to_owned());
    }
    format!(
        "{} on {}: {}: {}",
        job.id,
        name_of(&computer.facts()),
        parts.join(", "),
        one_line(&job.code)
    )
}

/// Where a job stands, in words. Of one whose computer is away nobody knows whether it runs.
pub fn state(computer: &Computer, job: &Job, progress: &Progress, now: SystemTime) -> String {
    match (progress.stage, progress.end.as_deref(), progress.ended) {
        (Stage::Asked, ..) => format!("asked for {}", ago(job.started, now)),
        (Stage::Running, ..) => match out_of_reach(computer, now) {
            None => format!("running for {}", time_between(job.started, now)),
            Some(away) => format!(
                "begun {}, {away}: not known whether it still runs",
                ago(job.started, now)
            ),
        },
        (Stage::Ended, end, ended) => {
            let how = match end {
                Some(End::Answered(Answer { error: None, .. })) => "ended well".to_owned(),
                Some(End::Answered(Answer {
                    error: Some(error), ..
                })) if error.not_begun || error.kind == ErrorKind::Expired => "not run".to_owned(),
                Some(End::Answered(Answer {
                    error: Some(error), ..
                })) if error.kind == ErrorKind::Cancelled => "stopped".to_owned(),
                Some(End::Answered(Answer {
                    error: Some(error), ..
                })) => format!("ended with a {} error", one_line(error.kind.as_str())),
                Some(End::Lost(Loss::NeverReached(_))) => "not run".to_owned(),
                Some(End::Lost(_)) | None => "lost".to_owned(),
            };
            format!("{how} {}", ago(ended.unwrap_or(now), now))
        }
    }
}
