//! The frames that an agent sends, read into types. No I/O.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::text::{self, TextMode};

/// The largest message the game takes or sends by default: 131,072 bytes, inclusive.
pub const DEFAULT_MAX_MESSAGE: usize = 131_072;

/// The version of the link protocol that this bridge speaks.
pub const PROTOCOL: u32 = 2;

/// The longest label and the longest other text of a hello that are kept, in characters. The game's labels have 32.
const MAX_LABEL: usize = 128;

/// The longest name of an agent's start, in bytes. Ours has 16.
const MAX_BOOT: usize = 128;

/// The largest computer number: Lua's numbers are exact up to 2^53.
const MAX_COMPUTER_ID: f64 = 9_007_199_254_740_992.0;

/// Which computer: its number in the game. A type of its own, as a world's name may come before it one day.
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

/// A frame from an agent.
#[derive(Debug)]
pub enum AgentFrame {
    /// Who the agent is; the first frame of a link.
    Hello(Box<Hello>),
    /// A request arrived and will be run, once (version 2).
    Accepted {
        /// The request's id.
        id: String,
    },
    /// A piece of what a job printed (version 2).
    Output(OutputPiece),
    /// The answer to a request.
    Response(Response),
    /// A job that the agent still knows, told after a new link (version 2).
    Job(JobReport),
    /// A part of a frame (version 2).
    Part {
        /// The frame's name.
        of: String,
        /// Which part.
        n: usize,
        /// Of how many.
        count: usize,
        /// Its bytes, in base64.
        data: String,
    },
    /// A part of ours arrived, or is refused (version 2).
    PartAck {
        /// The frame's name.
        of: String,
        /// Which part.
        n: usize,
        /// Why the whole frame is refused, if it is.
        error: Option<String>,
    },
    /// Asks for a pong with the same number.
    Ping(u64),
    /// Answers a ping.
    Pong,
    /// A type that this bridge doesn't know.
    Unknown(String),
}

/// Why a message is no frame.
#[derive(Debug, Error)]
pub enum FrameError {
    /// Not JSON, or JSON of another shape.
    #[error("malformed frame: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A hello whose computer number can't be one.
    #[error("malformed hello: `computerId` must be a whole number from 0, not {0}")]
    ComputerId(Value),
    /// A hello whose boot name would not come back to the agent as it was sent.
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
    /// The requests it still knows (version 2).
    pub jobs: Vec<String>,
}

impl Hello {
    /// Which start of the agent program this is; none with an agent of version 1, which has no such thing.
    pub fn boot_name(&self) -> Option<String> {
        (self.protocol >= 2).then(|| self.boot.clone().unwrap_or_default())
    }

    /// How strings travel on this link after hello-ok.
    pub fn text_mode(&self) -> TextMode {
        if self.protocol >= 2 {
            TextMode::Bytes
        } else {
            TextMode::Plain
        }
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

/// The answer to a request.
#[derive(Debug)]
pub struct Response {
    /// The request's id.
    pub id: String,
    /// What came of it.
    pub answer: Answer,
    /// How many bytes the job printed in all, if the agent tells.
    pub output_bytes: Option<u64>,
}

/// A piece of what a job printed.
#[derive(Debug)]
pub struct OutputPiece {
    /// The request's id.
    pub id: String,
    /// Its place among the job's pieces, from 1.
    pub seq: u64,
    /// How many bytes the job printed before these, if the agent tells.
    pub at: Option<u64>,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// How many bytes were lost right before it.
    pub dropped: u64,
}

/// What an agent tells of a job that it still knows.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobReport {
    /// The request's id.
    pub id: String,
    /// How long ago it was started, in milliseconds.
    #[serde(default)]
    pub age_ms: u64,
    /// The beginning of its code.
    #[serde(default)]
    pub code: String,
    /// Whether it holds the turtle.
    #[serde(default)]
    pub exclusive: bool,
    /// How many bytes it has printed so far.
    #[serde(default)]
    pub output_bytes: u64,
    /// How many of these, from the first on, have arrived at some bridge and will not come again.
    #[serde(default)]
    pub output_arrived: u64,
}

/// What came of a request.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Answer {
    /// The result; beside an error it may carry the output so far.
    pub result: Option<Value>,
    /// What went wrong, if anything did.
    pub error: Option<AgentError>,
}

/// An error that an agent reports.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct AgentError {
    /// `syntax`, `runtime`, `timeout`, …; `error` from an agent of version 1, which has no kinds.
    pub kind: String,
    /// What happened.
    pub message: String,
    /// Where in the code.
    pub traceback: Option<String>,
    /// What to do.
    pub hint: Option<String>,
}

/// The fields of any frame; those of a hello are read by [`WireHello`].
#[derive(Deserialize)]
struct Wire<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    ok: Option<bool>,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    n: Option<u64>,
    #[serde(default)]
    seq: Option<u64>,
    #[serde(default)]
    at: Option<u64>,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    dropped: Option<u64>,
    #[serde(default, rename = "outputBytes")]
    output_bytes: Option<u64>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    job: Option<Value>,
    #[serde(default)]
    of: Option<String>,
    #[serde(default)]
    count: Option<usize>,
    #[serde(default)]
    data: Option<String>,
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
    // Not an array when an agent writes an empty Lua table.
    #[serde(default)]
    jobs: Value,
}

/// Reads one message of an agent whose strings are as `mode` says.
///
/// # Errors
/// The message is not a frame.
pub fn read(message: &str, mode: TextMode) -> Result<AgentFrame, FrameError> {
    // serde would take an array for a struct's fields in their order.
    if message.trim_ascii_start().starts_with('[') {
        return Err(FrameError::Malformed(serde::de::Error::custom(
            "an array, where only an object is a frame",
        )));
    }
    let wire: Wire<'_> = serde_json::from_str(message)?;
    let missing = |field| FrameError::Malformed(serde::de::Error::missing_field(field));
    let needed = |field: Option<String>, name| field.ok_or_else(|| missing(name));
    Ok(match wire.kind.as_ref() {
        "hello" => AgentFrame::Hello(Box::new(read_hello(message)?)),
        "accepted" => AgentFrame::Accepted {
            id: needed(wire.id, "id")?,
        },
        "output" => AgentFrame::Output(OutputPiece {
            id: needed(wire.id, "id")?,
            seq: wire.seq.ok_or_else(|| missing("seq"))?,
            at: wire.at,
            bytes: text::bytes(&needed(wire.text, "text")?, mode),
            dropped: wire.dropped.unwrap_or(0),
        }),
        "response" => {
            let id = needed(wire.id, "id")?;
            let ok = wire.ok.ok_or_else(|| missing("ok"))?;
            let result = wire.result.map(|result| text::decode_value(result, mode));
            let error = (!ok).then(|| read_error(wire.error, mode));
            AgentFrame::Response(Response {
                id,
                answer: Answer { result, error },
                output_bytes: wire.output_bytes,
            })
        }
        "event" if wire.name.as_deref() == Some("job") => {
            let report = wire.job.filter(Value::is_object);
            let report = text::decode_value(report.ok_or_else(|| missing("job"))?, mode);
            AgentFrame::Job(serde_json::from_value(report)?)
        }
        "part" => AgentFrame::Part {
            of: needed(wire.of, "of")?,
            n: part_number(wire.n).ok_or_else(|| missing("n"))?,
            count: wire.count.ok_or_else(|| missing("count"))?,
            data: needed(wire.data, "data")?,
        },
        "part-ack" => AgentFrame::PartAck {
            of: needed(wire.of, "of")?,
            n: part_number(wire.n).ok_or_else(|| missing("n"))?,
            error: wire.error.map(|error| {
                error
                    .as_str()
                    .map_or_else(|| error.to_string(), str::to_owned)
            }),
        },
        "ping" => AgentFrame::Ping(wire.n.ok_or_else(|| missing("n"))?),
        "pong" => AgentFrame::Pong,
        other => AgentFrame::Unknown(other.to_owned()),
    })
}

fn part_number(n: Option<u64>) -> Option<usize> {
    n.and_then(|n| usize::try_from(n).ok())
}

fn read_hello(message: &str) -> Result<Hello, FrameError> {
    let wire: WireHello = serde_json::from_str(message)?;
    let computer =
        ComputerId::from_json(&wire.computer_id).ok_or(FrameError::ComputerId(wire.computer_id))?;
    if let Some(boot) = &wire.boot
        && (boot.len() > MAX_BOOT || !boot.is_ascii())
    {
        return Err(FrameError::Boot);
    }
    let clip = |text: String| text.chars().take(MAX_LABEL).collect::<String>();
    Ok(Hello {
        computer,
        label: wire
            .computer_label
            .map(clip)
            .filter(|label| !label.is_empty()),
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
        jobs: match wire.jobs {
            Value::Array(jobs) => jobs
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            _ => Vec::new(),
        },
    })
}

/// An error as version 1 (a text) or version 2 (an object) writes it; anything else is shown as it is.
fn read_error(error: Option<Value>, mode: TextMode) -> AgentError {
    let plain = |message: String| AgentError {
        kind: "error".to_owned(),
        message,
        traceback: None,
        hint: None,
    };
    match error.map(|error| text::decode_value(error, mode)) {
        Some(Value::String(message)) => plain(message),
        Some(Value::Object(mut fields)) => {
            let mut take = |key: &str| match fields.remove(key) {
                Some(Value::String(text)) if !text.is_empty() => Some(text),
                _ => None,
            };
            AgentError {
                kind: take("kind").unwrap_or_else(|| "error".to_owned()),
                message: take("message").unwrap_or_else(|| "the agent gave no message".to_owned()),
                traceback: take("traceback"),
                hint: take("hint"),
            }
        }
        Some(other) => plain(other.to_string()),
        None => plain("the agent gave no reason".to_owned()),
    }
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
    use super::*;

    fn hello(message: &str) -> Result<Hello, FrameError> {
        match read(message, TextMode::Plain)? {
            AgentFrame::Hello(hello) => Ok(*hello),
            other => panic!("not a hello: {other:?}"),
        }
    }

    fn response(message: &str, mode: TextMode) -> Answer {
        match read(message, mode).unwrap() {
            AgentFrame::Response(response) => response.answer,
            other => panic!("not a response: {other:?}"),
        }
    }

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
        assert_eq!(read.text_mode(), TextMode::Bytes);
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
                Ok(read) => assert!(taken && read.boot_name() == Some(boot)),
                Err(error) => assert!(!taken && error.to_string().contains("`boot`"), "{error}"),
            }
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

    #[test]
    fn errors_of_both_versions_are_read() {
        let old = response(
            r#"{"type":"response","id":"r","ok":false,"error":"unknown method"}"#,
            TextMode::Plain,
        );
        assert_eq!(old.error.unwrap().message, "unknown method");
        let new = response(
            r#"{"type":"response","id":"r","ok":false,"result":{"output":"\u00c3\u00a9"},
                "error":{"kind":"runtime","message":"boom","traceback":"t","hint":""}}"#,
            TextMode::Bytes,
        );
        let error = new.error.unwrap();
        assert_eq!(
            (error.kind.as_str(), error.message.as_str(), error.hint),
            ("runtime", "boom", None)
        );
        assert_eq!(new.result.unwrap()["output"], "é");
        let odd = response(
            r#"{"type":"response","id":"r","ok":false,"error":[1]}"#,
            TextMode::Plain,
        );
        assert_eq!(odd.error.unwrap().message, "[1]");
    }

    #[test]
    fn what_is_no_frame_is_an_error_and_an_unknown_type_is_not() {
        for bad in [
            "",
            "{",
            "[]",
            "{}",
            r#"{"type":7}"#,
            r#"{"type":"response","id":7,"ok":true}"#,
            r#"{"type":"response","id":"x"}"#,
            r#" ["ping",null,null,null,null,7]"#,
        ] {
            assert!(read(bad, TextMode::Plain).is_err(), "{bad}");
        }
        let deep = format!(
            r#"{{"type":"x","result":{}{}}}"#,
            "[".repeat(60_000),
            "]".repeat(60_000)
        );
        assert!(read(&deep, TextMode::Plain).is_err());
        assert!(
            matches!(read(r#"{"type":"news"}"#, TextMode::Plain), Ok(AgentFrame::Unknown(kind)) if kind == "news")
        );
    }
}
