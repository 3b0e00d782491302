//! What a job's handler told and its call has not handed on yet, within bounds that do not trust its agent. No I/O.

use std::collections::VecDeque;

use crate::wire::told::{LogLevel, Told};

/// How many lines one job may log: as many as agents take of a handler, and the one that says that there were more.
const LINES: u32 = 201;

/// How many bytes of lines wait to be handed on, at most.
const WAITING: usize = 64 * 1024;

/// What waits to be handed on.
#[derive(Debug, Default)]
pub struct Untold {
    /// How far the handler has come: the latest counts.
    step: Option<Told>,
    lines: VecDeque<(LogLevel, String)>,
    /// Bytes of `lines`.
    bytes: usize,
    /// How many lines came so far.
    count: u32,
    /// How many were dropped since some were taken.
    lost: usize,
}

impl Untold {
    /// Notes what it tells.
    pub fn note(&mut self, told: Told) {
        match told {
            Told::Progress { .. } => self.step = Some(told),
            Told::Log { level, text } if self.count < LINES => {
                self.count += 1;
                self.bytes += text.len();
                self.lines.push_back((level, text));
                while self.bytes > WAITING
                    && let Some((_, oldest)) = self.lines.pop_front()
                {
                    self.bytes -= oldest.len();
                    self.lost += 1;
                }
            }
            Told::Log { .. } => {}
        }
    }

    /// Takes all that waits.
    pub fn take(&mut self) -> Vec<Told> {
        let mut told = Vec::new();
        if self.lost > 0 {
            told.push(Told::Log {
                level: LogLevel::Warning,
                text: format!("{} lines of the log were lost here", self.lost),
            });
        }
        (self.lost, self.bytes) = (0, 0);
        let lines = self.lines.drain(..);
        told.extend(lines.map(|(level, text)| Told::Log { level, text }));
        told.extend(self.step.take());
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Told {
        Told::Log {
            level: LogLevel::Info,
            text: text.to_owned(),
        }
    }

    #[test]
    fn of_steps_the_latest_counts_and_it_comes_after_the_lines() {
        let step = |text: &str| Told::Progress {
            text: text.to_owned(),
            done: None,
            total: None,
        };
        let mut untold = Untold::default();
        for told in [step("one"), line("a"), step("two"), line("b")] {
            untold.note(told);
        }
        assert_eq!(untold.take(), [line("a"), line("b"), step("two")]);
        assert_eq!(untold.take(), []);
    }

    #[test]
    fn what_waits_and_what_comes_in_all_is_bounded() {
        let mut untold = Untold::default();
        (0..100).for_each(|_| untold.note(line(&"x".repeat(1024))));
        let told = untold.take();
        assert_eq!(told.len(), 65);
        assert!(
            matches!(&told[0], Told::Log { text, .. } if text == "36 lines of the log were lost here"),
            "{:?}",
            told[0]
        );
        (0..1000).for_each(|_| untold.note(line("x")));
        assert_eq!(untold.take().len(), 101);
        untold.note(line("x"));
        assert_eq!(untold.take(), []);
    }
}
