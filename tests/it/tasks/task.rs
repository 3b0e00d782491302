//! A folder of `tests/tasks/`, as it is read.

use std::{collections::BTreeMap, fs};

use serde::Deserialize;
use serde_json::{Value, json};

use super::checks::Check;
use crate::common::{kept::Kept, tools::of_repository};

/// A task, and how it is done.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    /// The folder's name.
    #[serde(skip)]
    pub name: String,
    /// The text of its world file.
    #[serde(skip)]
    pub world: String,
    /// What a person asks.
    pub sentence: String,
    /// How many times faster than in the game the world goes.
    #[serde(default = "ten")]
    pub speed: f64,
    /// The same of what goes on without computers, such as furnaces, if that is to be still faster.
    pub world_speed: Option<f64>,
    /// The computers on which the agent hosts the player's shell.
    #[serde(default)]
    pub hosted: Vec<u64>,
    /// Files that are too large for the world file.
    #[serde(default)]
    pub large: Vec<Large>,
    /// Files of a folder of the person's machine, which they have allowed `sync-folder` to send. It is `{host}` in the
    /// sentence and the calls.
    #[serde(default)]
    pub host: BTreeMap<String, String>,
    /// What has been done before the person asks.
    #[serde(default)]
    pub before: Vec<Before>,
    /// The calls that a model makes.
    pub call: Vec<Call>,
    /// How the world is afterwards.
    pub check: Vec<Check>,
}

fn ten() -> f64 {
    10.0
}

/// A file of bytes that were made up.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Large {
    pub computer: u64,
    pub path: String,
    pub bytes: usize,
}

impl Large {
    /// What is in it: bytes of all values, the same each time, others for each file.
    pub fn content(&self) -> Vec<u8> {
        let mut state = self.path.bytes().fold(1, |state: u32, byte| {
            state.wrapping_mul(31).wrapping_add(byte.into())
        });
        let next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        (0..self.bytes).map(next).collect()
    }
}

/// What was done before: by a player at a computer, or by a call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, untagged)]
pub enum Before {
    /// A line is typed, and then this is to be seen on the screen.
    Typed {
        computer: u64,
        line: String,
        sees: String,
    },
    Called {
        tool: String,
        arguments: Value,
    },
}

/// A call of a tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    pub tool: String,
    #[serde(default = "nothing")]
    pub arguments: Value,
    /// Whether its answer is an error.
    #[serde(default)]
    pub fails: bool,
    /// What its answer has to show, so that the next call can be thought of: patterns.
    #[serde(default)]
    pub shows: Vec<String>,
    /// Patterns whose group is kept under a name, which later calls have as `{name}`.
    #[serde(default)]
    pub keeps: Kept,
}

fn nothing() -> Value {
    json!({})
}

impl Task {
    /// The task of a folder.
    pub fn read(name: &str) -> Self {
        let folder = of_repository("tests/tasks").join(name);
        let read = |file: &str| {
            fs::read_to_string(folder.join(file))
                .unwrap_or_else(|error| panic!("{name}/{file}: {error}"))
        };
        let mut task: Self =
            toml::from_str(&read("task.toml")).unwrap_or_else(|error| panic!("{name}: {error}"));
        task.name = name.to_owned();
        task.world = read("world.toml");
        task
    }
}
