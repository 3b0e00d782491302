//! What the two ends of a link call things: computers, requests, starts of an agent, and the protocol they agreed on.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::text::TextMode;
use crate::base::text::one_line;

/// The largest computer number: Lua's numbers are exact up to 2^53.
const MAX_COMPUTER_ID: f64 = 9_007_199_254_740_992.0;

/// A computer's number in its game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
pub struct ComputerId(pub u64);

impl ComputerId {
    /// Reads a computer's number: whole (`12`, `12.0`), not negative, at most 2^53.
    pub fn from_json(value: &Value) -> Option<Self> {
        // A larger one than a float tells apart from its neighbours would become one of them.
        if value
            .as_u64()
            .is_some_and(|number| number > MAX_COMPUTER_ID as u64)
        {
            return None;
        }
        let number = value.as_f64()?;
        // In range and whole, so the conversion is exact.
        (number.fract() == 0.0 && (0.0..=MAX_COMPUTER_ID).contains(&number))
            .then_some(Self(number as u64))
    }
}

impl fmt::Display for ComputerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How many hexadecimal digits each bridge draws at its start, which all of its ids begin with.
pub const DRAWN_DIGITS: usize = 12;

/// How many digits of a bridge's prefix people and models are shown. The few bridges whose jobs can be told apart at one
/// time hardly ever share four; two that do are told apart by their whole ids.
const SHOWN_DIGITS: usize = 4;

/// The id of a request, and of the job that it becomes: unique across bridges and their restarts.
///
/// Whoever reads or types one sees its short form, `3f0c-41` for `3f0c9a1be2d4-41`, which is what [`fmt::Display`] gives.
/// It is made of the id alone, so that every bridge calls a job the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(transparent)]
pub struct RequestId(String);

impl RequestId {
    /// As it stands in a frame.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What all ids of the bridge that made this one begin with; none in an id that no bridge of ours made.
    pub fn prefix(&self) -> Option<&str> {
        self.0.find('-').map(|dash| &self.0[..=dash])
    }

    /// Whether the bridge whose ids begin so made this one.
    pub fn has_prefix(&self, prefix: &str) -> bool {
        self.0.starts_with(prefix)
    }

    /// Whether this text means it: the id itself, or its short form.
    pub fn is_called(&self, name: &str) -> bool {
        self.0 == name
            || self
                .short()
                .is_some_and(|short| name.split_once('-') == Some(short))
    }

    /// Whether it is one of ours in full.
    pub fn is_whole(&self) -> bool {
        self.short().is_some()
    }

    /// The parts of its short form; none of an id that no bridge of ours made, which has none.
    fn short(&self) -> Option<(&str, &str)> {
        let (drawn, number) = self.0.split_once('-')?;
        let is_ours = drawn.len() == DRAWN_DIGITS
            && drawn.bytes().all(|digit| digit.is_ascii_hexdigit())
            && number.bytes().all(|digit| digit.is_ascii_digit());
        is_ours.then(|| (&drawn[..SHOWN_DIGITS], number))
    }
}

/// What an agent says, with the ids in it as people are shown them: agents know them as they stand in frames.
pub fn with_short_ids(text: &str) -> String {
    let words = text.split(' ').map(|word| {
        let id = RequestId::from(word);
        if id.is_whole() {
            Cow::Owned(id.to_string())
        } else {
            Cow::Borrowed(word)
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

impl<T: Into<String>> From<T> for RequestId {
    fn from(id: T) -> Self {
        Self(id.into())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.short() {
            Some((bridge, number)) => write!(f, "{bridge}-{number}"),
            // It may be anything that a computer made up.
            None => f.write_str(&one_line(&self.0)),
        }
    }
}

/// One start of an agent program, by a name that it drew.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Boot(String);

impl Boot {
    /// As it stands in a frame.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<String>> From<T> for Boot {
    fn from(name: T) -> Self {
        Self(name.into())
    }
}

/// What is spoken on a link, agreed in its handshake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialect {
    /// Version 1: requests and responses, and nothing else. Nothing is sent twice, as the agent would run it twice.
    V1,
    /// Version 2, with this start of the agent program.
    V2(Boot),
}

impl Dialect {
    /// Which start of the agent program this is; an agent of version 1 has no such thing.
    pub fn boot(&self) -> Option<&Boot> {
        match self {
            Self::V1 => None,
            Self::V2(boot) => Some(boot),
        }
    }

    /// Whether the agent knows `accepted`, output, jobs, pings, parts and acknowledgements.
    pub fn is_v2(&self) -> bool {
        matches!(self, Self::V2(_))
    }

    /// How strings travel after the handshake.
    pub fn text_mode(&self) -> TextMode {
        match self {
            Self::V1 => TextMode::Plain,
            Self::V2(_) => TextMode::Bytes,
        }
    }
}

impl From<Option<Boot>> for Dialect {
    /// The dialect of an agent that told this start, or none.
    fn from(boot: Option<Boot>) -> Self {
        boot.map_or(Self::V1, Self::V2)
    }
}

/// What a request asks of a computer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// A word, to show that it is there.
    Ping,
    /// To run Lua code.
    ExecLua,
    /// To run a tool's handler, which it may have from before (capability `handlers`).
    RunHandler,
    /// To run a command line as the shell does (capability `programs`).
    RunProgram,
    /// What the player's programs died of (capability `recentErrors`).
    RecentErrors,
    /// To tell what a screen shows (capability `screens`).
    ReadScreen,
    /// To give input to the program behind a screen (capability `screens`).
    SendInput,
}

impl Method {
    /// Whether an agent does it whatever its policy is.
    pub fn changes_nothing(self) -> bool {
        match self {
            Self::Ping | Self::RecentErrors | Self::ReadScreen => true,
            Self::ExecLua | Self::RunHandler | Self::RunProgram | Self::SendInput => false,
        }
    }

    /// As it stands in a frame.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::ExecLua => "exec-lua",
            Self::RunHandler => "run-handler",
            Self::RunProgram => "run-program",
            Self::RecentErrors => "recent-errors",
            Self::ReadScreen => "read-screen",
            Self::SendInput => "send-input",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_it_is_or_not_at_all() {
        let read = |text: &str| ComputerId::from_json(&serde_json::from_str(text).unwrap());
        assert_eq!(read("12.0"), Some(ComputerId(12)));
        assert_eq!(read("9007199254740992"), Some(ComputerId(1 << 53)));
        for other in ["9007199254740993", "-1", "1.5", "\"12\""] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn an_id_of_ours_has_a_short_form_and_goes_by_both() {
        let id = RequestId::from("3f0c9a1be2d4-41");
        assert_eq!(id.to_string(), "3f0c-41");
        for name in ["3f0c-41", "3f0c9a1be2d4-41"] {
            assert!(id.is_called(name), "{name}");
        }
        for name in [
            "", "-", "3f0c", "3f0c-", "3f0c-4", "3f0d-41", "3f0c9-41", "41",
        ] {
            assert!(!id.is_called(name), "{name}");
        }
    }

    #[test]
    fn what_an_agent_says_has_the_same_ids() {
        let said = "the job 3f0c9a1be2d4-41 holds the turtle, not  other-1 ";
        let shown = "the job 3f0c-41 holds the turtle, not  other-1 ";
        assert_eq!(with_short_ids(said), shown);
    }

    #[test]
    fn any_other_id_is_shown_whole_and_on_one_line() {
        for (id, shown) in [
            ("other-1", "other-1"),
            ("3F0C9A1BE2D4", "3F0C9A1BE2D4"),
            ("3f0c9a1be2d4-x", "3f0c9a1be2d4-x"),
            ("a\n3f0c-41", "a\\n3f0c-41"),
            ("", ""),
        ] {
            assert_eq!(RequestId::from(id).to_string(), shown);
            assert!(RequestId::from(id).is_called(id), "{id}");
            assert!(!RequestId::from(id).is_called("3f0c-41"), "{id}");
        }
    }
}
