//! A text of which there is too much to show: its beginning and its end, or a page of it, cut between lines where there
//! are lines and never inside a character. No I/O.

use std::{borrow::Cow, iter};

/// How much of a name that somebody gave is repeated where it is unknown, in characters.
pub const LONGEST_NAME: usize = 200;

/// A line of a text with its line break, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<'a> {
    /// What is shown of it.
    pub text: Cow<'a, str>,
    /// Its position: whoever reads on from there begins with it.
    pub at: u64,
    /// How the positions inside it run.
    pub steps: Steps,
}

/// How many positions what is shown of a line stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steps {
    /// One for each byte of it.
    Bytes,
    /// One for each character of it.
    Characters,
    /// So many for all of it; it is not cut.
    Whole(u64),
}

/// A part of a text that begins or ends where it had to be cut.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    /// It.
    pub text: String,
    /// How many characters that are.
    pub length: usize,
    /// The position at its cut.
    pub at: u64,
}

/// What an excerpt leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// How many characters the whole text has.
    pub total: usize,
    /// How many of them are left out.
    pub left_out: usize,
    /// The position from which on they are.
    pub from: u64,
}

impl Line<'_> {
    fn length(&self) -> usize {
        self.text.chars().count()
    }

    /// The position after so many of its characters.
    fn position(&self, characters: usize) -> u64 {
        let steps = match self.steps {
            Steps::Characters => characters as u64,
            Steps::Bytes => byte_of(&self.text, characters) as u64,
            Steps::Whole(_) if characters == 0 => 0,
            Steps::Whole(steps) => steps,
        };
        self.at + steps
    }

    /// The position after it.
    pub fn end(&self) -> u64 {
        self.position(self.length())
    }

    /// Whether it may be cut where lines before it fill less than half of the room.
    fn is_cut(&self, room: usize, most: usize) -> bool {
        room > most / 2 && !matches!(self.steps, Steps::Whole(_))
    }
}

/// The byte at which the character of this number begins.
fn byte_of(text: &str, character: usize) -> usize {
    let mut begins = text.char_indices().map(|(at, _)| at);
    begins.nth(character).unwrap_or(text.len())
}

/// The lines of a text whose positions count its bytes, from `from` on.
pub fn lines(text: &str, from: u64) -> impl Iterator<Item = Line<'_>> {
    let mut at = from;
    text.split_inclusive('\n').map(move |line| {
        let here = at;
        at += line.len() as u64;
        Line {
            text: line.into(),
            at: here,
            steps: Steps::Bytes,
        }
    })
}

/// How many characters the lines have.
pub fn length(lines: &[Line<'_>]) -> usize {
    lines.iter().map(Line::length).sum()
}

/// The first lines, `most` characters of them at most, and the position after them. A line is cut only if it is longer
/// than half of that.
pub fn head(lines: &[Line<'_>], most: usize) -> Part {
    let (mut text, mut room) = (String::new(), most);
    let mut at = lines.first().map_or(0, |line| line.at);
    for line in lines {
        let length = line.length();
        if length > room {
            if line.is_cut(room, most) {
                text.push_str(&line.text[..byte_of(&line.text, room)]);
                at = line.position(room);
                room = 0;
            }
            break;
        }
        text.push_str(&line.text);
        at = line.end();
        room -= length;
    }
    Part {
        text,
        length: most - room,
        at,
    }
}

/// The last lines, `most` characters of them at most, and the position of the first. As with [`head`].
pub fn tail(lines: &[Line<'_>], most: usize) -> Part {
    let (mut parts, mut room) = (Vec::new(), most);
    let mut at = lines.last().map_or(0, Line::end);
    for line in lines.iter().rev() {
        let length = line.length();
        if length > room {
            if line.is_cut(room, most) {
                let before = length - room;
                parts.push(&line.text[byte_of(&line.text, before)..]);
                at = line.position(before);
                room = 0;
            }
            break;
        }
        parts.push(&line.text);
        at = line.at;
        room -= length;
    }
    parts.reverse();
    Part {
        text: parts.concat(),
        length: most - room,
        at,
    }
}

/// All lines if they have `most` characters at most; else the first and the last of them, with `note` on a line of its
/// own where the others are missing, `most` characters in all.
pub fn excerpt(lines: &[Line<'_>], most: usize, note: impl Fn(&Gap) -> String) -> String {
    let total = length(lines);
    if total <= most {
        return lines.iter().map(|line| &*line.text).collect();
    }
    // No note has larger numbers, so none is longer.
    let longest = note(&Gap {
        total,
        left_out: total,
        from: lines.last().map_or(0, Line::end),
    });
    let line_breaks = 2;
    let room = most.saturating_sub(longest.chars().count() + line_breaks);
    let (head, tail) = (head(lines, room - room / 2), tail(lines, room / 2));
    let note = note(&Gap {
        total,
        left_out: total - head.length - tail.length,
        from: head.at,
    });
    let before = if head.text.is_empty() || head.text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let after = if tail.text.is_empty() { "" } else { "\n" };
    first(
        &[&head.text, before, &note, after, &tail.text].concat(),
        most,
    )
    .to_owned()
}

/// The first characters of a text, `most` at most.
pub fn first(text: &str, most: usize) -> &str {
    &text[..byte_of(text, most)]
}

/// A text on which nothing is read on: its first characters, and a mark if there are more; `most` in all.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    if text.len() <= most || byte_of(text, most) == text.len() {
        return Cow::Borrowed(text);
    }
    let shown = first(text, most.saturating_sub(1)).chars();
    Cow::Owned(shown.chain(iter::once('…')).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: usize) -> String {
        (1..=count).map(|number| format!("{number:04}\n")).collect()
    }

    fn cut(text: &str, most: usize) -> String {
        let lines: Vec<_> = lines(text, 0).collect();
        excerpt(&lines, most, |gap| {
            format!("[{} of {} from {}]", gap.left_out, gap.total, gap.from)
        })
    }

    #[test]
    fn what_fits_stays_as_it_is() {
        for text in ["", "one", "one\ntwo\n", "éééé"] {
            assert_eq!(cut(text, text.chars().count()), text);
        }
    }

    #[test]
    fn head_and_tail_are_shown_cut_between_lines_with_a_note_on_a_line_of_its_own() {
        assert_eq!(
            cut(&numbered(100), 60),
            "0001\n0002\n0003\n[470 of 500 from 15]\n0098\n0099\n0100\n"
        );
        // The line that the tail would begin in is longer than half of its room.
        let long = format!("{}{}\n", numbered(3), "x".repeat(100));
        assert_eq!(
            cut(&long, 60),
            format!(
                "0001\n0002\n0003\n[83 of 116 from 15]\n{}\n",
                "x".repeat(17)
            )
        );
    }

    #[test]
    fn no_character_is_cut_and_none_is_counted_twice() {
        for unit in ["x", "é", "€", "🐢", "a\n", "🐢🐢🐢🐢🐢\n"] {
            let text = unit.repeat(1000);
            for most in [0, 1, 30, 61, 100, 500, 999] {
                let shown = cut(&text, most);
                assert!(shown.chars().count() <= most, "{unit:?} {most}: {shown}");
                if most < 61 {
                    continue;
                }
                let (head, rest) = shown.split_once('[').unwrap();
                let (note, tail) = rest.split_once("]\n").unwrap();
                let head = if text.starts_with(head) {
                    head
                } else {
                    head.strip_suffix('\n').unwrap()
                };
                assert!(text.starts_with(head) && text.ends_with(tail), "{shown}");
                let numbers: Vec<usize> = note
                    .split(' ')
                    .filter_map(|word| word.parse().ok())
                    .collect();
                let shown = head.chars().count() + tail.chars().count();
                assert_eq!(numbers[0] + shown, numbers[1]);
                assert_eq!(numbers[2], head.len());
            }
        }
    }

    #[test]
    fn pages_that_are_read_on_are_the_whole_text() {
        let text = format!("{}{}\n{}", numbered(50), "é".repeat(300), numbered(7));
        for most in [7, 20, 64, 1000] {
            let all: Vec<_> = lines(&text, 5).collect();
            let (mut read, mut at) = (String::new(), 5);
            while at < 5 + text.len() as u64 {
                let rest = &text[(at - 5) as usize..];
                let rest: Vec<_> = lines(rest, at).collect();
                let page = head(&rest, most);
                assert!(page.length <= most && page.at > at);
                read.push_str(&page.text);
                at = page.at;
            }
            assert_eq!(read, text);
            assert_eq!(length(&all), text.chars().count());
        }
    }

    #[test]
    fn positions_in_a_line_run_as_it_says() {
        let line = |steps| Line {
            text: "ééééé".into(),
            at: 10,
            steps,
        };
        for (steps, inside, end) in [
            (Steps::Bytes, 16, 20),
            (Steps::Characters, 13, 15),
            (Steps::Whole(99), 10, 109),
        ] {
            assert_eq!(head(&[line(steps)], 3).at, inside, "{steps:?}");
            assert_eq!(line(steps).end(), end, "{steps:?}");
        }
    }

    #[test]
    fn a_text_for_one_line_is_shortened_with_a_mark() {
        for (text, shown) in [("éé", "éé"), ("ééé", "ééé"), ("éééé", "éé…"), ("", "")]
        {
            assert_eq!(shortened(text, 3), shown);
        }
    }
}
