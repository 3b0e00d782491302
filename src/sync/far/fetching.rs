//! Files that a computer is asked for, piece by piece.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::peer::{AT_ONCE, Peer, ROOM, Told, list, no_answer, read};
use crate::{
    base::{byte_text, text::one_line},
    sync::{digest, entry::Entry},
};

#[derive(Deserialize)]
struct Piece {
    path: String,
    from: Option<u64>,
    size: Option<u64>,
    bytes: Option<String>,
    problem: Option<String>,
}

/// Files that are fetched, a few at a time.
pub struct Fetching<'a> {
    peer: &'a dyn Peer,
    folder: &'a str,
    /// The next one is the last of them.
    wanted: Vec<(String, Entry)>,
    /// What there is of the next one.
    begun: Vec<u8>,
}

impl<'a> Fetching<'a> {
    /// These files of a folder.
    pub fn new(peer: &'a dyn Peer, folder: &'a str, files: BTreeMap<String, Entry>) -> Self {
        Self {
            peer,
            folder,
            wanted: files.into_iter().rev().collect(),
            begun: Vec::new(),
        }
    }

    /// Asks once, and gives the files that are whole then, which may be none yet; none at all at the end.
    ///
    /// # Errors
    /// The computer can't be asked any more; why, in whole sentences.
    pub async fn next(&mut self) -> Result<Option<Vec<Told<Vec<u8>>>>, String> {
        if self.wanted.is_empty() {
            return Ok(None);
        }
        let next = self.wanted.iter().rev().take(AT_ONCE).enumerate();
        let files = next.map(|(at, (path, _))| {
            let from = if at == 0 { self.begun.len() } else { 0 };
            json!({"path": path, "from": from + 1})
        });
        let files: Vec<_> = files.collect();
        let request = json!({"what": "fetch", "folder": self.folder, "files": files, "room": ROOM});
        let answer: Value = read(self.peer, request).await?;
        let pieces = answer.get("pieces").cloned().unwrap_or_default();
        let pieces: Vec<Piece> = list(self.peer, pieces)?;
        let mut told = Vec::new();
        let mut is_answer = false;
        for piece in pieces {
            if self
                .wanted
                .last()
                .is_none_or(|(path, _)| *path != piece.path)
            {
                break;
            }
            is_answer = true;
            // If it is not whole, its next piece is asked for.
            let Some(done) = self.take(piece) else {
                break;
            };
            self.begun.clear();
            told.extend(self.wanted.pop().map(|(path, _)| (path, done)));
        }
        match is_answer {
            true => Ok(Some(told)),
            false => Err(no_answer(self.peer)),
        }
    }

    /// Takes a piece of the next file, and gives that if it is whole now.
    fn take(&mut self, piece: Piece) -> Option<Result<Vec<u8>, String>> {
        let changed = Some(Err("it has changed on the computer meanwhile".to_owned()));
        if let Some(problem) = piece.problem {
            return Some(Err(one_line(&problem).into_owned()));
        }
        let (_, entry) = self.wanted.last()?;
        if piece.from != Some(self.begun.len() as u64 + 1) || piece.size != Some(entry.size) {
            return changed;
        }
        let bytes = piece.bytes.unwrap_or_default();
        let bytes = byte_text::to_bytes(&bytes);
        self.begun.extend_from_slice(&bytes);
        let length = self.begun.len() as u64;
        if length < entry.size {
            return if bytes.is_empty() { changed } else { None };
        }
        if length > entry.size || digest::of(&self.begun) != entry.hash {
            return changed;
        }
        Some(Ok(std::mem::take(&mut self.begun)))
    }
}
