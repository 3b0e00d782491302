//! A computer's folder, as it is asked by Lua of ours, whoever brings that there.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    digest,
    entry::{Entry, LARGEST, LARGEST_IN_ALL, MOST_FILES, TOO_LARGE},
    names,
};
use crate::base::{byte_text, text::one_line};

/// The Lua that looks, whose function is `read`.
pub const READING: &str = include_str!("../../lua/tools/sync/reading.lua");

/// The Lua that writes, whose function is `write`.
pub const WRITING: &str = include_str!("../../lua/tools/sync/writing.lua");

/// How much goes into a question and into an answer, where what is no plain sign counts for six: the smallest message that
/// the game takes has 131,072 bytes, and the Lua goes along where an agent keeps none.
const ROOM: usize = 90_000;

/// How many answers tell of one folder at most: each but the last has [`ROOM`] of names.
const PAGES: usize = 64;

/// How many files are asked for at once, at most.
const AT_ONCE: usize = 100;

/// Something that is asked of a computer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Errand {
    /// Whether it may change something: then it is for [`WRITING`].
    pub changes: bool,
    /// What the function gets.
    pub request: Value,
}

/// A computer that can be asked.
pub trait Peer: Send + Sync {
    /// What it is called in the state folder.
    fn key(&self) -> String;

    /// What a person is told.
    fn name(&self) -> String;

    /// Asks it, and gives the value that came back, whose strings are bytes (see [`byte_text`]).
    ///
    /// # Errors
    /// Why there is none, in whole sentences.
    fn ask(&self, errand: Errand) -> BoxFuture<'_, Result<Value, String>>;
}

/// What a computer's folder has.
#[derive(Debug, Default)]
pub struct Survey {
    /// Its files, by their paths below it.
    pub files: BTreeMap<String, Entry>,
    /// What is not synced, and why, as a sentence's end.
    pub left: BTreeMap<String, String>,
    /// Bytes that are free there, where the game tells.
    pub free: Option<u64>,
    /// Whether it can't be written.
    pub read_only: bool,
    /// Whether there is no such folder.
    pub missing: bool,
    /// What tells whether it has changed, by a quick look; empty where the game can't tell.
    pub digest: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    #[serde(default)]
    same: bool,
    #[serde(default)]
    files: Value,
    free: Option<f64>,
    #[serde(default)]
    read_only: bool,
    #[serde(default)]
    missing: bool,
    #[serde(default)]
    digest: String,
    next: Option<u64>,
}

#[derive(Deserialize)]
struct Found {
    path: String,
    size: Option<u64>,
    hash: Option<String>,
    problem: Option<String>,
}

#[derive(Deserialize)]
struct Piece {
    path: String,
    from: Option<u64>,
    size: Option<u64>,
    bytes: Option<String>,
    problem: Option<String>,
}

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
    /// Whether that goes to the computer's trash otherwise.
    pub trash: bool,
}

/// Looks into a folder; none if it is as it was when it had this digest.
///
/// # Errors
/// It can't be looked at; why, in whole sentences.
pub async fn survey(
    peer: &dyn Peer,
    folder: &str,
    unless: Option<&str>,
) -> Result<Option<Survey>, String> {
    let mut survey = Survey::default();
    let mut from = 1;
    let too_much = |what: &str| {
        Err(format!(
            "{folder} of computer {} has more than {what}: name a folder in it.",
            peer.name()
        ))
    };
    for _ in 0..PAGES {
        // What comes later belongs to what was seen before.
        let unless = unless.filter(|_| from == 1);
        let request = json!({
            "what": "survey", "folder": folder, "from": from, "room": ROOM, "unless": unless,
        });
        let page: Page = read(peer, request).await?;
        if page.same {
            return Ok(None);
        }
        survey.free = page.free.map(|free| free.max(0.0) as u64);
        (survey.read_only, survey.missing) = (page.read_only, page.missing);
        survey.digest = page.digest;
        for found in list::<Found>(peer, page.files)? {
            add(&mut survey, found);
        }
        let bytes: u64 = survey.files.values().map(|entry| entry.size).sum();
        if survey.files.len() > MOST_FILES {
            return too_much(&format!("{MOST_FILES} files"));
        }
        if bytes > LARGEST_IN_ALL {
            return too_much(&format!("{} MiB", LARGEST_IN_ALL / 1024 / 1024));
        }
        match page.next {
            Some(next) if next > from => from = next,
            _ => {
                without_twins(&mut survey);
                return Ok(Some(survey));
            }
        }
    }
    Err(no_answer(peer))
}

fn add(survey: &mut Survey, found: Found) {
    let path = found.path;
    if let Some(why) = names::unfit(&path) {
        survey
            .left
            .insert(one_line(&path).into_owned(), why.to_owned());
        return;
    }
    if path.split('/').any(names::is_passed_over) {
        return;
    }
    match (found.size, found.hash) {
        (Some(size), _) if size > LARGEST => {
            survey.left.insert(path, TOO_LARGE.to_owned());
        }
        (Some(size), Some(hash)) => {
            survey.files.insert(path, Entry { size, hash });
        }
        _ => {
            let problem = found
                .problem
                .unwrap_or_else(|| "it can't be read".to_owned());
            survey.left.insert(path, one_line(&problem).into_owned());
        }
    }
}

/// Takes out files whose names differ only in capital and small letters: on some systems they are one.
fn without_twins(survey: &mut Survey) {
    let mut by_lower: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in survey.files.keys() {
        by_lower
            .entry(path.to_lowercase())
            .or_default()
            .push(path.clone());
    }
    for twin in by_lower
        .into_values()
        .filter(|paths| paths.len() > 1)
        .flatten()
    {
        survey.files.remove(&twin);
        let why = "the computer has another of the same name but for capital letters: rename one of them there";
        survey.left.insert(twin, why.to_owned());
    }
}

/// What came of one thing that was asked for, by its path; what went wrong is a sentence's end.
pub type Told<T> = (String, Result<T, String>);

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

/// Writes and deletes files, many at a time.
pub struct Writer<'a> {
    peer: &'a dyn Peer,
    folder: &'a str,
    batch: Batch,
    /// Which files are in the computer's trash now, by the numbers there.
    in_trash: BTreeMap<u64, String>,
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
            request: json!({"folder": self.folder, "steps": steps}),
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

async fn read<T: for<'de> Deserialize<'de>>(peer: &dyn Peer, request: Value) -> Result<T, String> {
    let errand = Errand {
        changes: false,
        request,
    };
    let answer = peer.ask(errand).await?;
    serde_json::from_value(answer).map_err(|_| no_answer(peer))
}

/// A list in an answer: an empty table of Lua may be written as an object.
fn list<T: for<'de> Deserialize<'de>>(peer: &dyn Peer, value: Value) -> Result<Vec<T>, String> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Object(fields) if fields.is_empty() => Ok(Vec::new()),
        value => serde_json::from_value(value).map_err(|_| no_answer(peer)),
    }
}

fn no_answer(peer: &dyn Peer) -> String {
    format!(
        "Computer {} answered something that is no answer to a sync.",
        peer.name()
    )
}
