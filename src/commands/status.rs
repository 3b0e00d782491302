//! `mcp-bridge status`: who holds the link port, since when, and who shares it; from outside, for a person.

use std::{process::ExitCode, time::SystemTime};

use clap::Args;
use serde_json::{Value, json};

use super::{
    computers, console,
    startup::{self, BAD_SETTINGS},
};
use crate::{
    base::{host_and_port::HostPort, logging, text::one_line},
    bridges::{
        carrier,
        one_machine::port_holder::{self, Health, Unknown},
    },
    computers::Outdated,
    settings::{Config, FlagsOf, Folders},
    tools::Paused,
};

/// The exit code when no bridge answers.
const NO_BRIDGE: u8 = 1;

/// Show who holds the link port, how many bridges share it, and how many computers are linked
#[derive(Debug, Args)]
pub struct Status {
    /// Show it as JSON: one line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    settings: FlagsOf<Config>,
}

impl Status {
    /// Exit code 0: a bridge answers; 1: none does; 2: settings that can't be used.
    pub fn run(self, folders: &Folders) -> ExitCode {
        let config = match Config::load(&self.settings.given, startup::variable, folders) {
            Ok(config) => config.link,
            Err(error) => {
                console::note(&format!("mcp-bridge: {error}"));
                return ExitCode::from(BAD_SETTINGS);
            }
        };
        let runtime = match tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
        {
            Ok(runtime) => runtime,
            Err(error) => {
                console::note(&format!(
                    "mcp-bridge: the runtime can't be started: {error}"
                ));
                return ExitCode::FAILURE;
            }
        };
        let place = computers::place(&config);
        let health = runtime.block_on(port_holder::health(&place));
        let code = match health {
            Ok(_) => ExitCode::SUCCESS,
            Err(_) => ExitCode::from(NO_BRIDGE),
        };
        let paused = Paused::now(&folders.shared);
        let log = (!logging::files(&folders.state).is_empty())
            .then(|| logging::folder(&folders.state).display().to_string());
        if self.json {
            let paused = paused.map(|paused| paused.when_and_why(SystemTime::now()));
            let fields = in_fields(&place, &health, paused.as_deref(), log.as_deref());
            console::say(&fields.to_string());
            return code;
        }
        console::say(&match &health {
            Ok(health) => healthy(&place.to_string(), health),
            Err(unknown) => unhealthy(&place, unknown, folders),
        });
        if let Some(paused) = paused {
            console::say(&super::pause::in_words(&paused));
        }
        console::say(&match log {
            Some(log) => format!("Log: {log}"),
            None => format!(
                "Log: there is none at {}. If a bridge has run, it can't write there: `mcp-bridge doctor state` looks.",
                logging::folder(&folders.state).display()
            ),
        });
        code
    }
}

/// For a program: what holds the port is `bridge`, `nothing`, `silent` (it does not answer), `stranger` (another program)
/// or `unreachable`.
fn in_fields(
    place: &HostPort,
    health: &Result<Health, Unknown>,
    paused: Option<&str>,
    log: Option<&str>,
) -> Value {
    let (holder, health) = match health {
        Ok(health) => ("bridge", Some(health)),
        Err(Unknown::Free) => ("nothing", None),
        Err(Unknown::Silent) => ("silent", None),
        Err(Unknown::Stranger) => ("stranger", None),
        Err(Unknown::Unreachable(_)) => ("unreachable", None),
    };
    let owner = health.and_then(|health| health.owner.as_ref());
    json!({
        "linkPort": place.to_string(),
        "holder": holder,
        "version": health.map(|health| &health.version),
        "process": owner.map(|owner| owner.pid),
        "since": owner.map(|owner| &owner.since),
        "bridges": health.map(|health| health.bridges.unwrap_or(1)),
        "computers": health.map(|health| health.computers),
        "paused": paused,
        "log": log,
    })
}

fn healthy(address: &str, health: &Health) -> String {
    // Whatever holds the port may say anything.
    let version = one_line(&health.version);
    let mut words = format!("Link port {address}: held by mcp-bridge {version}");
    if let Some(owner) = &health.owner {
        let since = one_line(&owner.since);
        words.push_str(&format!(" (process {}) since {since}", owner.pid));
    }
    words.push_str(&format!(
        ".\n{}.\n{}.",
        counted(
            health.bridges.unwrap_or(1) as u64,
            "bridge shares it",
            "bridges share it"
        ),
        counted(
            health.computers,
            "computer is linked",
            "computers are linked"
        ),
    ));
    let owner = health.owner.as_ref();
    if let Some(outdated) =
        owner.and_then(|owner| Outdated::unless_current(&health.version, owner.pid))
    {
        words.push_str(&format!("\n{outdated}"));
    }
    words
}

fn counted(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

fn unhealthy(place: &HostPort, unknown: &Unknown, folders: &Folders) -> String {
    let address = place.to_string();
    match unknown {
        Unknown::Free => format!(
            "Link port {address}: no bridge runs. An MCP client starts one by itself; `mcp-bridge serve` keeps one running \
             without a client."
        ),
        Unknown::Silent => {
            let owner = port_holder::named_owner(&folders.shared, place);
            format!("Link port {address}: {}.", carrier::frozen(owner.as_ref()))
        }
        Unknown::Stranger => format!(
            "Link port {address}: another program, no mcp-bridge, listens there. Stop that program, or set CC_LINK_PORT \
             to another port and give the agents the new one."
        ),
        Unknown::Unreachable(error) => {
            format!("Link port {address}: it can't be reached: {error}.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridges::one_machine::port_holder::HealthOwner;

    #[test]
    fn a_holder_that_is_older_is_said_to_be_with_what_to_do() {
        let told = |version: &str| {
            let owner = HealthOwner {
                pid: 4242,
                since: "2026-11-28T12:00:00Z".to_owned(),
            };
            let health = Health {
                name: "mcp-bridge".to_owned(),
                version: version.to_owned(),
                computers: 1,
                owner: Some(owner),
                bridges: Some(2),
            };
            healthy("127.0.0.1:3001", &health)
        };
        let older = told("1.0.0");
        for part in [
            "The link port is held by mcp-bridge 1.0.0 (process 4242), which is older than this one",
            "End that process, or restart the MCP client that started it",
        ] {
            assert!(older.contains(part), "{older}");
        }
        for version in [env!("CARGO_PKG_VERSION"), "99.0.0"] {
            assert!(!told(version).contains("older"), "{version}");
        }
    }
}
