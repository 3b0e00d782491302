//! Asks the user whether something is allowed.

use std::{
    io::{self, BufRead, IsTerminal, Write},
    process::ExitCode,
};

use crate::{commands::console, settings::Folders};

/// Whether the user says yes, now or by `--yes`.
pub fn agrees(question: &str, yes: bool) -> bool {
    if yes {
        return true;
    }
    if !io::stdin().is_terminal() {
        console::note(&format!(
            "{question} Nobody can be asked here; `--yes` says yes."
        ));
        return false;
    }
    let mut error = io::stderr();
    let _ = write!(error, "\n{question} [y/N] ").and_then(|()| error.flush());
    let mut answer = String::new();
    let _ = io::stdin().lock().read_line(&mut answer);
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// Says that what was allowed can't be noted.
pub fn cant_write(folders: &Folders, error: &io::Error) -> ExitCode {
    console::note(&format!(
        "This can't be noted in {}: {error}",
        folders.shared.display()
    ));
    ExitCode::FAILURE
}
