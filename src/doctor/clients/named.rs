//! The bridge's entries in all clients, and how a person knows them.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::{
    doctor::patient::Patient,
    setup::{
        clients::{
            self,
            adding::{self, PART},
            client::Scope,
            look::{self, Seen, State},
            servers::{self, Written},
            shape::Told,
        },
        ledger::Ledger,
    },
};

/// The name that setup gives its entry.
const NAME: &str = "computercraft";

/// An entry, and what it is called.
pub struct Named {
    /// What it is called.
    pub name: String,
    /// Where it may be, and what there is of it.
    pub seen: Seen,
    /// Whether neither setup added it nor it has the usual name, and the client has the bridge by another name too.
    pub is_spare: bool,
}

/// The entries of the bridge in all clients: of the usual name, and of those that setup noted.
pub fn seen(patient: &Patient) -> Vec<Named> {
    let ledger = Ledger::open(&patient.folders.shared);
    let noted = ledger
        .of(PART)
        .filter_map(adding::noted)
        .map(|noted| noted.name);
    let names: BTreeSet<String> = noted.chain([NAME.to_owned()]).collect();
    let mut all = Vec::new();
    for name in names {
        let found = look::everywhere(&name, &patient.machine, "");
        all.extend(found.into_iter().map(|seen| Named {
            name: name.clone(),
            seen,
            is_spare: false,
        }));
    }
    let others = others(patient, &all);
    all.extend(others);
    all
}

/// The bridge's entries of other names, which somebody added by hand.
fn others(patient: &Patient, known: &[Named]) -> Vec<Named> {
    let mut found: Vec<Named> = Vec::new();
    let machine = &patient.machine;
    for client in clients::all()
        .iter()
        .filter(|client| client.is_installed(machine))
    {
        let written = servers::ours(client, machine, "").filter(|server| server.folder.is_none());
        for Written { file, name, .. } in written {
            let is_here = |named: &Named| named.name == name && named.seen.file == file;
            if known.iter().chain(&found).any(is_here) {
                continue;
            }
            let has_another =
                |named: &Named| named.told().is_some() && named.seen.client.id == client.id;
            found.push(Named {
                is_spare: known.iter().chain(&found).any(has_another),
                seen: look::at(client, Scope::User, &file, &name, machine, ""),
                name,
            });
        }
    }
    found
}

impl Named {
    /// What the entry says, if it is the bridge's.
    pub fn told(&self) -> Option<&Told> {
        match &self.seen.state {
            State::Right(told) | State::Edited(told) | State::Stale(told) => Some(told),
            State::Absent | State::Foreign(_) | State::Unreadable(_) => None,
        }
    }

    /// How a person knows the client, and where its entry is.
    pub fn who(&self) -> String {
        match self.seen.scope {
            Scope::User => self.seen.client.name.clone(),
            Scope::Project => format!("{} in this project", self.seen.client.name),
        }
    }

    /// The command that brings the entry up to date.
    pub fn setup(&self) -> String {
        let scope = match self.seen.scope {
            Scope::User => "",
            Scope::Project => " --scope project",
        };
        let name = match self.name.as_str() {
            NAME => String::new(),
            name => format!(" --name {name}"),
        };
        format!(
            "mcp-bridge setup client {}{scope}{name}",
            self.seen.client.id
        )
    }
}

/// The whole path of what an entry starts, if there is such a file.
pub fn whole(patient: &Patient, command: &str) -> Option<PathBuf> {
    let path = Path::new(command);
    if path.is_absolute() {
        return path.is_file().then(|| path.to_path_buf());
    }
    if command.contains(['/', '\\']) {
        return None;
    }
    patient.machine.find_program(command)
}

#[cfg(unix)]
pub fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|facts| facts.permissions().mode() & 0o111 != 0)
}

/// Windows knows programs by their names.
#[cfg(not(unix))]
pub fn is_executable(_: &Path) -> bool {
    true
}
