//! A person's pause: until it is lifted, no bridge of this user calls what could change something.
//!
//! It is a file in the folder that all bridges of a user share, for which each such call looks (see `tools/hold.rs`).
//! So it lives through the end of all of them.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::{Deserialize, Serialize};

use super::wording::ago;
use crate::base::{
    store,
    text::{one_line, timestamp},
};

/// How much of a reason is kept, in characters.
const LONGEST_REASON: usize = 500;

/// How long the file may be that is read, in bytes: one with the longest reason is far shorter.
const LONGEST_FILE: u64 = 16 * 1024;

/// Since when a person has paused what could change something, and why.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// Since when; not known where the file is not as it was written.
    #[serde(default)]
    since: Option<SystemTime>,
    /// What the person gave as reason.
    #[serde(default)]
    reason: Option<String>,
}

impl Paused {
    /// The pause of the user whose bridges share this folder, if there is one: for a process that may wait for its disk.
    pub fn now(shared: &Path) -> Option<Self> {
        Self::read(&file(shared))
    }

    /// The pause that stands in its file, if there is one.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let facts = fs::symlink_metadata(path).ok()?;
        let is_ours = facts.is_file() && facts.len() <= LONGEST_FILE;
        // Whatever stands there, it was put there for a pause.
        Some(
            is_ours
                .then(|| store::read(path))
                .flatten()
                .unwrap_or_default(),
        )
    }

    /// Pauses all bridges that share this folder. If that was done before, it is since then, and a new reason counts.
    ///
    /// # Errors
    /// The folder can't be written.
    pub fn begin(shared: &Path, reason: Option<&str>) -> io::Result<Self> {
        let before = Self::now(shared).unwrap_or_default();
        let reason = reason.map(|reason| reason.chars().take(LONGEST_REASON).collect());
        let paused = Self {
            since: before.since.or_else(|| Some(SystemTime::now())),
            reason: reason.or(before.reason),
        };
        store::write(&file(shared), &paused)?;
        Ok(paused)
    }

    /// Lifts the pause, and tells whether there was one.
    ///
    /// # Errors
    /// The file can't be removed: the pause goes on.
    pub fn lift(shared: &Path) -> io::Result<bool> {
        match fs::remove_file(file(shared)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            // What is no folder holds no file either.
            Err(_) if Self::now(shared).is_none() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Since when, and why: `3 min ago (2026-11-28T12:00:00Z): looking at the base`.
    pub fn when_and_why(&self, now: SystemTime) -> String {
        let when = self.since.map_or_else(
            || "at a moment that isn't known".to_owned(),
            |since| format!("{} ({})", ago(since, now), timestamp(since)),
        );
        match &self.reason {
            Some(reason) => format!("{when}: {}", one_line(reason)),
            None => when,
        }
    }

    /// What a model is told whose call is not made, after what was not done: a sentence without its full stop.
    pub(super) fn told(&self) -> String {
        format!(
            "a person has paused this {}. Until `mcp-bridge resume` lifts that, nothing is called that could change \
             something; what only reads goes on. Tell your user, and do not try again before they say that it is lifted",
            self.when_and_why(SystemTime::now())
        )
    }
}

/// Where it is.
pub(super) fn file(shared: &Path) -> PathBuf {
    shared.join("paused.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_holds_from_its_beginning_until_it_is_lifted() {
        let shared = tempfile::tempdir().unwrap();
        assert_eq!(Paused::now(shared.path()), None);
        assert!(!Paused::lift(shared.path()).unwrap());
        let begun = Paused::begin(shared.path(), Some("one\nline")).unwrap();
        assert_eq!(Paused::now(shared.path()), Some(begun.clone()));
        let again = Paused::begin(shared.path(), None).unwrap();
        assert_eq!(again, begun);
        let words = again.when_and_why(SystemTime::now());
        assert!(words.ends_with(r"Z): one\nline"), "{words}");
        assert!(Paused::lift(shared.path()).unwrap());
        assert_eq!(Paused::now(shared.path()), None);
    }

    #[test]
    fn whatever_stands_in_its_place_pauses() {
        let shared = tempfile::tempdir().unwrap();
        fs::write(file(shared.path()), "{").unwrap();
        assert_eq!(Paused::now(shared.path()), Some(Paused::default()));
        fs::write(file(shared.path()), vec![b' '; 20_000]).unwrap();
        assert_eq!(Paused::now(shared.path()), Some(Paused::default()));
        fs::remove_file(file(shared.path())).unwrap();
        fs::create_dir(file(shared.path())).unwrap();
        assert_eq!(Paused::now(shared.path()), Some(Paused::default()));
        assert!(Paused::lift(shared.path()).is_err());
    }

    #[test]
    fn where_the_folder_is_none_nothing_is_paused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(Paused::now(file.path()), None);
        assert!(!Paused::lift(file.path()).unwrap());
        assert!(Paused::begin(file.path(), None).is_err());
    }
}
