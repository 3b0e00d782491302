//! Text that a person reads: what a computer sent, on one line, and moments.

use std::{borrow::Cow, time::SystemTime};

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
    fn a_moment_is_told_to_the_second() {
        let moment = SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_000_250);
        assert_eq!(timestamp(moment), "1970-01-12T13:46:40Z");
    }
}
