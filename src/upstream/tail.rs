//! What a server writes to standard error: the last lines in memory, and not too many in the log.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use crate::base::text::one_line;

/// How many lines are kept.
const KEPT_LINES: usize = 100;

/// How much of a line is kept, in bytes.
const LONGEST_LINE: usize = 2 * 1024;

/// How many lines of a server are logged in each [`LOG_WINDOW`]; the log is shared, and kept for a week.
const LOGGED_LINES: u32 = 100;

/// See [`LOGGED_LINES`].
const LOG_WINDOW: Duration = Duration::from_secs(60);

/// The log's target for these lines. `mcp-bridge upstream logs` looks for it.
pub const LOG_TARGET: &str = "mcp_bridge::upstream::stderr";

/// The end of one server's standard error, over all its runs.
#[derive(Debug)]
pub struct Tail {
    server: String,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    lines: VecDeque<String>,
    /// When the log's window began, and how many lines came in it.
    window: (Instant, u32),
}

impl Tail {
    /// An empty one, for the server of this name.
    pub fn new(server: &str) -> Self {
        Self {
            server: server.to_owned(),
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
        let logged = {
            let mut state = self.lock();
            if state.lines.len() == KEPT_LINES {
                state.lines.pop_front();
            }
            state.lines.push_back(text.clone());
            if state.window.0.elapsed() > LOG_WINDOW {
                state.window = (Instant::now(), 0);
            }
            state.window.1 = state.window.1.saturating_add(1);
            state.window.1
        };
        if logged <= LOGGED_LINES {
            tracing::info!(target: LOG_TARGET, server = self.server, "{text}");
        } else if logged == LOGGED_LINES + 1 {
            tracing::info!(target: LOG_TARGET, server = self.server, "(more than is logged)");
        }
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
        let tail = Arc::new(Tail::new("x"));
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
