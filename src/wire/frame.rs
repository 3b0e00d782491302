//! The frames that an agent sends, read into types. No I/O.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::{
    error::{AgentError, ErrorKind},
    hello::{self, Hello, HelloError},
    limits::{DEFAULT_MAX_MESSAGE, MAX_ID},
    names::RequestId,
    parts::Part,
    text::{self, TextMode},
    told::{self, Told},
};
use crate::base::json::has_more_values;

/// A frame from an agent.
#[derive(Debug)]
pub enum AgentFrame {
    /// Who the agent is; the first frame of a link.
    Hello(Box<Hello>),
    /// A request arrived and will be run, once (version 2).
    Accepted {
        /// The request's id.
        id: RequestId,
        /// Whether its job goes on by itself, since the bridge said so.
        detached: bool,
        /// Whether the agent asks its player yet whether it may run.
        asking: bool,
    },
    /// A piece of what a job printed (version 2).
    Output(OutputPiece),
    /// The answer to a request.
    Response(Response),
    /// A job that the agent still knows, told after a new link (version 2).
    Job(JobReport),
    /// The computer has another label now, or none (version 2).
    Label(Option<String>),
    /// Whether the player lets nothing new begin on the computer, from now on (version 2).
    Paused(bool),
    /// A part of a frame (version 2).
    Part(Part),
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
    Pong {
        /// What the agent's clock showed then, in milliseconds since 1970, if it tells.
        at: Option<u64>,
    },
    /// A type that this bridge doesn't know.
    Unknown(String),
}

/// Why a message is no frame.
#[derive(Debug, Error)]
pub enum FrameError {
    /// Not JSON, or JSON of another shape.
    #[error("malformed frame: {0}")]
    Malformed(#[from] serde_json::Error),
    /// A hello that can't be one.
    #[error(transparent)]
    Hello(#[from] HelloError),
    /// Its id is too long.
    #[error("an id of more than {MAX_ID} bytes")]
    LongId,
}

/// The answer to a request.
#[derive(Debug)]
pub struct Response {
    /// The request's id.
    pub id: RequestId,
    /// What came of it.
    pub answer: Answer,
    /// How many bytes the job printed in all, if the agent tells.
    pub output_bytes: Option<u64>,
    /// Whether the computer goes down right after it, and takes no request any more.
    pub halts: bool,
}

/// A piece of what a job printed.
#[derive(Debug)]
pub struct OutputPiece {
    /// The request's id.
    pub id: RequestId,
    /// Its place among the job's pieces, from 1.
    pub seq: u64,
    /// How many bytes the job printed before these, if the agent tells.
    pub at: Option<u64>,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// How many bytes were lost right before it.
    pub dropped: u64,
    /// What the job tells beside that.
    pub told: Vec<Told>,
}

/// What an agent tells of a job that it still knows.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobReport {
    /// The request's id.
    pub id: RequestId,
    /// How long ago it was started, in milliseconds.
    #[serde(default)]
    pub age_ms: u64,
    /// The beginning of its code.
    #[serde(default)]
    pub code: String,
    /// Whether it holds the turtle.
    #[serde(default)]
    pub exclusive: bool,
    /// Whether it waits for its turn yet.
    #[serde(default)]
    pub not_begun: bool,
    /// Whether its player is asked yet whether it may run.
    #[serde(default)]
    pub asking: bool,
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
    /// The result; beside an error it may carry the output so far. Its strings are bytes (see `base::byte_text`).
    pub result: Option<Value>,
    /// What went wrong, if anything did.
    pub error: Option<AgentError>,
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
    #[serde(default)]
    told: Value,
    #[serde(default, rename = "outputBytes")]
    output_bytes: Option<u64>,
    #[serde(default)]
    halts: bool,
    #[serde(default)]
    detached: Option<bool>,
    #[serde(default)]
    asking: Option<bool>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    paused: Option<bool>,
    #[serde(default)]
    job: Option<Value>,
    #[serde(default)]
    of: Option<String>,
    #[serde(default)]
    count: Option<usize>,
    #[serde(default)]
    data: Option<String>,
}

/// The most JSON values in a frame that came in parts. Each takes some 70 bytes, and as JSON as few as two.
const MAX_VALUES: usize = 200_000;

/// Reads one message of an agent whose strings are as `mode` says.
///
/// # Errors
/// The message is not a frame.
pub fn read(message: &str, mode: TextMode) -> Result<AgentFrame, FrameError> {
    if message.len() > DEFAULT_MAX_MESSAGE && has_more_values(message.as_bytes(), MAX_VALUES) {
        return of_too_many_values(message);
    }
    // serde would take an array for a struct's fields in their order.
    if message.trim_ascii_start().starts_with('[') {
        return Err(FrameError::Malformed(serde::de::Error::custom(
            "an array, where only an object is a frame",
        )));
    }
    let wire: Wire<'_> = serde_json::from_str(message)?;
    let missing = |field| FrameError::Malformed(serde::de::Error::missing_field(field));
    let needed = |field: Option<String>, name| field.ok_or_else(|| missing(name));
    let request = |id| match needed(id, "id")? {
        id if id.len() <= MAX_ID => Ok(RequestId::from(id)),
        _ => Err(FrameError::LongId),
    };
    Ok(match wire.kind.as_ref() {
        "hello" => AgentFrame::Hello(Box::new(hello::read(message)?)),
        "accepted" => AgentFrame::Accepted {
            id: request(wire.id)?,
            detached: wire.detached.unwrap_or(false),
            asking: wire.asking.unwrap_or(false),
        },
        "output" => AgentFrame::Output(OutputPiece {
            id: request(wire.id)?,
            seq: wire.seq.ok_or_else(|| missing("seq"))?,
            at: wire.at,
            bytes: text::bytes(&needed(wire.text, "text")?, mode),
            dropped: wire.dropped.unwrap_or(0),
            told: told::read(&wire.told, mode),
        }),
        "response" => {
            let id = request(wire.id)?;
            let ok = wire.ok.ok_or_else(|| missing("ok"))?;
            let result = wire.result.map(|result| text::decode_value(result, mode));
            let error = (!ok)
                .then(|| AgentError::read(wire.error.map(|error| read_by_people(error, mode))));
            AgentFrame::Response(Response {
                id,
                answer: Answer { result, error },
                output_bytes: wire.output_bytes,
                halts: wire.halts,
            })
        }
        "event" if wire.name.as_deref() == Some("job") => {
            let report = wire.job.filter(Value::is_object);
            let report = read_by_people(report.ok_or_else(|| missing("job"))?, mode);
            let report: JobReport = serde_json::from_value(report)?;
            if report.id.as_str().len() > MAX_ID {
                return Err(FrameError::LongId);
            }
            AgentFrame::Job(report)
        }
        "event" if wire.name.as_deref() == Some("label") => {
            let label = wire.label.as_deref();
            let label = label.map(|label| text::read(&text::decode(label, mode)).into_owned());
            AgentFrame::Label(label.and_then(hello::label))
        }
        "event" if wire.name.as_deref() == Some("paused") => {
            AgentFrame::Paused(wire.paused.ok_or_else(|| missing("paused"))?)
        }
        "part" => AgentFrame::Part(Part {
            of: needed(wire.of, "of")?,
            n: part_number(wire.n).ok_or_else(|| missing("n"))?,
            count: wire.count.ok_or_else(|| missing("count"))?,
            data: needed(wire.data, "data")?,
        }),
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
        "pong" => AgentFrame::Pong { at: wire.at },
        other => AgentFrame::Unknown(other.to_owned()),
    })
}

/// An answer with more values than are taken says so in the place of its result; other frames are none.
fn of_too_many_values(message: &str) -> Result<AgentFrame, FrameError> {
    #[derive(Deserialize)]
    struct Outline {
        r#type: String,
        id: String,
    }
    let too_many = format!("it has more than {MAX_VALUES} values");
    let Outline { r#type, id } = serde_json::from_str(message)?;
    if r#type != "response" || id.len() > MAX_ID {
        return Err(FrameError::Malformed(serde::de::Error::custom(too_many)));
    }
    let message = format!("the code ran, but its answer is too large: {too_many}");
    Ok(AgentFrame::Response(Response {
        id: id.into(),
        answer: Answer {
            result: None,
            error: Some(AgentError::new(ErrorKind::TooLarge, message)),
        },
        output_bytes: None,
        halts: false,
    }))
}

/// What nobody but people reads: words, and the beginning of code.
fn read_by_people(value: Value, mode: TextMode) -> Value {
    text::read_value(text::decode_value(value, mode))
}

fn part_number(n: Option<u64>) -> Option<usize> {
    n.and_then(|n| usize::try_from(n).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(message: &str, mode: TextMode) -> Answer {
        match read(message, mode).unwrap() {
            AgentFrame::Response(response) => response.answer,
            other => panic!("not a response: {other:?}"),
        }
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
    fn an_answer_of_too_many_values_says_so_and_is_not_read() {
        let answer = |values: &str| {
            let frame = format!(r#"{{"type":"response","id":"r","ok":true,"result":[{values}]}}"#);
            response(&frame, TextMode::Bytes)
        };
        let taken = answer(&format!(
            r#"{}"{}""#,
            "0,".repeat(150_000),
            ",[".repeat(150_000)
        ));
        assert_eq!(taken.result.unwrap().as_array().unwrap().len(), 150_001);
        for values in ["0,".repeat(200_000) + "0", "[],".repeat(100_000) + "0"] {
            let refused = answer(&values);
            assert_eq!(refused.result, None);
            let error = refused.error.unwrap();
            assert_eq!(error.kind, ErrorKind::TooLarge);
            assert!(
                error.message.contains("more than 200000 values"),
                "{error:?}"
            );
        }
        let event = format!(
            r#"{{"type":"event","name":"job","job":[{}0]}}"#,
            "0,".repeat(200_000)
        );
        assert!(read(&event, TextMode::Bytes).is_err());
    }

    #[test]
    fn an_id_that_is_too_long_is_none() {
        for (length, taken) in [(MAX_ID, true), (MAX_ID + 1, false)] {
            let id = "x".repeat(length);
            for frame in [
                format!(r#"{{"type":"accepted","id":"{id}"}}"#),
                format!(r#"{{"type":"event","name":"job","job":{{"id":"{id}"}}}}"#),
            ] {
                assert_eq!(read(&frame, TextMode::Bytes).is_ok(), taken, "{frame}");
            }
        }
    }

    #[test]
    fn a_label_is_read_as_that_of_a_hello_is() {
        for (label, read_as) in [
            (r#","label":"\u00c3\u00a9""#, Some("é")),
            (r#","label":"""#, None),
            (r#","label":null"#, None),
            ("", None),
        ] {
            let event = format!(r#"{{"type":"event","name":"label"{label}}}"#);
            match read(&event, TextMode::Bytes).unwrap() {
                AgentFrame::Label(label) => assert_eq!(label.as_deref(), read_as),
                other => panic!("{other:?}"),
            }
        }
        assert!(
            read(
                r#"{"type":"event","name":"label","label":7}"#,
                TextMode::Bytes
            )
            .is_err()
        );
    }

    #[test]
    fn a_pause_is_told_by_a_truth_value_alone() {
        for (paused, read_as) in [("true", Some(true)), ("false", Some(false)), ("1", None)] {
            let event = format!(r#"{{"type":"event","name":"paused","paused":{paused}}}"#);
            match read(&event, TextMode::Bytes) {
                Ok(AgentFrame::Paused(paused)) => assert_eq!(Some(paused), read_as),
                Ok(other) => panic!("{other:?}"),
                Err(_) => assert_eq!(read_as, None, "{event}"),
            }
        }
        assert!(read(r#"{"type":"event","name":"paused"}"#, TextMode::Bytes).is_err());
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
