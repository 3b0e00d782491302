//! `mcp-bridge logs`: where the log is, and its last lines.

use std::process::ExitCode;

use clap::Args;

use super::console;
use crate::{
    base::{log_tail, logging},
    settings::Folders,
};

/// Show where the log is, and its last lines
#[derive(Debug, Args)]
pub struct Logs {
    /// How many lines
    #[arg(short = 'n', long, default_value_t = 40)]
    lines: usize,
}

impl Logs {
    pub fn run(self, folders: &Folders) -> ExitCode {
        let files = logging::files(&folders.state);
        let Some(file) = files.last() else {
            console::say(&format!(
                "There is no log yet; it will be in {}",
                logging::folder(&folders.state).display()
            ));
            return ExitCode::SUCCESS;
        };
        console::say(&file.display().to_string());
        match log_tail::tail_of(&files, self.lines) {
            Ok(tail) => {
                console::say(&tail);
                ExitCode::SUCCESS
            }
            Err(error) => {
                console::note(&format!("{} can't be read: {error}", file.display()));
                ExitCode::FAILURE
            }
        }
    }
}
