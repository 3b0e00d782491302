//! `get-job`: how a job goes on, what it printed, and what came of it.

use std::time::{Duration, SystemTime};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::model::JsonObject;

use super::list_jobs;
use crate::{
    computers::{Computer, Fleet, Job, Progress},
    tools::{
        Context,
        arguments::{Arguments, Problem},
        entry::{Handled, Handler},
        failure, outcome, text,
        wording::name_of,
    },
};

/// The longest a call may wait for news, in milliseconds.
const MAX_WAIT_MS: u64 = 600_000;

/// How much output one call shows, in bytes.
const PAGE: usize = 32 * 1024;

/// The tool.
pub struct GetJob;

impl Handler for GetJob {
    fn run<'a>(&'a self, context: Context<'a>, arguments: JsonObject) -> BoxFuture<'a, Handled> {
        async move {
            match Call::read(arguments) {
                Ok(call) => call.run(context.fleet).await.map_or_else(failure, text),
                Err(problem) => failure(problem),
            }
        }
        .map(Handled::Result)
        .boxed()
    }
}

struct Call {
    job: String,
    cursor: u64,
    wait: Duration,
}

impl Call {
    fn read(arguments: JsonObject) -> Result<Self, Problem> {
        let mut arguments = Arguments::new(arguments);
        let call = Self {
            job: arguments.text("jobId")?,
            cursor: arguments.whole_number("cursor", 0, u64::MAX, 0)?,
            wait: Duration::from_millis(arguments.whole_number("waitMs", 0, MAX_WAIT_MS, 0)?),
        };
        arguments.end()?;
        Ok(call)
    }

    async fn run(&self, fleet: &Fleet) -> Result<String, Problem> {
        let found = fleet
            .job(&self.job, self.cursor, self.wait)
            .await
            .map_err(|problem| problem.to_string())?;
        let Some((computer, job)) = found else {
            return Err(unknown(&self.job));
        };
        Ok(job.look(|progress| self.show(&computer, &job, progress)))
    }

    fn show(&self, computer: &Computer, job: &Job, progress: &Progress) -> String {
        let state = list_jobs::state(job, progress, SystemTime::now());
        let page = progress.read(self.cursor, PAGE);
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
        }
        shown
    }
}

/// No computer has such a job.
pub fn unknown(id: &str) -> Problem {
    format!(
        "There is no job {}. list-jobs shows those there are; ended ones stay for an hour.",
        crate::base::text::one_line(id)
    )
}
