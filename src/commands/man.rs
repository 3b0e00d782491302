//! `mcp-bridge man`: the manual, page by page.

use std::process::ExitCode;

use clap::Args;

use super::{console, startup};

/// Print the manual page, or that of a command
#[derive(Debug, Args)]
#[command(after_help = "\
mcp-bridge man | man -l -
mcp-bridge man setup client > ~/.local/share/man/man1/mcp-bridge-setup-client.1")]
pub struct Man {
    /// A command, such as `setup client`
    command: Vec<String>,
}

impl Man {
    /// Prints it for this command line.
    pub fn run(self, mut command: clap::Command) -> ExitCode {
        // Gives every command its whole name.
        command.build();
        for name in &self.command {
            let Some(below) = command.find_subcommand(name).cloned() else {
                console::note(&format!(
                    "mcp-bridge: there is no command `{}`. `mcp-bridge --help` shows those there are.",
                    self.command.join(" ")
                ));
                return ExitCode::from(startup::BAD_SETTINGS);
            };
            command = below;
        }
        let mut page = Vec::new();
        let version = env!("CARGO_PKG_VERSION");
        let manual = clap_mangen::Man::new(command)
            .source(format!("mcp-bridge {version}"))
            .manual("mcp-bridge");
        if let Err(error) = manual.render(&mut page) {
            console::note(&format!("mcp-bridge: the page can't be made: {error}"));
            return ExitCode::FAILURE;
        }
        console::show(&String::from_utf8_lossy(&page));
        ExitCode::SUCCESS
    }
}
