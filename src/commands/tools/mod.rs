//! `mcp-bridge tools`: for whoever writes tools of their own.

mod check;
mod dev;
mod house;
mod list;
mod new;
mod prompt;
mod read;
mod run;
mod terminal;
mod test;
mod testing;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::console::note;
use crate::settings::Folders;

/// Write, check and try tools of your own
#[derive(Debug, Args)]
pub struct Tools {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(list::List),
    Check(check::Check),
    Test(test::Test),
    Dev(dev::Dev),
    New(new::New),
    Run(run::Run),
    Prompt(prompt::Prompt),
    Read(read::Read),
}

impl Tools {
    pub fn run(self, folders: &Folders) -> ExitCode {
        let all_is_well = match self.action {
            Action::List(list) => list.run(folders),
            Action::Check(check) => check.run(folders),
            Action::Test(test) => test.run(folders),
            Action::Dev(dev) => dev.run(folders),
            Action::New(new) => new.run(folders),
            Action::Run(run) => run.run(folders),
            Action::Prompt(prompt) => prompt.run(folders),
            Action::Read(read) => read.run(folders),
        };
        match all_is_well {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => ExitCode::FAILURE,
            Err(error) => {
                note(&format!("mcp-bridge: {error:#}"));
                ExitCode::FAILURE
            }
        }
    }
}
