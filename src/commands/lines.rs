//! What a person types while a command goes on.

use std::{
    io::{self, BufRead},
    thread,
};

use tokio::sync::mpsc;

/// The lines of standard input as they come; none where a read would stop the process, as it does to a job that a
/// shell runs in the background.
pub fn lines_of_stdin() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(16);
    if stdin_is_ours() {
        // A thread of its own: one that tokio lends would keep the runtime from ending until the next line.
        thread::spawn(move || {
            for line in io::stdin().lock().split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
    }
    lines
}

#[cfg(unix)]
fn stdin_is_ours() -> bool {
    // An error means that it is no terminal.
    rustix::termios::tcgetpgrp(io::stdin())
        .map_or(true, |foreground| foreground == rustix::process::getpgrp())
}

#[cfg(not(unix))]
fn stdin_is_ours() -> bool {
    true
}
