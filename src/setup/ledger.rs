//! What was added, and where, so that `setup --remove` takes out exactly that.

use std::{
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::store;

/// Its file in the folder that all bridges of a user share.
const FILE: &str = "setup.json";

/// Something that was added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Addition {
    /// The part of `setup` that added it, such as `client`.
    pub part: String,
    /// The file that it was added to.
    pub file: PathBuf,
    /// What it is, as the part needs it to find it again.
    pub what: Value,
}

/// All that was added and not taken out again.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    additions: Vec<Addition>,
}

impl Ledger {
    /// What is noted in the folder that all bridges of a user share.
    pub fn open(shared: &Path) -> Self {
        let path = shared.join(FILE);
        let additions = store::read(&path).unwrap_or_default();
        Self { path, additions }
    }

    /// What this part of `setup` added, in the order in which it did.
    pub fn of<'a>(&'a self, part: &'a str) -> impl Iterator<Item = &'a Addition> {
        self.additions
            .iter()
            .filter(move |addition| addition.part == part)
    }

    /// Notes that something was added, unless that is noted already.
    ///
    /// # Errors
    /// The folder can't be written.
    pub fn add(&mut self, addition: Addition) -> io::Result<()> {
        if self.additions.contains(&addition) {
            return Ok(());
        }
        self.additions.push(addition);
        store::write(&self.path, &self.additions)
    }

    /// Notes that something was taken out, or is gone.
    ///
    /// # Errors
    /// The folder can't be written.
    pub fn forget(&mut self, addition: &Addition) -> io::Result<()> {
        self.additions.retain(|other| other != addition);
        store::write(&self.path, &self.additions)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_added_is_known_until_it_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let addition = |part: &str| Addition {
            part: part.to_owned(),
            file: "f".into(),
            what: json!({"name": "computercraft"}),
        };
        let mut ledger = Ledger::open(folder.path());
        ledger.add(addition("client")).unwrap();
        ledger.add(addition("client")).unwrap();
        ledger.add(addition("game")).unwrap();
        let mut ledger = Ledger::open(folder.path());
        assert_eq!(ledger.of("client").count(), 1);
        ledger.forget(&addition("client")).unwrap();
        let ledger = Ledger::open(folder.path());
        assert_eq!(
            (ledger.of("client").count(), ledger.of("game").count()),
            (0, 1)
        );
    }
}
