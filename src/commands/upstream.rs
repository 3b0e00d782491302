//! `mcp-bridge upstream`: the managed MCP servers, seen from outside the bridges that manage them.
//!
//! Bridges leave their state in files, and take requests from files (see `upstream::status` and `upstream::requests`).
//! Where none runs, there is what is configured here, what each server offered when it last ran, and the log.

use std::{
    path::Path,
    process::ExitCode,
    thread,
    time::{Duration, Instant, SystemTime},
};

use clap::{Args, Subcommand};

use super::console;
use crate::{
    base::{files, logging},
    settings::Folders,
    upstream::{
        manager::report::{notes, why_disabled},
        names,
        offers::Remembered,
        requests::{self, Request},
        sources,
        status::{self, Report, Row},
        status_tool::in_words,
        tail::LOG_TARGET,
        trust,
    },
};

/// A larger log is not read, in bytes: one that a bridge of 1.0.0 wrote may be of any size.
const LARGEST_LOG: u64 = 256 * 1024 * 1024;

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
                retry_at: None,
                withheld: Vec::new(),
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

/// Shows the last lines that a server wrote to standard error, as logged by all bridges.
fn logs(folders: &Folders, name: &str, lines: usize) -> ExitCode {
    let files = logging::files(&folders.state);
    let Some(newest) = files.last() else {
        console::say("There is no log yet.");
        return ExitCode::SUCCESS;
    };
    let mut found = Vec::new();
    for file in files.iter().rev() {
        let text = match files::read(file, LARGEST_LOG) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => {
                console::note(&format!("{} {error}", file.display()));
                return ExitCode::FAILURE;
            }
        };
        let older = text.lines().filter_map(|line| logged(line, name));
        found.splice(0..0, older);
        if found.len() >= lines {
            break;
        }
    }
    if found.is_empty() {
        console::say(&format!(
            "{} and those before it hold nothing that a server `{name}` wrote to standard error.",
            newest.display()
        ));
    }
    for line in &found[found.len().saturating_sub(lines)..] {
        console::say(line);
    }
    ExitCode::SUCCESS
}

/// The moment and the text of a line of the log, if it is of this server.
fn logged(line: &str, name: &str) -> Option<String> {
    let (moment, rest) = line.split_once(&format!(" INFO {LOG_TARGET}: "))?;
    let text = rest.strip_suffix(&format!(" server={name:?}"))?;
    Some(format!("{} {text}", moment.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_lines_are_found_in_the_log() {
        let line = |server: &str, text: &str| {
            format!(
                "2026-01-02T03:04:05.6Z  INFO mcp_bridge::upstream::stderr: {text} server={server:?}"
            )
        };
        assert_eq!(
            logged(&line("a", "b c"), "a").as_deref(),
            Some("2026-01-02T03:04:05.6Z b c")
        );
        assert_eq!(logged(&line("b", "x"), "a"), None);
        assert_eq!(
            logged(
                "2026-01-02T03:04:05.6Z  INFO mcp_bridge::x: b server=\"a\"",
                "a"
            ),
            None
        );
    }
}
