//! `mcp-bridge pause` and `mcp-bridge resume`: a person stops all that could change something, and lets it go on.

use std::{process::ExitCode, time::SystemTime};

use clap::Args;

use super::console;
use crate::{settings::Folders, tools::Paused};

/// Answer calls that could change something with "a person has paused this", in all bridges
///
/// It holds at once for every client of every bridge of this user, until `mcp-bridge resume` lifts it, also for bridges
/// that start later. Calls that only read go on, by what each tool says of itself (readOnlyHint). So does what runs
/// already, but scripts that run get no further code onto computers; `mcp-bridge stop --all` stops what runs.
#[derive(Debug, Args)]
pub struct Pause {
    /// Why, for clients and their models to read
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

/// Lift the pause: all calls are made again
#[derive(Debug, Args)]
pub struct Resume {}

impl Pause {
    pub fn run(self, folders: &Folders) -> ExitCode {
        match Paused::begin(&folders.shared, self.reason.as_deref()) {
            Ok(paused) => {
                console::say(&in_words(&paused));
                if let Some(too_old) = super::jobs::too_old(folders) {
                    console::note(&too_old);
                }
                ExitCode::SUCCESS
            }
            Err(error) => {
                console::note(&format!(
                    "mcp-bridge: the pause can't be written to {}: {error}",
                    folders.shared.display()
                ));
                ExitCode::FAILURE
            }
        }
    }
}

impl Resume {
    pub fn run(self, folders: &Folders) -> ExitCode {
        match Paused::lift(&folders.shared) {
            Ok(true) => {
                console::say("The pause is lifted: all calls are made again.");
                ExitCode::SUCCESS
            }
            Ok(false) => {
                console::say("Nothing was paused.");
                ExitCode::SUCCESS
            }
            Err(error) => {
                console::note(&format!(
                    "mcp-bridge: the pause can't be lifted: {}: {error}",
                    folders.shared.display()
                ));
                ExitCode::FAILURE
            }
        }
    }
}

/// What a person is told of a pause.
pub fn in_words(paused: &Paused) -> String {
    format!(
        "Paused {}. Calls that could change something are refused until `mcp-bridge resume`.",
        paused.when_and_why(SystemTime::now())
    )
}
