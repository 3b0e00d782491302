//! `mcp-bridge upstream`: the managed MCP servers, seen from outside the bridges that manage them, and their place in the
//! user's own configuration.
//!
//! Bridges leave their state in files, and take requests from files (see `upstream::status` and `upstream::requests`).
//! Where none runs, there is what is configured here, what each server offered when it last ran, and what it wrote.

mod asking;
mod editing;
pub(super) mod here;
mod importing;
#[cfg(feature = "upstream-http")]
mod login;

use std::{
    path::Path,
    process::ExitCode,
    thread,
    time::{Duration, Instant, SystemTime},
};

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::{arguments::Arguments, console};
use crate::{
    base::{log_files, log_tail, text::timestamp},
    settings::Folders,
    upstream::{
        configured::Configured,
        names,
        offers::Remembered,
        requests::{self, Request},
        status::{self, Report, Row},
        status_tool::in_words,
        tail,
    },
};

/// How long a running bridge has to follow a request; it looks for some once a second.
const TO_FOLLOW: Duration = Duration::from_secs(5);

/// Show, add and try the MCP servers that bridges manage
#[derive(Debug, Args)]
pub struct Upstream {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show every server: its state, since when, its tools, its last error
    List {
        /// Show it as JSON
        #[arg(long)]
        json: bool,
    },

    /// Add a server to your own configuration: a program after `--`, or the URL of one that runs
    Add(editing::Added),

    /// Take a server out of your own configuration
    Remove {
        /// Its name
        name: String,
    },

    /// Take over servers that other clients on this machine have, those that you pick
    Import(importing::Import),

    /// Start a server, and show its tools as clients see them
    Tools {
        /// Its name
        name: String,

        /// Show them as JSON, with their schemas
        #[arg(long)]
        json: bool,
    },

    /// Start a server, call one of its tools, and print what comes back
    Call {
        /// The tool, as clients know it: the server's name, two underscores, and its own
        #[arg(value_name = "NAME__TOOL")]
        tool: String,

        #[command(flatten)]
        arguments: Arguments,
    },

    /// Log in to a server that asks who you are, in your browser, for all bridges
    #[cfg(feature = "upstream-http")]
    Login(login::Login),

    /// Forget your login to a server
    #[cfg(feature = "upstream-http")]
    Logout {
        /// Its name
        name: String,
    },

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
            Action::List { json } => list(folders, json),
            Action::Add(added) => editing::add(&added, folders),
            Action::Remove { name } => editing::remove(&name, folders),
            Action::Import(import) => importing::import(&import, folders),
            Action::Tools { name, json } => asking::tools(&name, json, folders),
            Action::Call { tool, arguments } => asking::call(&tool, &arguments, folders),
            #[cfg(feature = "upstream-http")]
            Action::Login(login) => login::log_in(&login, folders),
            #[cfg(feature = "upstream-http")]
            Action::Logout { name } => login::log_out(&name, folders),
            Action::Restart { name } => restart(folders, &name),
            Action::Logs { name, lines } => logs(folders, &name, lines),
        }
    }
}

/// Shows the servers of every running bridge, and those that this folder configures.
fn list(folders: &Folders, json: bool) -> ExitCode {
    let now = SystemTime::now();
    let running = status::running(&folders.shared);
    let here = std::env::current_dir().unwrap_or_default();
    let is_managed_here = running.iter().any(|report| report.folder == here);
    let configured = (!is_managed_here).then(|| configured(folders, &here));
    if json {
        let all = json!({
            "bridges": running.iter().map(in_fields).collect::<Vec<_>>(),
            "configured": configured.as_ref().map(in_fields),
        });
        console::say(&all.to_string());
        return ExitCode::SUCCESS;
    }
    for report in &running {
        console::say(&format!(
            "Bridge {} in {}:",
            report.pid,
            report.folder.display()
        ));
        console::say(&in_words(report, now));
        console::say("");
    }
    if let Some(configured) = configured {
        console::say(&format!(
            "No bridge manages servers in {}. Configured there:",
            here.display()
        ));
        console::say(&in_words(&configured, now));
    }
    ExitCode::SUCCESS
}

/// A report for programs.
fn in_fields(report: &Report) -> Value {
    let servers = report.servers.iter().map(|row| {
        let withheld = row.withheld.iter();
        let withheld: Vec<_> = withheld
            .map(|(name, reason)| json!({ "name": name, "reason": reason }))
            .collect();
        json!({
            "name": row.name,
            "id": row.id,
            "state": row.state,
            "since": timestamp(row.since),
            "pid": row.pid,
            "tools": row.tools,
            "file": row.file,
            "error": row.error,
            "lastWords": row.last_words,
            "lacked": (!row.lacked.is_empty()).then_some(&row.lacked),
            "retryAt": row.retry_at.map(timestamp),
            "withheld": withheld,
            "remarks": row.remarks,
            "printed": row.rubbish.as_ref().map(|(lines, last)| json!({ "lines": lines, "last": last })),
            "restarts": row.restarts,
        })
    });
    json!({
        // None where no bridge runs.
        "pid": (report.pid != 0).then_some(report.pid),
        "folder": report.folder,
        "servers": servers.collect::<Vec<_>>(),
        "notes": report.notes,
    })
}

/// What a bridge in the folder `here` would begin with.
fn configured(folders: &Folders, here: &Path) -> Report {
    let configured = Configured::read(&here::settings(folders));
    let servers = configured
        .servers()
        .into_iter()
        .map(|entry| {
            let disabled = configured.why_disabled(entry);
            let remembered = Remembered::load_all(&folders.shared, &entry.fingerprint(here));
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
        notes: configured.notes(),
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
