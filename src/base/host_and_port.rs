//! A place to listen at, or to connect to.

use std::fmt;

/// A host and a TCP port, as people write them: `0.0.0.0:3001`, `[::1]:3001`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPort {
    /// An address without brackets, or a name.
    pub host: String,
    /// The port; 0 means any free one.
    pub port: u16,
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}
