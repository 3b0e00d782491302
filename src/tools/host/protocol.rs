//! The lines between the bridge and a worker: one JSON object each. Strings of Lua's are bytes in them, the source too:
//! see `base::byte_text`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tools::{Level, namespace::Need};

/// The longest line that a worker writes and the bridge reads, in bytes. What a client takes at most is below it.
pub const MAX_LINE: usize = 10 * 1024 * 1024;

/// From the bridge.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ToWorker {
    /// Run this.
    Call(Order),
    /// Load this, without calling its function.
    Load(Order),
    /// What came of the worker's question.
    Answer {
        /// The question's number.
        ask: u64,
        /// What came of it.
        #[serde(flatten)]
        answer: Answer,
    },
}

/// One call.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    /// The Lua source.
    pub source: String,
    /// What it is called in errors.
    pub chunk: String,
    /// The function of the table that the source returns; none: the source itself is what is called, an expression or
    /// statements.
    pub method: Option<String>,
    /// What the function gets.
    pub arguments: Value,
    /// Whether it is a handler of a manifest, which has more at hand than a script.
    #[serde(default)]
    pub is_handler: bool,
    /// How many bytes of memory its Lua may take.
    pub memory: usize,
    /// How many bytes of JSON it may return.
    pub output: usize,
}

/// The bridge's answer to a question.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The value asked for.
    Value(Value),
    /// Why there is none.
    Error(String),
}

/// From a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum FromWorker {
    /// It waits for a call.
    Ready {
        /// The version of its program, which may have been replaced since the bridge was started.
        version: String,
    },
    /// A handler asks something; it waits for the answer.
    Ask {
        /// The question's number.
        ask: u64,
        /// The question.
        what: Question,
    },
    /// A line for the log.
    Log {
        /// How much it matters.
        level: Level,
        /// The line.
        text: String,
    },
    /// How far the handler has come.
    Progress {
        /// What it does now.
        message: String,
        /// How much is done.
        done: Option<f64>,
        /// How much there is to do.
        total: Option<f64>,
    },
    /// The handler printed something.
    Printed {
        /// What.
        text: String,
        /// Whether there was more than is kept, which is not told any more.
        #[serde(default)]
        is_cut: bool,
    },
    /// The handler has ended.
    Done(Done),
    /// The worker itself failed; it ends.
    Fault {
        /// How.
        message: String,
    },
}

/// How a handler ended.
#[derive(Debug, Serialize, Deserialize)]
pub struct Done {
    /// How many bytes it printed that were not told.
    pub untold: usize,
    /// What it returned, or threw.
    #[serde(flatten)]
    pub end: End,
}

/// What a handler returned or threw.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The values it returned.
    Values(Vec<Value>),
    /// What it threw, with where that was.
    Failed(String),
}

/// What a handler can ask.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "kebab-case")]
pub enum Question {
    /// Which computers there are.
    List,
    /// Run Lua on computers.
    Exec {
        /// Which, and what on each.
        on: Vec<ExecOn>,
        /// The options, as the handler wrote them.
        #[serde(default)]
        options: Value,
    },
    /// Call a tool, whichever.
    Tool {
        /// The tool.
        tool: String,
        /// Its arguments.
        #[serde(default)]
        arguments: Value,
        /// The options, as the handler wrote them.
        #[serde(default)]
        options: Value,
    },
    /// Something that the handler's namespace has.
    Own(Need),
    /// Call a tool for computers.
    Call {
        /// The tool.
        tool: String,
        /// Which, and with what for each.
        on: Vec<CallOn>,
        /// The options, as the handler wrote them.
        #[serde(default)]
        options: Value,
    },
}

/// Lua for one computer.
#[derive(Debug, Serialize, Deserialize)]
pub struct ExecOn {
    /// The computer's number or label.
    pub id: Value,
    /// The Lua.
    pub code: String,
}

/// A tool's arguments for one computer.
#[derive(Debug, Serialize, Deserialize)]
pub struct CallOn {
    /// The computer's number or label.
    pub id: Value,
    /// The arguments beside `computerId`.
    pub arguments: Value,
}

/// What came of one computer of a question.
#[derive(Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The computer's number.
    pub id: Value,
    /// The values, if it went well.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returns: Option<Vec<Value>>,
    /// What went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the code printed.
    #[serde(default)]
    pub output: String,
}
