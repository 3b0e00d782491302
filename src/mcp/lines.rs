//! The client's lines, of bounded length.

use std::io;

use tokio::io::AsyncReadExt;

use super::{id_scanner::IdScanner, stdio::Input};

/// The longest line that is read, in bytes. Longer ones are answered, but not kept.
pub const MAX_LINE: usize = 32 * 1024 * 1024;

/// How much is read at once, in bytes.
const READ_SIZE: usize = 16 * 1024;

/// Splits the input into lines of bounded length.
pub struct Lines {
    input: Input,
    /// What was read; the line that `next` returned last stands before `start`.
    buffer: Vec<u8>,
    /// Where the first unreturned byte is.
    start: usize,
    /// Up to where no line feed was found.
    searched: usize,
    /// Picks the id out of a line that is too long, while it passes.
    passing: Option<IdScanner>,
    at_end: bool,
}

/// A line without its line feed.
pub enum Line<'a> {
    /// All of it.
    Whole(&'a [u8]),
    /// Its id, if it has one.
    TooLong(Option<String>),
}

impl Lines {
    /// The lines of this input.
    pub fn new(input: Input) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            passing: None,
            at_end: false,
        }
    }

    /// The next line without its line feed; none at the end. Dropping the future loses nothing.
    pub async fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            let found = self.buffer[self.searched..]
                .iter()
                .position(|byte| *byte == b'\n');
            let end = match found {
                Some(at) => Some(self.searched + at),
                // A last line may lack its line feed.
                None if self.at_end
                    && (self.start < self.buffer.len() || self.passing.is_some()) =>
                {
                    Some(self.buffer.len())
                }
                None => None,
            };
            if let Some(end) = end {
                let line = self.start..end;
                self.start = (end + 1).min(self.buffer.len());
                self.searched = self.start;
                return Ok(Some(match self.passing.take() {
                    Some(mut scanner) => {
                        scanner.feed(&self.buffer[line]);
                        Line::TooLong(scanner.id())
                    }
                    None => Line::Whole(&self.buffer[line]),
                }));
            }
            if self.at_end {
                return Ok(None);
            }
            self.make_room();
            // Before the await, where this future may be dropped: all that is in the buffer was searched.
            self.searched = self.buffer.len();
            self.buffer.reserve(READ_SIZE);
            if self.input.read_buf(&mut self.buffer).await? == 0 {
                self.at_end = true;
            }
        }
    }

    /// Drops the lines that were returned, and what must not be kept of one that is too long.
    fn make_room(&mut self) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.start = 0;
        }
        if let Some(scanner) = &mut self.passing {
            scanner.feed(&self.buffer);
            self.buffer.clear();
        } else if self.buffer.len() > MAX_LINE {
            let mut scanner = IdScanner::default();
            scanner.feed(&self.buffer);
            self.passing = Some(scanner);
            self.buffer.clear();
        }
        if self.buffer.is_empty() && self.buffer.capacity() > 4 * READ_SIZE {
            self.buffer = Vec::new();
        }
    }
}
