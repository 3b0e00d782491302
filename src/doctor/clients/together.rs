//! Whether entries go together: one for each client, and all with the same link port and token.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use serde_json::Value;

use super::named::{Named, seen};
use crate::{
    base::{files, token::Token},
    doctor::{environment, finding::Finding, patient::Patient},
    settings::{Config, Flags},
    setup::{
        clients::{client::Scope, shape::Told},
        file::Found,
    },
};

/// A larger paper of an extension is none, in bytes.
const LARGEST_PAPER: u64 = 1024 * 1024;

pub fn twice(patient: &Patient) -> Vec<Finding> {
    let all = seen(patient);
    let mut places: BTreeMap<&str, (String, BTreeSet<String>)> = BTreeMap::new();
    for named in &all {
        if named.told().is_some_and(|told| !told.is_off) {
            let client = named.seen.client;
            let (_, places) = places
                .entry(client.id.as_str())
                .or_insert_with(|| (client.name.clone(), BTreeSet::new()));
            // A client may have several files of one user that say the same.
            let place = match named.seen.scope {
                Scope::User => format!(
                    "`{}` for the user ({})",
                    named.name,
                    named.seen.file.display()
                ),
                Scope::Project => format!(
                    "`{}` of this project ({})",
                    named.name,
                    named.seen.file.display()
                ),
            };
            let same = format!("`{}` for the user", named.name);
            if !places
                .iter()
                .any(|other| named.seen.scope == Scope::User && other.starts_with(&same))
            {
                places.insert(place);
            }
        }
    }
    for (client, name, place) in elsewhere(patient) {
        let (_, places) = places
            .entry(client)
            .or_insert_with(|| (name, BTreeSet::new()));
        places.insert(place);
    }
    let more = places.into_values().filter(|(_, places)| places.len() > 1);
    let findings = more.map(|(name, places)| {
        let places: Vec<_> = places.into_iter().collect();
        Finding::warning(format!("{name} has the bridge {} times: {}", places.len(), places.join("; ")))
            .because("It starts as many, and a model sees each tool as often.")
            .mended_by("keep one, and remove the others: `mcp-bridge setup client --remove` takes out what setup added")
    });
    findings.collect()
}

/// Where clients have the bridge besides their entries: the client, its name, the place.
fn elsewhere(patient: &Patient) -> Vec<(&'static str, String, String)> {
    let mut found = Vec::new();
    // What Claude Desktop installs from a `.mcpb` has no entry in its file.
    let extensions = patient.machine.settings().join("Claude/Claude Extensions");
    for entry in fs::read_dir(extensions).into_iter().flatten().flatten() {
        let paper = entry.path().join("manifest.json");
        let text = files::read_text(&paper, LARGEST_PAPER).unwrap_or_default();
        let manifest: Value = serde_json::from_str(&text).unwrap_or_default();
        if manifest["name"] == env!("CARGO_PKG_NAME") {
            let place = format!("as an extension ({})", entry.path().display());
            found.push(("claude-desktop", "Claude Desktop".to_owned(), place));
        }
    }
    // What Claude Code has for one folder alone stands in the user's file.
    let machine = &patient.machine;
    let folder = machine.folder("CLAUDE_CONFIG_DIR");
    let file = folder
        .unwrap_or_else(|| machine.home.clone())
        .join(".claude.json");
    let text = Found::read(&file)
        .map(|found| found.text().to_owned())
        .unwrap_or_default();
    let claude: Value = serde_json::from_str(&text).unwrap_or_default();
    let here = machine.here.to_string_lossy();
    if let Some(servers) = claude["projects"][&*here]["mcpServers"].as_object() {
        for (name, entry) in servers {
            let told = Told {
                command: entry["command"].as_str().map(str::to_owned),
                ..Told::default()
            };
            if told.is_ours("") {
                let place = format!("`{name}` for this folder alone ({})", file.display());
                found.push(("claude-code", "Claude Code".to_owned(), place));
            }
        }
    }
    found
}

pub fn agree(patient: &Patient) -> Vec<Finding> {
    let all = seen(patient);
    let of = |named: &Named| -> Option<(String, Config, Option<String>)> {
        let told = named
            .told()
            .filter(|told| !told.is_off && told.command.is_some())?;
        let env = environment::expanded(&told.env, &patient.machine);
        let variable = |name: &str| env.get(name).cloned();
        let config = Config::load(&Flags::default(), variable, &patient.folders).ok()?;
        Some((
            named.who(),
            config,
            env.get("CC_LINK_TOKEN")
                .filter(|token| !token.is_empty())
                .cloned(),
        ))
    };
    let settings: Vec<_> = all.iter().filter_map(of).collect();
    let Some((first, config, first_token)) = settings.first() else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    // Here a setting may be another than in a client's entry: then the worlds are looked at for another port.
    if let Some(here) = patient.place()
        && here.port != config.link.port
    {
        findings.push(
            Finding::warning(format!(
                "the bridge of {first} has link port {}, and what is looked at here, the worlds too, is port {}",
                config.link.port, here.port
            ))
            .because("Worlds that let computers reach one port need not let them reach the other.")
            .mended_by("set the same port here (CC_LINK_PORT, or `link_port` in config.toml) and there: mcp-bridge setup client --link-port PORT"),
        );
    }
    for (who, other, token) in &settings[1..] {
        if other.link.port != config.link.port {
            findings.push(
                Finding::problem(format!(
                    "the bridge of {who} has link port {}, and that of {first} {}",
                    other.link.port, config.link.port
                ))
                .because("Computers link to one of them, and the other client sees none.")
                .mended_by("give all the same: mcp-bridge setup client --link-port PORT"),
            );
        }
        let has = (config.link.token.as_ref(), other.link.token.as_ref());
        let message = match has {
            (None, None) => continue,
            (Some(_), None) => {
                format!("the bridge of {first} has a link token, and that of {who} has none")
            }
            (None, Some(_)) => {
                format!("the bridge of {who} has a link token, and that of {first} has none")
            }
            (Some(_), Some(_)) if is_same(first_token.as_ref(), token.as_ref(), has) => continue,
            (Some(_), Some(_)) => {
                format!("the bridges of {first} and {who} have different link tokens")
            }
        };
        findings.push(
            Finding::problem(message)
                .because("Whichever holds the link port decides: computers are let in by one and refused by the other.")
                .mended_by("give all the same one: mcp-bridge setup client --link-token TOKEN, or `link_token` in config.toml"),
        );
    }
    if findings.is_empty() && settings.len() > 1 {
        findings.push(Finding::ok(
            "all clients' bridges have the same link port, and the same token or none",
        ));
    }
    findings
}

/// Whether two tokens are the same: as text where an entry has it, else as what the configuration file says.
fn is_same(
    one: Option<&String>,
    other: Option<&String>,
    read: (Option<&Token>, Option<&Token>),
) -> bool {
    match (one, other, read) {
        (Some(one), _, (_, Some(other))) => other.matches(one),
        (_, Some(other), (Some(one), _)) => one.matches(other),
        _ => true,
    }
}
