//! `get-job`: how a job goes on, what it printed, and what came of it.

use std::{
    fmt::Write as _,
    sync::Arc,
    time::{Duration, SystemTime},
};

use rmcp::model::CallToolResult;
use serde::Deserialize;
use thiserror::Error;

use super::{
    kept::{Answer, Kept},
    list_jobs,
    typed::Native,
};
use crate::{
    base::{
        excerpt::{self, Line},
        text::one_line,
    },
    computers::{Computer, Job, NoSuchName, Progress, RequestId, Stage, Unreachable},
    tools::{
        Context,
        bounds::{MaxChars, call_for},
        job_text::EndText,
        outcome, text,
        wording::{name_of, why_out_of_reach},
    },
};

/// What becomes of a job whose computer is away.
const WHEN_IT_IS_BACK: &str = "If it comes back with this job, what it printed meanwhile follows here. If it comes \
    back without it, the job ends as lost.";

pub struct GetJob {
    /// What is left of answers that were too long.
    pub kept: Arc<Kept>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arguments {
    job_id: String,
    cursor: u64,
    wait_ms: u64,
    #[serde(default)]
    max_chars: MaxChars,
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
            max_chars,
        }: Arguments,
    ) -> Result<CallToolResult, GetError> {
        if let Some(answer) = self.kept.get(&RequestId::from(job_id.trim())) {
            return Ok(text(rest(&answer, cursor, max_chars)));
        }
        let wait = Duration::from_millis(wait_ms);
        let id = context.fleet.id_called(&job_id).await?;
        let found = context.fleet.job(&id, cursor, wait).await?;
        let (computer, job) = found.ok_or(UnknownJob(job_id))?;
        context.notes.about(&computer);
        Ok(text(job.look(|progress| {
            shown(&computer, &job, progress, cursor, max_chars)
        })))
    }
}

fn shown(
    computer: &Computer,
    job: &Job,
    progress: &Progress,
    cursor: u64,
    most: MaxChars,
) -> String {
    let now = SystemTime::now();
    let heading = format!(
        "Job {} on computer {}: {}, {} bytes printed.",
        job.id,
        name_of(&computer.facts()),
        list_jobs::state(computer, job, progress, now),
        progress.printed(),
    );
    let output = progress.lines(cursor);
    let end = EndText::of(computer, progress);
    let below = end.as_ref().map(|end| end.lines_below(&output, cursor));
    let away = (progress.stage == Stage::Running)
        .then(|| why_out_of_reach(computer, now))
        .flatten()
        .map(|away| format!("The computer has been {away}. {WHEN_IT_IS_BACK}"));
    let read_to = output.last().map(Line::end);
    let page = Page {
        heading,
        lines: [output, below.unwrap_or_default()].concat(),
        read_to: read_to.unwrap_or(cursor.min(progress.printed())),
        away: away.unwrap_or_default(),
    };
    page.shown(&job.id, most)
}

/// What is left of an answer that was too long.
fn rest(answer: &Answer, cursor: u64, most: MaxChars) -> String {
    let from = usize::try_from(cursor).unwrap_or(usize::MAX);
    let from = (0..=from.min(answer.text.len()))
        .rev()
        .find(|at| answer.text.is_char_boundary(*at))
        .unwrap_or(0);
    let page = Page {
        heading: format!(
            "What {} answered, {} characters.",
            answer.tool,
            answer.text.chars().count()
        ),
        lines: excerpt::lines(&answer.text[from..], from as u64).collect(),
        read_to: answer.text.len() as u64,
        away: String::new(),
    };
    page.shown(&answer.id, most)
}

/// A page of a text.
struct Page<'a> {
    heading: String,
    /// All there is from the cursor on.
    lines: Vec<Line<'a>>,
    /// The cursor if all of them are shown: what may come later stands there.
    read_to: u64,
    /// What is said below all of them.
    away: String,
}

impl Page<'_> {
    /// As much of it as there is room for, and the call for `id` that shows the rest.
    fn shown(self, id: &RequestId, most: MaxChars) -> String {
        let heading = |cursor, left| {
            let mut heading = format!("{} Cursor: {cursor}", self.heading);
            if left > 0 {
                let call = call_for(id, cursor);
                // Writing to a String can't fail.
                let _ = write!(
                    heading,
                    ", and there is more, {left} characters: {call} shows it"
                );
            }
            heading + ".\n"
        };
        let total = excerpt::length(&self.lines);
        let longest = heading(u64::MAX, total.max(1));
        let room = most.beside(&longest).beside(&self.away);
        let page = excerpt::head(&self.lines, room.0.saturating_sub(1));
        if page.length < total {
            return heading(page.at, total - page.length) + &page.text;
        }
        let mut shown = heading(self.read_to, 0) + &page.text;
        if !self.away.is_empty() {
            outcome::end_line(&mut shown);
            shown.push_str(&self.away);
        }
        shown
    }
}
