//! Takes out of clients what setup added, and nothing else.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::{
    adding::{Noted, PART, keys, noted},
    client::{Client, Scope},
    servers, table,
};
use crate::base::text::one_line;
use crate::setup::{
    asking::{Asking, Verdict},
    change::Change,
    file::Found,
    ledger::{Addition, Ledger},
    machine::Machine,
    refusal::Refusal,
};

/// Takes out the entries that setup added to these clients, or to all; each after a yes. `url` is where a bridge over HTTP
/// is, by which an entry for it is known.
pub fn remove(
    clients: &[String],
    machine: &Machine,
    url: &str,
    ledger: &mut Ledger,
    asking: &mut Asking<'_>,
) {
    let additions: Vec<Addition> = ledger.of(PART).cloned().collect();
    let mut found_some = false;
    for addition in &additions {
        let Some(entry) = noted(addition) else {
            continue;
        };
        let Some(client) = table::named(&entry.client) else {
            continue;
        };
        if !clients.is_empty() && !clients.contains(&entry.client) {
            continue;
        }
        found_some = true;
        let removed = take_out(client, &entry, &addition.file, machine, url, asking);
        let forgotten = match removed {
            Ok(Verdict::Yes) => ledger.forget(addition),
            Ok(Verdict::No | Verdict::Shown) => Ok(()),
            Err(refusal) => {
                asking.refuse(&format!(
                    "✗ {}: {refusal}. Take `{}` out of `{}` there by hand.",
                    client.name, entry.name, client.container
                ));
                Ok(())
            }
        };
        if let Err(error) = forgotten {
            asking.refuse(&format!("✗ What was taken out can't be noted: {error}."));
        }
    }
    if !found_some {
        asking.say("Of clients, nothing is noted that setup added.");
    }
    let of_setup: Vec<_> = additions
        .iter()
        .filter_map(|addition| Some((addition.file.clone(), noted(addition)?.name)))
        .collect();
    say_what_stays(clients, machine, url, &of_setup, asking);
}

/// Names the bridge's entries that somebody else added: they start nothing once the program is gone.
fn say_what_stays(
    clients: &[String],
    machine: &Machine,
    url: &str,
    of_setup: &[(PathBuf, String)],
    asking: &mut Asking<'_>,
) {
    let meant = table::all()
        .iter()
        .filter(|client| clients.is_empty() || clients.contains(&client.id));
    for client in meant.filter(|client| client.is_installed(machine)) {
        for server in servers::ours(client, machine, url) {
            let (file, name) = (server.file.display(), one_line(&server.name));
            if of_setup.contains(&(server.file.clone(), server.name.clone())) {
                continue;
            }
            let of_folder = server.folder.as_ref();
            let place = of_folder.map_or(String::new(), |folder| {
                format!(" for the folder {}", one_line(folder))
            });
            let command = client
                .removing_command(machine, &server.name)
                .filter(|_| of_folder.is_none());
            let how = match command {
                Some(command) => command.shown.trim_start_matches("$ ").to_owned(),
                None => format!("take it out of `{}` in {file}", client.container),
            };
            asking.say(&format!(
                "! {} still has `{name}`{place} ({file}), which setup did not add: {how}",
                client.name
            ));
        }
    }
}

/// Takes one entry out. Yes if it is gone.
fn take_out(
    client: &Client,
    entry: &Noted,
    file: &Path,
    machine: &Machine,
    url: &str,
    asking: &mut Asking<'_>,
) -> Result<Verdict, Refusal> {
    let found = Found::read(file)?;
    let place = client.place(&entry.name);
    let of_file = |refusal: Refusal| refusal.of(file);
    let Some(now) = place.entry(found.text()).map_err(of_file)? else {
        asking.say(&format!(
            "✓ {} has the entry no more ({}).",
            client.name,
            file.display()
        ));
        return Ok(Verdict::Yes);
    };
    if !client.told(&now).is_ours(url) {
        return Err(Refusal::new(format!(
            "has another server called `{}` now, which is left as it is",
            entry.name
        ))
        .of(file));
    }
    asking.say(&format!(
        "\n{}: the entry `{}` is to go.",
        client.name, entry.name
    ));
    if let Some(first) = &client.first {
        asking.say(&format!("! {first}"));
    }
    // What is empty says nothing, such as a list of arguments that the client's own command adds.
    let mut said = now.clone();
    said.retain(|_, value| !matches!(value, Value::Array(items) if items.is_empty()));
    let added: Vec<_> = keys(&said)
        .into_iter()
        .filter(|key| !entry.keys.contains(key))
        .collect();
    if !added.is_empty() {
        asking.say(&format!(
            "! With it goes what was added to it by hand: {}.",
            added.join(", ")
        ));
    }
    let command = client
        .removing_command(machine, &entry.name)
        .filter(|_| entry.scope == Scope::User);
    let verdict = match command {
        Some(command) => {
            asking.say(&command.shown);
            let verdict = asking.agrees("Run this?");
            if verdict == Verdict::Yes {
                let failed = |error| {
                    Refusal::new(format!("can't be changed by `{}`: {error}", command.shown))
                };
                command
                    .run(machine)
                    .map_err(|error| failed(error).of(file))?;
                if place
                    .entry(Found::read(file)?.text())
                    .map_err(of_file)?
                    .is_some()
                {
                    return Err(Refusal::new("still has the entry after the command").of(file));
                }
            }
            verdict
        }
        None => {
            let after = before(client, entry, &now, &found)
                .map_or_else(
                    || place.take(found.text(), entry.made),
                    |before| Ok(Some(before)),
                )
                .map_err(of_file)?;
            asking.change(&[Change::taking_out(found, after)], "Write this?")?
        }
    };
    if verdict == Verdict::Yes {
        asking.say(&format!(
            "✓ {} has the entry no more. {}",
            client.name, client.restart
        ));
    }
    Ok(verdict)
}

/// The text as it was kept before the first change, if nothing but the entry was put into it since.
fn before(
    client: &Client,
    entry: &Noted,
    now: &Map<String, Value>,
    found: &Found,
) -> Option<String> {
    let kept = Found::read(&Change::new(found.clone(), None).backup())
        .ok()?
        .text?;
    let place = client.place(&entry.name);
    if place.entry(&kept).ok()?.is_some() {
        return None;
    }
    (place.put(&kept, now).ok()? == found.text()).then_some(kept)
}
