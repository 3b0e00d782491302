//! One configured MCP server.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::json;
use thiserror::Error;

use super::selection::Selection;
use crate::{base::store, tools::Client};

/// The longest time that can be set, in milliseconds: a day.
pub(super) const LONGEST_TIME: u64 = 24 * 60 * 60 * 1_000;

/// Whose configuration a server comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// `.mcp-bridge/mcp.json` of the working folder.
    Bridge,
    /// `.dispatch/mcp.json` of the working folder.
    Dispatch,
    /// The `mcp` key of the working folder's `opencode.json`.
    Opencode,
    /// The user's own `mcp.json` in the configuration folder.
    User,
}

impl Origin {
    /// Whether it comes with a project, and so may be the work of somebody else than the user.
    pub fn is_project(self) -> bool {
        self != Self::User
    }

    /// The client that starts what is configured there by itself, if there is one.
    pub fn owner(self) -> Option<Client> {
        (self == Self::Opencode).then_some(Client::Opencode)
    }
}

/// One configured server.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its name, as written.
    pub name: String,
    /// Whose configuration it is.
    pub origin: Origin,
    /// The file that it stands in.
    pub file: PathBuf,
    /// How to reach it.
    pub reach: Reach,
    /// Whether the configuration lets it run.
    pub enabled: bool,
    /// How variables are written in it.
    pub variables: Style,
    /// Which of its tools are offered.
    pub tools: Selection,
    /// Whether it takes several calls at once.
    pub parallel: bool,
    /// How long it has from its start until its tools are listed.
    pub start_timeout: Duration,
    /// How long a call may go on without an answer or progress.
    pub call_timeout: Duration,
    /// After how long without a call it is stopped.
    pub idle_timeout: Duration,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum Reach {
    /// A program on this machine, over its standard input and output.
    Program(Program),
    /// A server that runs already, over streamable HTTP.
    Address(Address),
}

/// How variables are written in an entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Style {
    /// In braces only.
    #[default]
    Braces,
    /// As in a shell, too.
    Shell,
}

/// A program to start. Variables in its texts (`${NAME}`) are not filled in yet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Program {
    /// Its name or path.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// What its environment has beside what any program is given.
    pub env: BTreeMap<String, String>,
    /// A file of more of them, a line `NAME=value` each; relative to the bridge's working folder.
    pub env_file: Option<PathBuf>,
    /// Whether it is given all of the bridge's own environment, but for what is the bridge's or other servers'.
    pub inherit_env: bool,
    /// Its working folder, if it is not the bridge's; relative to that.
    pub cwd: Option<PathBuf>,
}

/// Where a server listens. Variables in its texts are not filled in yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Address {
    /// Its URL.
    pub url: String,
    /// Headers of every request to it.
    pub headers: BTreeMap<String, String>,
    /// Whether it is known to speak the protocol's older HTTP transport.
    pub is_older: bool,
}

/// What is wrong with an entry, in words that follow its name.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EntryError {
    /// It is no object.
    #[error("must be an object with `command` or `url`")]
    NotAnObject,
    /// It names a program and an address.
    #[error("has both `command` and `url`; keep one of them")]
    TwoWays,
    /// It names neither.
    #[error("has neither `command` nor `url`")]
    NoWay,
    /// Its type is of no kind of server, or of another than it is.
    #[error(
        "has the type `{0}`, which is not that of a program (`stdio`, with `command`) nor of an address (`http`, with `url`)"
    )]
    OtherType(String),
    /// This field must be a text.
    #[error("has `{0}`, which is not a text")]
    NotAText(&'static str),
    /// This field must be true or false.
    #[error("has `{0}`, which is neither true nor false")]
    NotATruth(&'static str),
    /// This field must be a list of texts.
    #[error("has `{0}`, which is not a list of texts")]
    NotTexts(&'static str),
    /// This field must be an object of texts.
    #[error("has `{0}`, which is not an object of texts")]
    NotAnObjectOfTexts(&'static str),
    /// This field must be a time.
    #[error("has `{0}`, which is no time from a millisecond to a day")]
    NotATime(&'static str),
    /// Its command has a wrong form.
    #[error("has a `command` that is neither a program nor a list of a program and its arguments")]
    NotACommand,
    /// Its command names no program.
    #[error("has an empty `{0}`")]
    EmptyCommand(&'static str),
    /// Of these options only headers are known.
    #[error("has `{0}` without an object `headers` of texts in it")]
    NoHeaders(&'static str),
    /// Its file of variables is a project's.
    #[error(
        "has an `envFile`, which is read for servers of your own only, since in a project it could change after you allowed \
         it; write what it holds into `env`, as `\"NAME\": \"${{NAME}}\"`"
    )]
    ProjectEnvFile,
    /// No variable can have this name.
    #[error("has a variable called `{0}`, which is no name")]
    NotAName(String),
}

impl Entry {
    /// What tells this server from every other, and from itself after a change of how it is run: a hash of its name
    /// and of how it is reached, from `folder`.
    pub fn fingerprint(&self, folder: &Path) -> String {
        let reach = match &self.reach {
            Reach::Program(program) => {
                let mut reach = json!({
                    "command": program.command, "args": program.args, "env": program.env,
                    "cwd": folder.join(program.cwd.as_deref().unwrap_or(Path::new(""))),
                });
                if let Some(file) = &program.env_file {
                    reach["envFile"] = json!(folder.join(file));
                }
                if program.inherit_env {
                    reach["inheritEnv"] = json!(true);
                }
                reach
            }
            Reach::Address(address) => json!({ "url": address.url, "headers": address.headers }),
        };
        store::hash(json!([self.name, reach]).to_string().as_bytes())
    }
}
