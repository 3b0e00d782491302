//! Parses the command line and starts a command; nothing else.

use std::{path::PathBuf, process::ExitCode};

use clap::{Args, Parser, Subcommand};
use mcp_bridge::{
    commands::{self, simulate::Simulation},
    settings::{Flags, Folders},
    simulator::{Kind, Version},
    tools::host::worker,
};

/// Lets an MCP client see and program the ComputerCraft computers of a Minecraft world.
///
/// Without a command it serves MCP on standard input and output, as MCP clients (Claude Desktop, Claude Code,
/// opencode, MCP Inspector) start it, and opens the link port that computers in the game connect to.
#[derive(Parser)]
#[command(name = "mcp-bridge", version, after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
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
    /// Keep computers linked while no client is open, and serve MCP over HTTP
    Serve(Serve),

    /// Show the main job, step by step, without the game: a client, a bridge and two simulated computers
    Demo,

    /// Run computers without the game, which link to a bridge as real ones do
    Simulate(Simulate),

    /// Show who holds the link port, how many bridges share it, and how many computers are linked
    Status {
        #[command(flatten)]
        settings: Settings,
    },

    /// Write, check and try tools of your own
    Tools {
        #[command(subcommand)]
        command: ToolsCommand,
    },

    /// Run Lua handlers for the bridge that started this process
    #[command(hide = true)]
    Worker,

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

#[derive(Subcommand)]
enum ToolsCommand {
    /// List the tools, prompts and resources there are
    List {
        #[command(flatten)]
        settings: ToolSettings,
    },

    /// Check a folder of tools, or all that are set, and say what is wrong in which file and line
    Check {
        /// The folder
        folder: Option<PathBuf>,

        #[command(flatten)]
        settings: ToolSettings,
    },

    /// Write a new tool to begin with
    New {
        /// Its name
        name: String,

        /// The folder of tools to write it into [default: the one in the configuration folder]
        #[arg(long, value_name = "DIR")]
        folder: Option<PathBuf>,

        /// Make it one that runs on a computer in the game
        #[arg(long)]
        computer: bool,
    },

    /// Run a tool as a client would, and print what comes back
    Run {
        /// Its name
        name: String,

        /// Its arguments, as a JSON object
        #[arg(long, value_name = "JSON", default_value = "{}")]
        args: String,

        #[command(flatten)]
        settings: Settings,
    },
}

#[derive(Args)]
struct ToolSettings {
    /// Folders of your own tools, or the names of the only tools there are to be; more than once, or with commas between
    /// [env: MCP_BRIDGE_TOOLS]
    #[arg(long, value_name = "DIR|NAMES")]
    tools: Vec<String>,

    /// The only sets of tools there are to be, with commas between, such as core,custom; all means every one
    /// [env: MCP_BRIDGE_TOOLSETS]
    #[arg(long, value_name = "SETS")]
    toolsets: Option<String>,

    /// Allow only tools that promise to change nothing [env: MCP_BRIDGE_READ_ONLY]
    #[arg(long)]
    read_only: bool,
}

#[derive(Args)]
struct Serve {
    /// Address to serve MCP at; others than this machine's own need a token [env: MCP_HOST] [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    mcp_host: Option<String>,

    /// Port to serve MCP at; 0 means any free one [env: MCP_PORT] [default: 3000]
    #[arg(long, value_name = "PORT")]
    mcp_port: Option<String>,

    /// Token that every client must show [env: MCP_TOKEN]
    #[arg(long, value_name = "TOKEN")]
    mcp_token: Option<String>,

    /// Print the port that MCP is served at, as soon as it is
    #[arg(long)]
    print_port: bool,

    #[command(flatten)]
    settings: Settings,
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

    #[command(flatten)]
    tools: ToolSettings,
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
            ..settings.tools.into()
        }
    }
}

impl From<ToolSettings> for Flags {
    fn from(settings: ToolSettings) -> Self {
        Self {
            tools: settings.tools,
            toolsets: settings.toolsets,
            read_only: settings.read_only,
            ..Self::default()
        }
    }
}

impl From<Serve> for Flags {
    fn from(line: Serve) -> Self {
        Self {
            mcp_host: line.mcp_host,
            mcp_port: line.mcp_port,
            mcp_token: line.mcp_token,
            ..line.settings.into()
        }
    }
}

fn main() -> ExitCode {
    let line = CommandLine::parse();
    let folders = Folders::from_environment(|name| std::env::var(name).ok());
    match line.command {
        None => commands::stdio::run(&line.settings.into(), &folders),
        Some(Command::Serve(line)) => {
            let print_port = line.print_port;
            commands::serve::run(&line.into(), &folders, print_port)
        }
        Some(Command::Demo) => commands::demo::run(),
        Some(Command::Tools { command }) => match command {
            ToolsCommand::List { settings } => commands::tools::list(&settings.into(), &folders),
            ToolsCommand::Check { folder, settings } => {
                commands::tools::check(folder, &settings.into(), &folders)
            }
            ToolsCommand::New {
                name,
                folder,
                computer,
            } => commands::tools::new(&name, folder, computer, &folders),
            ToolsCommand::Run {
                name,
                args,
                settings,
            } => commands::tools::run(&name, &args, &settings.into(), &folders),
        },
        Some(Command::Worker) => worker::run(),
        Some(Command::Simulate(line)) => commands::simulate::run(&line.into()),
        Some(Command::Status { settings }) => commands::status::run(&settings.into(), &folders),
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
