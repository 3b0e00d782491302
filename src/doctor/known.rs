//! Which files are known to be an mcp-bridge, by their hashes: a project's file may name any program, and none but these is
//! started to see whether it works.
//!
//! Each mcp-bridge that looks at a set-up writes itself down in the folder that all of a user's share.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::{Deserialize, Serialize};

use crate::base::{
    files::{self, FileError},
    store,
};

/// Its file in the shared folder.
const FILE: &str = "programs.json";

/// A larger file is no mcp-bridge, in bytes.
const LARGEST: u64 = 512 * 1024 * 1024;

/// How many are kept. Those that were noted first go first.
const KEPT: usize = 64;

/// A file that is an mcp-bridge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    version: String,
    /// Where it was, how large, and when it was written: while these are so, it need not be hashed again.
    path: PathBuf,
    length: u64,
    modified: Option<SystemTime>,
    noted: SystemTime,
}

/// What a file is.
#[derive(Debug, PartialEq, Eq)]
pub enum Program {
    /// The very file of this process.
    This,
    /// An mcp-bridge of this version.
    Bridge(String),
    /// Not known.
    Unknown,
}

/// What the file at `path` is, to this process, whose own is at `own`.
///
/// # Errors
/// It can't be read.
pub fn identify(shared: &Path, own: &Path, path: &Path) -> Result<Program, FileError> {
    let whole = |path: &Path| fs::canonicalize(path).ok();
    if whole(path).is_some() && whole(path) == whole(own) {
        return Ok(Program::This);
    }
    let bytes = files::read(path, LARGEST)?;
    let length = bytes.len() as u64;
    // A copy of this program is as good as itself, noted or not.
    let is_as_long = fs::metadata(own).is_ok_and(|facts| facts.len() == length);
    if is_as_long && files::read(own, LARGEST).is_ok_and(|own| own == bytes) {
        return Ok(Program::This);
    }
    let mut known = read(shared);
    // To hash a large program takes a while, and what is longer or shorter than all of them is none of them.
    if known.values().all(|known| known.length != length) {
        return Ok(Program::Unknown);
    }
    Ok(match known.remove(&store::hash(&bytes)) {
        Some(known) => Program::Bridge(known.version),
        None => Program::Unknown,
    })
}

/// Notes that the file at `own` is an mcp-bridge of this version.
///
/// # Errors
/// It can't be read, or the folder can't be written.
pub fn note(shared: &Path, own: &Path) -> io::Result<()> {
    let facts = fs::metadata(own)?;
    let own_facts = Known {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        path: own.to_path_buf(),
        length: facts.len(),
        modified: facts.modified().ok(),
        noted: SystemTime::now(),
    };
    let mut known = read(shared);
    let is_noted = |known: &Known| {
        let noted = known.noted;
        *known
            == Known {
                noted,
                ..own_facts.clone()
            }
    };
    if known.values().any(is_noted) {
        return Ok(());
    }
    known.insert(store::hash(&files::read(own, LARGEST)?), own_facts);
    while known.len() > KEPT {
        let oldest = known.iter().min_by_key(|(_, known)| known.noted);
        let Some(oldest) = oldest.map(|(hash, _)| hash.clone()) else {
            break;
        };
        known.remove(&oldest);
    }
    store::write(&shared.join(FILE), &known)
}

fn read(shared: &Path) -> BTreeMap<String, Known> {
    store::read(&shared.join(FILE)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_known_by_what_is_in_it_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let (own, older) = (file("own", "new"), file("older", "old"));
        let (copy, other) = (file("copy", "new"), file("other", "rm -rf"));
        let shared = folder.path().join("state");
        note(&shared, &older).unwrap();
        let is = |path| identify(&shared, &own, path).unwrap();
        let version = || env!("CARGO_PKG_VERSION").to_owned();
        assert_eq!(is(&own), Program::This);
        assert_eq!(is(&copy), Program::This);
        assert_eq!(is(&older), Program::Bridge(version()));
        assert_eq!(is(&other), Program::Unknown);
        // Another program under a name that was known.
        fs::write(&older, "rm -rf").unwrap();
        assert_eq!(is(&older), Program::Unknown);
        assert!(identify(&shared, &own, &folder.path().join("none")).is_err());
    }

    #[test]
    fn no_more_are_kept_than_there_is_room_for() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own");
        for round in 0..KEPT + 3 {
            fs::write(&own, "x".repeat(round + 1)).unwrap();
            note(folder.path(), &own).unwrap();
        }
        let known = read(folder.path());
        assert_eq!(known.len(), KEPT);
        assert!(!known.contains_key(&store::hash(b"x")));
    }
}
