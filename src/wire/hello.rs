//! The first frame of a link: who an agent says it is. No I/O.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::{
    limits::{DEFAULT_MAX_MESSAGE, MAX_ID, PROTOCOL},
    names::{Boot, ComputerId, Dialect, RequestId},
};

/// The longest label and the longest other text of a hello that are kept, in characters. The game's labels have 32.
const MAX_LABEL: usize = 128;

/// The capability of an agent that begins no request after its `startBefore`.
const START_BEFORE: &str = "startBefore";

/// The longest name of an agent's start, in bytes. Ours has 16.
const MAX_BOOT: usize = 128;

/// The longest key of a computer, in bytes. Ours has 32.
const MAX_KEY: usize = 128;

/// How many capabilities of an agent are looked at, and how much of each name, in characters. Ours have eleven short ones.
const MAX_CAPABILITIES: usize = 32;
const MAX_CAPABILITY: usize = 32;

/// Why a hello can't be read.
#[derive(Debug, Error)]
pub enum HelloError {
    /// JSON of another shape.
    #[error("malformed hello: {0}")]
    Malformed(#[from] serde_json::Error),
    /// The computer number can't be one.
    #[error("malformed hello: `computerId` must be a whole number from 0, not {0}")]
    ComputerId(Value),
    /// The boot name would not come back to the agent as it was sent.
    #[error(
        "malformed hello: `boot` must be at most {MAX_BOOT} characters of ASCII, since each request carries it back"
    )]
    Boot,
}

/// Who an agent says it is, and what it can do.
#[derive(Debug, Clone)]
pub struct Hello {
    /// The computer's number.
    pub computer: ComputerId,
    /// Its label; an empty one counts as none.
    pub label: Option<String>,
    /// The protocol both sides speak from here on: 1 or 2.
    pub protocol: u32,
    /// The agent program and its version, if it tells (version 2).
    pub agent: Option<AgentProgram>,
    /// The machine it runs on, if it tells (version 2).
    pub machine: Option<Machine>,
    /// The largest message it takes, in bytes.
    pub max_message: usize,
    /// The token it shows.
    pub token: Option<String>,
    /// This start of the agent program (version 2).
    pub boot: Option<String>,
    /// What the computer drew once and kept, to be known again by (version 2). One that can't be one counts as none.
    pub key: Option<String>,
    /// The requests it still knows (version 2).
    pub jobs: Vec<RequestId>,
    /// What it can do beyond the first agents of version 2, by name.
    pub capabilities: Vec<String>,
    /// What it lets bridges do.
    pub policy: AgentPolicy,
    /// Whether the player lets nothing new begin.
    pub paused: bool,
    /// What its clock showed when it said so, in milliseconds since 1970 (version 2). Only from an agent that has the
    /// capability `startBefore`: it begins no request after the moment that this names.
    pub at: Option<u64>,
}

impl Hello {
    /// Whether it stops a job that is attached to a call once no bridge claims it any more, unless it was detached.
    pub fn knows_detach(&self) -> bool {
        self.capabilities.iter().any(|name| name == "detach")
    }

    /// What is spoken on this link after hello-ok.
    pub fn dialect(&self) -> Dialect {
        match self.protocol {
            0 | 1 => Dialect::V1,
            _ => Dialect::V2(Boot::from(self.boot.clone().unwrap_or_default())),
        }
    }
}

/// What an agent lets bridges do. It keeps to that itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "String", into = "&'static str")]
pub enum AgentPolicy {
    /// Whatever they ask, as far as is known: agents of version 1 tell nothing, and a later one may tell another word.
    #[default]
    Full,
    /// What changes nothing, and what a player at the computer says yes to.
    Ask,
    /// What changes nothing.
    ReadOnly,
}

impl AgentPolicy {
    /// As it stands in a hello, and on the agent's command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Ask => "ask",
            Self::ReadOnly => "read-only",
        }
    }

    /// Whether it is [`AgentPolicy::Full`].
    pub fn is_full(&self) -> bool {
        *self == Self::Full
    }
}

impl From<String> for AgentPolicy {
    fn from(word: String) -> Self {
        [Self::Ask, Self::ReadOnly]
            .into_iter()
            .find(|policy| policy.as_str() == word)
            .unwrap_or_default()
    }
}

impl From<AgentPolicy> for &'static str {
    fn from(policy: AgentPolicy) -> Self {
        policy.as_str()
    }
}

/// An agent program.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct AgentProgram {
    /// Its name, such as `mcp-computer`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The machine an agent runs on.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Machine {
    /// `computer`, `turtle`, `pocket` or `command`.
    pub kind: String,
    /// Whether it is the advanced (golden) kind.
    #[serde(default)]
    pub advanced: bool,
    /// The game's own name and version, its `_HOST`.
    #[serde(default)]
    pub host: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireHello {
    computer_id: Value,
    #[serde(default)]
    computer_label: Option<String>,
    #[serde(default)]
    protocol: Option<u32>,
    #[serde(default)]
    agent: Option<AgentProgram>,
    #[serde(default)]
    computer: Option<Machine>,
    #[serde(default)]
    max_message: Option<usize>,
    #[serde(default)]
    token: Option<String>,
    #[serde(default)]
    boot: Option<String>,
    #[serde(default)]
    key: Value,
    // Not an array when an agent writes an empty Lua table.
    #[serde(default)]
    jobs: Value,
    #[serde(default)]
    capabilities: Value,
    #[serde(default)]
    policy: Value,
    #[serde(default)]
    paused: Value,
    #[serde(default)]
    at: Value,
}

/// Reads a hello.
///
/// # Errors
/// It is malformed.
pub(super) fn read(message: &str) -> Result<Hello, HelloError> {
    let wire: WireHello = serde_json::from_str(message)?;
    let computer =
        ComputerId::from_json(&wire.computer_id).ok_or(HelloError::ComputerId(wire.computer_id))?;
    if let Some(boot) = &wire.boot
        && (boot.len() > MAX_BOOT || !boot.is_ascii())
    {
        return Err(HelloError::Boot);
    }
    let capabilities = wire.capabilities.as_array().map_or(&[][..], Vec::as_slice);
    let keeps_start = capabilities.iter().any(|word| word == START_BEFORE);
    Ok(Hello {
        computer,
        label: wire.computer_label.and_then(label),
        protocol: wire.protocol.unwrap_or(1).clamp(1, PROTOCOL),
        agent: wire.agent.map(|agent| AgentProgram {
            name: clip(agent.name),
            version: clip(agent.version),
        }),
        machine: wire.computer.map(|machine| Machine {
            kind: clip(machine.kind),
            host: clip(machine.host),
            advanced: machine.advanced,
        }),
        max_message: wire.max_message.unwrap_or(DEFAULT_MAX_MESSAGE),
        token: wire.token,
        boot: wire.boot,
        key: match wire.key {
            Value::String(key) if (1..=MAX_KEY).contains(&key.len()) => Some(key),
            _ => None,
        },
        jobs: match wire.jobs {
            Value::Array(jobs) => jobs
                .iter()
                .filter_map(Value::as_str)
                .filter(|id| id.len() <= MAX_ID)
                .map(RequestId::from)
                .collect(),
            _ => Vec::new(),
        },
        policy: serde_json::from_value(wire.policy).unwrap_or_default(),
        paused: wire.paused == Value::Bool(true),
        at: wire.at.as_u64().filter(|_| keeps_start),
        capabilities: match wire.capabilities {
            Value::Array(names) => names
                .iter()
                .filter_map(Value::as_str)
                .take(MAX_CAPABILITIES)
                .map(|name| name.chars().take(MAX_CAPABILITY).collect())
                .collect(),
            _ => Vec::new(),
        },
    })
}

/// A label as it is kept; an empty one is none.
pub(super) fn label(text: String) -> Option<String> {
    Some(clip(text)).filter(|label| !label.is_empty())
}

fn clip(text: String) -> String {
    text.chars().take(MAX_LABEL).collect()
}

/// Whether a message that could not be read was meant as a hello.
pub fn claims_hello(message: &str) -> bool {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow)]
        r#type: Cow<'a, str>,
    }
    serde_json::from_str::<Kind<'_>>(message).is_ok_and(|kind| kind.r#type == "hello")
}

#[cfg(test)]
mod tests {
    use super::{read as hello, *};
    use crate::wire::text::TextMode;

    #[test]
    fn a_version_1_hello_is_read() {
        let read =
            hello(r#"{"type":"hello","computerId":12,"computerLabel":"base-turtle"}"#).unwrap();
        assert_eq!(
            (read.computer, read.label.as_deref(), read.protocol),
            (ComputerId(12), Some("base-turtle"), 1)
        );
        assert_eq!(read.max_message, DEFAULT_MAX_MESSAGE);
    }

    #[test]
    fn a_missing_null_or_empty_label_is_none() {
        for label in ["", r#","computerLabel":null"#, r#","computerLabel":"""#] {
            assert_eq!(
                hello(&format!(r#"{{"type":"hello","computerId":12.0{label}}}"#))
                    .unwrap()
                    .label,
                None
            );
        }
    }

    #[test]
    fn a_computer_number_is_whole_and_not_negative() {
        for good in ["0", "12", "12.0", "1.2e1", "9007199254740992"] {
            assert!(
                hello(&format!(r#"{{"type":"hello","computerId":{good}}}"#)).is_ok(),
                "{good}"
            );
        }
        for bad in [
            "-1",
            "1.5",
            "\"12\"",
            "null",
            "true",
            "[]",
            "1e300",
            "9007199254740994",
        ] {
            let error = hello(&format!(r#"{{"type":"hello","computerId":{bad}}}"#)).unwrap_err();
            assert!(error.to_string().contains("computerId"), "{bad}: {error}");
        }
        assert!(
            hello(r#"{"type":"hello"}"#)
                .unwrap_err()
                .to_string()
                .contains("computerId")
        );
    }

    #[test]
    fn a_version_2_hello_is_read_and_a_later_version_is_met_at_ours() {
        let read = hello(
            r#"{"type":"hello","computerId":3,"protocol":7,"agent":{"name":"mcp-computer","version":"1.0.0"},
                "boot":"k3v9","computer":{"kind":"turtle","advanced":true,"host":"ComputerCraft 1.113.1","width":39,
                "height":13},"policy":"full","capabilities":[],"maxMessage":70000,"token":"t","jobs":[]}"#,
        )
        .unwrap();
        assert_eq!(
            (read.protocol, read.max_message, read.token.as_deref()),
            (PROTOCOL, 70_000, Some("t"))
        );
        assert_eq!(read.dialect().text_mode(), TextMode::Bytes);
        let machine = read.machine.unwrap();
        assert_eq!((machine.kind.as_str(), machine.advanced), ("turtle", true));
    }

    #[test]
    fn a_boot_name_comes_back_as_it_was_sent_or_is_refused() {
        for (boot, taken) in [
            ("k3v9".to_owned(), true),
            (String::new(), true),
            ("x".repeat(MAX_BOOT), true),
            ("x".repeat(MAX_BOOT + 1), false),
            // In a request, its bytes would be those of UTF-8.
            ("k\\u00c99".to_owned(), false),
        ] {
            let read = hello(&format!(
                r#"{{"type":"hello","computerId":1,"protocol":2,"boot":"{boot}"}}"#
            ));
            match read {
                Ok(read) => assert!(taken && read.dialect() == Dialect::V2(boot.into())),
                Err(error) => assert!(!taken && error.to_string().contains("`boot`"), "{error}"),
            }
        }
    }

    #[test]
    fn a_key_is_a_short_text_or_none() {
        for (key, taken) in [
            (r#""k3v9""#.to_owned(), true),
            (r#""""#.to_owned(), false),
            ("null".to_owned(), false),
            ("7".to_owned(), false),
            ("{}".to_owned(), false),
            (format!("\"{}\"", "x".repeat(MAX_KEY)), true),
            (format!("\"{}\"", "x".repeat(MAX_KEY + 1)), false),
        ] {
            let read = hello(&format!(
                r#"{{"type":"hello","computerId":1,"protocol":2,"key":{key}}}"#
            ));
            assert_eq!(read.unwrap().key.is_some(), taken, "{key}");
        }
    }

    #[test]
    fn a_policy_is_one_that_is_known_or_counts_as_full() {
        for (policy, read_as) in [
            (r#","policy":"ask""#, AgentPolicy::Ask),
            (r#","policy":"read-only""#, AgentPolicy::ReadOnly),
            (r#","policy":"full""#, AgentPolicy::Full),
            (r#","policy":"of-tomorrow""#, AgentPolicy::Full),
            (r#","policy":7"#, AgentPolicy::Full),
            (r#","policy":null"#, AgentPolicy::Full),
            ("", AgentPolicy::Full),
        ] {
            let read = hello(&format!(r#"{{"type":"hello","computerId":1{policy}}}"#));
            assert_eq!(read.unwrap().policy, read_as, "{policy}");
        }
    }

    #[test]
    fn an_overlong_label_is_clipped() {
        let long = "x".repeat(10_000);
        let read = hello(&format!(
            r#"{{"type":"hello","computerId":1,"computerLabel":"{long}"}}"#
        ))
        .unwrap();
        assert_eq!(read.label.unwrap().len(), MAX_LABEL);
    }
}
