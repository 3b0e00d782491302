//! The MCP servers that a client has, whosever they are.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::client::{Client, Scope};
use crate::setup::{file::Found, machine::Machine, refusal::Refusal};

/// A server in a client's file.
#[derive(Debug, Clone)]
pub struct Written {
    /// The client's.
    pub client: &'static Client,
    /// The file.
    pub file: PathBuf,
    /// The folder that the client has it for, if it is not for all.
    pub folder: Option<String>,
    /// What it is called there.
    pub name: String,
    /// Its entry.
    pub entry: Value,
}

/// The servers in the user's files of a client, and what can't be read of them.
pub fn of(client: &'static Client, machine: &Machine) -> (Vec<Written>, Vec<Refusal>) {
    let (mut servers, mut refusals) = (Vec::new(), Vec::new());
    for file in client.files(machine, Scope::User) {
        let read = Found::read(&file).and_then(|found| {
            let all = client.format.read(found.text());
            all.map_err(|refusal| refusal.of(&file))
        });
        let all = match read {
            Ok(all) => all,
            Err(refusal) => {
                refusals.push(refusal);
                continue;
            }
        };
        let mut add = |holder: &Map<String, Value>, folder: Option<&String>| {
            let entries = holder.get(&client.container).and_then(Value::as_object);
            servers.extend(entries.into_iter().flatten().map(|(name, entry)| Written {
                client,
                file: file.clone(),
                folder: folder.cloned(),
                name: name.clone(),
                entry: entry.clone(),
            }));
        };
        add(&all, None);
        let folders = client
            .folders
            .as_ref()
            .and_then(|key| all.get(key)?.as_object());
        for (folder, holder) in folders.into_iter().flatten() {
            if let Value::Object(holder) = holder {
                add(holder, Some(folder));
            }
        }
    }
    (servers, refusals)
}

/// The servers in the user's files of a client that are the bridge. One over HTTP is at `url`.
pub fn ours(
    client: &'static Client,
    machine: &Machine,
    url: &str,
) -> impl Iterator<Item = Written> {
    let (servers, _) = of(client, machine);
    servers.into_iter().filter(move |server| {
        let entry = server.entry.as_object();
        entry.is_some_and(|entry| client.told(entry).is_ours(url))
    })
}
