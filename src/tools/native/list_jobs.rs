//! `list-jobs`: what runs on the computers, and what has ended lately.

use std::{cmp::Reverse, time::SystemTime};

use rmcp::model::CallToolResult;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::typed::Native;
use crate::{
    base::text::one_line,
    computers::{
        Answer, Computer, ComputerKey, End, ErrorKind, Job, Loss, Progress, RequestId, Stage,
        Unreachable,
    },
    tools::{
        Context,
        bounds::fitting,
        text,
        wording::{ago, name_of, out_of_reach, time_between},
    },
};

/// How much room is kept for the line that says what is not shown, in characters.
const NOTE: usize = 300;

pub struct ListJobs;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arguments {
    computer_id: Option<ComputerKey>,
    state: Option<State>,
    limit: usize,
    offset: usize,
}

/// Which jobs are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// Those that have not ended.
    Running,
    Ended,
}

impl Native for ListJobs {
    const NAME: &'static str = "list-jobs";
    type Arguments = Arguments;
    type Error = Unreachable;

    async fn run(
        &self,
        context: Context<'_>,
        arguments: Arguments,
    ) -> Result<CallToolResult, Unreachable> {
        let jobs = context.fleet.jobs().await?;
        let mut jobs: Vec<_> = jobs
            .iter()
            .filter(|(computer, job)| arguments.wants(computer, job))
            .collect();
        jobs.sort_by_cached_key(|(_, job)| Reverse(newest(job)));
        let now = SystemTime::now();
        let mut lines: Vec<_> = jobs
            .iter()
            .skip(arguments.offset)
            .take(arguments.limit)
            .map(|(computer, job)| line(computer, job, now))
            .collect();
        lines.truncate(fitting(lines.iter().map(String::as_str), NOTE));
        if let Some(note) = arguments.note(lines.len(), jobs.len()) {
            lines.push(note);
        }
        Ok(text(if lines.is_empty() {
            "No jobs.".to_owned()
        } else {
            lines.join("\n")
        }))
    }
}

impl Arguments {
    fn wants(&self, computer: &Computer, job: &Job) -> bool {
        self.computer_id.is_none_or(|id| computer.key == id)
            && self
                .state
                .is_none_or(|state| (state == State::Ended) == job.has_ended())
    }

    /// What is said of jobs that are not among the `shown` ones; none if there are no others.
    fn note(&self, shown: usize, all: usize) -> Option<String> {
        let next = self.offset.saturating_add(shown);
        let beyond = all.saturating_sub(next);
        if beyond == 0 {
            let is_past = shown == 0 && all > 0;
            return is_past.then(|| format!("[There are {all} jobs, and no more of them]"));
        }
        let mut call = json!({});
        if let Some(id) = self.computer_id {
            call["computerId"] = json!(id);
        }
        if let Some(state) = self.state {
            call["state"] = json!(state);
        }
        call["offset"] = json!(next);
        Some(format!(
            "[{beyond} more of {all} jobs: list-jobs {call} shows them]"
        ))
    }
}

/// By what jobs are in order: those that have not ended come first, then the newest.
fn newest(job: &Job) -> (bool, SystemTime, RequestId) {
    let ended = job.look(|progress| progress.ended);
    (
        !job.has_ended(),
        ended.unwrap_or(job.started),
        job.id.clone(),
    )
}

/// One job: `ID on 12 (Label: base-turtle): running for 12 s, 340 bytes printed: print("hi")`.
fn line(computer: &Computer, job: &Job, now: SystemTime) -> String {
    let mut parts = vec![job.look(|progress| state(computer, job, progress, now))];
    parts.push(format!("{} bytes printed", job.look(Progress::printed)));
    if job.exclusive {
        parts.push("holds the turtle".to_owned());
    }
    if job.of_script {
        parts.push("asked by a script".to_owned());
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
            None if progress.asking => {
                format!(
                    "waiting for the player's yes, asked for {}",
                    ago(job.started, now)
                )
            }
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
