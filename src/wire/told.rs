//! What a tool's handler on a computer tells whoever waits for it, beside what it prints: it comes with pieces of output.

use serde_json::Value;

use super::text::{self, TextMode};
use crate::base::excerpt::shortened;

/// How much of one piece of output is told at most.
const MOST: usize = 256;

/// The longest text, in characters. Agents cut theirs before.
const LONGEST: usize = 4 * 1024;

/// What a handler tells. Its text is for people.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// How far it has come.
    Progress {
        /// What it does now.
        text: String,
        /// How much is done, if it counts.
        done: Option<f64>,
        /// How much there is to do, if it knows.
        total: Option<f64>,
    },
    /// A line for the log.
    Log {
        /// How much it matters.
        level: LogLevel,
        /// The line.
        text: String,
    },
}

/// How much a line of a handler's log matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogLevel {
    /// For whoever looks for a fault.
    Debug,
    /// What happens.
    Info,
    /// Something is not as it should be.
    Warning,
    /// Something failed.
    Error,
}

/// What came with a piece of output. What can't be read of it is passed over, since the output counts all the same.
pub fn read(value: &Value, mode: TextMode) -> Vec<Told> {
    let items = value.as_array().map_or(&[][..], Vec::as_slice);
    items
        .iter()
        .take(MOST)
        .filter_map(|item| read_one(item, mode))
        .collect()
}

fn read_one(item: &Value, mode: TextMode) -> Option<Told> {
    let text = |name| {
        let text = text::decode(item.get(name)?.as_str()?, mode);
        Some(shortened(&text::read(&text), LONGEST).into_owned())
    };
    if let Some(text) = text("progress") {
        let number = |name| item.get(name).and_then(Value::as_f64);
        return Some(Told::Progress {
            text,
            done: number("done"),
            total: number("total"),
        });
    }
    let level = match item.get("log")?.as_str()? {
        "debug" => LogLevel::Debug,
        "info" => LogLevel::Info,
        "warning" => LogLevel::Warning,
        "error" => LogLevel::Error,
        _ => return None,
    };
    Some(Told::Log {
        level,
        text: text("text")?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_can_be_read_is_and_the_rest_is_passed_over() {
        let value = json!([
            {"progress": "\u{c3}\u{a4}", "done": 1, "total": null},
            {"log": "warning", "text": "low"},
            {"log": "shout", "text": "x"}, {"log": "info"}, {"progress": 7}, [], null, "x",
        ]);
        assert_eq!(
            read(&value, TextMode::Bytes),
            [
                Told::Progress {
                    text: "ä".to_owned(),
                    done: Some(1.0),
                    total: None
                },
                Told::Log {
                    level: LogLevel::Warning,
                    text: "low".to_owned()
                }
            ]
        );
        assert_eq!(read(&json!({"progress": "x"}), TextMode::Bytes), []);
    }

    #[test]
    fn it_is_bounded_in_number_and_length() {
        let many = vec![json!({"log": "info", "text": "x".repeat(100_000)}); 10_000];
        let told = read(&json!(many), TextMode::Bytes);
        assert_eq!(told.len(), MOST);
        assert!(told.iter().all(|told| matches!(
            told,
            Told::Log { text, .. } if text.chars().count() <= LONGEST
        )));
    }
}
