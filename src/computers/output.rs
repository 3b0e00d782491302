//! What a job printed, as far as it is kept: a ring with cursors that never hides what it lost. No I/O.

mod lines;

use std::collections::VecDeque;

use crate::{
    base::{budget::Share, byte_text},
    wire::text,
};

/// How much of one job's output is kept: 1 MiB.
pub const KEPT: usize = 1024 * 1024;

/// The most bytes that losses add up to: a peer may name any number, and those of JSON and Lua are exact up to here.
const COUNTED: u64 = 1 << 53;

/// Pieces are joined up to this many bytes.
const JOINED: usize = 1024;

/// About how many bytes a piece takes beside its own.
const PIECE_SIZE: usize = 64;

/// The most pieces: losses between them keep small ones apart, and those take more room than their bytes.
const MOST_PIECES: usize = 16 * KEPT / JOINED;

/// A job's output. Positions count all bytes that were printed, the lost ones too.
#[derive(Debug, Default)]
pub struct Output {
    pieces: VecDeque<Piece>,
    /// The position of the first piece.
    start: u64,
    /// The position after the last piece.
    end: u64,
    /// Bytes in the text pieces.
    kept: usize,
    /// Its part of what all jobs may hold together, if it is bound to that.
    bound: Option<Bound>,
}

/// What a job has of what all jobs may hold together. Without room for more, it loses its oldest output.
#[derive(Debug)]
pub struct Bound {
    share: Share,
    /// How many bytes it holds beside its output.
    beside: usize,
    /// How many bytes of output it may hold whatever the others do, until it ends.
    free: usize,
    /// Whether a bridge that is here asked for it: then others make room for its result.
    asked: bool,
}

impl Bound {
    /// That of a job that a bridge asked for, of which `free` bytes of output are kept in any case.
    pub fn asked(share: Share, beside: usize, free: usize) -> Self {
        Self {
            share,
            beside,
            free,
            asked: true,
        }
    }

    /// That of a job that only its agent tells of.
    pub fn announced(share: Share, beside: usize) -> Self {
        Self {
            share,
            beside,
            free: 0,
            asked: false,
        }
    }

    fn needs(&self, output: usize) -> usize {
        self.beside + output.saturating_sub(self.free)
    }

    /// Takes or gives back what is needed for so many bytes of output; tells whether there was room.
    fn fits(&mut self, output: usize) -> bool {
        let (needs, has) = (self.needs(output), self.share.held());
        if needs <= has {
            self.share.give_back(has - needs);
            return true;
        }
        let taken = self.share.take(needs - has);
        if !taken && self.asked && output <= self.free {
            // That is held though the others have all the room there is.
            self.share.hold(needs);
            return true;
        }
        taken
    }
}

#[derive(Debug)]
enum Piece {
    Text(Vec<u8>),
    /// This many bytes were lost here.
    Lost(u64),
}

impl Piece {
    fn length(&self) -> u64 {
        match self {
            Self::Text(bytes) => bytes.len() as u64,
            Self::Lost(bytes) => *bytes,
        }
    }
}

/// A part of the output, read from a cursor.
#[derive(Debug, PartialEq)]
pub struct Page {
    /// The text; where bytes were lost it says how many.
    pub text: String,
    /// Where to read on.
    pub next: u64,
    /// How many bytes of this part were lost.
    pub lost: u64,
    /// Whether more is kept behind it.
    pub more: bool,
}

impl Output {
    /// Appends what was printed.
    pub fn push(&mut self, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        self.end += bytes.len() as u64;
        self.kept += bytes.len();
        match self.pieces.back_mut() {
            // A piece costs more than a few bytes do, so a job that prints byte by byte gets no piece for each.
            Some(Piece::Text(last)) if last.len() + bytes.len() <= JOINED => {
                last.extend_from_slice(&bytes);
            }
            _ => self.pieces.push_back(Piece::Text(bytes)),
        }
        self.evict();
    }

    /// Notes that bytes were printed that will never come.
    pub fn lose(&mut self, bytes: u64) {
        let bytes = bytes.min(COUNTED.saturating_sub(self.end));
        if bytes == 0 {
            return;
        }
        self.end += bytes;
        match self.pieces.back_mut() {
            // However often something is lost, it takes no more room.
            Some(Piece::Lost(before)) => *before += bytes,
            _ => self.pieces.push_back(Piece::Lost(bytes)),
        }
        self.evict();
    }

    /// The position after the last byte that was printed.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// How many bytes of memory this takes.
    pub fn size(&self) -> usize {
        self.kept + self.pieces.len() * PIECE_SIZE
    }

    /// Binds it to what all jobs may hold together.
    pub fn bind(&mut self, bound: Bound) {
        self.bound = Some(bound);
        self.evict();
    }

    /// Notes that no more will be printed, and that a result of so many bytes is to be held beside it; tells whether
    /// there is room for that.
    pub fn settle(&mut self, result: usize) -> bool {
        let size = self.size();
        let Some(bound) = &mut self.bound else {
            return true;
        };
        if bound.asked {
            bound.free = 0;
            bound.beside += result;
            bound.share.hold(bound.needs(size));
            return true;
        }
        let room = bound.share.take(result);
        if room {
            bound.beside += result;
        }
        room
    }

    /// What another bridge kept of a job's output: the bytes that begin at `from`, of `printed` in all.
    pub fn restore(from: u64, bytes: Vec<u8>, printed: u64) -> Self {
        let from = from.min(COUNTED);
        let mut output = Self {
            start: from,
            end: from,
            ..Self::default()
        };
        output.push(bytes);
        output.lose(printed.saturating_sub(output.end));
        output
    }

    /// The kept bytes from `cursor` on, and where they begin: after the last loss, if there was one.
    pub fn bytes_from(&self, cursor: u64) -> (u64, Vec<u8>) {
        let mut from = cursor.clamp(self.start, self.end);
        let mut bytes = Vec::new();
        let mut position = self.start;
        for piece in &self.pieces {
            let length = piece.length();
            // A piece is in memory, so what is skipped of it fits.
            let skip = from.saturating_sub(position).min(length) as usize;
            position += length;
            match piece {
                Piece::Text(text) => bytes.extend_from_slice(&text[skip..]),
                Piece::Lost(_) if skip as u64 == length => {}
                Piece::Lost(_) => {
                    bytes.clear();
                    from = position;
                }
            }
        }
        (from, bytes)
    }

    /// What stands from `cursor` on, at most `most` bytes of it. A character is never cut in two, unless it is still
    /// being printed.
    pub fn read(&self, cursor: u64, most: usize) -> Page {
        let from = cursor.min(self.end);
        let mut page = Page {
            text: String::new(),
            next: from,
            lost: 0,
            more: false,
        };
        if from < self.start {
            page.lose(self.start - from);
        }
        let mut bytes = Vec::new();
        let mut position = self.start;
        for piece in &self.pieces {
            let length = piece.length();
            let skip = page.next.saturating_sub(position).min(length);
            position += length;
            if skip == length {
                continue;
            }
            match piece {
                Piece::Lost(_) => {
                    page.text
                        .push_str(&text::from_bytes(&std::mem::take(&mut bytes)));
                    page.lose(length - skip);
                }
                Piece::Text(text) => {
                    // Both fit: a piece is in memory.
                    let text = &text[skip as usize..];
                    let room = most.saturating_sub(page.text.len() + bytes.len());
                    if room == 0 {
                        break;
                    }
                    let take = text.len().min(room);
                    bytes.extend_from_slice(&text[..take]);
                    page.next += take as u64;
                    if take < text.len() {
                        break;
                    }
                }
            }
        }
        let unfinished = unfinished_character(&bytes);
        if page.next < self.end || unfinished < bytes.len() {
            page.next -= unfinished as u64;
            bytes.truncate(bytes.len() - unfinished);
        }
        page.text.push_str(&text::from_bytes(&bytes));
        page.more = page.next < self.end;
        page
    }

    /// All that is kept, each byte as it was printed (see `base::byte_text`); where some were lost it says how many.
    pub fn exact(&self) -> String {
        let mut page = Page {
            text: String::new(),
            next: 0,
            lost: 0,
            more: false,
        };
        if self.start > 0 {
            page.lose(self.start);
        }
        let mut bytes = Vec::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => bytes.extend_from_slice(text),
                Piece::Lost(lost) => {
                    page.text
                        .push_str(&byte_text::from_bytes(std::mem::take(&mut bytes)));
                    page.lose(*lost);
                }
            }
        }
        page.text.push_str(&byte_text::from_bytes(bytes));
        page.text
    }

    /// Drops the oldest bytes that are over the bound; the start moves with them, which tells of the loss.
    fn evict(&mut self) {
        loop {
            let size = self.size();
            let room = self.bound.as_mut().is_none_or(|bound| bound.fits(size));
            let over = self.kept.saturating_sub(KEPT);
            if room && over == 0 && self.pieces.len() <= MOST_PIECES {
                return;
            }
            match self.pieces.front_mut() {
                Some(Piece::Text(bytes)) if over > 0 && bytes.len() > over => {
                    bytes.drain(..over);
                    self.start += over as u64;
                    self.kept -= over;
                }
                _ => {
                    let Some(piece) = self.pieces.pop_front() else {
                        return;
                    };
                    self.start += piece.length();
                    if let Piece::Text(bytes) = piece {
                        self.kept -= bytes.len();
                    }
                }
            }
        }
    }
}

impl Page {
    fn lose(&mut self, bytes: u64) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text
            .push_str(&format!("[{bytes} bytes of output were lost here]\n"));
        self.lost += bytes;
        self.next += bytes;
    }
}

/// How many bytes at the end are the beginning of a UTF-8 character that goes on.
fn unfinished_character(bytes: &[u8]) -> usize {
    let lead = bytes
        .iter()
        .rev()
        .take(4)
        .position(|byte| byte & 0xC0 != 0x80);
    match lead {
        Some(back) => {
            let have = back + 1;
            let needs = match bytes[bytes.len() - have] {
                0xC2..=0xDF => 2,
                0xE0..=0xEF => 3,
                0xF0..=0xF4 => 4,
                _ => 1,
            };
            if have < needs { have } else { 0 }
        }
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(pieces: &[&str]) -> Output {
        let mut output = Output::default();
        pieces
            .iter()
            .for_each(|piece| output.push(piece.as_bytes().to_vec()));
        output
    }

    #[test]
    fn it_is_read_from_a_cursor_on() {
        let output = output(&["one\n", "two\n"]);
        assert_eq!(
            output.read(0, 100),
            Page {
                text: "one\ntwo\n".into(),
                next: 8,
                lost: 0,
                more: false
            }
        );
        assert_eq!(
            output.read(2, 3),
            Page {
                text: "e\nt".into(),
                next: 5,
                lost: 0,
                more: true
            }
        );
        assert_eq!(
            output.read(8, 100),
            Page {
                text: String::new(),
                next: 8,
                lost: 0,
                more: false
            }
        );
        assert_eq!(output.read(99, 100).next, 8);
    }

    #[test]
    fn what_was_lost_is_said_where_it_stood() {
        let mut output = output(&["before"]);
        output.lose(7);
        output.push(b"after".to_vec());
        let page = output.read(0, 100);
        assert_eq!(
            page.text,
            "before\n[7 bytes of output were lost here]\nafter"
        );
        assert_eq!((page.next, page.lost), (18, 7));
        assert_eq!(
            output.read(10, 100).text,
            "[3 bytes of output were lost here]\nafter"
        );
    }

    #[test]
    fn a_program_gets_each_byte_that_is_kept() {
        let mut output = Output::default();
        output.push(b"\xc3".to_vec());
        output.push(b"\xa9\xff\xc3".to_vec());
        assert_eq!(&*byte_text::to_bytes(&output.exact()), b"\xc3\xa9\xff\xc3");
        output.lose(7);
        output.push(b"\xa9".to_vec());
        assert_eq!(
            &*byte_text::to_bytes(&output.exact()),
            b"\xc3\xa9\xff\xc3\n[7 bytes of output were lost here]\n\xa9"
        );
    }

    #[test]
    fn more_losses_than_can_be_counted_do_no_harm() {
        let mut output = output(&["before"]);
        for _ in 0..3 {
            output.lose(u64::MAX);
        }
        assert_eq!((output.end(), output.pieces.len()), (COUNTED, 2));
        output.push(b"after".to_vec());
        let page = output.read(0, 100);
        assert!(
            page.text
                .ends_with(" bytes of output were lost here]\nafter")
        );
        assert_eq!((page.next, page.more), (COUNTED + 5, false));
        assert_eq!(
            Output::restore(u64::MAX, b"end".to_vec(), 0).end(),
            COUNTED + 3
        );
    }

    #[test]
    fn small_pieces_are_joined() {
        let mut output = Output::default();
        for _ in 0..10_000 {
            output.push(b"x".to_vec());
        }
        assert_eq!(output.pieces.len(), 10);
        assert_eq!(output.read(9_990, 100).text, "x".repeat(10));
    }

    #[test]
    fn kept_and_lost_bytes_add_up_to_what_was_printed() {
        let mut output = Output::default();
        let line = [b'x'; 61];
        for _ in 0..100_000 {
            output.push(line.to_vec());
        }
        assert_eq!(output.end(), 6_100_000);
        assert_eq!(output.kept, KEPT);
        let page = output.read(0, usize::MAX);
        assert_eq!(page.lost + KEPT as u64, output.end());
        assert!(
            page.text
                .starts_with("[5051424 bytes of output were lost here]\n")
        );
    }

    #[test]
    fn another_bridge_takes_over_what_is_kept_and_what_was_lost() {
        let mut kept = output(&["abc"]);
        kept.lose(4);
        kept.push(b"defg".to_vec());
        assert_eq!(kept.bytes_from(0), (7, b"defg".to_vec()));
        assert_eq!(kept.bytes_from(9), (9, b"fg".to_vec()));
        assert_eq!(kept.bytes_from(99), (11, Vec::new()));
        let (from, bytes) = kept.bytes_from(0);
        let taken = Output::restore(from, bytes, kept.end());
        assert_eq!(taken.end(), 11);
        assert_eq!(
            taken.read(0, 100).text,
            "[7 bytes of output were lost here]\ndefg"
        );
        assert_eq!(Output::restore(5, Vec::new(), 8).read(5, 100).lost, 3);
    }

    #[test]
    fn a_character_is_not_cut_in_two() {
        let mut output = output(&["aé€"]);
        assert_eq!(
            output.read(0, 2),
            Page {
                text: "a".into(),
                next: 1,
                lost: 0,
                more: true
            }
        );
        assert_eq!(
            output.read(1, 4),
            Page {
                text: "é".into(),
                next: 3,
                lost: 0,
                more: true
            }
        );
        output.push(vec![0xE2, 0x82]);
        assert_eq!(
            output.read(3, 100),
            Page {
                text: "€".into(),
                next: 6,
                lost: 0,
                more: true
            }
        );
        output.push(vec![0xAC]);
        assert_eq!(output.read(6, 100).text, "€");
    }
}
