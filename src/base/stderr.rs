//! Standard error, as a bridge writes to it that serves: whoever started it may never read what it says, and is not waited
//! for.

use std::{
    io::{self, Write},
    sync::{Arc, LazyLock},
};

use super::scribe::{Pen, Pile, STDERR};

/// How much waits at most, in bytes.
const MOST: usize = 64 * 1024;

static LINES: LazyLock<Arc<Pile<Stderr>>> =
    LazyLock::new(|| Pile::new(&STDERR, MOST, false, Stderr));

struct Stderr;

/// Writes a line when it can be written.
pub fn note(line: &str) {
    LINES.add(format!("{line}\n"));
}

impl Pen for Stderr {
    type Line = String;

    fn room(line: &String) -> usize {
        line.len()
    }

    fn write(&mut self, lines: Vec<String>, dropped: u64) {
        // It may be closed, and there is nowhere else to say so.
        let _ = io::stderr().lock().write_all(lines.concat().as_bytes());
        if dropped > 0 {
            let missing = format!("mcp-bridge: {dropped} lines are missing here\n");
            let _ = io::stderr().lock().write_all(missing.as_bytes());
        }
    }
}
