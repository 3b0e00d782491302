//! `mcp-bridge upstream`: the managed MCP servers, seen from outside the bridges that manage them.
//!
//! Bridges leave their state in files, and take requests from files (see `upstream::status` and `upstream::requests`).
//! Where none runs, there is what is configured here, what each server offered when it last ran, and what it wrote.

use std::{
    path::Path,
    process::ExitCode,
    thread,
    time::{Duration, Instant, SystemTime},
};

use clap::{Args, Subcommand};

use super::console;
use crate::{
    base::{log_files, log_tail},
    settings::Folders,
    upstream::{
        manager::report::{notes, why_disabled},
        names,
        offers::Remembered,
        requests::{self, Request},
        sources,
        status::{self, Report, Row},
        status_tool::in_words,
        tail, trust,
    },
};

/// How long a running bridge has to follow a request; it looks for some once a second.
const TO_FOLLOW: Duration = Duration::from_secs(5);

/// Show or restart the MCP servers that running bridges manage
#[derive(Debug, Args)]
pub struct Upstream {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
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

impl Upstream {
    pub fn run(self, folders: &Folders) -> ExitCode {
        match self.action {
            Action::List => list(folders),
            Action::Restart { name } => restart(folders, &name),
            Action::Logs { name, lines } => logs(folders, &name, lines),
        }
    }
}

/// Shows the servers of every running bridge, and those that this folder configures.
fn list(folders: &Folders) -> ExitCode {
    let now = SystemTime::now();
    let running = status::running(&folders.shared);
    for report in &running {
        console::say(&format!(
            "Bridge {} in {}:",
            report.pid,
            report.folder.display()
        ));
        console::say(&in_words(report, now));
        console::say("");
    }
    let here = std::env::current_dir().unwrap_or_default();
    if !running.iter().any(|report| report.folder == here) {
        console::say(&format!(
            "No bridge manages servers in {}. Configured there:",
            here.display()
        ));
        console::say(&in_words(&configured(folders, &here), now));
    }
    ExitCode::SUCCESS
}

/// What a bridge in the folder `here` would begin with.
fn configured(folders: &Folders, here: &Path) -> Report {
    let found = sources::resolve(&sources::read(here, folders.config.as_deref()), None);
    let trusted = found
        .project
        .as_ref()
        .is_none_or(|file| trust::is_trusted(&folders.shared, file));
    let servers = found
        .in_force(trusted)
        .into_iter()
        .map(|entry| {
            let disabled = why_disabled(entry, trusted);
            let remembered = Remembered::load(&folders.shared, &entry.fingerprint(here));
            Row {
                name: entry.name.clone(),
                id: names::server_id(&entry.name),
                state: if disabled.is_some() {
                    "disabled"
                } else {
                    "not running"
                }
                .to_owned(),
                since: remembered
                    .as_ref()
                    .map_or_else(SystemTime::now, |remembered| remembered.listed),
                pid: None,
                tools: remembered.map(|remembered| remembered.offers.tools.len()),
                file: entry.file.clone(),
                error: disabled,
                last_words: Vec::new(),
                lacked: String::new(),
                retry_at: None,
                withheld: Vec::new(),
                remarks: Vec::new(),
                rubbish: None,
                restarts: 0,
            }
        })
        .collect();
    Report {
        pid: 0,
        folder: here.to_path_buf(),
        servers,
        notes: notes(&found, trusted),
    }
}

/// Restarts a server in every running bridge that manages it, and waits until they do.
fn restart(folders: &Folders, name: &str) -> ExitCode {
    let before = managers(folders, name);
    if before.is_empty() {
        console::note(&format!(
            "No running bridge manages a server `{name}`, so there is nothing to restart. `mcp-bridge upstream list` \
             shows those there are."
        ));
        return ExitCode::FAILURE;
    }
    let request = Request::Restart {
        server: name.to_owned(),
    };
    if let Err(error) = requests::leave(&folders.shared, &request) {
        console::note(&format!(
            "The request can't be written to {}: {error}",
            folders.shared.display()
        ));
        return ExitCode::FAILURE;
    }
    let until = Instant::now() + TO_FOLLOW;
    let mut waited_for = before;
    while !waited_for.is_empty() && Instant::now() < until {
        thread::sleep(Duration::from_millis(50));
        let now = managers(folders, name);
        waited_for.retain(|(pid, restarts)| {
            // One that left needs no restart.
            match now.iter().find(|(other, _)| other == pid) {
                Some((_, now)) if now > restarts => {
                    console::say(&format!("Bridge {pid} restarts {name}."));
                    false
                }
                Some(_) => true,
                None => false,
            }
        });
    }
    for (pid, _) in &waited_for {
        console::note(&format!(
            "Bridge {pid} did not follow within {} s.",
            TO_FOLLOW.as_secs()
        ));
    }
    if waited_for.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The running bridges that manage this server, each with how often it restarted it.
fn managers(folders: &Folders, name: &str) -> Vec<(u32, u32)> {
    status::running(&folders.shared)
        .iter()
        .filter_map(|report| {
            let row = report.servers.iter().find(|row| row.name == name)?;
            (row.state != "disabled").then_some((report.pid, row.restarts))
        })
        .collect()
}

/// Shows the last lines that a server wrote to standard error, under all bridges.
fn logs(folders: &Folders, name: &str, lines: usize) -> ExitCode {
    let folder = tail::folder(&folders.shared, name);
    let files = log_files::all(&folder);
    if files.is_empty() {
        if is_known(folders, name) {
            console::say(&format!(
                "The server `{name}` has written nothing to standard error."
            ));
            return ExitCode::SUCCESS;
        }
        console::note(&format!(
            "There is no server `{name}`. `mcp-bridge upstream list` shows those there are."
        ));
        return ExitCode::FAILURE;
    }
    match log_tail::tail_of(&files, lines) {
        Ok(tail) => {
            console::say(&tail);
            ExitCode::SUCCESS
        }
        Err(error) => {
            console::note(&format!("{} can't be read: {error}", folder.display()));
            ExitCode::FAILURE
        }
    }
}

/// Whether a server of this name is configured here, or runs anywhere.
fn is_known(folders: &Folders, name: &str) -> bool {
    let here = std::env::current_dir().unwrap_or_default();
    let rows = configured(folders, &here).servers.into_iter();
    let running = status::running(&folders.shared).into_iter();
    rows.chain(running.flat_map(|report| report.servers))
        .any(|row| row.name == name)
}
