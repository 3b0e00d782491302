//! One configured MCP server, read from either of the two forms that configuration files use.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};
use thiserror::Error;

use crate::{base::store, tools::Client};

/// How long a server has from its start until its tools are listed, unless its entry says otherwise: the first run of
/// an `npx` or `uvx` entry downloads the server.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a call may go on without an answer or progress, unless the entry says otherwise. Most clients give up
/// sooner by themselves, and their cancel reaches the server.
const CALL_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// After how long without a call a server is stopped, unless its entry says otherwise.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// The longest time that can be set, in milliseconds: a day.
const LONGEST_TIME: u64 = 24 * 60 * 60 * 1_000;

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
    /// The only tools of it that are offered, by its own names; none means all.
    pub tools: Option<BTreeSet<String>>,
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

/// A program to start. Variables in its texts (`${NAME}`) are not filled in yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// Its name or path.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// What its environment has beside the bridge's own.
    pub env: BTreeMap<String, String>,
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
    /// Its address speaks what is not spoken here.
    #[error(
        "is of the type `sse`, the protocol's older HTTP transport, which is not spoken here; if the server also has a \
         streamable HTTP endpoint, give that as `url` with `type` `http`"
    )]
    OlderHttp,
    /// This field must be a text.
    #[error("has a `{0}` that is not a text")]
    NotAText(&'static str),
    /// This field must be true or false.
    #[error("has a `{0}` that is neither true nor false")]
    NotATruth(&'static str),
    /// This field must be a list of texts.
    #[error("has `{0}` that are not a list of texts")]
    NotTexts(&'static str),
    /// This field must be an object of texts.
    #[error("has an `{0}` that is not an object of texts")]
    NotAnObjectOfTexts(&'static str),
    /// This field must be a number of milliseconds.
    #[error("has a `{0}` that is not a number of milliseconds from 1 to {LONGEST_TIME}")]
    NotATime(&'static str),
    /// Its command has a wrong form.
    #[error("has a `command` that is neither a program nor a list of a program and its arguments")]
    NotACommand,
    /// Its command names no program.
    #[error("has an empty `command`")]
    EmptyCommand,
    /// No variable can have this name.
    #[error("has a variable called `{0}`, which is no name")]
    NotAName(String),
}

impl Entry {
    /// Reads the entry `value` called `name`.
    ///
    /// Both forms are read wherever they stand: `command` with `args`, `env` and `cwd`, or `url` with `headers`; and
    /// opencode's, with `type`, a list as `command`, and `environment`. Keys of other programs are passed over.
    ///
    /// # Errors
    /// See [`EntryError`].
    pub fn read(
        name: &str,
        value: &Value,
        origin: Origin,
        file: &Path,
    ) -> Result<Self, EntryError> {
        if !value.is_object() {
            return Err(EntryError::NotAnObject);
        }
        let fields = Fields(value);
        let reach = match (fields.get("command"), fields.get("url")) {
            (Some(_), Some(_)) => return Err(EntryError::TwoWays),
            (Some(command), None) => Reach::Program(fields.program(command)?),
            (None, Some(_)) => Reach::Address(fields.address()?),
            (None, None) => return Err(EntryError::NoWay),
        };
        if let (Some("sse"), Reach::Address(_)) = (fields.text("type")?, &reach) {
            return Err(EntryError::OlderHttp);
        }
        let enabled =
            fields.truth("enabled")?.unwrap_or(true) && !fields.truth("disabled")?.unwrap_or(false);
        Ok(Self {
            name: name.to_owned(),
            origin,
            file: file.to_path_buf(),
            reach,
            enabled,
            tools: fields
                .texts("tools")?
                .map(|tools| tools.into_iter().collect()),
            parallel: fields.truth("parallel")?.unwrap_or(false),
            start_timeout: fields.time("startTimeoutMs")?.unwrap_or(START_TIMEOUT),
            call_timeout: fields.time("callTimeoutMs")?.unwrap_or(CALL_TIMEOUT),
            idle_timeout: fields.time("idleTimeoutMs")?.unwrap_or(IDLE_TIMEOUT),
        })
    }

    /// What tells this server from every other, and from itself after a change of how it is run: a hash of its name
    /// and of how it is reached, from `folder`.
    pub fn fingerprint(&self, folder: &Path) -> String {
        let reach = match &self.reach {
            Reach::Program(program) => json!({
                "command": program.command, "args": program.args, "env": program.env,
                "cwd": folder.join(program.cwd.as_deref().unwrap_or(Path::new(""))),
            }),
            Reach::Address(address) => json!({ "url": address.url, "headers": address.headers }),
        };
        store::hash(json!([self.name, reach]).to_string().as_bytes())
    }
}

/// An entry's fields, read with errors that name them.
struct Fields<'a>(&'a Value);

impl<'a> Fields<'a> {
    /// The field, unless it is missing or null.
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    fn text(&self, key: &'static str) -> Result<Option<&'a str>, EntryError> {
        self.read(key, Value::as_str, EntryError::NotAText)
    }

    fn truth(&self, key: &'static str) -> Result<Option<bool>, EntryError> {
        self.read(key, Value::as_bool, EntryError::NotATruth)
    }

    fn texts(&self, key: &'static str) -> Result<Option<Vec<String>>, EntryError> {
        self.read(key, texts, EntryError::NotTexts)
    }

    fn time(&self, key: &'static str) -> Result<Option<Duration>, EntryError> {
        let time = |value: &Value| match value.as_u64() {
            Some(time @ 1..=LONGEST_TIME) => Some(Duration::from_millis(time)),
            _ => None,
        };
        self.read(key, time, EntryError::NotATime)
    }

    /// The field as what it must be; `wrong` if it is something else.
    fn read<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&'a Value) -> Option<T>,
        wrong: fn(&'static str) -> EntryError,
    ) -> Result<Option<T>, EntryError> {
        self.get(key)
            .map(|value| read(value).ok_or_else(|| wrong(key)))
            .transpose()
    }

    fn map(&self, key: &'static str) -> Result<BTreeMap<String, String>, EntryError> {
        let Some(value) = self.get(key) else {
            return Ok(BTreeMap::new());
        };
        let wrong = || EntryError::NotAnObjectOfTexts(key);
        value
            .as_object()
            .ok_or_else(wrong)?
            .iter()
            .map(|(name, value)| match value {
                Value::String(text) => Ok((name.clone(), text.clone())),
                Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
                _ => Err(wrong()),
            })
            .collect()
    }

    fn program(&self, command: &Value) -> Result<Program, EntryError> {
        let mut words = match command {
            Value::String(program) => vec![program.clone()],
            list => texts(list).ok_or(EntryError::NotACommand)?,
        };
        if words
            .first()
            .is_none_or(|program| program.trim().is_empty())
        {
            return Err(EntryError::EmptyCommand);
        }
        let mut args = words.split_off(1);
        args.extend(self.texts("args")?.unwrap_or_default());
        let mut env = self.map("environment")?;
        env.extend(self.map("env")?);
        if let Some(name) = env
            .keys()
            .find(|name| name.is_empty() || name.contains(['=', '\0']))
        {
            return Err(EntryError::NotAName(name.clone()));
        }
        Ok(Program {
            command: words.remove(0),
            args,
            env,
            cwd: self.text("cwd")?.map(PathBuf::from),
        })
    }

    fn address(&self) -> Result<Address, EntryError> {
        Ok(Address {
            url: self.text("url")?.unwrap_or_default().to_owned(),
            headers: self.map("headers")?,
        })
    }
}

fn texts(value: &Value) -> Option<Vec<String>> {
    value
        .as_array()?
        .iter()
        .map(|value| value.as_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: Value) -> Result<Entry, EntryError> {
        Entry::read("x", &value, Origin::User, Path::new("mcp.json"))
    }

    #[test]
    fn both_forms_of_a_program_are_the_same_program() {
        let common = read(
            json!({"command": "npx", "args": ["-y", "server"], "env": {"A": "1"}, "cwd": "sub"}),
        );
        let opencode = read(json!({
            "type": "local", "command": ["npx", "-y", "server"], "environment": {"A": 1}, "cwd": "sub",
        }));
        let entry = common.unwrap();
        assert_eq!(Ok(&entry), opencode.as_ref());
        assert!(entry.enabled && !entry.parallel && entry.tools.is_none());
        assert_eq!(entry.idle_timeout, Duration::from_secs(900));
    }

    #[test]
    fn both_forms_of_an_address_are_the_same_address() {
        let common = read(json!({"type": "http", "url": "http://x/mcp", "headers": {"A": "b"}}));
        let opencode =
            read(json!({"type": "remote", "url": "http://x/mcp", "headers": {"A": "b"}}));
        assert_eq!(common, opencode);
        assert!(matches!(common.unwrap().reach, Reach::Address(_)));
    }

    #[test]
    fn a_server_can_be_switched_off_and_its_tools_chosen() {
        let entry = read(json!({
            "command": "x", "enabled": false, "tools": ["a", "b"], "parallel": true, "callTimeoutMs": 5,
        }))
        .unwrap();
        assert!(!entry.enabled && entry.parallel);
        assert_eq!(entry.tools, Some(["a", "b"].map(str::to_owned).into()));
        assert_eq!(entry.call_timeout, Duration::from_millis(5));
        assert!(
            !read(json!({"command": "x", "disabled": true}))
                .unwrap()
                .enabled
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (value, problem) in [
            (json!("npx server"), "must be an object"),
            (json!({}), "neither `command` nor `url`"),
            (json!({"command": "x", "url": "y"}), "both"),
            (json!({"command": 7}), "`command`"),
            (json!({"command": []}), "empty `command`"),
            (json!({"command": " "}), "empty `command`"),
            (json!({"command": "x", "args": "-y"}), "`args`"),
            (json!({"command": "x", "env": ["A=1"]}), "`env`"),
            (json!({"command": "x", "env": {"A=B": "1"}}), "`A=B`"),
            (json!({"command": "x", "enabled": "no"}), "`enabled`"),
            (
                json!({"command": "x", "startTimeoutMs": 0}),
                "`startTimeoutMs`",
            ),
            (json!({"url": "http://x", "type": "sse"}), "`sse`"),
        ] {
            let error = read(value.clone()).unwrap_err().to_string();
            assert!(error.contains(problem), "{value}: {error}");
        }
    }

    #[test]
    fn the_fingerprint_changes_with_how_a_server_is_run_and_with_nothing_else() {
        let folder = Path::new("/project");
        let of = |value| read(value).unwrap().fingerprint(folder);
        let plain = of(json!({"command": "x"}));
        assert_eq!(
            plain,
            of(json!({"command": ["x"], "parallel": true, "description": "y"}))
        );
        for other in [
            json!({"command": "y"}),
            json!({"command": "x", "args": ["1"]}),
            json!({"command": "x", "env": {"A": "1"}}),
            json!({"command": "x", "cwd": "sub"}),
            json!({"url": "x"}),
        ] {
            assert_ne!(plain, of(other.clone()), "{other}");
        }
    }
}
