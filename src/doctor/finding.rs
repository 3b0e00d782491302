//! What a check has found: how it is, why that matters, and what mends it.

use std::path::PathBuf;

use serde::Serialize;

use super::fix::Fix;

/// How something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// It works, but not as well as it could, or not for long.
    Warning,
    /// It does not work.
    Problem,
    /// It could not be found out.
    Unknown,
}

/// One thing that a check has found.
#[derive(Debug)]
pub struct Finding {
    /// How it is.
    pub verdict: Verdict,
    /// What is so, on one line.
    pub message: String,
    /// Why it matters.
    pub why: Option<String>,
    /// What mends it.
    pub mend: Option<Mend>,
    /// The file that it is about.
    pub path: Option<PathBuf>,
}

/// What mends something.
#[derive(Debug)]
pub struct Mend {
    /// What a person would do: a command or an edit.
    pub words: String,
    /// The same, where it can be done for them.
    pub fix: Option<Fix>,
}

impl Finding {
    fn new(verdict: Verdict, message: impl Into<String>) -> Self {
        Self {
            verdict,
            message: message.into(),
            why: None,
            mend: None,
            path: None,
        }
    }

    /// All is well.
    pub fn ok(message: impl Into<String>) -> Self {
        Self::new(Verdict::Ok, message)
    }

    /// It could be better.
    pub fn warning(message: impl Into<String>) -> Self {
        Self::new(Verdict::Warning, message)
    }

    /// It does not work.
    pub fn problem(message: impl Into<String>) -> Self {
        Self::new(Verdict::Problem, message)
    }

    /// It could not be found out; why.
    pub fn unknown(message: impl Into<String>) -> Self {
        Self::new(Verdict::Unknown, message)
    }

    /// Says why it matters.
    #[must_use]
    pub fn because(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }

    /// Says what a person is to do.
    #[must_use]
    pub fn mended_by(mut self, words: impl Into<String>) -> Self {
        self.mend = Some(Mend {
            words: words.into(),
            fix: None,
        });
        self
    }

    /// Says what a person is to do, and how it is done for them.
    #[must_use]
    pub fn fixed_by(mut self, words: impl Into<String>, fix: Fix) -> Self {
        self.mend = Some(Mend {
            words: words.into(),
            fix: Some(fix),
        });
        self
    }

    /// Says which file it is about.
    #[must_use]
    pub fn at(mut self, path: impl Into<PathBuf>) -> Self {
        self.path = Some(path.into());
        self
    }
}
