//! Text that a person reads: what a computer sent, on one line, and moments; and which texts a program may misread.

use std::{borrow::Cow, time::SystemTime};

use serde::de::IgnoredAny;

/// `text` on one line: what would end the line, move the cursor or turn the direction of writing is escaped, so that
/// nothing a computer sends can look like a line of ours.
pub fn one_line(text: &str) -> Cow<'_, str> {
    let unsafe_in_a_line = |c: char| {
        c.is_control()
            || matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(unsafe_in_a_line) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if unsafe_in_a_line(c) {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
    }
    Cow::Owned(line)
}

/// Whether all of a text is JSON, but no object: `2`, `true`, `"x"`, `[1]`.
///
/// A client may take a tool's text for the structured content that it lacks, and such content for a broken protocol, since
/// it has to be an object. Gemini CLI does so (0.61), so no text of ours alone is of this kind.
pub fn is_json_but_no_object(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    !text.starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// A value that a tool returned, as it is shown: the mark tells it from what was printed, and keeps it from being taken for
/// JSON (see [`is_json_but_no_object`]).
pub fn as_value(value: &str) -> String {
    format!("=> {value}")
}

/// `moment` as RFC 3339 in UTC, to the second.
pub fn timestamp(moment: SystemTime) -> String {
    time::OffsetDateTime::from(moment)
        .replace_nanosecond(0)
        .ok()
        .and_then(|moment| {
            moment
                .format(&time::format_description::well_known::Rfc3339)
                .ok()
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn nothing_in_a_label_can_start_a_new_line() {
        assert_eq!(
            one_line("base\r\npong\u{1b}[2J\u{2028}\u{202e}\u{85}"),
            "base\\r\\npong\\u{1b}[2J\\u{2028}\\u{202e}\\u{85}"
        );
        assert_eq!(one_line("plain é"), "plain é");
    }

    #[test]
    fn json_that_is_no_object_is_told_from_other_text() {
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        for json in [
            "2",
            " -0.5e999\n",
            "\r\ttrue ",
            "false",
            "null",
            "\"x\"",
            "\"\\ud800\"",
            "[]",
            "[1, {}]\n",
            &deep,
        ] {
            assert!(is_json_but_no_object(json), "{json}");
        }
        for other in [
            "",
            " ",
            "{}",
            " {\"a\": [1]}",
            "nil",
            "02",
            "0x1",
            "inf",
            "1\n2",
            "'x'",
            "[1,]",
            "\u{feff}2",
            "\u{a0}2",
            "=> 2",
            "True",
            "\"a\nb\"",
        ] {
            assert!(!is_json_but_no_object(other), "{other}");
        }
    }

    #[test]
    fn a_moment_is_told_to_the_second() {
        let moment = SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_000_250);
        assert_eq!(timestamp(moment), "1970-01-12T13:46:40Z");
    }
}
