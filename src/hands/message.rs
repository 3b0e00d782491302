//! What a command asks of the bridges that run, and what each answers. No I/O.

use std::{collections::BTreeMap, time::SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    computers::{ComputerKey, RequestId},
    sync::Errand,
    tools::calls::{Caller, Kind},
};

/// A question to all bridges. One that a bridge does not know, it does not answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// What runs.
    Jobs,
    /// Which computers there are.
    Computers,
    /// To stop something; each bridge, by its name, has orders of its own.
    Stop(BTreeMap<String, Orders>),
    /// To update the agent of a computer; the bridge of this name does.
    Update(BTreeMap<String, ComputerKey>),
    /// To ask a computer something for a sync; the bridge of this name does.
    Sync(BTreeMap<String, SyncErrand>),
}

/// What is asked of a computer for a sync.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SyncErrand {
    /// The computer.
    pub computer: ComputerKey,
    /// What it is asked.
    pub errand: Errand,
}

impl Question {
    /// Whether it is for this bridge.
    pub fn is_for(&self, bridge: &str) -> bool {
        match self {
            Self::Jobs | Self::Computers => true,
            Self::Stop(orders) => orders.contains_key(bridge),
            Self::Update(orders) => orders.contains_key(bridge),
            Self::Sync(orders) => orders.contains_key(bridge),
        }
    }
}

/// What a bridge is to stop. Calls that wait for what is stopped end too.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    /// All its calls and jobs.
    #[serde(default)]
    pub all: bool,
    /// Those on this computer.
    #[serde(default)]
    pub computer: Option<ComputerKey>,
    /// These calls of its own.
    #[serde(default)]
    pub calls: Vec<u64>,
    /// These jobs, whoever asked for them.
    #[serde(default)]
    pub jobs: Vec<RequestId>,
}

/// What a bridge answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Told {
    /// Its process id.
    pub pid: u32,
    /// The process that started it, where that is known and is the client.
    pub client: Option<u32>,
    /// Its version.
    pub version: String,
    /// The answer.
    pub answer: Answer,
}

/// The answer to a question.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// What runs.
    Jobs {
        /// Its clients' calls.
        calls: Vec<CallRow>,
        /// The jobs that it knows, also of other bridges.
        jobs: Vec<JobRow>,
    },
    /// Which computers there are.
    Computers {
        /// Those that are linked, and those that were.
        computers: Vec<ComputerRow>,
        /// Why this bridge reaches none, if it can't.
        unreachable: Option<String>,
        /// Whether this bridge was started to change nothing.
        #[serde(default)]
        read_only: bool,
    },
    /// What came of an update.
    Updated {
        /// The whole sentence.
        said: String,
        /// Whether the computer has this version now.
        is_well: bool,
    },
    /// What a computer answered for a sync, or why it did not, in whole sentences.
    Synced(Result<Value, String>),
    /// What came of its orders.
    Stopped {
        /// The calls that it has ended.
        calls: Vec<StoppedCall>,
        /// The jobs that it has told to stop.
        jobs: Vec<StoppedJob>,
    },
}

/// A call that has not been answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CallRow {
    /// Its number in its bridge.
    pub number: u64,
    /// Who made it.
    pub caller: Caller,
    /// What is called.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Its arguments in short.
    pub arguments: Value,
    /// When it came.
    pub since: SystemTime,
    /// The jobs that it waits for.
    pub jobs: Vec<RequestId>,
    /// The MCP servers that it has asked.
    pub servers: Vec<String>,
}

/// A job that has not ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JobRow {
    /// Its id.
    pub id: RequestId,
    /// Its computer.
    pub computer: ComputerKey,
    /// The computer's number and label.
    pub computer_name: String,
    /// Whether the computer is out of reach.
    pub is_away: bool,
    /// Whether the computer has taken it.
    pub has_begun: bool,
    /// Whether it waits there for the yes of the player.
    #[serde(default)]
    pub waits_for_player: bool,
    /// When it was asked for.
    pub since: SystemTime,
    /// The beginning of its code.
    pub code: String,
    /// Whether the bridge that tells of it asked for it.
    pub is_own: bool,
}

/// A computer that is linked, or was since its bridge began.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ComputerRow {
    /// The computer.
    pub computer: ComputerKey,
    /// Its number and label.
    pub name: String,
    /// The version of its agent, if it is ours and tells.
    pub agent: Option<String>,
    /// Since when it is linked, or is not.
    pub since: SystemTime,
    /// Why it left; none: it is linked.
    pub left: Option<String>,
}

/// A call that was ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoppedCall {
    /// Its number in its bridge.
    pub number: u64,
    /// What was called.
    pub name: String,
    /// Whether nothing of it goes on in its bridge.
    pub is_over: bool,
    /// The MCP servers that were told that it is cancelled.
    pub servers: Vec<String>,
}

/// A job that was told to stop.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoppedJob {
    /// Its id.
    pub id: RequestId,
    /// The computer's number and label.
    pub computer_name: String,
    /// What is known of it now, as a sentence's end: `was stopped`.
    pub how: String,
    /// Whether it is sure that it runs no more.
    pub is_over: bool,
}
