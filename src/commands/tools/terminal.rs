//! A person at a terminal who waits for an answer: what they see meanwhile.
//!
//! The answer is standard output's. What of it comes before its end is shown there at once; all else that is told while the
//! call goes on goes to standard error, a line at a time, so that lines of several computers are never mixed.

use std::{
    collections::BTreeMap,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::model::CallToolResult;

use crate::{
    base::{byte_text, text::one_line},
    commands::console::{note, say_result, show, show_bytes},
    computers::ComputerKey,
    tools::{Belongs, Level, Listener, Printed, Step, legible, text_of},
};

/// A longer line is shown in pieces, in bytes.
const LONGEST_LINE: usize = 16 * 1024;

/// What a person was shown of a call.
#[derive(Default)]
pub struct Terminal(Mutex<Shown>);

#[derive(Default)]
struct Shown {
    /// The last byte of the answer that came before its end.
    of_answer: Option<u8>,
    /// Lines that have not ended, by where they are printed; none is the host.
    open: BTreeMap<Option<ComputerKey>, Vec<u8>>,
}

impl Terminal {
    /// Shows what is left: all has been told.
    pub fn end(&self) {
        let mut shown = self.lock();
        let open = mem::take(&mut shown.open);
        for (on, line) in open.iter().filter(|(_, line)| !line.is_empty()) {
            say_line(*on, line);
        }
        // What comes next begins a line.
        if shown.of_answer.is_some_and(|last| last != b'\n') {
            show("\n");
        }
    }

    /// Shows what is left, and then the answer.
    pub fn say_result(&self, result: &CallToolResult) {
        self.end();
        let has_begun = self.lock().of_answer.is_some();
        if !(has_begun && text_of(result).is_empty()) {
            say_result(result);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shown> {
        // Nothing that holds the lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Terminal {
    fn listens(&self) -> bool {
        true
    }

    fn tell(&self, step: Step) -> BoxFuture<'_, ()> {
        let many = match (step.done, step.total) {
            (Some(done), Some(total)) => format!(" ({done} of {total})"),
            (Some(done), None) => format!(" ({done})"),
            (None, _) => String::new(),
        };
        note(&format!("{}{many}", one_line(&step.message)));
        std::future::ready(()).boxed()
    }

    fn log(&self, level: Level, logger: &str, text: String) -> BoxFuture<'_, ()> {
        note(&format!("{level:?} {logger}: {}", one_line(&text)));
        std::future::ready(()).boxed()
    }

    fn wants_output(&self) -> bool {
        true
    }

    fn shows_output(&self) -> bool {
        true
    }

    fn print(&self, Printed { text, on, belongs }: Printed<'_>) {
        let mut shown = self.lock();
        let bytes = byte_text::to_bytes(text);
        if belongs == Belongs::ToAnswer {
            if let Some(last) = bytes.last() {
                shown.of_answer = Some(*last);
                show_bytes(&bytes);
            }
            return;
        }
        let line = shown.open.entry(on).or_default();
        line.extend_from_slice(&bytes);
        let whole = line.iter().rposition(|byte| *byte == b'\n');
        if let Some(end) = whole {
            let rest = line.split_off(end + 1);
            let lines = mem::replace(line, rest);
            for line in lines[..end].split(|byte| *byte == b'\n') {
                say_line(on, line);
            }
        }
        if line.len() > LONGEST_LINE {
            say_line(on, &mem::take(line));
        }
    }
}

/// Shows a line that was printed.
fn say_line(on: Option<ComputerKey>, line: &[u8]) {
    let line = byte_text::of(line);
    let line = legible::text(&line);
    // What `print` puts between values.
    let line = line.replace('\t', "    ");
    let line = one_line(&line);
    match on {
        Some(computer) => note(&format!("[{computer}] {line}")),
        None => note(&line),
    }
}
