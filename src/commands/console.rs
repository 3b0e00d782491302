//! The one place where a command answers a person.
//!
//! Serving MCP never comes here for standard output, which then carries JSON-RPC and nothing else.

use std::io::{self, Write};

use rmcp::model::CallToolResult;

use crate::base::{colour::painted, stderr};

/// Writes a line to standard output. A reader that left, such as `head`, is no failure.
pub fn say(line: &str) {
    let mut output = io::stdout().lock();
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

/// Writes to standard output as it is, and tells whether somebody still reads that.
pub fn show(text: &str) -> bool {
    show_bytes(text.as_bytes())
}

/// The same with bytes.
pub fn show_bytes(bytes: &[u8]) -> bool {
    let mut output = io::stdout().lock();
    let shown = output.write_all(bytes);
    shown.and_then(|()| output.flush()).is_ok()
}

/// Writes to standard output with marks and diffs in colours, where that is a terminal whose user wants them.
pub fn show_painted(text: &str) {
    let mut output = anstream::stdout().lock();
    let _ = output
        .write_all(painted(text).as_bytes())
        .and_then(|()| output.flush());
}

/// Writes what a tool answered, block by block: texts as they are, all else as JSON.
pub fn say_result(result: &CallToolResult) {
    for block in &result.content {
        match block.as_text() {
            Some(text) => say(&text.text),
            None => say(&serde_json::to_string(block).unwrap_or_default()),
        }
    }
}

/// Writes a line to standard error: for problems, and for notes beside what a client reads.
pub fn note(line: &str) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// The same of a bridge that serves: whoever started it may never read that, and is not waited for.
pub fn aside(line: &str) {
    stderr::note(line);
}

/// Writes to standard error as it is: over the last line, say, of a terminal.
pub fn redraw(text: &str) {
    let mut output = io::stderr().lock();
    let _ = output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush());
}
