//! What runs when no command is given: the MCP server on standard input and output, and the link port.

use std::{io::IsTerminal, process::ExitCode};

use anyhow::Context;
use clap::Args;

use super::{
    console,
    startup::{self, Bridge},
};
use crate::{
    base::logging,
    doctor::chosen,
    mcp::{self, stdio},
    settings::{Config, FlagsOf, Folders},
    tools::Reader,
};

// A doc comment here would be taken for what the whole program's help begins with.
#[derive(Debug, Default, Args)]
pub struct Stdio {
    #[command(flatten)]
    settings: FlagsOf<Config>,
}

impl Stdio {
    /// Serves one MCP client until it is gone or the system asks this process to leave.
    pub fn run(self, folders: &Folders) -> ExitCode {
        let reader = Reader::begin();
        let config = match startup::prepare(&self.settings.given, folders) {
            Ok(config) => config,
            Err(code) => return code,
        };
        note_unmet(&config, folders);
        if std::io::stdin().is_terminal() {
            console::aside(&greeting(folders));
        }
        startup::run(reader, &config, folders, None, serve)
    }
}

/// Says which tools or sets the settings name that there are not: a client then has few tools or none, and shows no reason.
pub fn note_unmet(config: &Config, folders: &Folders) {
    let here = std::env::current_dir().unwrap_or_default();
    for unmet in chosen::unmet(config, folders, &here) {
        console::note(&format!("mcp-bridge: {unmet}"));
    }
}

async fn serve(bridge: Bridge) -> anyhow::Result<&'static str> {
    let Bridge {
        fleet,
        server,
        mut asked_to_leave,
    } = bridge;
    let (input, output) = stdio::take().context("standard input and output can't be used")?;
    tokio::select! {
        () = mcp::serve(server, input, output, move || fleet.want()) => Ok("the client is gone"),
        // Its client is asked as well, or asks itself: an answer would have it go on.
        signal = asked_to_leave.asked() => Ok(signal),
    }
}

/// What a person reads who started this by hand.
fn greeting(folders: &Folders) -> String {
    let program = std::env::current_exe().map_or_else(
        |_| "mcp-bridge".to_owned(),
        |path| path.display().to_string(),
    );
    // On Windows a path has backslashes, which mean something in JSON.
    let in_json = serde_json::Value::from(program.as_str());
    format!(
        "mcp-bridge {version}: an MCP server for ComputerCraft computers. It waits for an MCP client's JSON-RPC here;\n\
         most often a client starts it by itself. To add it to those you have: mcp-bridge setup. By hand:\n\
         \n\
         \x20 Claude Code     claude mcp add computercraft -- \"{program}\"\n\
         \x20 Claude Desktop  \"mcpServers\": {{ \"computercraft\": {{ \"command\": {in_json} }} }}\n\
         \x20 MCP Inspector   npx @modelcontextprotocol/inspector \"{program}\"\n\
         \n\
         To see it work without a client and without the game: mcp-bridge demo\n\
         Log: {log}. Press Ctrl+C to end.",
        version = env!("CARGO_PKG_VERSION"),
        log = logging::folder(&folders.state).display(),
    )
}
