//! What the two ends of a link call things: computers, requests, starts of an agent, and the protocol they agreed on.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::text::TextMode;

/// The largest computer number: Lua's numbers are exact up to 2^53.
const MAX_COMPUTER_ID: f64 = 9_007_199_254_740_992.0;

/// A computer's number in its game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
pub struct ComputerId(pub u64);

impl ComputerId {
    /// Reads a computer's number: whole (`12`, `12.0`), not negative, at most 2^53.
    pub fn from_json(value: &Value) -> Option<Self> {
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

/// The id of a request, and of the job that it becomes: unique across bridges and their restarts.
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
}

impl<T: Into<String>> From<T> for RequestId {
    fn from(id: T) -> Self {
        Self(id.into())
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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
}

impl Method {
    /// As it stands in a frame.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::ExecLua => "exec-lua",
            Self::RunHandler => "run-handler",
        }
    }
}
