//! What both ways of serving MCP have in common: how a bridge starts, and how it ends.

use std::{ffi::OsString, process::ExitCode, sync::Arc};

use anyhow::Context;
use thiserror::Error;

use super::{computers, console, limits, signals::LeaveSignals};
use crate::{
    base::{
        freed_memory,
        logging::{self, LogError},
    },
    computers::Fleet,
    hands::desk::Desk,
    mcp::server::Server,
    settings::{Config, ConfigError, Flags, Folders, McpConfig},
    tools::{
        self, Reader, Source,
        calls::{
            Calls,
            journal::{self, Journal},
            short::Secrets,
        },
    },
    upstream::{self, Upstream},
};

/// The exit code for settings that can't be used.
pub const BAD_SETTINGS: u8 = 2;

/// An environment variable's value.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Starts the log and reads the settings, or says what is wrong with them and how the process ends.
pub fn prepare(flags: &Flags, folders: &Folders) -> Result<Config, ExitCode> {
    match logging::start(
        &folders.state,
        variable(logging::FILTER_VARIABLE).as_deref(),
    ) {
        Ok(()) => {}
        Err(error @ LogError::Filter { .. }) => return Err(refuse(&error.to_string())),
        // A full or read-only disk is no reason not to serve.
        Err(error @ LogError::Folder { .. }) => console::aside(&format!("mcp-bridge: {error}")),
    }
    Config::load(flags, variable, folders).map_err(refuse_setting)
}

/// Says that a setting can't be used.
pub fn refuse_setting(error: ConfigError) -> ExitCode {
    refuse(&error.to_string())
}

fn refuse(problem: &str) -> ExitCode {
    tracing::error!("{problem}");
    console::aside(&format!("mcp-bridge: {problem}"));
    ExitCode::from(BAD_SETTINGS)
}

/// Settings that can be read, but can't be used as they are.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct BadSettings(pub String);

/// A bridge about to serve: the computers it reaches, and what it serves.
pub struct Bridge {
    pub fleet: Arc<Fleet>,
    pub server: Server,
    pub asked_to_leave: AskedToLeave,
}

/// Tells when this process is asked to end.
pub struct AskedToLeave {
    signals: LeaveSignals,
    calls: Arc<Calls>,
}

impl AskedToLeave {
    /// Waits until the system asks for it. Returns by what signal.
    pub async fn asked(&mut self) -> &'static str {
        self.signals.next().await
    }

    /// The same, and until the clients that wait for an answer have one.
    pub async fn answered(&mut self) -> &'static str {
        let signal = self.asked().await;
        self.calls.leave().await;
        signal
    }
}

/// Serves by `serve`, until that tells why it ended; over HTTP as `mcp` says, if it does. The `reader` has begun before,
/// beside whatever was done.
pub fn run(
    reader: Reader,
    config: &Config,
    folders: &Folders,
    mcp: Option<&McpConfig>,
    serve: impl AsyncFnOnce(Bridge) -> anyhow::Result<&'static str>,
) -> ExitCode {
    match block_on(reader, config, folders, mcp, serve) {
        Ok(why) => {
            tracing::info!(why, "leaving");
            ExitCode::SUCCESS
        }
        Err(error) => {
            tracing::error!("{error:#}");
            console::aside(&format!("mcp-bridge: {error:#}"));
            if error.is::<BadSettings>() {
                ExitCode::from(BAD_SETTINGS)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

fn block_on(
    reader: Reader,
    config: &Config,
    folders: &Folders,
    mcp: Option<&McpConfig>,
    serve: impl AsyncFnOnce(Bridge) -> anyhow::Result<&'static str>,
) -> anyhow::Result<&'static str> {
    // One thread serves all: it waits for others nearly always, and to hand a message to another thread takes longer than
    // what is done with it. What takes long by itself has threads and processes of its own.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the runtime can't be started")?;
    let why = runtime.block_on(async {
        let signals = LeaveSignals::listen().context("signals can't be listened to")?;
        limits::raise_open_files();
        freed_memory::give_back();
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            pid = std::process::id(),
            "started"
        );
        let fleet = Arc::new(computers::start(&config.link, Some(&folders.shared)));
        // Any free port is none that a configuration could name.
        let own_port = mcp.map(|mcp| mcp.port).filter(|port| *port != 0);
        let upstream = upstream(config, folders, own_port);
        let mut others: Vec<Box<dyn Source>> = Vec::new();
        if let Some(servers) = upstream.clone() {
            others.push(Box::new(servers));
        }
        let catalogue = tools::start(reader, config, folders, &fleet, others);
        let calls = Arc::new(calls(config, folders, mcp));
        let server = Server::new(fleet.clone(), catalogue.clone()).noting(calls.clone());
        let has_one_client = mcp.is_none();
        let desk = Desk::open(
            &folders.shared,
            fleet.clone(),
            calls.clone(),
            catalogue,
            has_one_client,
        );
        let why = serve(Bridge {
            fleet: fleet.clone(),
            server,
            asked_to_leave: AskedToLeave {
                signals,
                calls: calls.clone(),
            },
        })
        .await;
        drop(desk);
        let servers_leave = async {
            if let Some(upstream) = upstream {
                upstream.leave().await;
            }
        };
        tokio::join!(fleet.leave(), servers_leave);
        calls.finish();
        why
    })?;
    // Dropping the runtime would wait for a read of a terminal or a file that nobody ends.
    runtime.shutdown_background();
    Ok(why)
}

/// The calls of clients, with their log unless that is switched off.
fn calls(config: &Config, folders: &Folders, mcp: Option<&McpConfig>) -> Calls {
    let tokens = [
        config.link.token.clone(),
        mcp.and_then(|mcp| mcp.token.clone()),
    ];
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        let text = |word: OsString| word.into_string().ok();
        Some((text(name)?, text(value)?))
    });
    let secrets = Secrets::new(tokens.into_iter().flatten(), variables);
    let journal = config
        .call_log
        .then(|| Journal::new(journal::file(&folders.shared)));
    Calls::new(journal, secrets)
}

/// The MCP servers that are configured where this process runs, unless that is switched off.
fn upstream(config: &Config, folders: &Folders, own_port: Option<u16>) -> Option<Upstream> {
    if !config.upstream {
        return None;
    }
    Upstream::new(upstream::Settings {
        folder: std::env::current_dir().unwrap_or_default(),
        config: folders.config.clone(),
        state: folders.shared.clone(),
        own_port,
    })
}
