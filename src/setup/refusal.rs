//! Why something is left as it is, in words for the person who is to mend it.

use std::{fmt, path::PathBuf};

use thiserror::Error;

use crate::base::text::line_at;

/// Why a file is not changed. Whoever knows what should have gone in adds the snippet.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct Refusal {
    /// The file; a function that has seen only its text leaves it out.
    pub file: Option<PathBuf>,
    /// The line where the reason stands, from 1.
    pub line: Option<usize>,
    /// A sentence without its end: what is wrong, and what to do about it.
    pub reason: String,
}

impl Refusal {
    /// A refusal of no certain file or line.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            file: None,
            line: None,
            reason: reason.into(),
        }
    }

    /// The same, for what stands at the byte `offset` of `text`.
    #[must_use]
    pub fn at(mut self, text: &str, offset: usize) -> Self {
        self.line = Some(line_at(text, offset));
        self
    }

    /// The same, of this file.
    #[must_use]
    pub fn of(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }
}

/// Why a file is left as it is, for what stands in this line, from 1.
pub fn refused(line: usize, reason: impl Into<String>) -> Refusal {
    Refusal {
        line: Some(line),
        ..Refusal::new(reason)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{}, line {line}: ", file.display())?,
            (Some(file), None) => write!(f, "{}: ", file.display())?,
            (None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_stands_before_the_reason() {
        let refusal = Refusal::new("is no JSON").at("a\nb\nc", 2);
        assert_eq!(refusal.to_string(), "line 2: is no JSON");
        assert_eq!(
            refusal.of("f.json").to_string(),
            "f.json, line 2: is no JSON"
        );
        assert_eq!(Refusal::new("no").of("f").to_string(), "f: no");
    }
}
