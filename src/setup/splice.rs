//! Changes at places of a text, and the lines around them.

use std::ops::Range;

/// One place of a text, and what is to stand there. An empty place is one to insert at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// Bytes of the text as it was.
    pub at: Range<usize>,
    pub text: String,
}

impl Splice {
    pub fn new(at: Range<usize>, text: impl Into<String>) -> Self {
        Self {
            at,
            text: text.into(),
        }
    }
}

/// The text with all of these changes, which are about different places. Of several at one place the first stays first.
pub fn apply(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| (splice.at.start, splice.at.end));
    let mut changed = String::with_capacity(text.len());
    let mut done = 0;
    for splice in splices {
        changed.push_str(&text[done..splice.at.start]);
        changed.push_str(&splice.text);
        done = splice.at.end;
    }
    changed.push_str(&text[done..]);
    changed
}

/// Where the line of a place begins.
pub fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// Where the next line begins.
pub fn next_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

/// The blanks and tabs before the first word of a place's line.
pub fn indent(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..];
    let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
    &line[..blank]
}

/// How lines end in this text, by its first one.
pub fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splices_change_only_their_places() {
        let splices = vec![
            Splice::new(6..7, "?"),
            Splice::new(0..0, ">"),
            Splice::new(2..4, ""),
        ];
        assert_eq!(apply("abcdefg", splices), ">abef?");
        let at_one_place = vec![
            Splice::new(1..2, "B"),
            Splice::new(1..1, "1"),
            Splice::new(1..1, "2"),
        ];
        assert_eq!(apply("abc", at_one_place), "a12Bc");
    }

    #[test]
    fn lines_and_indents_are_found() {
        let text = "a\r\n\t  b\nc";
        let b = 6;
        assert_eq!(&text[line_start(text, b)..next_line(text, b)], "\t  b\n");
        assert_eq!(indent(text, b), "\t  ");
        assert_eq!(line_end(text), "\r\n");
        assert_eq!(line_end("no line ends"), "\n");
        assert_eq!(next_line(text, text.len()), text.len());
    }
}
