//! What the binary can be told to do: one file for each command, with its own arguments.
//!
//! This is the one place that knows all floors of the house, and puts them together.

mod agents;
mod arguments;
mod completions;
pub mod computers;
mod console;
mod demo;
mod doctor;
#[cfg(unix)]
mod hold;
mod jobs;
mod limits;
mod lines;
mod list;
mod log;
mod logs;
mod man;
mod meant;
mod pause;
mod serve;
mod setup;
mod signals;
mod simulate;
mod startup;
mod status;
mod stdio;
mod stop;
mod sync;
mod tools;
mod trust;
mod upstream;
mod worker;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use list::commands;

use crate::{base::scribe::WrittenAtTheEnd, settings::Folders};

/// Lets an MCP client see and program the ComputerCraft computers of a Minecraft world.
///
/// Without a command it serves MCP on standard input and output, as MCP clients (Claude Desktop, Claude Code,
/// opencode, MCP Inspector) start it, and opens the link port that computers in the game connect to.
#[derive(Debug, Default, Parser)]
#[command(name = "mcp-bridge", version, after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub struct CommandLine {
    #[command(subcommand)]
    command: Option<Any>,

    #[command(flatten)]
    without: stdio::Stdio,
}

const AFTER_HELP: &str = "\
Begin with:
  mcp-bridge setup
and where something does not work:
  mcp-bridge doctor

In the game, on each computer:
  wget run http://HOST:3001/install.lua

Settings are read from flags, then the environment, then config.toml in the configuration folder.
MCP_BRIDGE_LOG sets what is logged (such as debug); MCP_BRIDGE_CONFIG_DIR and MCP_BRIDGE_STATE_DIR move the folders.";

impl CommandLine {
    /// What this process was told to do. Where that makes no sense it ends, and says why.
    pub fn of_process() -> Self {
        // As most clients start it. To know all commands, flags and their help would be a fifth of such a start.
        match std::env::args_os().len() {
            0 | 1 => Self::default(),
            _ => Self::parse(),
        }
    }

    /// Does what it says, and tells how the process is to end.
    pub fn run(self) -> ExitCode {
        let _last = WrittenAtTheEnd;
        signals::outlive_file_limit();
        let folders = Folders::from_environment(startup::variable);
        match self.command {
            None => self.without.run(&folders),
            Some(Any::One(command)) => command.run(&folders),
            Some(Any::Completions(completions)) => completions.run(Self::command()),
            Some(Any::Man(man)) => man.run(Self::command()),
        }
    }
}

/// All there are: those that tell of the command line itself are given it.
#[derive(Debug, Subcommand)]
enum Any {
    #[command(flatten)]
    One(Command),
    Completions(completions::Completions),
    Man(man::Man),
}

// In the order of the help.
commands! { Command, run(folders: &Folders) -> ExitCode:
    setup::Setup,
    serve::Serve,
    demo::Demo,
    simulate::Simulate,
    doctor::Doctor,
    status::Status,
    jobs::Jobs,
    stop::Stop,
    pause::Pause,
    pause::Resume,
    agents::Agents,
    sync::Sync,
    tools::Tools,
    worker::Worker,
    logs::Logs,
    log::Log,
    upstream::Upstream,
    trust::Trust,
    #[cfg(unix)]
    hold::Hold,
}

#[cfg(test)]
mod tests {
    use std::{env, fmt::Write, fs, path::Path};

    use super::*;

    #[test]
    fn what_is_told_nothing_is_what_the_parser_makes_of_nothing() {
        let parsed = CommandLine::try_parse_from(["mcp-bridge"]).unwrap();
        assert_eq!(
            format!("{parsed:?}"),
            format!("{:?}", CommandLine::default())
        );
    }

    /// The environment variable that makes the committed help anew.
    const UPDATE: &str = "MCP_BRIDGE_UPDATE_HELP";

    /// Writes the short and the long help of a command, and of those below it.
    fn write_help(command: &mut clap::Command, path: &str, all: &mut String) {
        for (flag, help) in [
            ("-h", command.render_help()),
            ("--help", command.render_long_help()),
        ] {
            let _ = writeln!(all, "$ {path} {flag}\n{help}");
        }
        for below in command.get_subcommands_mut() {
            // What is hidden is not for people, and what there is of it differs from system to system.
            if !below.is_hide_set() && below.get_name() != "help" {
                let path = format!("{path} {}", below.get_name());
                write_help(below, &path, all);
            }
        }
    }

    #[test]
    fn the_help_of_every_command_is_the_committed_one() {
        let mut line = CommandLine::command().term_width(100);
        line.build();
        let mut help = String::new();
        write_help(&mut line, "mcp-bridge", &mut help);

        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/help.txt");
        if env::var_os(UPDATE).is_some() {
            fs::write(&file, &help).unwrap();
        }
        let committed = fs::read_to_string(&file).unwrap_or_default();
        let committed = committed.replace("\r\n", "\n");
        let differs = committed
            .lines()
            .zip(help.lines())
            .position(|(was, is)| was != is);
        assert!(
            committed == help,
            "the help differs from tests/it/help.txt, first in line {}: if it should, run this test with {UPDATE}=1 and \
             commit what it writes",
            differs.map_or(committed.lines().count(), |line| line + 1)
        );
    }

    #[test]
    fn the_command_line_is_sound() {
        CommandLine::command().debug_assert();
    }
}
