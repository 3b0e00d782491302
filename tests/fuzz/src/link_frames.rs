//! Frames of the link protocol, as an agent sends them.

use mcp_bridge::{
    base::text::one_line,
    wire::{
        ending::HelloError,
        frame::{self, AgentFrame},
        hello::{self, Hello},
        limits::{DEFAULT_MAX_MESSAGE, PROTOCOL},
        outgoing,
        parts::Part,
        text::{self, TextMode},
    },
};
use serde_json::Value;

use super::{agent_json::split_mode, parts};

/// The longest texts of a hello that are kept, in characters.
const MAX_LABEL: usize = 128;

/// Any text is a frame that says what the same JSON says, or is refused with a reason. So is what the lines of the text
/// amount to that are parts of frames.
pub fn check(data: &[u8]) {
    let Some((mode, data)) = split_mode(data) else {
        return;
    };
    let Ok(message) = std::str::from_utf8(data) else {
        return;
    };
    check_message(message, mode);
    for whole in parts::put_together(message, mode) {
        check_message(&whole, mode);
    }
}

fn check_message(message: &str, mode: TextMode) {
    match frame::read(message, mode) {
        Ok(read) => check_frame(message, &read, mode),
        Err(error) => check_refusal(&error.to_string()),
    }
    hello::claims_hello(message);
}

fn check_frame(message: &str, read: &AgentFrame, mode: TextMode) {
    // What the reader skips may be JSON that a Value can't hold.
    let Ok(value) = serde_json::from_str::<Value>(message) else {
        return;
    };
    assert!(value.is_object(), "only an object is a frame: {message}");
    let kind = value["type"].as_str().unwrap();
    match read {
        AgentFrame::Hello(hello) => {
            assert_eq!(kind, "hello");
            check_hello(&value, hello);
        }
        // One that holds too much is not read.
        AgentFrame::Response(_) if message.len() > DEFAULT_MAX_MESSAGE => {}
        AgentFrame::Response(response) => {
            assert_eq!(
                (kind, value["id"].as_str()),
                ("response", Some(response.id.as_str()))
            );
            assert_eq!(value["ok"], response.answer.error.is_none());
            let result = value.get("result").filter(|result| !result.is_null());
            let result = result.map(|result| text::decode_value(result.clone(), mode));
            assert_eq!(response.answer.result, result);
        }
        AgentFrame::Label(label) => {
            assert_eq!((kind, value["name"].as_str()), ("event", Some("label")));
            let told = value["label"].as_str().unwrap_or_default();
            assert_eq!(label.is_none(), told.is_empty());
        }
        AgentFrame::Paused(paused) => {
            assert_eq!((kind, value["name"].as_str()), ("event", Some("paused")));
            assert_eq!(value["paused"].as_bool(), Some(*paused));
        }
        AgentFrame::Accepted { id, .. } => {
            assert_eq!(
                (kind, value["id"].as_str()),
                ("accepted", Some(id.as_str()))
            )
        }
        AgentFrame::Output(piece) => {
            assert_eq!(
                (kind, value["id"].as_str()),
                ("output", Some(piece.id.as_str()))
            );
            assert_eq!(value["seq"].as_u64(), Some(piece.seq));
            assert_eq!(
                piece.bytes,
                text::bytes(value["text"].as_str().unwrap(), mode)
            );
        }
        AgentFrame::Job(report) => {
            assert_eq!((kind, value["name"].as_str()), ("event", Some("job")));
            assert_eq!(
                text::decode(value["job"]["id"].as_str().unwrap(), mode),
                report.id.as_str()
            );
        }
        AgentFrame::Part(Part { of, n, count, data }) => {
            assert_eq!(
                (kind, value["of"].as_str(), value["data"].as_str()),
                ("part", Some(&**of), Some(&**data))
            );
            assert_eq!(
                (value["n"].as_u64(), value["count"].as_u64()),
                (Some(*n as u64), Some(*count as u64))
            );
        }
        AgentFrame::PartAck { of, n, error } => {
            assert_eq!(
                (kind, value["of"].as_str(), value["n"].as_u64()),
                ("part-ack", Some(&**of), Some(*n as u64))
            );
            assert_eq!(error.is_none(), value["error"].is_null());
        }
        AgentFrame::Ping(n) => assert_eq!((kind, value["n"].as_u64()), ("ping", Some(*n))),
        AgentFrame::Pong { .. } => assert_eq!(kind, "pong"),
        AgentFrame::Unknown(other) => {
            assert_eq!(kind, other);
            let known = [
                "hello", "accepted", "output", "response", "part", "part-ack", "ping", "pong",
            ];
            assert!(!known.contains(&kind));
        }
    }
}

fn check_hello(value: &Value, hello: &Hello) {
    assert_eq!(value["computerId"].as_f64(), Some(hello.computer.0 as f64));
    assert!((1..=PROTOCOL).contains(&hello.protocol));
    assert_eq!(
        hello.dialect().text_mode() == TextMode::Bytes,
        hello.protocol >= 2
    );
    let given = value["computerLabel"].as_str().unwrap_or_default();
    let label = hello.label.as_deref().unwrap_or_default();
    assert!(given.starts_with(label) && label.chars().count() <= MAX_LABEL);
    assert_eq!(label.is_empty(), given.is_empty());
    assert_ne!(hello.label.as_deref(), Some(""));
    check_line(label);
    assert_eq!(hello.token.as_deref(), value["token"].as_str());
}

/// Whether an answer that tells the agent why is a frame that any game takes.
fn check_refusal(reason: &str) {
    assert!(!reason.is_empty());
    let told = outgoing::hello_error(&HelloError {
        error: reason.to_owned(),
        retry: false,
        retry_after: None,
    });
    assert!(told.is_ascii());
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["error"], reason);
}

/// Whether a text of the game's stays on one line, and says what it said wherever that was harmless.
pub fn check_line(text: &str) {
    let line = one_line(text);
    let moves = |c: char| {
        c.is_control()
            || matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    assert!(!line.contains(moves), "{line:?}");
    assert_eq!(line.lines().count(), usize::from(!line.is_empty()));
    assert_eq!(one_line(&line), line);
    // What can't be seen is escaped too, and what can never is.
    let harmless = |c: char| matches!(c, ' '..='~' | '\u{A1}'..='\u{AC}' | '\u{AE}'..='\u{34E}' | '\u{4E00}'..='\u{9FFF}');
    if text.chars().all(harmless) {
        assert_eq!(line, text);
    }
}
