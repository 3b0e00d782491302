//! Adds the bridge's entry to a client, or brings it up to date.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    client::{Client, Scope},
    servers,
    shape::{Reach, Told},
};
use crate::base::text::one_line;
use crate::setup::{
    asking::{Asking, Verdict},
    change::Change,
    edit::{Format, Made},
    file::Found,
    ledger::{Addition, Ledger},
    machine::Machine,
    refusal::Refusal,
};

/// What stands for a token that a person has to put there.
const TOKEN: &str = "TOKEN";

/// The name of this part in the ledger.
pub const PART: &str = "client";

/// What clients are to be told.
#[derive(Debug)]
pub struct Wish<'a> {
    /// The machine that they are on.
    pub machine: &'a Machine,
    /// The entry's name.
    pub name: String,
    /// How they reach the bridge.
    pub reach: Reach,
    /// Where a bridge over HTTP is, by which an entry for it is known.
    pub url: String,
    /// For whom.
    pub scope: Scope,
}

/// What the ledger keeps of an entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Noted {
    /// The client's id.
    pub client: String,
    /// The entry's name.
    pub name: String,
    /// For whom it is.
    pub scope: Scope,
    /// What there was not before.
    pub made: Made,
    /// The keys that were written, those of variables too: as `env.CC_LINK_PORT`. Not their values.
    pub keys: Vec<String>,
}

/// Adds the entry to all files of a client that should have it, each after a yes.
pub fn add(client: &'static Client, wish: &Wish<'_>, ledger: &mut Ledger, asking: &mut Asking<'_>) {
    let files = client.files(wish.machine, wish.scope);
    let wanted = match client.entry(&wish.name, &wish.reach, wish.scope) {
        Ok(wanted) => wanted,
        Err(refusal) => return asking.refuse(&format!("✗ {}: {}.", client.name, refusal.reason)),
    };
    if files.is_empty() {
        if client.paste.is_none() {
            asking.say(&format!(
                "! {} has no file for a {}.",
                client.name,
                scope(wish.scope)
            ));
        }
        return print(client, wish, asking);
    }
    for file in files {
        if let Err(refusal) = add_to(client, wish, &wanted, &file, ledger, asking) {
            asking.refuse(&format!("✗ {}: {refusal}.", client.name));
            asking.say(&format!(
                "  What should be in it:\n{}",
                indented(&snippet(client, wish))
            ));
        }
    }
}

fn add_to(
    client: &'static Client,
    wish: &Wish<'_>,
    wanted: &Map<String, Value>,
    file: &Path,
    ledger: &mut Ledger,
    asking: &mut Asking<'_>,
) -> Result<(), Refusal> {
    let found = Found::read(file)?;
    let place = client.place(&wish.name);
    let of_file = |refusal: Refusal| refusal.of(file);
    let old = place.entry(found.text()).map_err(of_file)?;
    if let Some(told) = old
        .as_ref()
        .map(|old| client.told(old))
        .filter(|told| !told.is_ours(&wish.url))
    {
        return Err(foreign(&told, &wish.name).of(file));
    }
    let new = old
        .as_ref()
        .map_or_else(|| wanted.clone(), |old| client.merged(old, wanted));
    if old.as_ref() == Some(&new) {
        asking.say(&format!(
            "✓ {} has the entry already ({}).",
            client.name,
            file.display()
        ));
        return Ok(());
    }
    let made = Made {
        file: found.text.is_none(),
        container: !place.has_container(found.text()).map_err(of_file)?,
    };
    let what = if old.is_some() {
        "brought up to date"
    } else {
        "added"
    };
    asking.say(&format!(
        "\n{}: the entry `{}` is to be {what}.",
        client.name, wish.name
    ));
    if old.is_none() {
        for other in servers::ours(client, wish.machine, &wish.url)
            .filter(|other| other.file == file && other.folder.is_none())
        {
            let name = one_line(&other.name);
            asking.say(&format!(
                "! It has mcp-bridge already, as `{name}`, and would start it twice: `--name {name}` brings that one up to \
                 date instead."
            ));
        }
    }
    if let Some(first) = &client.first {
        asking.say(&format!("! {first}"));
    }
    if found.has_bom && client.format == Format::Json {
        asking.say(&format!(
            "! The file begins with a byte-order mark, with which {} may not read it: save it as UTF-8 without one.",
            client.name
        ));
    }
    let secrets = wish.reach.secrets();
    let commands = client
        .adding_commands(wish.machine, &wish.name, &new, old.is_some())
        // Other users of this machine could see a token in the list of processes.
        .filter(|_| {
            wish.scope == Scope::User && secrets.is_empty() && !has_secrets(client, old.as_ref())
        });
    let verdict = match commands {
        Some(commands) => {
            for command in &commands {
                asking.say(&command.shown);
            }
            let verdict = asking.agrees("Run this?");
            if verdict == Verdict::Yes {
                for command in &commands {
                    let failed = |error| {
                        Refusal::new(format!("can't be changed by `{}`: {error}", command.shown))
                    };
                    command
                        .run(wish.machine)
                        .map_err(|error| failed(error).of(file))?;
                }
                let now = place.entry(Found::read(file)?.text()).map_err(of_file)?;
                // It may have added what it takes for granted, such as an empty list of arguments.
                let is_there = now.is_some_and(|now| client.merged(&now, &new) == now);
                if !is_there {
                    return Err(Refusal::new("has no such entry after the command").of(file));
                }
            }
            verdict
        }
        None => {
            let after = place.put(found.text(), &new).map_err(of_file)?;
            let mut change = Change::new(found, Some(after));
            change.is_private = wish.scope == Scope::User;
            change.secrets = secrets;
            asking.change(&[change], "Write this?")?
        }
    };
    if verdict != Verdict::Yes {
        return Ok(());
    }
    note(client, wish, file, made, wanted, old.is_some(), ledger)?;
    asking.say(&format!(
        "✓ {} has the entry. {}",
        client.name, client.restart
    ));
    Ok(())
}

/// Notes what was added; of an entry that somebody else had added only what is known already.
fn note(
    client: &Client,
    wish: &Wish<'_>,
    file: &Path,
    made: Made,
    wanted: &Map<String, Value>,
    was_there: bool,
    ledger: &mut Ledger,
) -> Result<(), Refusal> {
    let before = ledger.of(PART).find(|addition| {
        let noted = noted(addition);
        addition.file == file && noted.is_some_and(|noted| noted.name == wish.name)
    });
    let before = before.cloned();
    if was_there && before.is_none() {
        return Ok(());
    }
    let mut entry = Noted {
        client: client.id.clone(),
        name: wish.name.clone(),
        scope: wish.scope,
        made,
        keys: keys(wanted),
    };
    if let Some(old) = before.as_ref().and_then(noted) {
        entry.made = old.made;
        let more = old.keys.into_iter().filter(|key| !entry.keys.contains(key));
        let more: Vec<_> = more.collect();
        entry.keys.extend(more);
    }
    let failed = |error| {
        Refusal::new(format!(
            "got the entry, but that can't be noted, so that `setup --remove` won't know of it: {error}"
        ))
        .of(file)
    };
    let what = serde_json::to_value(&entry).map_err(|error| failed(error.to_string()))?;
    let addition = Addition {
        part: PART.to_owned(),
        file: file.to_path_buf(),
        what,
    };
    if let Some(before) = before {
        ledger
            .forget(&before)
            .map_err(|error| failed(error.to_string()))?;
    }
    ledger
        .add(addition)
        .map_err(|error| failed(error.to_string()))
}

/// What the ledger keeps of an entry, if this is one.
pub fn noted(addition: &Addition) -> Option<Noted> {
    serde_json::from_value(addition.what.clone()).ok()
}

/// The keys of an entry, with those of objects in it.
pub fn keys(entry: &Map<String, Value>) -> Vec<String> {
    let mut keys = Vec::new();
    for (key, value) in entry {
        keys.push(key.clone());
        let inner = value.as_object().into_iter().flatten();
        keys.extend(inner.map(|(name, _)| format!("{key}.{name}")));
    }
    keys
}

/// Prints what a person would paste, where it goes, and the link that does it.
pub fn print(client: &Client, wish: &Wish<'_>, asking: &mut Asking<'_>) {
    if let Err(refusal) = client.entry(&wish.name, &wish.reach, wish.scope) {
        return asking.refuse(&format!("✗ {}: {}.", client.name, refusal.reason));
    }
    let files: Vec<PathBuf> = client.files(wish.machine, wish.scope);
    asking.say(&format!("\n{}", client.name));
    match &client.paste {
        Some(place) if files.is_empty() => asking.say(place),
        _ => {
            for file in files {
                asking.say(&format!("Into {}:", file.display()));
            }
        }
    }
    print_entry(client, wish, asking);
    if let Some(link) = client.deep_link(&wish.name, &wish.reach) {
        asking.say(&format!("Or open this link:\n  {link}"));
    }
}

/// Prints only the entry, as it would stand alone in the client's file.
pub fn print_entry(client: &Client, wish: &Wish<'_>, asking: &mut Asking<'_>) {
    let snippet = snippet(client, wish);
    asking.say(&indented(&snippet));
    if !wish.reach.secrets().is_empty() && snippet.contains(TOKEN) {
        asking.say(&format!("Put the token in the place of {TOKEN}."));
    }
}

/// The entry as it would stand alone in a client's file, without secrets.
fn snippet(client: &Client, wish: &Wish<'_>) -> String {
    let reach = wish.reach.with_secrets_as(TOKEN);
    let entry = client
        .entry(&wish.name, &reach, wish.scope)
        .unwrap_or_default();
    client.place(&wish.name).put("", &entry).unwrap_or_default()
}

fn indented(text: &str) -> String {
    let lines = text.trim_end().lines().map(|line| format!("  {line}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn has_secrets(client: &Client, entry: Option<&Map<String, Value>>) -> bool {
    let told = entry.map(|entry| client.told(entry)).unwrap_or_default();
    told.env.keys().any(|name| super::shape::is_secret(name))
}

fn foreign(told: &Told, name: &str) -> Refusal {
    let what = match (&told.command, &told.url) {
        (Some(command), _) => format!("starts {command}"),
        (None, Some(url)) => format!("connects to {url}"),
        (None, None) => "is none that setup knows".to_owned(),
    };
    Refusal::new(format!(
        "has another server called `{name}`, which {what}. It is left as it is; `--name` gives ours another name"
    ))
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::User => "user",
        Scope::Project => "project",
    }
}
