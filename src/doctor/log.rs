//! What the bridges' log says of the last day.

use std::time::Duration;

use super::patient::Patient;
use crate::base::{
    log_tail, logging,
    text::{one_line, timestamp},
};

/// How far back is looked.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// How many lines of the log's end are read.
const LINES: usize = 4_000;

/// How much of a line is shown, in characters.
const SHOWN: usize = 300;

/// A line of the log.
#[derive(Debug, PartialEq, Eq)]
pub struct Line {
    /// When it was written: RFC 3339, UTC.
    pub time: String,
    /// `ERROR`, `WARN` and so on.
    pub level: String,
    /// Where it is from, what it says, and with which facts.
    pub text: String,
}

/// The lines of the last day, the newest last; none where there is no log or it can't be read.
pub fn of_the_last_day(patient: &Patient) -> Vec<Line> {
    let files = logging::files(&patient.folders.state);
    let Ok(text) = log_tail::tail_of(&files, LINES) else {
        return Vec::new();
    };
    let first = timestamp(patient.now - DAY);
    let lines = text.lines().filter_map(read);
    lines.filter(|line| line.time >= first).collect()
}

/// A line of the form `2026-11-28T12:00:00Z ERROR mcp_bridge::link::port: …`; none if it is of another.
fn read(line: &str) -> Option<Line> {
    let (time, rest) = line.split_once(' ')?;
    let (level, text) = rest.trim_start().split_once(' ')?;
    let is_level = matches!(level, "ERROR" | "WARN" | "INFO" | "DEBUG" | "TRACE");
    (is_level && time.starts_with("20")).then(|| Line {
        time: time.to_owned(),
        level: level.to_owned(),
        text: text.trim_start().to_owned(),
    })
}

impl Line {
    /// What it says, without where it is from, as far as it is worth showing.
    pub fn shown(&self) -> String {
        let said = self
            .text
            .split_once(": ")
            .map_or(&*self.text, |(_, said)| said);
        let mut shown: String = one_line(said).chars().take(SHOWN).collect();
        if shown.len() < said.len() {
            shown.push('…');
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_their_levels_and_what_is_no_line_is_passed_over() {
        let line = read("2026-11-28T12:00:00.5Z  WARN mcp_bridge::link::session: link refused address=127.0.0.1:9").unwrap();
        assert_eq!(
            (&*line.level, &*line.time),
            ("WARN", "2026-11-28T12:00:00.5Z")
        );
        assert_eq!(line.shown(), "link refused address=127.0.0.1:9");
        assert_eq!(read("   at somewhere else"), None);
        assert_eq!(read(""), None);
        let long = Line {
            text: format!("a: {}", "é".repeat(999)),
            ..line
        };
        assert_eq!(long.shown().chars().count(), SHOWN + 1);
    }
}
