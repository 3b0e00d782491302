//! What a command in another process asks of the bridges that run: one small file for each request, in the state folder.
//! Every bridge that manages servers looks there once a second. That works the same everywhere, needs no port and no
//! rights but to the user's own files, and nothing that goes wrong with it can hurt a bridge.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use crate::base::store;

/// How long a request lies there: every bridge has seen it by then.
const LIFETIME: Duration = Duration::from_secs(60);

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Start this server anew, wherever it is managed.
    Restart {
        /// Its name.
        server: String,
    },
    /// Look at the configuration, and at what the user has agreed to, anew.
    Reload,
}

/// Leaves a request for all bridges.
///
/// # Errors
/// The state folder can't be written.
pub fn leave(state: &Path, request: &Request) -> io::Result<()> {
    let moment = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let name = format!("{}-{}.json", moment.as_nanos(), std::process::id());
    store::write(&folder(state).join(name), request)
}

/// The requests, as one bridge sees them.
pub struct Inbox {
    folder: PathBuf,
    seen: BTreeSet<OsString>,
}

impl Inbox {
    /// An inbox in which only what comes from now on is new.
    pub fn new(state: &Path) -> Self {
        let mut inbox = Self {
            folder: folder(state),
            seen: BTreeSet::new(),
        };
        inbox.take();
        inbox
    }

    /// The requests that came since the last time. Old ones are thrown away.
    pub fn take(&mut self) -> Vec<Request> {
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
            let age = entry.metadata().and_then(|facts| facts.modified()).ok();
            if age
                .and_then(|age| age.elapsed().ok())
                .is_some_and(|age| age > LIFETIME)
            {
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
            .iter()
            .filter_map(|(_, path)| store::read(path))
            .collect()
    }
}

fn folder(state: &Path) -> PathBuf {
    super::kept::folder(state).join("requests")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bridge_sees_each_request_once_and_none_from_before() {
        let state = tempfile::tempdir().unwrap();
        leave(state.path(), &Request::Reload).unwrap();
        let mut bridges = [Inbox::new(state.path()), Inbox::new(state.path())];
        let restart = Request::Restart { server: "x".into() };
        leave(state.path(), &restart).unwrap();
        leave(state.path(), &Request::Reload).unwrap();
        fs::write(folder(state.path()).join("odd.json"), "?").unwrap();
        for bridge in &mut bridges {
            assert_eq!(bridge.take(), [restart.clone(), Request::Reload]);
            assert_eq!(bridge.take(), []);
        }
    }

    #[test]
    fn old_requests_are_thrown_away() {
        let state = tempfile::tempdir().unwrap();
        leave(state.path(), &Request::Reload).unwrap();
        let file = fs::read_dir(folder(state.path()))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        let old = SystemTime::now() - LIFETIME * 2;
        fs::File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_modified(old)
            .unwrap();
        assert_eq!(Inbox::new(state.path()).take(), []);
        assert!(!file.exists());
    }
}
