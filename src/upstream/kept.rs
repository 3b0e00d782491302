//! Where in the state folder this module keeps what it keeps.

use std::path::{Path, PathBuf};

/// The folder of everything that the managed servers need, in the state folder.
pub fn folder(state: &Path) -> PathBuf {
    state.join("upstream")
}
