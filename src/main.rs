//! Parses the command line and starts a command; nothing else.

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use mcp_bridge::{
    commands::{self, simulate::Simulation},
    config::{Flags, Folders},
    simulator::{Kind, Version},
};

/// Lets an MCP client see and program the ComputerCraft computers of a Minecraft world.
///
/// Without a command it serves MCP on standard input and output, as MCP clients (Claude Desktop, Claude Code,
/// opencode, MCP Inspector) start it, and opens the link port that computers in the game connect to.
#[derive(Parser)]
#[command(name = "mcp-bridge", version, after_help = AFTER_HELP)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    settings: Settings,
}

const AFTER_HELP: &str = "\
In the game, on each computer:
  wget run http://HOST:3001/install.lua
  mcp-computer ws://HOST:3001

Settings are read from flags, then the environment, then config.toml in the configuration folder.
MCP_BRIDGE_LOG sets what is logged (such as debug); MCP_BRIDGE_CONFIG_DIR and MCP_BRIDGE_STATE_DIR move the folders.";

#[derive(Subcommand)]
enum Command {
    /// Show the main job, step by step, without the game: a client, a bridge and two simulated computers
    Demo,

    /// Run computers without the game, which link to a bridge as real ones do
    Simulate(Simulate),

    /// Show where the log is, and its last lines
    Logs {
        /// How many lines
        #[arg(short = 'n', long, default_value_t = 40)]
        lines: usize,
    },

    /// Show or restart the MCP servers that running bridges manage
    Upstream {
        #[command(subcommand)]
        what: Upstream,
    },

    /// Allow the MCP servers that this folder configures, or changed tools of one server
    Trust {
        /// Accept the definitions of this server's tools as they are now
        #[arg(long, value_name = "NAME")]
        server: Option<String>,

        /// Say yes without being asked
        #[arg(long)]
        yes: bool,
    },

    /// Run a program and leave nothing of it behind; the bridge starts servers through it
    #[cfg(unix)]
    #[command(hide = true)]
    Hold {
        /// The program and its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        command: Vec<std::ffi::OsString>,
    },
}

#[derive(Subcommand)]
enum Upstream {
    /// Show every server: its state, since when, its tools, its last error
    List,

    /// Stop a server and start it anew, in every bridge that manages it
    Restart {
        /// Its name
        name: String,
    },

    /// Show what a server last wrote to standard error
    Logs {
        /// Its name
        name: String,

        /// How many lines
        #[arg(short = 'n', long, default_value_t = 40)]
        lines: usize,
    },
}

#[derive(Args)]
struct Simulate {
    /// How many computers
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    count: u64,

    /// computer, turtle, pocket or command
    #[arg(long, default_value_t)]
    kind: Kind,

    /// The version of CC:Tweaked they behave as, such as 1.89 (Minecraft 1.12.2), 1.101 (1.16) or 1.113 (1.20)
    #[arg(long, value_name = "VERSION", default_value_t)]
    version: Version,

    /// The first computer's number; the others follow
    #[arg(long, value_name = "ID", default_value_t = 1)]
    first_id: u64,

    /// Their label; several are counted after it [default: the kind]
    #[arg(long)]
    label: Option<String>,

    /// The bridge's link port
    #[arg(long, default_value = "ws://127.0.0.1:3001")]
    url: String,

    /// The token that the bridge wants, if it wants one
    #[arg(long)]
    token: Option<String>,

    /// Draw their screens in this terminal, and take keys
    #[arg(long)]
    show: bool,
}

impl From<Simulate> for Simulation {
    fn from(line: Simulate) -> Self {
        Self {
            count: line.count,
            kind: line.kind,
            version: line.version,
            first_id: line.first_id,
            label: line.label,
            url: line.url,
            token: line.token,
            show: line.show,
        }
    }
}

#[derive(Args)]
struct Settings {
    /// Address to listen on for computers [env: CC_LINK_HOST] [default: 0.0.0.0]
    #[arg(long, value_name = "ADDRESS")]
    link_host: Option<String>,

    /// Port to listen on for computers; 0 means any free one [env: CC_LINK_PORT] [default: 3001]
    #[arg(long, value_name = "PORT")]
    link_port: Option<String>,

    /// Token that every computer must show; needed for links over the internet [env: CC_LINK_TOKEN]
    #[arg(long, value_name = "TOKEN")]
    link_token: Option<String>,

    /// Names by which this machine is reached, with commas between [env: CC_LINK_NAMES]
    #[arg(long, value_name = "NAMES")]
    link_names: Option<String>,

    /// How long a computer has to answer a probe, in milliseconds [env: CC_PROBE_TIMEOUT_MS] [default: 2000]
    #[arg(long, value_name = "MS")]
    probe_timeout_ms: Option<String>,

    /// Whether to manage the MCP servers configured on this machine and offer their tools: on or off [env: MCP_UPSTREAM] [default: on]
    #[arg(long, value_name = "ON_OFF")]
    upstream: Option<String>,
}

impl From<Settings> for Flags {
    fn from(settings: Settings) -> Self {
        Self {
            link_host: settings.link_host,
            link_port: settings.link_port,
            link_token: settings.link_token,
            link_names: settings.link_names,
            probe_timeout_ms: settings.probe_timeout_ms,
            upstream: settings.upstream,
        }
    }
}

fn main() -> ExitCode {
    let line = CommandLine::parse();
    let folders = Folders::from_environment(|name| std::env::var(name).ok());
    match line.command {
        Some(Command::Demo) => commands::demo::run(),
        None => commands::serve::run(&line.settings.into(), &folders),
        Some(Command::Simulate(line)) => commands::simulate::run(&line.into()),
        Some(Command::Logs { lines }) => commands::logs::run(&folders, lines),
        Some(Command::Upstream { what }) => match what {
            Upstream::List => commands::upstream::list(&folders),
            Upstream::Restart { name } => commands::upstream::restart(&folders, &name),
            Upstream::Logs { name, lines } => commands::upstream::logs(&folders, &name, lines),
        },
        Some(Command::Trust { server, yes }) => match server {
            Some(server) => commands::trust::server(&folders, &server, yes),
            None => commands::trust::project(&folders, yes),
        },
        #[cfg(unix)]
        Some(Command::Hold { command }) => commands::hold::run(&command),
    }
}
