//! Java's lock on a file, on Unix: one of those that `fcntl` knows. `flock`, which Rust's own functions use, is another
//! kind and does not see it.

use std::fs::File;

use rustix::process::{Flock, FlockType, fcntl_getlk};

use super::state::Lock;

/// Asks who has a lock on a file. This takes none, so that it can't get in the game's way.
pub fn lock(file: &File) -> Lock {
    match fcntl_getlk(file, &Flock::from(FlockType::WriteLock)) {
        Ok(None) => Lock::Free,
        Ok(Some(held)) => Lock::Held {
            // A game in a container of its own has no number here.
            process: held
                .pid
                .and_then(|pid| u32::try_from(pid.as_raw_nonzero().get()).ok()),
        },
        Err(error) => Lock::Unknown(format!("its lock can't be asked for: {error}")),
    }
}
