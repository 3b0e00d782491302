//! What runs when no command is given: the MCP server on standard input and output, and the link port.

use std::{io::IsTerminal, process::ExitCode, sync::Arc};

use anyhow::Context;

use super::{console, limits, signals::LeaveSignals};
use crate::{
    config::{Config, Flags, Folders},
    fabric::Fabric,
    logging::{self, LogError},
    mcp::{self, server::Server, stdio},
    tools::Catalogue,
    upstream::{self, Upstream},
};

/// The exit code for settings that can't be used.
const BAD_SETTINGS: u8 = 2;

/// Threads that serve: one could do, but a long answer must not keep every link waiting.
const WORKERS: usize = 2;

/// Serves one MCP client until it is gone or the system asks this process to leave.
pub fn run(flags: &Flags, folders: &Folders) -> ExitCode {
    let variable = |name: &str| std::env::var(name).ok();
    match logging::start(
        &folders.state,
        variable(logging::FILTER_VARIABLE).as_deref(),
    ) {
        Ok(()) => {}
        Err(error @ LogError::Filter { .. }) => return refuse(&error.to_string()),
        // A full or read-only disk is no reason not to serve.
        Err(error @ LogError::Folder { .. }) => console::note(&format!("mcp-bridge: {error}")),
    }
    let config = match Config::load(flags, variable, folders) {
        Ok(config) => config,
        Err(error) => return refuse(&error.to_string()),
    };
    if std::io::stdin().is_terminal() {
        console::note(&greeting(folders));
    }
    match serve(&config, folders) {
        Ok(why) => {
            tracing::info!(why, "leaving");
            ExitCode::SUCCESS
        }
        Err(error) => {
            tracing::error!("{error:#}");
            console::note(&format!("mcp-bridge: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn refuse(problem: &str) -> ExitCode {
    tracing::error!("{problem}");
    console::note(&format!("mcp-bridge: {problem}"));
    ExitCode::from(BAD_SETTINGS)
}

/// Serves, and tells why it ended. Tasks may still run: the caller ends the process.
fn serve(config: &Config, folders: &Folders) -> anyhow::Result<&'static str> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .context("the runtime can't be started")?;
    let why = runtime.block_on(async {
        let mut signals = LeaveSignals::listen().context("signals can't be listened to")?;
        let (input, output) = stdio::take().context("standard input and output can't be used")?;
        limits::raise_open_files();
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            pid = std::process::id(),
            "started"
        );
        let fabric = Arc::new(Fabric::start(&config.link));
        let upstream = upstream(config, folders);
        let server = Server::new(fabric.clone(), Arc::new(Catalogue::built_in(config)))
            .with_upstream(upstream.clone());
        let why = tokio::select! {
            () = mcp::serve(server, input, output, move || fabric.want()) => "the client is gone",
            signal = signals.next() => signal,
        };
        upstream.leave().await;
        anyhow::Ok(why)
    })?;
    // Dropping the runtime would wait for a read of a terminal or a file that nobody ends.
    runtime.shutdown_background();
    Ok(why)
}

/// The MCP servers that are configured where this process runs, unless that is switched off.
fn upstream(config: &Config, folders: &Folders) -> Upstream {
    if !config.upstream {
        return Upstream::off();
    }
    Upstream::new(upstream::Settings {
        folder: std::env::current_dir().unwrap_or_default(),
        config: folders.config.clone(),
        state: folders.state.clone(),
        own_port: None,
    })
}

/// What a person reads who started this by hand.
fn greeting(folders: &Folders) -> String {
    let program = std::env::current_exe().map_or_else(
        |_| "mcp-bridge".to_owned(),
        |path| path.display().to_string(),
    );
    format!(
        "mcp-bridge {version}: an MCP server for ComputerCraft computers. It waits for an MCP client's JSON-RPC here;\n\
         most often a client starts it by itself. To add it to one:\n\
         \n\
         \x20 Claude Code     claude mcp add computercraft -- \"{program}\"\n\
         \x20 Claude Desktop  \"mcpServers\": {{ \"computercraft\": {{ \"command\": \"{program}\" }} }}\n\
         \x20 MCP Inspector   npx @modelcontextprotocol/inspector \"{program}\"\n\
         \n\
         To see it work without a client and without the game: mcp-bridge demo\n\
         Log: {log}. Press Ctrl+C to end.",
        version = env!("CARGO_PKG_VERSION"),
        log = logging::folder(&folders.state).display(),
    )
}
