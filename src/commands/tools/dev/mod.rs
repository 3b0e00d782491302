//! `mcp-bridge tools dev`.

mod desk;
mod form;
mod snippet;

use std::{
    io::{self, IsTerminal},
    path::PathBuf,
};

use anyhow::Context as _;
use clap::Args;
use tokio::sync::mpsc;

use self::desk::Desk;
use super::{
    house::{in_runtime, load, roots},
    testing::suite::Suites,
};
use crate::{
    commands::{console::say, lines::lines_of_stdin},
    settings::{FlagsOf, Folders, ToolsConfig},
    tools::changes,
};

/// Watch a folder of tools: check and test them at each change, and call them by a form
///
/// Calls and examples run against simulated computers. Without a terminal to ask in, it goes on checking and testing.
#[derive(Debug, Args)]
pub struct Dev {
    /// The folder of tools [default: all that are set]
    folder: Option<PathBuf>,

    #[command(flatten)]
    settings: FlagsOf<ToolsConfig>,
}

impl Dev {
    /// Goes on until the person leaves.
    pub fn run(self, folders: &Folders) -> anyhow::Result<bool> {
        in_runtime(async {
            let config = load(&self.settings.given, folders)?;
            let roots = roots(self.folder, &config, folders);
            for root in &roots {
                say(&format!("Watching {}. Ctrl+C ends.", root.path.display()));
            }
            let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
            let mut lines = is_terminal.then(lines_of_stdin);
            let mut changes =
                changes::told_of(roots.clone()).context("the folders can't be watched")?;
            let mut desk = Desk::new(Suites::new(roots, &config), is_terminal);
            loop {
                tokio::select! {
                    told = changes.recv() => match told {
                        Some(()) => desk.round().await,
                        // Its thread ends with this.
                        None => return Ok(false),
                    },
                    line = next_line(&mut lines) => match line {
                        Some(line) => if desk.take(&line).await.is_break() {
                            return Ok(true);
                        },
                        None => return Ok(true),
                    },
                }
                desk.ask();
            }
        })
    }
}

/// The next line that is typed; none at their end. Where nobody can type, none comes ever.
async fn next_line(lines: &mut Option<mpsc::Receiver<String>>) -> Option<String> {
    match lines {
        Some(lines) => lines.recv().await,
        None => std::future::pending().await,
    }
}
