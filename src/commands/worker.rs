//! `mcp-bridge worker`: runs Lua handlers. Not for people: the bridge starts it.

use std::process::ExitCode;

use clap::Args;

use crate::{settings::Folders, tools::host::worker};

/// Run Lua handlers for the bridge that started this process
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Worker {}

impl Worker {
    pub fn run(self, _: &Folders) -> ExitCode {
        worker::run()
    }
}
