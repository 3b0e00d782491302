//! What a folder and a computer's folder were when they were last alike, kept in the state folder; and that nobody else
//! syncs them meanwhile.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::plan::Way;
use crate::base::store;

/// Of how many pairs of folders it is remembered; the oldest go.
const PAIRS: usize = 500;

/// What is remembered of two folders, which nobody else syncs for as long as this is kept.
#[derive(Debug)]
pub struct Memory {
    file: PathBuf,
    kept: Kept,
    _locks: Vec<File>,
}

/// As it stands in the file; the first three are for people.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    folder: String,
    computer: String,
    path: String,
    files: BTreeMap<String, String>,
}

/// Why two folders can't be synced now.
#[derive(Debug, Error)]
pub enum MemoryError {
    /// Somebody does.
    #[error("another sync of {} goes on. Wait for its end, or stop it: it may be one with --watch", folder.display())]
    Busy {
        /// The host's.
        folder: PathBuf,
    },
    /// Its own files.
    #[error("what was synced last can't be remembered in {}: {source}", file.display())]
    Unwritable {
        /// Where.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Memory {
    /// Takes these two folders. A folder of the host that may be written is synced with one computer at a time.
    ///
    /// # Errors
    /// Somebody syncs them, or the state folder can't be written.
    pub fn take(
        state: &Path,
        folder: &Path,
        computer: &str,
        path: &str,
        way: Way,
    ) -> Result<Self, MemoryError> {
        let state = state.join("sync");
        let shown = folder.to_string_lossy();
        let name = |what: &str| store::hash(what.as_bytes())[..32].to_owned();
        let pair = name(&format!("{shown}\n{computer}\n{path}"));
        let unwritable = |file: &Path, source| MemoryError::Unwritable {
            file: file.to_owned(),
            source,
        };
        let mut wanted = vec![state.join(format!("{pair}.lock"))];
        if way.writes_here() {
            wanted.push(state.join(format!("{}.lock", name(&shown))));
        }
        let mut locks = Vec::new();
        for file in wanted {
            match store::try_lock(&file) {
                Ok(Some(lock)) => locks.push(lock),
                Ok(None) => {
                    return Err(MemoryError::Busy {
                        folder: folder.to_owned(),
                    });
                }
                Err(source) => return Err(unwritable(&file, source)),
            }
        }
        let file = state.join(format!("{pair}.json"));
        let kept = store::read(&file).unwrap_or_else(|| Kept {
            folder: shown.to_string(),
            computer: computer.to_owned(),
            path: path.to_owned(),
            files: BTreeMap::new(),
        });
        Ok(Self {
            file,
            kept,
            _locks: locks,
        })
    }

    /// The hashes that both had.
    pub fn files(&self) -> &BTreeMap<String, String> {
        &self.kept.files
    }

    /// Remembers that a file is alike on both sides.
    pub fn alike(&mut self, path: &str, hash: &str) {
        self.kept.files.insert(path.to_owned(), hash.to_owned());
    }

    /// Remembers that a file is on neither.
    pub fn gone(&mut self, path: &str) {
        self.kept.files.remove(path);
    }

    /// Remembers a file by another name.
    pub fn renamed(&mut self, from: &str, to: &str) {
        if let Some(hash) = self.kept.files.remove(from) {
            self.kept.files.insert(to.to_owned(), hash);
        }
    }

    /// Writes it down.
    ///
    /// # Errors
    /// The state folder can't be written.
    pub fn keep(&self) -> Result<(), MemoryError> {
        let written = store::write(&self.file, &self.kept);
        written.map_err(|source| MemoryError::Unwritable {
            file: self.file.clone(),
            source,
        })?;
        forget_the_oldest(self.file.parent().unwrap_or(Path::new("")));
        Ok(())
    }
}

fn forget_the_oldest(state: &Path) {
    let entries = fs::read_dir(state)
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    let mut files: Vec<(SystemTime, PathBuf)> = entries
        .filter(|entry| entry.path().extension().is_some_and(|kind| kind == "json"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort();
    let too_many = files.len().saturating_sub(PAIRS);
    for (_, file) in &files[..too_many] {
        let _ = fs::remove_file(file);
        let _ = fs::remove_file(file.with_extension("lock"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_alike_is_remembered_for_each_pair_and_one_pair_is_synced_once_at_a_time() {
        let state = tempfile::tempdir().unwrap();
        let take =
            |computer: &str, way| Memory::take(state.path(), Path::new("/a"), computer, "/b", way);
        let mut first = take("1", Way::Push).unwrap();
        first.alike("main.lua", "hash");
        first.keep().unwrap();
        let busy = take("1", Way::Push).unwrap_err().to_string();
        assert!(busy.starts_with("another sync of /a goes on."), "{busy}");
        // Others may be pushed to from the same folder.
        assert!(take("2", Way::Push).unwrap().files().is_empty());
        drop(first);
        let pulls = take("1", Way::Pull).unwrap();
        assert_eq!(pulls.files()["main.lua"], "hash");
        assert!(take("2", Way::Both).is_err() && take("2", Way::Push).is_ok());
    }
}
