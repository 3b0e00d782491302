//! What an agent answers when a request fails.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An error that an agent reports.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct AgentError {
    /// What kind of error it is.
    pub kind: ErrorKind,
    /// What happened.
    pub message: String,
    /// Where in the code.
    pub traceback: Option<String>,
    /// What to do.
    pub hint: Option<String>,
    /// Whether nothing of the code was run, nor will be, where the kind alone does not tell.
    #[serde(
        default,
        rename = "notBegun",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub not_begun: bool,
}

/// The kinds of errors that agents report.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "String", into = "String")]
pub enum ErrorKind {
    /// The code is no Lua.
    Syntax,
    /// The code threw.
    Runtime,
    /// The game, or the request's deadline, stopped the code.
    Timeout,
    /// It was cancelled.
    Cancelled,
    /// It came too late to begin.
    Expired,
    /// The agent's policy, or a job that holds the turtle, does not let it run.
    Refused,
    /// The computer is gone.
    Offline,
    /// It was for another start of the agent program.
    LinkLost,
    /// It ran, and its result is no longer kept.
    ResultGone,
    /// It, or its answer, is larger than what can be carried.
    TooLarge,
    /// The agent does not know the method.
    Unsupported,
    /// The agent does not have the handler's source, and needs it once more.
    SourceWanted,
    /// An agent of version 1, which has no kinds, says so.
    Unkinded,
    /// An agent of version 1 does not know the method.
    UnknownMethod,
    /// A kind that this bridge does not know.
    Other(String),
}

/// The kinds by the words that stand for them in frames. `UnknownMethod` comes last: its word is the one of `Unkinded`.
const WORDS: [(&str, ErrorKind); 14] = [
    ("syntax", ErrorKind::Syntax),
    ("runtime", ErrorKind::Runtime),
    ("timeout", ErrorKind::Timeout),
    ("cancelled", ErrorKind::Cancelled),
    ("expired", ErrorKind::Expired),
    ("refused", ErrorKind::Refused),
    ("offline", ErrorKind::Offline),
    ("link-lost", ErrorKind::LinkLost),
    ("result-gone", ErrorKind::ResultGone),
    ("too-large", ErrorKind::TooLarge),
    ("unsupported", ErrorKind::Unsupported),
    ("source-wanted", ErrorKind::SourceWanted),
    ("error", ErrorKind::Unkinded),
    ("error", ErrorKind::UnknownMethod),
];

impl ErrorKind {
    /// As it stands in a frame, and as people are told it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(word) => word,
            known => WORDS
                .iter()
                .find(|(_, kind)| kind == known)
                .map_or("error", |(word, _)| word),
        }
    }

    /// Whether the agent is one that does not know what it was asked.
    pub fn is_of_an_old_agent(&self) -> bool {
        matches!(self, Self::Unsupported | Self::UnknownMethod)
    }
}

impl From<String> for ErrorKind {
    fn from(word: String) -> Self {
        let known = WORDS.iter().find(|(known, _)| *known == word);
        known.map_or(Self::Other(word), |(_, kind)| kind.clone())
    }
}

impl From<ErrorKind> for String {
    fn from(kind: ErrorKind) -> Self {
        kind.as_str().to_owned()
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl AgentError {
    /// An error with nothing but a kind and a message.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            traceback: None,
            hint: None,
            not_begun: false,
        }
    }

    /// An error as version 1 (a text) or version 2 (an object) writes it; anything else is shown as it is.
    pub(super) fn read(error: Option<Value>) -> Self {
        match error {
            Some(Value::String(message)) => Self::of_version_1(message),
            Some(Value::Object(mut fields)) => {
                let not_begun = fields.get("notBegun") == Some(&Value::Bool(true));
                let mut take = |key: &str| match fields.remove(key) {
                    Some(Value::String(text)) if !text.is_empty() => Some(text),
                    _ => None,
                };
                let kind = take("kind").map_or(ErrorKind::Unkinded, ErrorKind::from);
                let message = take("message");
                Self {
                    traceback: take("traceback"),
                    hint: take("hint"),
                    not_begun,
                    ..Self::new(
                        kind,
                        message.unwrap_or_else(|| "the agent gave no message".to_owned()),
                    )
                }
            }
            Some(other) => Self::of_version_1(other.to_string()),
            None => Self::new(ErrorKind::Unkinded, "the agent gave no reason"),
        }
    }

    fn of_version_1(message: String) -> Self {
        // The one thing that its text tells apart.
        let kind = if message.contains("unknown method") {
            ErrorKind::UnknownMethod
        } else {
            ErrorKind::Unkinded
        };
        Self::new(kind, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_comes_back_as_it_was_but_what_only_version_1_says() {
        for (word, kind) in &WORDS[..13] {
            assert_eq!(kind.as_str(), *word);
            assert_eq!(ErrorKind::from((*word).to_owned()), *kind);
        }
        assert_eq!(ErrorKind::UnknownMethod.as_str(), "error");
        let new = ErrorKind::from("of-tomorrow".to_owned());
        assert_eq!(new.as_str(), "of-tomorrow");
    }
}
