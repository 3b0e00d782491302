//! Whether a client has the bridge's entry, and whether that is right.

use std::path::{Path, PathBuf};

use super::{
    client::{Client, Scope},
    shape::Told,
    table,
};
use crate::setup::{file::Found, machine::Machine, refusal::Refusal};

/// What there is of an entry in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// None: the file has none of that name, or isn't there.
    Absent,
    /// It is ours, and as setup would write it.
    Right(Told),
    /// It is ours and starts this program, and the user added something to it.
    Edited(Told),
    /// It is ours, and starts another program than this one: an older copy, or one that is gone.
    Stale(Told),
    /// It is somebody else's server, of the same name.
    Foreign(Told),
    /// The file can't be read as it should be.
    Unreadable(Refusal),
}

/// A place where a client has the bridge's entry, or may have it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The client.
    pub client: &'static Client,
    /// For whom the entry is.
    pub scope: Scope,
    /// The file.
    pub file: PathBuf,
    /// Whether a byte-order mark stands at the file's begin, which clients that read strictly refuse.
    pub has_bom: bool,
    /// What there is of it.
    pub state: State,
}

/// Looks for the entry `name` in one file of a client. A bridge over HTTP is at `url`.
pub fn at(
    client: &'static Client,
    scope: Scope,
    file: &Path,
    name: &str,
    machine: &Machine,
    url: &str,
) -> Seen {
    let seen = |has_bom, state| Seen {
        client,
        scope,
        file: file.to_path_buf(),
        has_bom,
        state,
    };
    let found = match Found::read(file) {
        Ok(found) => found,
        Err(refusal) => return seen(false, State::Unreadable(refusal)),
    };
    let state = match client.place(name).entry(found.text()) {
        Err(refusal) => State::Unreadable(refusal.of(file)),
        Ok(None) => State::Absent,
        Ok(Some(entry)) => judged(client.told(&entry), machine, url),
    };
    seen(found.has_bom, state)
}

fn judged(told: Told, machine: &Machine, url: &str) -> State {
    if !told.is_ours(url) {
        State::Foreign(told)
    } else if told.command.is_some() && !told.starts(machine) {
        State::Stale(told)
    } else if told.others.is_empty() && told.args.is_empty() && !told.is_off {
        State::Right(told)
    } else {
        State::Edited(told)
    }
}

/// Looks for the entry `name` in all files of all clients that are installed here: the user's, also those that are not
/// there yet, and of this folder's project those that are.
pub fn everywhere(name: &str, machine: &Machine, url: &str) -> Vec<Seen> {
    let mut all = Vec::new();
    for client in table::all() {
        if client.is_installed(machine) {
            for file in client.files(machine, Scope::User) {
                all.push(at(client, Scope::User, &file, name, machine, url));
            }
        }
        for file in client.files(machine, Scope::Project) {
            // In the home folder a project's file may be the user's.
            let is_users = client.files(machine, Scope::User).contains(&file);
            if file.exists() && !is_users {
                all.push(at(client, Scope::Project, &file, name, machine, url));
            }
        }
    }
    all
}
