//! What can be known of a world that may be open.

use std::time::Duration;

/// Whether the game has a world open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Open {
    /// It has; `process` is the game's number, if the system tells.
    Yes {
        process: Option<u32>,
    },
    No,
    /// An older version, which tells nobody, wrote it this long ago.
    Perhaps {
        written: Duration,
    },
    /// It can't be told here, as on some network disks; why.
    Unknown(String),
}

/// The game's lock on a world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lock {
    Held { process: Option<u32> },
    Free,
    Unknown(String),
}
