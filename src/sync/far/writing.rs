//! Files that a computer is to write, rename and delete, many at a time.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::peer::{AT_ONCE, Errand, Peer, ROOM, Told, list, no_answer};
use crate::base::{byte_text, text::one_line};

/// A file that is written, or deleted.
#[derive(Debug)]
pub struct Change {
    /// Its path below the folder.
    pub path: String,
    /// Its new contents; none: it is deleted.
    pub bytes: Option<Vec<u8>>,
    /// The hash that it has now; none: it is not there.
    pub was: Option<String>,
    /// Where that is kept, below the folder; none: it is not.
    pub keep: Option<String>,
    /// Whether that goes to the computer's trash otherwise. A file that is written is left where that has no room.
    pub trash: bool,
}

/// Writes and deletes files, many at a time.
pub struct Writer<'a> {
    peer: &'a dyn Peer,
    folder: &'a str,
    batch: Batch,
    /// Which files are in the computer's trash now, by the numbers there.
    in_trash: BTreeMap<u64, String>,
    /// Those of them that were overwritten: the trash is not to let go of them for what is overwritten after them.
    overwritten: Vec<u64>,
    /// Files whose old contents are gone for good.
    gone: BTreeSet<String>,
}

/// What became of the old contents of files that were written or deleted.
#[derive(Debug, Default)]
pub struct Old {
    /// Those in the computer's trash.
    pub in_trash: BTreeSet<String>,
    /// Those that are gone for good.
    pub gone: BTreeSet<String>,
}

impl<'a> Writer<'a> {
    /// For a folder.
    pub fn new(peer: &'a dyn Peer, folder: &'a str) -> Self {
        Self {
            peer,
            folder,
            batch: Batch::default(),
            in_trash: BTreeMap::new(),
            overwritten: Vec::new(),
            gone: BTreeSet::new(),
        }
    }

    /// Has a file that `was` so get another name, with those that follow.
    pub fn rename(&mut self, from: &str, to: &str, was: &str) {
        let step = json!({"path": to, "from": from, "was": was});
        self.batch.add(step, from.len());
    }

    /// Has a file written or deleted, at once or with those that follow, and tells what came of those that are done.
    ///
    /// # Errors
    /// The computer can't be asked any more; why, in whole sentences.
    pub async fn add(&mut self, change: Change) -> Result<Vec<Told<()>>, String> {
        let mut told = Vec::new();
        let was = change.was.as_deref().unwrap_or("none");
        let Some(bytes) = &change.bytes else {
            let step = json!({
                "path": change.path, "was": was, "delete": true, "trash": change.trash,
            });
            self.batch.add(step, 0);
            if self.batch.is_full() {
                told.extend(self.send().await?);
            }
            return Ok(told);
        };
        let mut at = 0;
        loop {
            let part = part_of(&bytes[at..], self.batch.room_left(&change.path));
            // What goes in one piece is not begun in the rest of the room.
            if part < bytes.len() - at && !self.batch.steps.is_empty() {
                told.extend(self.send().await?);
                continue;
            }
            let next = at + part;
            let step = json!({
                "path": change.path, "was": was, "at": at, "more": next < bytes.len(), "size": bytes.len(),
                "bytes": byte_text::of(&bytes[at..next]), "keep": change.keep, "trash": change.trash,
            });
            self.batch.add(step, weight(&bytes[at..next]));
            at = next;
            if at == bytes.len() {
                break;
            }
            let sent = self.send().await?;
            let has_failed = !sent.is_empty();
            told.extend(sent);
            if has_failed {
                break;
            }
        }
        if self.batch.is_full() {
            told.extend(self.send().await?);
        }
        Ok(told)
    }

    /// Has all that is left written.
    ///
    /// # Errors
    /// As of [`Writer::add`].
    pub async fn finish(&mut self) -> Result<Vec<Told<()>>, String> {
        self.send().await
    }

    /// What became of the old contents of what was written and deleted so far.
    pub fn old(self) -> Old {
        let in_trash: BTreeSet<_> = self.in_trash.into_values().collect();
        let gone = self.gone.difference(&in_trash).cloned().collect();
        Old { in_trash, gone }
    }

    /// Sends the steps, and tells what came of each file; nothing of one whose next part went well.
    async fn send(&mut self) -> Result<Vec<Told<()>>, String> {
        let steps = std::mem::take(&mut self.batch).steps;
        if steps.is_empty() {
            return Ok(Vec::new());
        }
        let errand = Errand {
            changes: true,
            request: json!({
                "folder": self.folder, "steps": steps, "overwritten": self.overwritten,
            }),
        };
        let answer = self.peer.ask(errand).await?;
        let told = answer.get("told").cloned().unwrap_or_default();
        let told: Vec<String> = list(self.peer, told)?;
        if told.len() != steps.len() {
            return Err(no_answer(self.peer));
        }
        let numbers = |name: &str| {
            let numbers = answer.get(name).cloned().unwrap_or_default();
            list::<f64>(self.peer, numbers)
        };
        for (step, number) in steps.iter().zip(numbers("kept")?) {
            let path = step["path"].as_str().unwrap_or_default().to_owned();
            if number < 0.0 {
                self.gone.insert(path);
            } else if number > 0.0 {
                if step["delete"] != true {
                    self.overwritten.push(number as u64);
                }
                self.in_trash.insert(number as u64, path);
            }
        }
        // No number is given twice in one answer, so these are of what was there before, or came with it.
        for number in numbers("evicted")? {
            self.gone.extend(self.in_trash.remove(&(number as u64)));
        }
        let told = steps.iter().zip(told).filter_map(|(step, problem)| {
            let path = step["path"].as_str()?.to_owned();
            match problem.is_empty() {
                true if step["more"] == true => None,
                true => Some((path, Ok(()))),
                false => Some((path, Err(one_line(&problem).into_owned()))),
            }
        });
        Ok(told.collect())
    }
}

/// Steps that go together.
#[derive(Default)]
struct Batch {
    steps: Vec<Value>,
    weight: usize,
}

/// What a step takes besides its bytes and its path.
const STEP: usize = 120;

impl Batch {
    fn add(&mut self, step: Value, weight: usize) {
        self.weight += weight + STEP + step["path"].as_str().map_or(0, str::len);
        self.steps.push(step);
    }

    fn room_left(&self, path: &str) -> usize {
        ROOM.saturating_sub(self.weight + STEP + path.len())
    }

    fn is_full(&self) -> bool {
        self.steps.len() >= AT_ONCE || self.weight > ROOM / 2
    }
}

/// How many of these bytes go into this room.
fn part_of(bytes: &[u8], room: usize) -> usize {
    let mut left = room;
    let fitting = bytes.iter().take_while(|byte| {
        let weight = weight_of(**byte);
        let fits = left >= weight;
        left = left.saturating_sub(weight);
        fits
    });
    fitting.count()
}

fn weight(bytes: &[u8]) -> usize {
    bytes.iter().map(|byte| weight_of(*byte)).sum()
}

fn weight_of(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' => 6,
        b' '..=b'~' => 1,
        _ => 6,
    }
}
