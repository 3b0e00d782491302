//! What a server writes to standard error: the last lines in memory, and not too many in files of its own.

use std::{
    collections::VecDeque,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use super::{kept, names};
use crate::base::{
    log_files::{Bounds, Log},
    text::{one_line, timestamp},
};

/// How many lines are kept.
const KEPT_LINES: usize = 100;

/// How much of a line is kept, in bytes.
const LONGEST_LINE: usize = 2 * 1024;

/// How much is kept in files, of each server: a week, but no more than 2 MiB.
const BOUNDS: Bounds = Bounds {
    file: 1024 * 1024,
    total: 2 * 1024 * 1024,
    days: 7,
};

/// How much waits for being written, in bytes: half of what is kept.
const WAITING: usize = 1024 * 1024;

/// How many lines of a server are written in each [`WINDOW`]: one that writes without end is to wear out no disk.
const WRITTEN_LINES: u32 = 5_000;

/// See [`WRITTEN_LINES`].
const WINDOW: Duration = Duration::from_secs(60);

/// The folder of a server's files in the state folder. All bridges write them.
pub fn folder(state: &Path, server: &str) -> PathBuf {
    let name = format!("server-{}", names::server_id(server));
    kept::folder(state).join("stderr").join(name)
}

/// The end of one server's standard error, over all its runs.
pub struct Tail {
    /// Its files, which are there once there was something to write.
    files: Log,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    lines: VecDeque<String>,
    /// When the window began, and how many lines came in it.
    window: (Instant, u32),
}

impl Tail {
    /// An empty one, for the server of this name, whose files are in this state folder.
    pub fn new(state: &Path, server: &str) -> Self {
        Self {
            files: Log::new(&folder(state, server), BOUNDS, WAITING, |problem| {
                tracing::warn!("{problem}");
            }),
            state: Mutex::new(State {
                lines: VecDeque::new(),
                window: (Instant::now(), 0),
            }),
        }
    }

    /// The last `count` lines, the oldest first.
    pub fn last(&self, count: usize) -> Vec<String> {
        let state = self.lock();
        let skipped = state.lines.len().saturating_sub(count);
        state.lines.iter().skip(skipped).cloned().collect()
    }

    /// Forgets all lines.
    pub fn clear(&self) {
        self.lock().lines.clear();
    }

    /// Reads a server's standard error to its end, as fast as it comes: a server must never wait for us.
    pub async fn read(self: Arc<Self>, input: impl AsyncRead + Unpin) {
        let mut input = BufReader::with_capacity(16 * 1024, input);
        let mut line = Vec::new();
        loop {
            match next_part(&mut input, &mut line).await {
                Ok(Part::More) => {}
                Ok(Part::Line) => self.add(&std::mem::take(&mut line)),
                Ok(Part::End) | Err(_) => break,
            }
        }
        if !line.is_empty() {
            self.add(&line);
        }
    }

    /// Adds one line.
    pub fn add(&self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text = one_line(text.trim_end()).into_owned();
        let count = {
            let mut state = self.lock();
            if state.lines.len() == KEPT_LINES {
                state.lines.pop_front();
            }
            state.lines.push_back(text.clone());
            if state.window.0.elapsed() > WINDOW {
                state.window = (Instant::now(), 0);
            }
            state.window.1 = state.window.1.saturating_add(1);
            state.window.1
        };
        let text = match count {
            ..=WRITTEN_LINES => text.as_str(),
            more if more == WRITTEN_LINES + 1 => "(more than is kept)",
            _ => return,
        };
        let line = format!("{} {text}\n", timestamp(SystemTime::now()));
        self.files.add(line.into_bytes());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The lines are never left half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Part {
    More,
    Line,
    End,
}

/// Reads on, keeping no more of a line than is shown.
async fn next_part(
    input: &mut (impl AsyncBufReadExt + Unpin),
    line: &mut Vec<u8>,
) -> io::Result<Part> {
    let read = input.fill_buf().await?;
    if read.is_empty() {
        return Ok(Part::End);
    }
    let end = read.iter().position(|byte| *byte == b'\n');
    let part = &read[..end.unwrap_or(read.len())];
    let room = LONGEST_LINE - line.len();
    line.extend_from_slice(&part[..part.len().min(room)]);
    let taken = part.len() + usize::from(end.is_some());
    input.consume(taken);
    Ok(if end.is_some() {
        Part::Line
    } else {
        Part::More
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_lines_are_kept_however_many_and_long_they_are() {
        let state = tempfile::tempdir().unwrap();
        let tail = Arc::new(Tail::new(state.path(), "x"));
        let mut text = "noise\n".repeat(50_000);
        text.push_str(&"long".repeat(100_000));
        text.push_str("\nred \u{1b}[31m\nlast without end");
        tail.clone().read(text.as_bytes()).await;
        assert_eq!(tail.last(1_000).len(), KEPT_LINES);
        let last = tail.last(3);
        assert_eq!(last[0].len(), LONGEST_LINE);
        assert!(!last[1].contains('\u{1b}'), "{last:?}");
        assert_eq!(last[2], "last without end");
        tail.clear();
        assert!(tail.last(1).is_empty());
    }
}
