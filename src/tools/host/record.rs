//! What is known of a call so far: what its handler printed, and what came back to it from computers. It outlives the
//! handler, which may be ended at any moment.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;

use super::{bounds::cut, protocol::Outcome};
use crate::base::byte_text;

/// How much of what came back is kept, in bytes; the latest.
const KEPT: usize = 32 * 1024;

/// How much of what one computer said is kept, in bytes.
const OF_ONE: usize = 2 * 1024;

/// What is known of a call so far.
#[derive(Default)]
pub struct Record(Mutex<Known>);

#[derive(Default)]
struct Known {
    printed: Vec<u8>,
    /// Whether more was printed than is kept.
    is_cut: bool,
    /// Computers that were asked and have not answered.
    asked: Vec<Value>,
    answers: VecDeque<Line>,
    /// Bytes of all of `answers`.
    size: usize,
    /// Answers that are no longer kept.
    forgotten: usize,
}

/// What came of one computer.
struct Line {
    text: String,
    /// What went wrong, if something did.
    error: Option<String>,
}

impl Record {
    /// Notes what was printed.
    pub fn print(&self, text: &str, is_cut: bool) {
        let mut known = self.lock();
        known.printed.extend_from_slice(&byte_text::to_bytes(text));
        known.is_cut |= is_cut;
    }

    /// Notes that a computer is asked.
    pub fn ask(&self, id: &Value) {
        self.lock().asked.push(id.clone());
    }

    /// Notes what came of it.
    pub fn answer(&self, outcome: &Outcome) {
        let line = line_of(outcome);
        let mut known = self.lock();
        if let Some(at) = known.asked.iter().position(|id| *id == outcome.id) {
            known.asked.remove(at);
        }
        known.size += line.len();
        known.answers.push_back(Line {
            text: line,
            error: outcome.error.clone(),
        });
        while known.size > KEPT
            && let Some(oldest) = known.answers.pop_front()
        {
            known.size -= oldest.text.len();
            known.forgotten += 1;
        }
    }

    /// What was printed; `untold` is how many bytes more there were, if that is known.
    pub fn printed(&self, untold: Option<usize>) -> String {
        let mut known = self.lock();
        let mut text = byte_text::from_bytes(std::mem::take(&mut known.printed));
        match untold {
            Some(0) => {}
            Some(untold) => {
                text.push_str(&format!("\n[{untold} more bytes printed are not shown]\n"));
            }
            None if known.is_cut => text.push_str("\n[What was printed after this is not shown]\n"),
            None => {}
        }
        text
    }

    /// What came back from computers, one line each, and which have not answered; empty if none was asked. What `said`
    /// tells already is left out: a script throws what goes wrong with the only computer that it asks.
    pub fn answers(&self, said: &str) -> String {
        let known = self.lock();
        let mut lines = Vec::new();
        if known.forgotten > 0 {
            lines.push(format!("[{} earlier ones are not shown]", known.forgotten));
        }
        for Line { text, error } in &known.answers {
            if error.as_ref().is_none_or(|error| !said.contains(error)) {
                lines.push(text.clone());
            }
        }
        if !known.asked.is_empty() {
            let asked: Vec<_> = known.asked.iter().map(Value::to_string).collect();
            lines.push(format!("No answer yet from: {}", asked.join(", ")));
        }
        lines.join("\n")
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // Nothing that holds the lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One computer's outcome: its values as JSON, or what went wrong, and what was printed.
fn line_of(outcome: &Outcome) -> String {
    let mut line = format!("{}: ", outcome.id);
    match (&outcome.error, &outcome.returns) {
        (Some(error), _) => line.push_str(error),
        (None, Some(values)) => {
            let values: Vec<_> = values.iter().map(Value::to_string).collect();
            line.push_str(&values.join(", "));
        }
        (None, None) => {}
    }
    if !outcome.output.is_empty() {
        line.push_str(" (it printed ");
        line.push_str(&Value::from(outcome.output.as_str()).to_string());
        line.push(')');
    }
    cut(&line, OF_ONE)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(id: u64, value: Value) -> Outcome {
        Outcome {
            id: json!(id),
            returns: Some(vec![value]),
            error: None,
            output: String::new(),
        }
    }

    #[test]
    fn what_came_back_is_kept_within_bounds_and_what_did_not_is_named() {
        let record = Record::default();
        (1..=60).for_each(|id| record.ask(&json!(id)));
        for id in 1..=58 {
            record.answer(&outcome(id, json!("x".repeat(id as usize * 100))));
        }
        let answers = record.answers("");
        assert!(answers.len() < KEPT + 200, "{}", answers.len());
        assert!(answers.starts_with('['), "{answers:.100}");
        assert!(answers.contains("more bytes)\n58: \"xxx"), "{answers}");
        assert!(
            answers.ends_with("\nNo answer yet from: 59, 60"),
            "{answers}"
        );
    }

    #[test]
    fn what_a_script_throws_of_a_computer_is_not_told_twice() {
        let record = Record::default();
        record.answer(&outcome(1, json!(2)));
        record.answer(&Outcome {
            id: json!(2),
            returns: None,
            error: Some("no coal".to_owned()),
            output: String::new(),
        });
        assert_eq!(record.answers("script:2: no coal"), "1: 2");
        assert_eq!(record.answers("script:2: nil"), "1: 2\n2: no coal");
    }

    #[test]
    fn bytes_that_are_printed_piece_by_piece_are_one_text() {
        let record = Record::default();
        for piece in [b"\xc3".as_slice(), b"\xa9", b"\xff"] {
            record.print(&byte_text::of(piece), false);
        }
        assert_eq!(record.printed(Some(0)), "é\u{10FEFF}");
        record.print("x", true);
        assert!(record.printed(None).starts_with("x\n[What was printed"));
    }
}
