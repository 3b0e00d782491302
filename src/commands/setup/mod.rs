//! `mcp-bridge setup`: what is changed on this machine so that the bridge is used. Each part is a file here; what it does
//! is in `setup/`.

mod client;
mod environment;
mod game;
mod scene;
mod service;

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
};

use clap::{Args, Subcommand};

use scene::Scene;

use super::{console, list::commands, startup};
use crate::{
    settings::Folders,
    setup::{
        asking::{Asking, How},
        machine::Machine,
    },
};

/// Add the bridge to MCP clients and let the game reach it; each change is shown first, and made after a yes
#[derive(Debug, Args)]
pub struct Setup {
    #[command(subcommand)]
    part: Option<Part>,

    #[command(flatten)]
    how: Choice,
}

/// How far it is to go. These can stand before and after the part's name.
#[derive(Debug, Args)]
struct Choice {
    /// Make the changes without asking
    #[arg(long, global = true, conflicts_with_all = ["dry_run", "print"])]
    yes: bool,

    /// Show the changes, and make none
    #[arg(long, global = true, conflicts_with = "print")]
    dry_run: bool,

    /// Print only what you would paste, and where it goes
    #[arg(long, global = true)]
    print: bool,

    /// Take out what was added
    #[arg(long, global = true)]
    remove: bool,
}

impl Choice {
    fn how(&self) -> How {
        match self {
            Self { print: true, .. } => How::Print,
            Self { dry_run: true, .. } => How::DryRun,
            Self { yes: true, .. } => How::Yes,
            _ => How::Ask,
        }
    }
}

// In the order of the help.
commands! { Part, run(scene: &mut Scene<'_, '_>) -> ():
    client::Client,
    game::Game,
    service::Service,
}

impl Setup {
    pub fn run(self, folders: &Folders) -> ExitCode {
        let Some(machine) = Machine::this() else {
            console::note(
                "mcp-bridge: this user has no home folder, so there is nothing to set up.",
            );
            return ExitCode::FAILURE;
        };
        let (mut input, mut output) = (io::stdin().lock(), anstream::stdout().lock());
        let how = self.how.how();
        let mut asking =
            Asking::new(how, io::stdin().is_terminal(), &mut input, &mut output).in_colours();
        let mut scene = Scene {
            machine: &machine,
            folders,
            remove: self.how.remove,
            asking: &mut asking,
        };
        match self.part {
            Some(part) => part.run(&mut scene),
            None => {
                client::Client::default().run(&mut scene);
                scene.asking.say("");
                game::Game::default().run(&mut scene);
                // It is added only where somebody asks for it.
                if scene.remove {
                    scene.asking.say("");
                    service::Service::default().run(&mut scene);
                }
            }
        }
        if asking.nobody_answered {
            console::note("Nothing was changed: nobody can be asked here. `--yes` says yes.");
            return ExitCode::from(startup::BAD_SETTINGS);
        }
        if asking.failed {
            return ExitCode::FAILURE;
        }
        ExitCode::SUCCESS
    }
}
