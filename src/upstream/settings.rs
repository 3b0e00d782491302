//! What the managed servers are told from outside.

use std::path::PathBuf;

/// Where the managed servers find what they need.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder whose project configuration counts, and that servers run in.
    pub folder: PathBuf,
    /// The configuration folder, with the user's own file.
    pub config: Option<PathBuf>,
    /// The state folder.
    pub state: PathBuf,
    /// Where this bridge serves MCP over HTTP, if it does: an entry that leads there is this bridge.
    pub own_port: Option<u16>,
}
