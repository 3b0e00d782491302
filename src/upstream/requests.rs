//! What a command in another process asks of the bridges that run: one small file for each request, in the state folder.
//! Every bridge that manages servers looks there once a second. That works the same everywhere, needs no port and no
//! rights but to the user's own files, and nothing that goes wrong with it can hurt a bridge.

use std::{
    io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::base::inbox;

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Start this server anew, wherever it is managed.
    Restart {
        /// Its name.
        server: String,
    },
    /// Connect to this server anew, without cutting off what is under way: its login is another.
    Renew {
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
    inbox::leave(&folder(state), request).map(|_| ())
}

/// The requests, as one bridge sees them.
pub struct Inbox(inbox::Inbox);

impl Inbox {
    /// An inbox in which only what comes from now on is new.
    pub fn new(state: &Path) -> Self {
        Self(inbox::Inbox::new(folder(state)))
    }

    /// The requests that came since the last time. Old ones are thrown away.
    pub fn take(&mut self) -> Vec<Request> {
        let requests = self.0.take().into_iter();
        requests.map(|(_, request)| request).collect()
    }
}

fn folder(state: &Path) -> PathBuf {
    super::kept::folder(state).join("requests")
}

#[cfg(test)]
mod tests {
    use std::{fs, time::SystemTime};

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
        let old = SystemTime::now() - inbox::LIFETIME * 2;
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
