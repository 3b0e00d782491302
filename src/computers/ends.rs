//! How a job ends, and what comes of stopping it. No I/O.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::{
    error::{AgentError, ErrorKind},
    frame::Answer,
    text,
};

/// How a job ended.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// With the computer's answer.
    Answered(Answer),
    /// Without one, and why. Whether its code ran to the end is not known.
    Lost(Loss),
}

/// Why a job ended without an answer. Bridges tell each other its text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "String", into = "String")]
pub enum Loss {
    /// The agent program that had it was started anew.
    Restarted,
    /// The agent is the same, but knows nothing of it any more.
    ResultGone,
    /// The agent is the same, and never said that it had it.
    NotTaken,
    /// The call gave up before anything of it was sent; why, as a sentence's end. It was not run.
    NeverReached(String),
    /// The link to an agent of version 1 ended, which is asked nothing twice; why, as a sentence's end.
    LinkEnded(String),
}

/// About how many bytes a field of an object takes beside its name and value.
const FIELD_SIZE: usize = 48;

/// How the text of [`Loss::NeverReached`] begins.
const NEVER_REACHED: &str = "it never reached the computer: ";

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Restarted => f.write_str("the computer has restarted since"),
            Self::ResultGone => f.write_str("the computer no longer has the result"),
            Self::NotTaken => f.write_str("the computer came back, and knows nothing of it"),
            Self::NeverReached(why) => write!(f, "{NEVER_REACHED}{why}"),
            Self::LinkEnded(why) => f.write_str(why),
        }
    }
}

impl From<Loss> for String {
    fn from(loss: Loss) -> Self {
        loss.to_string()
    }
}

impl From<String> for Loss {
    fn from(text: String) -> Self {
        if let Some(why) = text.strip_prefix(NEVER_REACHED) {
            return Self::NeverReached(why.to_owned());
        }
        [Self::Restarted, Self::ResultGone, Self::NotTaken]
            .into_iter()
            .find(|loss| loss.to_string() == text)
            .unwrap_or(Self::LinkEnded(text))
    }
}

impl End {
    /// The same with a result that people read: whoever is told of another bridge's job shows it.
    pub fn as_read(&self) -> Self {
        match self {
            Self::Answered(answer) => Self::Answered(Answer {
                result: answer.result.clone().map(text::read_value),
                error: answer.error.clone(),
            }),
            Self::Lost(why) => Self::Lost(why.clone()),
        }
    }

    /// Whether nothing was run since the agent lacks the handler's source.
    pub fn wants_source(&self) -> bool {
        let Self::Answered(answer) = self else {
            return false;
        };
        let error = answer.error.as_ref();
        error.is_some_and(|error| error.kind == ErrorKind::SourceWanted)
    }

    /// The same where there is no room for its result, as of a job that no bridge here asked for.
    pub fn not_kept(self) -> Self {
        match self {
            Self::Answered(answer) => {
                let message = "it has ended, but its answer was not kept: no bridge that is here asked for it";
                let error = || AgentError::new(ErrorKind::TooLarge, message);
                Self::Answered(Answer {
                    result: None,
                    error: answer.result.map(|_| error()),
                })
            }
            lost @ Self::Lost(_) => lost,
        }
    }

    /// About how many bytes of memory it takes.
    pub fn size(&self) -> usize {
        match self {
            Self::Answered(Answer { result, error }) => {
                let words = |error: &AgentError| {
                    let more = [&error.traceback, &error.hint].into_iter().flatten();
                    error.message.len() + more.map(String::len).sum::<usize>()
                };
                result.as_ref().map_or(0, size_of_value) + error.as_ref().map_or(0, words)
            }
            Self::Lost(_) => 0,
        }
    }

    /// The same without the result, which may be large.
    pub fn outline(&self) -> Self {
        match self {
            Self::Answered(answer) => Self::Answered(Answer {
                result: None,
                error: answer.error.clone(),
            }),
            Self::Lost(why) => Self::Lost(why.clone()),
        }
    }
}

fn size_of_value(value: &Value) -> usize {
    let inside = match value {
        Value::String(text) => text.capacity(),
        Value::Array(items) => items.iter().map(size_of_value).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| FIELD_SIZE + key.capacity() + size_of_value(value))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    size_of::<Value>() + inside
}

/// What came of a cancellation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cancelled {
    /// The job has ended, by the cancellation or by itself.
    Ended,
    /// The computer was told, but has not answered yet.
    Told,
    /// The computer can't be told: it is gone, or its agent is too old.
    Unreachable,
}
