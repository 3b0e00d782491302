//! A file, as a sync compares it, and how much of files it takes.

/// The most bytes of a file that is synced. A computer's disk has a million by default.
pub const LARGEST: u64 = 4 * 1024 * 1024;

/// Why a file of more is not synced, as a sentence's end.
pub const TOO_LARGE: &str = "it has more than 4 MiB, the most of a file that is synced: split it, or leave it out by a .gitignore";

/// The most bytes of all files of a folder.
pub const LARGEST_IN_ALL: u64 = 32 * 1024 * 1024;

/// The most files of a folder: a disk of the game holds 2000.
pub const MOST_FILES: usize = 2_000;

/// A file, as far as it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// In bytes.
    pub size: u64,
    /// What tells its contents from others: see `digest`.
    pub hash: String,
}
