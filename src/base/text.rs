//! Text that a person reads: what a computer sent, on one line, a word to type, and moments; and which texts a program may
//! misread.

use std::{borrow::Cow, time::SystemTime};

use icu_properties::{
    CodePointMapData, CodePointSetData,
    props::{DefaultIgnorableCodePoint, Emoji, GeneralCategory},
};
use serde::de::IgnoredAny;

/// `text` on one line, with nothing in it that can't be seen: what would end the line, move the cursor, turn the
/// direction of writing, or be there for programs only is escaped. So nothing a computer sends can look like a line of
/// ours, or tell a model what no person reads.
pub fn one_line(text: &str) -> Cow<'_, str> {
    if text
        .bytes()
        .all(|byte| byte.is_ascii() && !byte.is_ascii_control())
    {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len() + 8);
    let mut before = None;
    for c in text.chars() {
        if is_plain(c) || before.is_some_and(|before| chooses_look(before, c)) {
            line.push(c);
        } else {
            line.extend(c.escape_default());
        }
        before = Some(c);
    }
    Cow::Owned(line)
}

/// Whether a character shows itself, and leaves those around it where they are.
fn is_plain(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    let moves = matches!(
        CodePointMapData::<GeneralCategory>::new().get(c),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
    );
    // Tags, fillers and variation selectors, also those that Unicode has only set room aside for.
    !moves && !CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
}

/// Whether `c` only says how the emoji before it is drawn, as in most texts that have one.
fn chooses_look(before: char, c: char) -> bool {
    matches!(c, '\u{FE0E}' | '\u{FE0F}')
        && !before.is_ascii()
        && CodePointSetData::new::<Emoji>().contains(before)
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

/// The number of the line in which the byte `offset` of `text` is, from 1; the last one's for what is beyond the end.
pub fn line_at(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
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

/// `word` as a person types it in a shell, as one word of a command that is shown to them.
pub fn in_shell(word: &str) -> String {
    let word = one_line(word);
    let is_plain = |c: char| c.is_alphanumeric() || " -_.,:/@+=".contains(c);
    if word.contains(' ') && word.chars().all(is_plain) {
        // Also where single quotes are none, as in Windows' own shell.
        return format!("\"{word}\"");
    }
    // Only what has a zero in it can't be quoted, which is escaped by now.
    shlex::try_quote(&word).map_or_else(|_| word.to_string(), Cow::into_owned)
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
    fn what_nobody_can_see_in_a_label_is_shown_escaped() {
        for (label, shown) in [
            // Tags, which spell a text of ASCII for models only.
            (
                "a\u{E0001}\u{E0068}\u{E007F}b",
                "a\\u{e0001}\\u{e0068}\\u{e007f}b",
            ),
            (
                "zero\u{200B}width\u{200D}\u{2060}\u{FEFF}",
                "zero\\u{200b}width\\u{200d}\\u{2060}\\u{feff}",
            ),
            (
                "\u{202E}nus\u{2066}\u{61C}\u{200F}",
                "\\u{202e}nus\\u{2066}\\u{61c}\\u{200f}",
            ),
            (
                "\u{AD}\u{34F}\u{3164}\u{115F}\u{180E}",
                "\\u{ad}\\u{34f}\\u{3164}\\u{115f}\\u{180e}",
            ),
            // Selectors of variants, by which any bytes can be hidden.
            ("x\u{FE0F}\u{E0101}", "x\\u{fe0f}\\u{e0101}"),
            ("\u{E0FFF}\u{FFF9}", "\\u{e0fff}\\u{fff9}"),
        ] {
            assert_eq!(one_line(label), shown);
        }
        for seen in [
            "日本語 ñ é €",
            "e\u{301}",
            "⚙\u{FE0F} set",
            "\u{10FE80}\u{E000}",
            "بيت",
        ] {
            assert_eq!(one_line(seen), seen);
        }
    }

    #[test]
    fn a_word_is_shown_as_it_is_typed() {
        for (word, typed) in [
            ("github", "github"),
            ("my server", "\"my server\""),
            ("", "''"),
            ("a'b", "\"a'b\""),
            ("$HOME x", "'$HOME x'"),
            ("a;b", "'a;b'"),
        ] {
            assert_eq!(in_shell(word), typed);
        }
        assert!(!in_shell("a\nb").contains('\n'));
    }

    #[test]
    fn a_moment_is_told_to_the_second() {
        let moment = SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_000_250);
        assert_eq!(timestamp(moment), "1970-01-12T13:46:40Z");
    }
}
