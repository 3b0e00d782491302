//! What one process of a user asks of others that run: one small file for each request, in a folder that they look at.
//! That works the same everywhere, needs no port and no rights but to the user's own files, and nothing that goes wrong
//! with it can hurt whoever is asked.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Serialize, de::DeserializeOwned};

use super::store;

/// How long a request lies there: everybody has seen it by then.
pub const LIFETIME: Duration = Duration::from_secs(60);

/// Leaves a request for all that look into this folder, and tells its name, which no other has.
///
/// # Errors
/// The folder can't be written.
pub fn leave(folder: &Path, request: &impl Serialize) -> io::Result<String> {
    let moment = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let name = format!("{}-{}.json", moment.as_nanos(), std::process::id());
    store::write(&folder.join(&name), request)?;
    Ok(name)
}

/// The requests, as one process sees them.
pub struct Inbox {
    folder: PathBuf,
    seen: BTreeSet<OsString>,
}

impl Inbox {
    /// An inbox in which only what comes from now on is new.
    pub fn new(folder: PathBuf) -> Self {
        let mut inbox = Self {
            folder,
            seen: BTreeSet::new(),
        };
        inbox.new_files();
        inbox
    }

    /// The requests that came since the last time, with their names. Old ones are thrown away.
    pub fn take<T: DeserializeOwned>(&mut self) -> Vec<(String, T)> {
        let files = self.new_files().into_iter();
        let read =
            files.filter_map(|(name, path)| Some((name.into_string().ok()?, store::read(&path)?)));
        read.collect()
    }

    fn new_files(&mut self) -> Vec<(OsString, PathBuf)> {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let mut there = BTreeSet::new();
        for entry in entries.filter_map(Result::ok) {
            let name = entry.file_name();
            // Not yet written whole.
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if is_old(&entry) {
                let _ = fs::remove_file(entry.path());
            } else {
                if !self.seen.contains(&name) {
                    found.push((name.clone(), entry.path()));
                }
                there.insert(name);
            }
        }
        self.seen = there;
        found.sort();
        found
    }
}

/// Whether what lies there was left so long ago that nobody wants it any more.
pub fn is_old(entry: &fs::DirEntry) -> bool {
    let changed = entry.metadata().and_then(|facts| facts.modified()).ok();
    let age = changed.and_then(|moment| moment.elapsed().ok());
    age.is_some_and(|age| age > LIFETIME)
}
