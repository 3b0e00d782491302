//! What a person is told of examples that were run.

use std::time::Duration;

use super::test::{Outcome, Test};
use crate::base::excerpt::shortened;

/// How much is shown of one text, in characters.
const SHOWN: usize = 4_000;

/// How many examples came to what.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Those of which all came that was expected.
    pub passed: usize,
    /// The others.
    pub failed: usize,
}

impl Tally {
    /// Counts one.
    pub fn count(&mut self, outcome: &Outcome) {
        match outcome.has_passed() {
            true => self.passed += 1,
            false => self.failed += 1,
        }
    }

    /// In words.
    pub fn told(self, took: Duration) -> String {
        let seconds = took.as_secs_f64();
        match self {
            Self { passed, failed: 0 } => format!("{passed} passed, in {seconds:.1} s."),
            Self { passed, failed } => {
                format!("{passed} passed, {failed} failed, in {seconds:.1} s.")
            }
        }
    }
}

/// One line for an example, and below it, if it failed, why.
pub fn told(test: &Test, outcome: &Outcome) -> String {
    let mark = if outcome.has_passed() { "✓" } else { "✗" };
    let mut told = format!(
        "{mark} {}: {} ({} ms)",
        test.of,
        test.example.name,
        outcome.took.as_millis()
    );
    if !outcome.has_passed() {
        told.push_str(&format!(
            "\n    {}:{}\n",
            test.file.display(),
            test.example.line
        ));
        told.push_str(&indented(&why(outcome), "    "));
    }
    told
}

/// What was expected, what came in its place, and what was printed meanwhile.
pub fn why(outcome: &Outcome) -> String {
    let mut told = Vec::new();
    for miss in &outcome.misses {
        match &miss.shown {
            Some(shown) => {
                told.push(format!("expected {}:", miss.expected));
                told.push(part(shown));
            }
            None => told.push(format!("expected {}", miss.expected)),
        }
    }
    if let Some(came) = &outcome.came {
        let what = if came.is_error {
            "the error"
        } else {
            "the text"
        };
        match came.text.trim_end() {
            "" => told.push(format!("but {what} that came is empty")),
            text => {
                told.push(format!("but there came {what}:"));
                told.push(part(text));
            }
        }
    }
    if !outcome.printed.is_empty() {
        told.push("It printed:".to_owned());
        told.push(part(outcome.printed.trim_end()));
    }
    told.join("\n")
}

fn part(text: &str) -> String {
    indented(&shortened(text, SHOWN), "  ")
}

fn indented(text: &str, by: &str) -> String {
    let lines: Vec<_> = text.lines().map(|line| format!("{by}{line}")).collect();
    lines.join("\n")
}
