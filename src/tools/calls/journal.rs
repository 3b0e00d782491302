//! The log of calls: one line of JSON for each, in a file that all bridges of a user share and that has a bound.
//!
//! The [`scribe`](crate::base::scribe) writes it. Whoever makes calls waits for nothing: what comes faster than it is
//! written is dropped, counted, and told of by a line.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde_json::{Value, json};

use crate::base::{
    files, private,
    scribe::{FILES, Pen, Pile},
    store,
    text::timestamp,
};

/// How large the file may become, in bytes, and how many older ones are kept.
const MOST: u64 = 4 * 1024 * 1024;
const KEPT: u32 = 3;

/// How many lines may wait for being written, and how many are written in one piece.
const WAITING: usize = 1024;
const IN_ONE_PIECE: usize = 128;

/// How often, and how many times more, the turn of another bridge is waited for: 200 ms in all.
const BETWEEN_TRIES: Duration = Duration::from_millis(4);
const LOCK_TRIES: u32 = 50;

/// The way into the log of calls.
pub struct Journal(Arc<Pile<Writer>>);

impl Journal {
    /// A log of calls in this file.
    pub fn new(file: PathBuf) -> Self {
        let writer = Writer {
            file,
            most: MOST,
            lost: 0,
            is_failing: false,
        };
        Self(Pile::new(&FILES, WAITING, true, writer))
    }

    /// Notes a line.
    pub fn note(&self, line: Value) {
        self.0.add(line);
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
    /// How many lines are missing that nobody was told of.
    lost: u64,
    /// Whether the last try failed, which was logged.
    is_failing: bool,
}

impl Pen for Writer {
    type Line = Value;

    fn room(_: &Value) -> usize {
        1
    }

    fn write(&mut self, lines: Vec<Value>, dropped: u64) {
        let mut pieces = lines.chunks(IN_ONE_PIECE).peekable();
        while let Some(piece) = pieces.next() {
            if pieces.peek().is_none() {
                self.lost += dropped;
            }
            self.write_piece(piece);
        }
    }
}

impl Writer {
    fn write_piece(&mut self, lines: &[Value]) {
        let mut text = String::new();
        for line in lines {
            text.push_str(&line.to_string());
            text.push('\n');
        }
        if self.lost > 0 {
            let line = json!({
                "time": timestamp(SystemTime::now()),
                "bridge": std::process::id(),
                "dropped": self.lost,
            });
            text.push_str(&format!("{line}\n"));
        }
        match self.append(&text) {
            Ok(()) => {
                self.lost = 0;
                self.is_failing = false;
            }
            Err(error) => {
                self.lost += u64::try_from(lines.len()).unwrap_or(u64::MAX);
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
            lost: 0,
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
                        writer.write(vec![line], 0);
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
            writer.write(vec![json!({"round": round, "filler": "x".repeat(60)})], 0);
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
    fn what_is_dropped_is_counted_and_told_after_what_came_before() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(folder.path(), MOST);
        let many = (0..IN_ONE_PIECE + 1).map(|n| json!({ "n": n })).collect();
        writer.write(many, 3);
        writer.write(vec![json!({"n": "last"})], 0);
        let lines = lines(&file(folder.path()));
        assert_eq!(lines.len(), IN_ONE_PIECE + 3);
        assert_eq!(lines[IN_ONE_PIECE + 1]["dropped"], 3);
        assert_eq!(lines[IN_ONE_PIECE + 2]["n"], "last");
    }

    #[test]
    fn a_log_that_can_not_be_written_stops_nobody_and_is_told_of_later() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("calls"), "no folder").unwrap();
        let mut writer = writer(folder.path(), MOST);
        writer.write(vec![json!(1), json!(2)], 0);
        writer.write(vec![json!(3)], 0);
        assert!(writer.is_failing);
        fs::remove_file(folder.path().join("calls")).unwrap();
        writer.write(vec![json!(4)], 0);
        let lines = lines(&file(folder.path()));
        assert_eq!((&lines[0], &lines[1]["dropped"]), (&json!(4), &json!(3)));
    }

    #[cfg(unix)]
    #[test]
    fn only_its_user_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        writer(folder.path(), MOST).write(vec![json!(1)], 0);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let file = file(folder.path());
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    }
}
