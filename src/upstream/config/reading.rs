//! An entry as some client's users write it, read as what it means to that client. Pure.
//!
//! The same key means different things to different clients: `timeout` is milliseconds to most and seconds to some. Whose
//! key it is, other keys of the entry tell.

use std::{collections::BTreeMap, path::Path, time::Duration};

use serde_json::Value;

use super::{
    entry::{Address, Entry, EntryError, LONGEST_TIME, Origin, Program, Reach, Style},
    fields::{Fields, map, texts},
    selection::Selection,
};

/// How long a server has from its start until its tools are listed, unless its entry says otherwise: the first run of
/// an `npx` or `uvx` entry downloads the server.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a call may go on without an answer or progress, unless the entry says otherwise. Most clients give up
/// sooner by themselves, and their cancel reaches the server.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// After how long without a call a server is stopped, unless its entry says otherwise.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// The keys for a server's address, and whose they are: most clients', Windsurf's and Antigravity's, Gemini's, Goose's.
const ADDRESSES: [&str; 4] = ["url", "serverUrl", "httpUrl", "uri"];

/// What a server can be called that is a program on this machine.
const PROGRAMS: [&str; 3] = ["stdio", "local", "command"];

/// What one can be called that is reached over HTTP: `streamable-http` too, once it is in one spelling.
const HTTP: [&str; 5] = ["http", "https", "remote", "streamablehttp", OLDER_HTTP];

/// The one among them that speaks the protocol's older HTTP transport.
const OLDER_HTTP: &str = "sse";

/// Keys that tell of a server, or that say what a client may do without asking its user. The one needs nothing done, the
/// other is for the client that asks.
const WITHOUT_EFFECT: [(&str, &[&str]); 2] = [
    (
        "only for people, or for the client's own shop",
        &[
            "name",
            "id",
            "title",
            "displayName",
            "description",
            "version",
            "icon",
            "icons",
            "tags",
            "category",
            "homepage",
            "repository",
            "source",
            "gallery",
            "provider",
            "note",
            "notes",
            "comment",
            "_comment",
            "//",
        ],
    ),
    (
        "only for a client that asks its user before a call, which yours does and mcp-bridge does not",
        &[
            "alwaysAllow",
            "autoApprove",
            "autoAllow",
            "alwaysAllowTools",
            "trust",
            "default_tools_approval_mode",
        ],
    ),
];

/// Keys that have an effect, to find what a misspelt one was to be.
pub(super) const KNOWN: [&str; 34] = [
    "active",
    "args",
    "bearer_token_env_var",
    "callTimeoutMs",
    "cmd",
    "command",
    "cwd",
    "disabled",
    "disabledTools",
    "disabled_tools",
    "enabled",
    "enabledTools",
    "enabled_tools",
    "env",
    "envFile",
    "env_http_headers",
    "env_vars",
    "environment",
    "envs",
    "excludeTools",
    "headers",
    "httpUrl",
    "http_headers",
    "idleTimeoutMs",
    "includeTools",
    "inheritEnv",
    "isActive",
    "parallel",
    "serverUrl",
    "startTimeoutMs",
    "timeout",
    "tools",
    "type",
    "url",
];

/// An entry that was read, and what in it means nothing here: each with its key.
pub(super) type Read = (Entry, Vec<(String, String)>);

/// Reads the entry `value` called `name`.
///
/// # Errors
/// See [`EntryError`].
pub(super) fn read(
    name: &str,
    value: &Value,
    origin: Origin,
    file: &Path,
) -> Result<Read, EntryError> {
    read_as(None, name, value, origin, file)
}

/// The same for an entry of which is known whose it is.
///
/// # Errors
/// See [`EntryError`].
pub(super) fn read_as(
    whose: Option<Whose>,
    name: &str,
    value: &Value,
    origin: Origin,
    file: &Path,
) -> Result<Read, EntryError> {
    if !value.is_object() {
        return Err(EntryError::NotAnObject);
    }
    let fields = Fields::of(value);
    let client = whose.unwrap_or_else(|| Whose::of(&fields, origin));
    let mut remarks = Vec::new();
    let reach = fields.reach(&mut remarks)?;
    if let Reach::Program(Program {
        env_file: Some(_), ..
    }) = &reach
        && origin.is_project()
    {
        return Err(EntryError::ProjectEnvFile);
    }
    let timeouts = fields.timeouts(client, &mut remarks)?;
    let entry = Entry {
        name: name.to_owned(),
        origin,
        file: file.to_path_buf(),
        reach,
        variables: match client {
            Whose::Gemini => Style::Shell,
            _ => Style::Braces,
        },
        enabled: fields.is_enabled()?,
        tools: Selection {
            only: fields.all_texts(&["tools", "includeTools", "enabledTools", "enabled_tools"])?,
            off: fields
                .all_texts(&["excludeTools", "disabledTools", "disabled_tools"])?
                .unwrap_or_default(),
        },
        parallel: fields.truth("parallel")?.unwrap_or(false),
        start_timeout: timeouts.start,
        call_timeout: timeouts.call,
        idle_timeout: timeouts.idle,
    };
    let is_empty = |key: &str| match &value[key] {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    };
    let left = fields.left().into_iter();
    let left: Vec<_> = left
        .filter(|key| !(KNOWN.contains(key) && is_empty(key)))
        .collect();
    for (reason, keys) in WITHOUT_EFFECT {
        let these: Vec<_> = left.iter().filter(|key| keys.contains(key)).collect();
        let names: Vec<_> = these.iter().map(|key| format!("`{key}`")).collect();
        if let Some(first) = these.first() {
            remarks.push((first.to_string(), format!("{}: {reason}", names.join(", "))));
        }
    }
    let others = left.iter().filter(|key| !is_without_effect(key));
    remarks.extend(others.map(|key| (key.to_string(), nothing(key))));
    Ok((entry, remarks))
}

/// Whether a key says nothing of what a server does: see [`WITHOUT_EFFECT`].
pub(super) fn is_without_effect(key: &str) -> bool {
    WITHOUT_EFFECT.iter().any(|(_, keys)| keys.contains(&key))
}

/// A key that is longer is nobody's slip, in bytes. What it takes to compare two words grows with both.
const LONGEST_MISSPELT: usize = 200;

/// What is said of a key that nothing is made of.
fn nothing(key: &str) -> String {
    if KNOWN.contains(&key) {
        return format!("`{key}` has no effect beside the other keys");
    }
    let nearest = KNOWN
        .iter()
        .filter(|_| key.len() <= LONGEST_MISSPELT)
        .map(|known| (strsim::damerau_levenshtein(key, known), *known))
        .min();
    match nearest {
        Some((distance, known)) if distance * 3 <= key.len() => {
            format!("`{key}` is not known here, and has no effect; did you mean `{known}`?")
        }
        _ => format!("`{key}` is not known here, and has no effect"),
    }
}

/// Whose keys an entry has, where that makes a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// opencode's and Kilo Code's: `timeout` is how long a start may take, in milliseconds.
    Opencode,
    /// Gemini CLI's and Qwen Code's: variables are those of a shell, `timeout` is milliseconds.
    Gemini,
    /// Cline's and its descendants': `timeout` is seconds.
    Cline,
    /// Goose's: `timeout` is seconds.
    Goose,
    /// Nothing tells.
    Any,
}

impl Whose {
    fn of(fields: &Fields<'_>, origin: Origin) -> Self {
        let has = |keys: &[&str]| keys.iter().any(|key| fields.has(key));
        if origin == Origin::Opencode || has(&["environment"]) {
            Self::Opencode
        } else if has(&["httpUrl", "includeTools", "excludeTools", "trust"]) {
            Self::Gemini
        } else if has(&["cmd", "envs", "uri"]) {
            Self::Goose
        } else if has(&["alwaysAllow", "autoApprove"]) {
            Self::Cline
        } else {
            Self::Any
        }
    }
}

struct Timeouts {
    start: Duration,
    call: Duration,
    idle: Duration,
}

impl Fields<'_> {
    fn reach(&self, remarks: &mut Vec<(String, String)>) -> Result<Reach, EntryError> {
        let kind = match self.first(&["type", "transport", "transportType"]) {
            Some((key, value)) => Some(value.as_str().ok_or(EntryError::NotAText(key))?),
            None => None,
        };
        let spelling = kind.map(|kind| kind.to_ascii_lowercase().replace(['-', '_', ' '], ""));
        let spelling = spelling.as_deref();
        let command = self
            .first(&["command", "cmd"])
            .filter(|(_, value)| value.as_str() != Some(""));
        let address = self
            .first(&ADDRESSES)
            .filter(|(_, value)| value.as_str() != Some(""));
        match (command, address, spelling) {
            // Some clients' files have both, and the type says which of them counts.
            (Some((key, _)), Some(address), Some(kind)) if HTTP.contains(&kind) => {
                remarks.push((
                    key.to_owned(),
                    format!(
                        "`{key}` is passed over, since the type says that it is reached by HTTP"
                    ),
                ));
                self.address(address, spelling, remarks)
            }
            (Some(command), Some((key, _)), Some(kind)) if PROGRAMS.contains(&kind) => {
                remarks.push((
                    key.to_owned(),
                    format!("`{key}` is passed over, since the type says that it is a program"),
                ));
                self.program(command)
            }
            (Some(_), Some(_), _) => Err(EntryError::TwoWays),
            (None, None, _) => Err(EntryError::NoWay),
            (Some(command), None, None) => self.program(command),
            (None, Some(address), None) => self.address(address, spelling, remarks),
            (Some(command), None, Some(kind)) if PROGRAMS.contains(&kind) => self.program(command),
            (None, Some(address), Some(kind)) if HTTP.contains(&kind) => {
                self.address(address, spelling, remarks)
            }
            _ => Err(EntryError::OtherType(kind.unwrap_or_default().to_owned())),
        }
    }

    fn program(&self, (key, command): (&'static str, &Value)) -> Result<Reach, EntryError> {
        let mut words = match command {
            Value::String(program) => words_of(program),
            list => texts(list).ok_or(EntryError::NotACommand)?,
        };
        if words
            .first()
            .is_none_or(|program| program.trim().is_empty())
        {
            return Err(EntryError::EmptyCommand(key));
        }
        let mut args = words.split_off(1);
        args.extend(self.texts("args")?.unwrap_or_default());
        let mut env = BTreeMap::new();
        for key in ["environment", "envs", "env"] {
            env.extend(self.map(key)?);
        }
        for name in self.texts("env_vars")?.into_iter().flatten() {
            // Those of the client's own environment that the server is to have, if they are there.
            let value = format!("${{{name}:-}}");
            env.entry(name).or_insert(value);
        }
        if let Some(name) = env
            .keys()
            .find(|name| name.is_empty() || name.contains(['=', '\0']))
        {
            return Err(EntryError::NotAName(name.clone()));
        }
        let folder = match self.first(&["cwd", "working_directory", "workingDirectory"]) {
            Some((key, value)) => Some(value.as_str().ok_or(EntryError::NotAText(key))?.into()),
            None => None,
        };
        Ok(Reach::Program(Program {
            command: words.remove(0),
            args,
            env,
            env_file: self.text("envFile")?.map(Into::into),
            inherit_env: self.truth("inheritEnv")?.unwrap_or(false),
            cwd: folder,
        }))
    }

    fn address(
        &self,
        (key, url): (&'static str, &Value),
        kind: Option<&str>,
        remarks: &mut Vec<(String, String)>,
    ) -> Result<Reach, EntryError> {
        let mut headers = BTreeMap::new();
        for key in ["requestInit", "requestOptions"] {
            if let Some(options) = self.get(key) {
                let given = options.get("headers").and_then(map);
                headers.extend(given.ok_or(EntryError::NoHeaders(key))?);
                let others = options.as_object().into_iter().flatten();
                remarks.extend(others.filter(|(other, _)| *other != "headers").map(
                    |(other, _)| {
                        let words =
                            format!("`{other}` in `{key}` is not known here, and has no effect");
                        (key.to_owned(), words)
                    },
                ));
            }
        }
        for key in ["http_headers", "headers"] {
            headers.extend(self.map(key)?);
        }
        for (header, variable) in self.map("env_http_headers")? {
            headers.insert(header, format!("${{{variable}}}"));
        }
        if let Some(variable) = self.text("bearer_token_env_var")? {
            headers.insert("Authorization".into(), format!("Bearer ${{{variable}}}"));
        }
        Ok(Reach::Address(Address {
            url: url.as_str().ok_or(EntryError::NotAText(key))?.to_owned(),
            headers,
            is_older: kind == Some(OLDER_HTTP),
        }))
    }

    fn is_enabled(&self) -> Result<bool, EntryError> {
        let mut enabled = !self.truth("disabled")?.unwrap_or(false);
        for key in ["enabled", "isActive", "active"] {
            enabled &= self.truth(key)?.unwrap_or(true);
        }
        Ok(enabled)
    }

    fn timeouts(
        &self,
        whose: Whose,
        remarks: &mut Vec<(String, String)>,
    ) -> Result<Timeouts, EntryError> {
        let (milliseconds, seconds) = (Duration::from_millis(1), Duration::from_secs(1));
        let mut start = self.time("startup_timeout_sec", seconds)?;
        start = self.time("startup_timeout_ms", milliseconds)?.or(start);
        start = self.time("initTimeout", milliseconds)?.or(start);
        let mut call = self.time("tool_timeout_sec", seconds)?;
        if let Some(given) = self.get("timeout") {
            let unit = match whose {
                Whose::Opencode | Whose::Gemini => milliseconds,
                Whose::Cline | Whose::Goose => seconds,
                // Nobody means so few milliseconds.
                Whose::Any if number(given).is_some_and(|time| time < 1_000.0) => {
                    remarks.push((
                        "timeout".to_owned(),
                        format!(
                            "`timeout` is taken for {} seconds; `callTimeoutMs` is in milliseconds",
                            number(given).unwrap_or_default()
                        ),
                    ));
                    seconds
                }
                Whose::Any => milliseconds,
            };
            let time = self.time("timeout", unit)?;
            match whose {
                Whose::Opencode => start = time.or(start),
                _ => call = time.or(call),
            }
        }
        start = self.time("startTimeoutMs", milliseconds)?.or(start);
        call = self.time("callTimeoutMs", milliseconds)?.or(call);
        Ok(Timeouts {
            start: start.unwrap_or(START_TIMEOUT),
            call: call.unwrap_or(CALL_TIMEOUT),
            idle: self
                .time("idleTimeoutMs", milliseconds)?
                .unwrap_or(IDLE_TIMEOUT),
        })
    }

    fn time(&self, key: &'static str, unit: Duration) -> Result<Option<Duration>, EntryError> {
        let time = |value: &Value| {
            let time = number(value)
                .and_then(|given| Duration::try_from_secs_f64(given * unit.as_secs_f64()).ok())?;
            let is_possible =
                time >= Duration::from_millis(1) && time <= Duration::from_millis(LONGEST_TIME);
            is_possible.then_some(time)
        };
        self.read(key, time, EntryError::NotATime)
    }
}

/// A number, also one that is written as a text.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.trim().parse().ok(),
        value => value.as_f64(),
    }
}

/// A program with its arguments, if it is written so: the name of a file that is there is one word.
fn words_of(command: &str) -> Vec<String> {
    let is_one = !command.trim().contains(char::is_whitespace) || Path::new(command).is_file();
    let words = (!is_one).then(|| {
        if cfg!(windows) {
            // Backslashes are no escapes there.
            shlex::split(&command.replace('\\', "\\\\"))
        } else {
            shlex::split(command)
        }
    });
    words
        .flatten()
        .filter(|words| !words.is_empty())
        .unwrap_or_else(|| vec![command.to_owned()])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Result<Entry, EntryError> {
        super::read("x", &value, Origin::User, Path::new("mcp.json")).map(|(entry, _)| entry)
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
        assert!(entry.enabled && !entry.parallel && entry.tools == Selection::default());
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
        assert_eq!(entry.tools.only, Some(["a", "b"].map(str::to_owned).into()));
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
            (json!({"command": "x", "type": "sse"}), "`sse`"),
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
