//! How a job's end is put into words: the output, then the values as Lua shows them, or what went wrong.
//!
//! Each value stands after a mark, as interactive interpreters show what an expression came to: so it is told from what was
//! printed, and no answer is a bare number, string or list, which some clients take for a broken protocol (see
//! [`is_json_but_no_object`]).

use serde_json::Value;

use super::wording::name_of;
use crate::{
    base::text::{as_value, is_json_but_no_object},
    computers::{AgentError, Answer, Computer, End, ErrorKind, Loss, Progress},
    wire::{names::with_short_ids, text},
};

/// What an agent tells in its hello if what any code of a job prints is the job's output, and it minds where code is to
/// draw.
pub const MINDS_WHERE: &str = "where";

/// Whether the computer's agent is known to take for output what any code of a job prints, not only the job's own.
fn tells_all(computer: &Computer) -> bool {
    computer.facts().can(MINDS_WHERE)
}

/// Whether a job was stopped, as somebody asked.
pub fn was_stopped(progress: &Progress) -> bool {
    matches!(progress.end.as_deref(), Some(End::Answered(answer)) if is_stop(answer))
}

fn is_stop(answer: &Answer) -> bool {
    let error = answer.error.as_ref();
    error.is_some_and(|error| error.kind == ErrorKind::Cancelled)
}

/// Whether a job's player was asked, and it was taken back before the answer.
pub fn was_taken_back(progress: &Progress) -> bool {
    let Some(End::Answered(answer)) = progress.end.as_deref() else {
        return false;
    };
    let error = answer.error.as_ref();
    error.is_some_and(|error| error.kind == ErrorKind::Refused && error.not_begun)
}

/// The values a job returned, as they are shown, one a line; nothing if it did not return. A handler's are JSON.
pub fn values(end: &End) -> Vec<String> {
    let End::Answered(Answer {
        result: Some(result),
        ..
    }) = end
    else {
        return Vec::new();
    };
    let list = |key| {
        result
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let of_handler = list("values").map(|value| text::read(&value.to_string()).into_owned());
    list("returns")
        .map(show)
        .chain(of_handler)
        .map(|shown| as_value(&shown))
        .collect()
}

/// What went wrong with a job, without its output; empty if nothing did.
pub fn failure(computer: &Computer, end: &End) -> String {
    match end {
        End::Answered(answer) => match &answer.error {
            Some(error) if is_stop(answer) => stop_text(computer, error),
            Some(error) => error_text(computer, error),
            None => String::new(),
        },
        End::Lost(why @ Loss::NeverReached(_)) => format!(
            "offline error on computer {}: {why}. The code was not run.",
            name_of(&computer.facts())
        ),
        End::Lost(why) => format!(
            "link-lost error on computer {}: {why}. Whether the code ran to its end is not known; look before you run \
             it again.",
            name_of(&computer.facts())
        ),
    }
}

/// Adds what the job's own terminal showed when it ended, if it drew anything there.
pub fn push_screen(shown: &mut String, end: &End) {
    let End::Answered(Answer {
        result: Some(result),
        ..
    }) = end
    else {
        return;
    };
    if let Some(screen) = result.get("screen").and_then(Value::as_str) {
        end_line(shown);
        let screen = words_apart(screen);
        let mark = if screen.contains(ONLY_COLOUR) {
            " (▒: only colour)"
        } else {
            ""
        };
        shown.push_str(&format!("\nIts terminal at the end{mark}:\n"));
        shown.push_str(&text::read(&screen).replace(ONLY_COLOUR, "▒"));
    }
}

/// How the agent marks a blank that only its background shows.
const ONLY_COLOUR: char = '\u{7f}';

/// The same without the marks that stand alone between two words: there it is a space of what is written.
fn words_apart(screen: &str) -> String {
    let all: Vec<char> = screen.chars().collect();
    let is_written = |at: Option<usize>| {
        let beside = at.and_then(|at| all.get(at));
        beside.is_some_and(|beside| !matches!(*beside, ' ' | '\n' | ONLY_COLOUR))
    };
    let parts = |at: usize| is_written(at.checked_sub(1)) && is_written(at.checked_add(1));
    all.iter()
        .enumerate()
        .map(|(at, one)| match *one == ONLY_COLOUR && parts(at) {
            true => ' ',
            false => *one,
        })
        .collect()
}

/// Whether it is the end of a command line, of which nothing comes but what it prints and draws.
fn is_of_program(end: Option<&End>) -> bool {
    let Some(End::Answered(answer)) = end else {
        return false;
    };
    let result = answer.result.as_ref();
    result.is_some_and(|result| result.get("success").is_some())
}

/// What is said of code that ended well, and nothing came of it.
pub fn nothing_came(computer: &Computer, end: Option<&End>) -> &'static str {
    if is_of_program(end) {
        "The program ended well; it printed nothing."
    } else if tells_all(computer) {
        "The code ran to its end; it printed nothing and returned nothing."
    } else {
        "The code ran to its end; it returned nothing, and itself printed nothing. What it ran may have printed \
         (by shell.run, dofile, load, require, io.write, textutils): that computer's agent is not known to pass it on."
    }
}

/// Adds a value that code returned, on a line of its own.
pub fn push_value(shown: &mut String, value: &str) {
    end_line(shown);
    shown.push_str(&as_value(value));
}

/// What is said of code that returned nothing where that is not to be seen.
pub const RETURNED_NOTHING: &str = "The code returned nothing.";

/// What code printed that returned nothing: as it is, unless a client could take it for a broken protocol.
pub fn unmistakable(mut shown: String) -> String {
    if is_json_but_no_object(&shown) {
        end_line(&mut shown);
        shown.push_str(RETURNED_NOTHING);
    }
    shown
}

/// Ends the last line, if there is one that has no end.
pub fn end_line(text: &mut String) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
}

/// A value's descriptor, as Lua would show the value.
fn show(descriptor: &Value) -> String {
    let text_at = |key: &str| descriptor.get(key).and_then(Value::as_str);
    match (text_at("type"), descriptor.get("value")) {
        (Some("nil"), _) => "nil".to_owned(),
        (Some("string"), Some(Value::String(bytes))) => quote(&text::read(bytes)),
        (Some("number"), Some(Value::Number(number))) => show_number(number),
        (Some(_), Some(Value::Bool(truth))) => truth.to_string(),
        _ => match text_at("repr") {
            Some(repr) => text::read(repr).into_owned(),
            None => text::read(&descriptor.to_string()).into_owned(),
        },
    }
}

/// Lua has one kind of number: `2.0` on the wire is `2`.
fn show_number(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => {
            format!("{float:.0}")
        }
        _ => number.to_string(),
    }
}

/// A string as a Lua literal; line breaks stay readable as `\n`.
fn quote(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            // Three digits, so that a digit after it is not taken for a part of it.
            c if c.is_ascii_control() => literal.push_str(&format!("\\{:03}", u32::from(c))),
            c => literal.push(c),
        }
    }
    literal.push('"');
    literal
}

/// Why a job had not begun where the agent gives no reason.
pub const STOPPED_BEFORE: &str = "it was stopped before it began";

/// Why a job that was stopped had not begun; nothing if it had, or has not been stopped.
pub fn why_not_begun(progress: &Progress) -> Option<String> {
    let End::Answered(answer) = progress.end.as_deref()? else {
        return None;
    };
    let error = answer.error.as_ref();
    let stopped = error.filter(|error| error.not_begun && error.kind == ErrorKind::Cancelled)?;
    Some(why_stopped(stopped).to_owned())
}

/// Why a job was stopped that had not begun: the agent says so where its player had yet to answer another question.
fn why_stopped(error: &AgentError) -> &str {
    match error.message.as_str() {
        "" | "cancelled" => STOPPED_BEFORE,
        why => why,
    }
}

/// A stop is no error: it is what somebody asked for. The agent adds why where nobody did.
fn stop_text(computer: &Computer, error: &AgentError) -> String {
    let name = name_of(&computer.facts());
    if error.not_begun {
        let why = why_stopped(error);
        return format!("The code was not run on computer {name}: {why}.");
    }
    let stopped = format!("The code was stopped before its end on computer {name}");
    match error.message.as_str() {
        "" | "cancelled" => format!("{stopped}, as was asked."),
        why => format!("{stopped}: {why}."),
    }
}

/// What the agent reports, as far as it knows it: kind and message, traceback, hint.
fn error_text(computer: &Computer, error: &AgentError) -> String {
    let name = name_of(&computer.facts());
    let mut shown = match &error.kind {
        ErrorKind::Unkinded | ErrorKind::UnknownMethod => {
            format!("Error on computer {name}: {}", error.message)
        }
        // These words are the agent's own, and may name a job.
        ErrorKind::Refused => {
            let why = with_short_ids(&error.message);
            format!("refused error on computer {name}: {why}")
        }
        kind => format!("{kind} error on computer {name}: {}", error.message),
    };
    if let Some(traceback) = &error.traceback {
        shown.push_str(&format!("\n\n{traceback}"));
    }
    if let Some(hint) = hint_for(error) {
        shown.push_str(&format!("\n\nHint: {hint}"));
    }
    shown
}

/// What to do about an agent that lacks something.
pub const OLD_AGENT: &str = "the agent on that computer is older than this bridge. Update it by update-agent (reach it by \
    call-tool), or in the game: `wget run http://HOST:PORT/install.lua`, with this bridge's address.";

fn hint_for(error: &AgentError) -> Option<&str> {
    match &error.hint {
        Some(hint) => Some(hint),
        None => error.kind.is_of_an_old_agent().then_some(OLD_AGENT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_mark_between_words_is_a_space() {
        for (screen, read) in [
            ("\u{7f}Open\u{7f}all\u{7f}", "\u{7f}Open all\u{7f}"),
            ("Open\u{7f}\u{7f}all", "Open\u{7f}\u{7f}all"),
            ("a\u{7f}\nb \u{7f}c", "a\u{7f}\nb \u{7f}c"),
            ("\u{7f}", "\u{7f}"),
        ] {
            assert_eq!(words_apart(screen), read);
        }
    }

    #[test]
    fn values_are_shown_as_lua_shows_them() {
        for (descriptor, shown) in [
            (json!({"type":"nil"}), "nil"),
            (json!({"type":"number","value":2}), "2"),
            (json!({"type":"number","value":2.0}), "2"),
            (json!({"type":"number","value":-0.5}), "-0.5"),
            (json!({"type":"number","repr":"nan"}), "nan"),
            (json!({"type":"boolean","value":false}), "false"),
            (
                json!({"type":"string","value":"a\"b\n\u{1}2"}),
                r#""a\"b\n\0012""#,
            ),
            (json!({"type":"table","repr":"{ 1, 2 }"}), "{ 1, 2 }"),
            (
                json!({"type":"function","repr":"function: 0x1"}),
                "function: 0x1",
            ),
            (json!("odd"), "\"odd\""),
        ] {
            assert_eq!(show(&descriptor), shown);
        }
    }

    #[test]
    fn what_alone_would_be_json_is_no_answer() {
        for (printed, shown) in [
            ("2\n", "2\nThe code returned nothing."),
            ("[1]", "[1]\nThe code returned nothing."),
            ("two\n", "two\n"),
            ("{\"a\":1}", "{\"a\":1}"),
        ] {
            assert_eq!(unmistakable(printed.to_owned()), shown);
        }
    }

    #[test]
    fn an_old_agents_unknown_method_says_how_to_update_it() {
        let error = AgentError::new(ErrorKind::UnknownMethod, "unknown method");
        assert!(hint_for(&error).unwrap().contains("Update it"));
    }
}
