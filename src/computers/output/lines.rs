//! Output by its lines, to be shown in excerpts and pages whose cursors are exact.

use super::{Output, Piece, unfinished_character};
use crate::{
    base::excerpt::{Line, Steps},
    wire::text,
};

impl Output {
    /// The lines from `cursor` on, with a line for bytes that were lost. A character at the end that is still being
    /// printed is left out, unless the output `is_whole`.
    pub fn lines(&self, cursor: u64, is_whole: bool) -> Vec<Line<'static>> {
        let mut found = Found::default();
        let from = cursor.min(self.end);
        if from < self.start {
            found.lose(from, self.start - from);
        }
        let mut bytes = Vec::new();
        let (mut position, mut at) = (self.start, from.max(self.start));
        for piece in &self.pieces {
            let length = piece.length();
            // A piece of text is in memory, so what is skipped of it fits.
            let skip = from.saturating_sub(position).min(length);
            match piece {
                Piece::Text(text) => bytes.extend_from_slice(&text[skip as usize..]),
                Piece::Lost(_) => {
                    found.read(at, &bytes);
                    bytes.clear();
                    at = (position + length).max(from);
                    if skip < length {
                        found.lose(position + skip, length - skip);
                    }
                }
            }
            position += length;
        }
        let unfinished = unfinished_character(&bytes);
        if !is_whole && unfinished < bytes.len() {
            bytes.truncate(bytes.len() - unfinished);
        }
        found.read(at, &bytes);
        found.0
    }
}

#[derive(Default)]
struct Found(Vec<Line<'static>>);

impl Found {
    /// Takes in bytes that stand together, from this position on.
    fn read(&mut self, mut at: u64, bytes: &[u8]) {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, steps) = match std::str::from_utf8(line) {
                Ok(text) => (text.to_owned(), Steps::Bytes),
                Err(_) => (text::from_game(line), Steps::Characters),
            };
            self.0.push(Line {
                text: text.into(),
                at,
                steps,
            });
            at += line.len() as u64;
        }
    }

    fn lose(&mut self, at: u64, bytes: u64) {
        let ended = self.0.last().is_none_or(|line| line.text.ends_with('\n'));
        let line_break = if ended { "" } else { "\n" };
        self.0.push(Line {
            text: format!("{line_break}[{bytes} bytes of output were lost here]\n").into(),
            at,
            steps: Steps::Whole(bytes),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(lines: &[Line<'_>]) -> String {
        lines.iter().map(|line| &*line.text).collect()
    }

    #[test]
    fn the_lines_from_any_cursor_on_are_what_is_read_from_there() {
        let mut output = Output::default();
        for piece in ["one\ntwo", " and a half\n", "é€\n"] {
            output.push(piece.as_bytes().to_vec());
        }
        output.push(b"\xff\x80 of the game\nlast".to_vec());
        output.lose(9);
        output.push(b"after\n".to_vec());
        for cursor in [0, 4, 5, 18, 20, 30, 41, 45, 99] {
            let (lines, page) = (output.lines(cursor, true), output.read(cursor, usize::MAX));
            assert_eq!(joined(&lines), page.text, "{cursor}");
            for line in &lines {
                let read = output.read(line.at, usize::MAX).text;
                let text = line.text.strip_prefix("\n[").map(|note| format!("[{note}"));
                let text = text.as_deref().unwrap_or(&line.text);
                assert!(read.starts_with(text), "{cursor}: {line:?} {read:?}");
            }
            if let Some(last) = lines.last() {
                assert_eq!(last.end(), output.end());
            }
        }
    }

    #[test]
    fn what_is_no_longer_kept_is_a_line_of_its_own() {
        let mut output = Output::default();
        output.push(vec![b'x'; super::super::KEPT]);
        output.push(b"\nend".to_vec());
        let lines = output.lines(1, true);
        assert_eq!(lines[0].text, "[3 bytes of output were lost here]\n");
        assert_eq!((lines[0].at, lines[0].end(), lines[1].at), (1, 4, 4));
    }

    #[test]
    fn a_character_that_is_still_being_printed_is_left_for_later() {
        let mut output = Output::default();
        output.push(b"a\xe2\x82".to_vec());
        assert_eq!(joined(&output.lines(0, false)), "a");
        assert_eq!(joined(&output.lines(0, true)).chars().count(), 3);
    }
}
