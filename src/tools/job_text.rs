//! All there is to show of a job as one text that can be read on from any place: what it printed, and then its end. The
//! cursors of `get-job` are positions in it: up to the end of the output they count its bytes, and go on from there.

use std::{ops::Range, sync::Arc};

use serde_json::Value;
use thiserror::Error;
use tokio::task::spawn_blocking;

use super::{
    bounds::{self, MaxChars},
    outcome,
};
use crate::{
    base::excerpt::{self, Line, Steps},
    computers::{Computer, End, Job, Progress},
};

/// How many bytes of text, and values besides, are soon put into words.
const SHORT: usize = 32 * 1024;

/// How a job failed, with what it printed before: what the model has to act on.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct JobFailed(String);

impl JobFailed {
    /// The same, with something more to know below it.
    pub fn noting(self, note: &str) -> Self {
        Self(self.0 + note)
    }
}

/// What of a job's output an answer shows.
#[derive(Clone, Copy)]
pub struct Shown {
    /// How many characters the answer has at most.
    pub most: MaxChars,
    /// Where in the output it begins: whoever reads the answer has seen what is before.
    pub from: u64,
}

impl From<MaxChars> for Shown {
    fn from(most: MaxChars) -> Self {
        Self { most, from: 0 }
    }
}

/// A job's output and its end.
///
/// # Errors
/// The job failed.
pub fn whole(computer: &Computer, job: &Job, shown: Shown) -> Result<String, JobFailed> {
    let Shown { most, from } = shown;
    job.look(|progress| {
        let output = progress.lines(from);
        let Some(end) = EndText::of(computer, progress) else {
            return Ok(bounds::within(most, &[], &output, &job.id));
        };
        let failure = end.failure();
        if failure.is_empty() {
            let lead: Vec<_> = if output.is_empty() && from == 0 && end.is_without_words() {
                words(outcome::nothing_came(computer, progress.end.as_deref())).collect()
            } else {
                Vec::new()
            };
            let above = if lead.is_empty() { &output } else { &lead };
            let body = [&output[..], &end.lines_below(above, 0)].concat();
            let most = most.beside(outcome::RETURNED_NOTHING).beside("\n");
            let told = bounds::within(most, &lead, &body, &job.id);
            return Ok(match from {
                0 => outcome::unmistakable(told),
                // Only a person reads an answer that begins later.
                _ => told,
            });
        }
        let told = if output.is_empty() {
            bounds::within(most, &failure, &end.screen_below(&failure), &job.id)
        } else {
            let what = if outcome::was_stopped(progress) {
                "that"
            } else {
                "the error"
            };
            let title = format!("\n\nOutput before {what}:\n");
            let lead: Vec<_> = failure.into_iter().chain(words(&title)).collect();
            let body = [&output[..], &end.screen_below(&output)].concat();
            bounds::within(most, &lead, &body, &job.id)
        };
        Err(JobFailed(told))
    })
}

/// The same; where there is much to be put into words, beside all other work.
///
/// # Errors
/// The job failed.
pub async fn whole_beside(
    computer: &Arc<Computer>,
    job: &Arc<Job>,
    shown: Shown,
) -> Result<String, JobFailed> {
    if job.look(|progress| progress.end.as_deref().is_none_or(is_short)) {
        return whole(computer, job, shown);
    }
    let (computer, job) = (computer.clone(), job.clone());
    let told = spawn_blocking(move || whole(&computer, &job, shown));
    // It fails where all ends.
    told.await
        .unwrap_or_else(|error| Err(JobFailed(error.to_string())))
}

/// Whether a job's end is soon put into words.
fn is_short(end: &End) -> bool {
    let End::Answered(answer) = end else {
        return true;
    };
    let mut left = SHORT;
    answer
        .result
        .as_ref()
        .is_none_or(|result| takes(result, &mut left))
}

/// Whether there is room for the texts and values in this one, which they take.
fn takes(value: &Value, left: &mut usize) -> bool {
    let size = match value {
        Value::String(text) => text.len(),
        _ => 1,
    };
    let Some(now) = left.checked_sub(size) else {
        return false;
    };
    *left = now;
    match value {
        Value::Array(items) => items.iter().all(|item| takes(item, left)),
        Value::Object(fields) => fields.values().all(|field| takes(field, left)),
        _ => true,
    }
}

/// Something that is said of a job, and what it has printed below that, if it has. What the terminal of one that has
/// ended shows comes last. `said` is given the cursor of what may come after this.
pub fn so_far(
    said: impl FnOnce(u64) -> String,
    computer: &Computer,
    job: &Job,
    Shown { most, from }: Shown,
) -> String {
    job.look(|progress| {
        let said = said(progress.printed());
        let output = progress.lines(from);
        let title = if output.is_empty() {
            ""
        } else {
            "\n\nOutput so far:\n"
        };
        let lead: Vec<_> = words(&said).chain(words(title)).collect();
        let end = EndText::of(computer, progress);
        let above = if output.is_empty() { &lead } else { &output };
        let screen = end.as_ref().map(|end| end.screen_below(above));
        let body = [&output[..], &screen.unwrap_or_default()].concat();
        bounds::within(most, &lead, &body, &job.id)
    })
}

/// Words of ours, which no cursor leads to.
fn words(text: &str) -> impl Iterator<Item = Line<'_>> {
    excerpt::lines(text, 0)
}

/// The end of a job, put into words: its values or what went wrong, and what its terminal showed.
pub struct EndText {
    text: String,
    /// The position of its first byte.
    at: u64,
    /// What of it says what went wrong.
    failure: Range<usize>,
    /// Where in it the terminal begins.
    screen: usize,
}

impl EndText {
    /// What is known of it; none while the job has not ended.
    pub fn of(computer: &Computer, progress: &Progress) -> Option<Self> {
        let end = progress.end.as_deref()?;
        let failure = outcome::failure(computer, end);
        Some(Self::new(end, &failure, progress.printed()))
    }

    fn new(end: &End, failure: &str, at: u64) -> Self {
        let mut text = outcome::values(end).join("\n");
        if !failure.is_empty() {
            outcome::end_line(&mut text);
        }
        text.push_str(failure);
        let failure = text.len() - failure.len()..text.len();
        let is_open = !text.is_empty() && !text.ends_with('\n');
        outcome::push_screen(&mut text, end);
        let screen = (failure.end + usize::from(is_open)).min(text.len());
        Self {
            text,
            at,
            failure,
            screen,
        }
    }

    /// All of it from `cursor` on, to stand below `output`.
    pub fn lines_below(&self, output: &[Line<'_>], cursor: u64) -> Vec<Line<'_>> {
        let from = usize::try_from(cursor.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let from = from.min(self.text.len());
        let from = (0..=from).rev().find(|at| self.text.is_char_boundary(*at));
        self.below(output, from.unwrap_or(0)..self.text.len())
    }

    /// Whether there is nothing of it but what the terminal showed.
    fn is_without_words(&self) -> bool {
        self.failure.end == 0
    }

    /// What went wrong; nothing if nothing did.
    pub fn failure(&self) -> Vec<Line<'_>> {
        self.part(self.failure.clone())
    }

    /// What the terminal showed, to stand below these lines.
    pub fn screen_below(&self, above: &[Line<'_>]) -> Vec<Line<'_>> {
        self.below(above, self.screen..self.text.len())
    }

    fn part(&self, part: Range<usize>) -> Vec<Line<'_>> {
        let at = self.at + part.start as u64;
        excerpt::lines(&self.text[part], at).collect()
    }

    fn below<'a>(&'a self, above: &[Line<'_>], part: Range<usize>) -> Vec<Line<'a>> {
        let mut lines = self.part(part);
        let open = above.last().is_some_and(|line| !line.text.ends_with('\n'));
        if let Some(first) = lines.first().filter(|_| open) {
            let line_break = Line {
                text: "\n".into(),
                at: first.at,
                steps: Steps::Whole(0),
            };
            lines.insert(0, line_break);
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::computers::Answer;

    fn ended(result: serde_json::Value) -> End {
        End::Answered(Answer {
            result: Some(result),
            error: None,
        })
    }

    fn joined(lines: &[Line<'_>]) -> String {
        lines.iter().map(|line| &*line.text).collect()
    }

    #[test]
    fn an_end_stands_below_the_output_and_is_read_on_from_any_cursor() {
        let returns = json!([{"type": "string", "value": "é"}, {"type": "number", "value": 2}]);
        let end = EndText::new(
            &ended(json!({"returns": returns, "screen": "drawn"})),
            "",
            10,
        );
        let output: Vec<_> = excerpt::lines("printed", 0).collect();
        let whole = joined(&end.lines_below(&output, 0));
        assert!(
            whole.starts_with('\n') && whole.ends_with("2\n\nIts terminal at the end:\ndrawn"),
            "{whole:?}"
        );
        assert_eq!(joined(&end.lines_below(&[], 10)), whole[1..]);
        for cursor in 10..10 + whole.len() as u64 {
            let rest = end.lines_below(&[], cursor);
            assert!(whole.ends_with(&joined(&rest)), "{rest:?}");
            assert!(rest.first().is_none_or(|line| line.at <= cursor));
        }
        assert_eq!(end.lines_below(&[], u64::MAX), []);
        assert_eq!(
            joined(&end.screen_below(&output)),
            "\n\nIts terminal at the end:\ndrawn"
        );
    }

    #[test]
    fn much_to_be_put_into_words_is_told_from_little() {
        let returns = |value| is_short(&ended(json!({"returns": [value]})));
        assert!(returns(json!({"value": "x".repeat(SHORT - 100)})));
        assert!(!returns(json!({"value": "x".repeat(SHORT)})));
        assert!(returns(json!(vec![0; SHORT - 100])));
        assert!(!returns(json!(vec![0; SHORT])));
    }

    #[test]
    fn what_went_wrong_stands_apart_from_what_the_terminal_showed() {
        let end = EndText::new(&ended(json!({"screen": "drawn"})), "error: no", 3);
        let failure = end.failure();
        assert_eq!((joined(&failure).as_str(), failure[0].at), ("error: no", 3));
        assert_eq!(
            joined(&end.screen_below(&failure)),
            "\n\nIts terminal at the end:\ndrawn"
        );
        let none = EndText::new(&ended(json!({"returns": []})), "", 3);
        assert!(none.failure().is_empty() && none.lines_below(&failure, 0).is_empty());
    }
}
