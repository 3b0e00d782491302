//! Changes at places of a text, and the lines around them.

use std::ops::Range;

/// Replacements in a text that don't overlap.
#[derive(Debug, Default)]
pub struct Splices(Vec<(Range<usize>, String)>);

impl Splices {
    /// Puts `text` in the place of what is there.
    pub fn replace(&mut self, range: Range<usize>, text: String) {
        self.0.push((range, text));
    }

    /// Puts `text` before what is at `offset`. Of several at one offset the first stays first.
    pub fn insert(&mut self, offset: usize, text: String) {
        self.0.push((offset..offset, text));
    }

    /// The text with all of them.
    pub fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let mut after = String::with_capacity(text.len() + 256);
        let mut at = 0;
        for (range, new) in self.0 {
            after.push_str(text.get(at..range.start).unwrap_or_default());
            after.push_str(&new);
            at = range.end.max(at);
        }
        after.push_str(text.get(at..).unwrap_or_default());
        after
    }
}

/// Where the line begins in which `offset` is.
pub fn line_start(text: &str, offset: usize) -> usize {
    text[..offset].rfind('\n').map_or(0, |end| end + 1)
}

/// Where the line after the one in which `offset` is begins, or the text ends.
pub fn next_line(text: &str, offset: usize) -> usize {
    text[offset..]
        .find('\n')
        .map_or(text.len(), |end| offset + end + 1)
}
