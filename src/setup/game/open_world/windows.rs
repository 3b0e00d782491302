//! Java's lock on a file, on Windows: whoever holds it keeps all others from reading.

use std::fs::File;

use super::state::Lock;

/// The file was just read, so that nobody holds it.
pub fn lock(_: &File) -> Lock {
    Lock::Free
}
