//! The log of calls: one line of JSON for each, in a file that all bridges of a user share and that has a bound.
//!
//! A thread writes it. Whoever makes calls waits for nothing: what comes faster than it is written is dropped, counted,
//! and told of by a line.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use crate::base::{files, private, store, text::timestamp};

/// How large the file may become, in bytes, and how many older ones are kept.
const MOST: u64 = 4 * 1024 * 1024;
const KEPT: u32 = 3;

/// How many lines may wait for being written, and how many are written in one piece.
const WAITING: usize = 1024;
const IN_ONE_PIECE: usize = 128;

/// How long the first line of a burst waits for those after it. Meanwhile its call is answered, and the calls after it
/// wake no thread: to wake one costs more than to write the line.
const GATHERED_FOR: Duration = Duration::from_millis(20);

/// How often is looked meanwhile whether the bridge leaves.
const LOOKS: u32 = 10;

/// How often, and how many times more, the turn of another bridge is waited for: 200 ms in all.
const BETWEEN_TRIES: Duration = Duration::from_millis(4);
const LOCK_TRIES: u32 = 50;

/// How long a bridge that leaves waits for its last lines to be written.
const TO_FINISH: Duration = Duration::from_millis(300);

/// The way into the log of calls.
pub struct Journal {
    sender: SyncSender<Entry>,
    dropped: Arc<AtomicU64>,
    leaves: Arc<AtomicBool>,
}

enum Entry {
    Line(Value),
    /// All that came before is to be written, and then this to be told.
    Finish(SyncSender<()>),
}

impl Journal {
    /// A log of calls in this file.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(file: PathBuf) -> io::Result<Self> {
        let (sender, entries) = sync_channel(WAITING);
        let dropped = Arc::new(AtomicU64::new(0));
        let leaves = Arc::new(AtomicBool::new(false));
        let writer = Writer {
            file,
            most: MOST,
            dropped: dropped.clone(),
            leaves: leaves.clone(),
            is_failing: false,
        };
        std::thread::Builder::new()
            .name("calls".to_owned())
            .spawn(move || writer.run(&entries))?;
        Ok(Self {
            sender,
            dropped,
            leaves,
        })
    }

    /// Notes a line.
    pub fn note(&self, line: Value) {
        if self.sender.try_send(Entry::Line(line)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until what was noted is written, a moment at most.
    pub fn finish(&self) {
        let (done, finished) = sync_channel(1);
        self.leaves.store(true, Ordering::Relaxed);
        if self.sender.try_send(Entry::Finish(done)).is_ok() {
            let _ = finished.recv_timeout(TO_FINISH);
        }
    }
}

/// The file of the log of calls in the folder that a user's bridges share.
pub fn file(shared: &Path) -> PathBuf {
    shared.join("calls").join("calls.jsonl")
}

/// The file before it, so many turns ago.
pub fn older(file: &Path, turns: u32) -> PathBuf {
    file.with_extension(format!("{turns}.jsonl"))
}

/// All files of the log that there may be, oldest first.
pub fn all(file: &Path) -> Vec<PathBuf> {
    let older = (1..=KEPT).rev().map(|turns| older(file, turns));
    older.chain([file.to_owned()]).collect()
}

struct Writer {
    file: PathBuf,
    most: u64,
    dropped: Arc<AtomicU64>,
    /// Whether somebody waits for the last lines.
    leaves: Arc<AtomicBool>,
    /// Whether the last try failed, which was logged.
    is_failing: bool,
}

impl Writer {
    fn run(mut self, entries: &Receiver<Entry>) {
        while let Ok(first) = entries.recv() {
            let mut looks = 0..LOOKS;
            while matches!(first, Entry::Line(_))
                && !self.leaves.load(Ordering::Relaxed)
                && looks.next().is_some()
            {
                std::thread::sleep(GATHERED_FOR / LOOKS);
            }
            let mut next = Some(first);
            while let Some(entry) = next.take() {
                self.write_piece(entry, entries);
                next = entries.try_recv().ok();
            }
        }
    }

    /// Writes this one, and what waits behind it, in one piece.
    fn write_piece(&mut self, first: Entry, entries: &Receiver<Entry>) {
        let mut lines = Vec::new();
        let mut finished = None;
        let mut next = Some(first);
        while let Some(entry) = next.take() {
            match entry {
                Entry::Line(line) => lines.push(line),
                Entry::Finish(done) => finished = Some(done),
            }
            if finished.is_none() && lines.len() < IN_ONE_PIECE {
                next = entries.try_recv().ok();
            }
        }
        self.write(lines);
        if let Some(done) = finished {
            let _ = done.send(());
        }
    }

    fn write(&mut self, mut lines: Vec<Value>) {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            lines.push(json!({
                "time": timestamp(SystemTime::now()),
                "bridge": std::process::id(),
                "dropped": dropped,
            }));
        }
        if lines.is_empty() {
            return;
        }
        let mut text = String::new();
        for line in &lines {
            text.push_str(&line.to_string());
            text.push('\n');
        }
        match self.append(&text) {
            Ok(()) => self.is_failing = false,
            Err(error) => {
                let lost = u64::try_from(lines.len()).unwrap_or(u64::MAX);
                let told = u64::from(dropped > 0);
                self.dropped
                    .fetch_add(lost - told + dropped, Ordering::Relaxed);
                if !self.is_failing {
                    tracing::warn!(file = %self.file.display(), %error, "the log of calls can't be written");
                }
                self.is_failing = true;
            }
        }
    }

    /// Adds whole lines, in one piece, so that those of other bridges stand between them at most. The file is opened each
    /// time: another bridge may have put a new one in its place.
    fn append(&self, text: &str) -> io::Result<()> {
        private::make_folder(self.file.parent().unwrap_or(Path::new(".")))?;
        let (mut file, length) = append_to(&self.file)?;
        if length >= self.most {
            self.turn()?;
            let turned = append_to(&self.file)?;
            // Another bridge was to turn it, and does not.
            if turned.1 >= self.most * 2 {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            file = turned.0;
        }
        file.write_all(text.as_bytes())
    }

    /// Puts the file in the row of the older ones, unless another bridge has meanwhile, or takes long to.
    fn turn(&self) -> io::Result<()> {
        let mut tries = 0..LOCK_TRIES;
        let _lock = loop {
            if let Some(lock) = store::try_lock(&self.file.with_extension("lock"))? {
                break lock;
            }
            if tries.next().is_none() {
                return Ok(());
            }
            std::thread::sleep(BETWEEN_TRIES);
        };
        if fs::metadata(&self.file)?.len() < self.most {
            return Ok(());
        }
        for turns in (1..KEPT).rev() {
            let _ = fs::rename(older(&self.file, turns), older(&self.file, turns + 1));
        }
        fs::rename(&self.file, older(&self.file, 1))
    }
}

fn append_to(path: &Path) -> io::Result<(File, u64)> {
    let mut options = private::file_options();
    let (file, metadata) = files::open_with(options.append(true).create(true), path)?;
    if metadata.len() == 0 {
        // It is new, or was made by somebody else, as its folder may have been.
        for place in [path.parent().unwrap_or(path), path] {
            let _ = private::close(place);
        }
    }
    Ok((file, metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(folder: &Path, most: u64) -> Writer {
        Writer {
            file: file(folder),
            most,
            dropped: Arc::default(),
            leaves: Arc::default(),
            is_failing: false,
        }
    }

    fn lines(path: &Path) -> Vec<Value> {
        let text = fs::read_to_string(path).unwrap_or_default();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.collect()
    }

    #[test]
    fn several_bridges_write_whole_lines_and_none_is_lost_when_the_file_is_turned() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let (bridges, rounds) = (4, 300);
        std::thread::scope(|scope| {
            for bridge in 0..bridges {
                scope.spawn(move || {
                    let mut writer = writer(path, 60_000);
                    for round in 0..rounds {
                        let line =
                            json!({"bridge": bridge, "round": round, "filler": "x".repeat(60)});
                        writer.write(vec![line]);
                    }
                });
            }
        });
        let mut next = vec![0; bridges];
        for part in all(&file(path)) {
            for line in lines(&part) {
                let bridge = usize::try_from(line["bridge"].as_u64().unwrap()).unwrap();
                assert_eq!(line["round"], next[bridge], "{}", part.display());
                next[bridge] += 1;
            }
        }
        assert_eq!(next, vec![rounds; bridges]);
        assert!(older(&file(path), 1).exists());
    }

    #[test]
    fn all_files_together_have_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        let most = 2_000;
        let mut writer = writer(folder.path(), most);
        for round in 0..500 {
            writer.write(vec![json!({"round": round, "filler": "x".repeat(60)})]);
        }
        let file = file(folder.path());
        for part in all(&file) {
            let size = fs::metadata(&part).unwrap().len();
            assert!(size < most + 200, "{}: {size}", part.display());
        }
        assert!(!older(&file, KEPT + 1).exists());
        assert_eq!(lines(&file).last().unwrap()["round"], 499);
    }

    #[test]
    fn what_is_dropped_is_counted_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let (sender, entries) = sync_channel(2);
        let writer = writer(folder.path(), MOST);
        let journal = Journal {
            sender,
            dropped: writer.dropped.clone(),
            leaves: writer.leaves.clone(),
        };
        for n in 0..5 {
            journal.note(json!({ "n": n }));
        }
        let thread = std::thread::spawn(move || writer.run(&entries));
        while journal
            .sender
            .try_send(Entry::Line(json!({"n": 5})))
            .is_err()
        {
            std::thread::yield_now();
        }
        journal.finish();
        drop(journal);
        thread.join().unwrap();
        let lines = lines(&file(folder.path()));
        let numbers: Vec<_> = lines.iter().filter_map(|line| line["n"].as_u64()).collect();
        assert_eq!(numbers, [0, 1, 5]);
        let dropped = lines.iter().find_map(|line| line["dropped"].as_u64());
        assert_eq!(dropped, Some(3));
    }

    #[test]
    fn a_log_that_can_not_be_written_stops_nobody_and_is_told_of_later() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("calls"), "no folder").unwrap();
        let mut writer = writer(folder.path(), MOST);
        writer.write(vec![json!(1), json!(2)]);
        writer.write(vec![json!(3)]);
        assert!(writer.is_failing);
        fs::remove_file(folder.path().join("calls")).unwrap();
        writer.write(vec![json!(4)]);
        let lines = lines(&file(folder.path()));
        assert_eq!((&lines[0], &lines[1]["dropped"]), (&json!(4), &json!(3)));
    }

    #[cfg(unix)]
    #[test]
    fn only_its_user_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        writer(folder.path(), MOST).write(vec![json!(1)]);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let file = file(folder.path());
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    }
}
