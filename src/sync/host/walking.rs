//! What is in a folder of the host, and what of it is not synced.

use std::{collections::BTreeMap, io};

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata};

use super::files::read;
use crate::sync::{
    digest,
    entry::{Entry, LARGEST, LARGEST_IN_ALL, MOST_FILES, TOO_LARGE},
    ignored::Ignored,
    names::{self, without_twins},
};

/// The most files and folders that are looked at, those that are ignored included.
const WALKED: usize = 20_000;

/// The largest `.gitignore` that is read, in bytes.
const LARGEST_IGNORE: u64 = 256 * 1024;

/// Why a file is left out of which there is another here, but for capital letters.
const TWIN: &str = "another has the same name but for capital letters, and may be the same file in the game: rename one of \
                    them";

/// What is in a folder.
#[derive(Debug, Default)]
pub struct Tree {
    /// Its files by their paths below it, with slashes.
    pub files: BTreeMap<String, Entry>,
    /// What is not synced, and why, as a sentence's end.
    pub left: BTreeMap<String, String>,
    /// What its `.gitignore` files say.
    pub ignored: Ignored,
}

/// Walks through a folder.
pub(super) fn walk(folder: &Dir) -> Result<Tree, Stop> {
    let mut walk = Walk {
        tree: Tree::default(),
        looked_at: 0,
        bytes: 0,
    };
    walk.folder(folder, "")?;
    without_twins(&mut walk.tree.files, &mut walk.tree.left, TWIN);
    Ok(walk.tree)
}

/// A walk through a folder.
struct Walk {
    tree: Tree,
    looked_at: usize,
    bytes: u64,
}

/// Why a walk has no end.
pub(super) enum Stop {
    /// The system refuses.
    Io(io::Error),
    /// It is beyond a bound: of what it has more.
    TooMuch(String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Walk {
    fn folder(&mut self, folder: &Dir, prefix: &str) -> Result<(), Stop> {
        if let Ok(rules) = read(folder, ".gitignore", LARGEST_IGNORE) {
            let rules = String::from_utf8_lossy(&rules);
            self.tree.ignored.add(prefix.trim_end_matches('/'), &rules);
        }
        let mut names = Vec::new();
        for entry in folder.entries()? {
            let entry = entry?;
            self.looked_at += 1;
            if self.looked_at > WALKED {
                return Err(Stop::TooMuch(format!("{WALKED} files and folders")));
            }
            names.push(entry.file_name());
        }
        names.sort();
        for name in names {
            let Some(name) = name.to_str() else {
                let path = format!("{prefix}{}", name.to_string_lossy());
                self.leave(path, "its name is no Unicode");
                continue;
            };
            if !names::is_passed_over(name) {
                self.entry(folder, prefix, name)?;
            }
        }
        Ok(())
    }

    fn entry(&mut self, folder: &Dir, prefix: &str, name: &str) -> Result<(), Stop> {
        let path = format!("{prefix}{name}");
        let metadata = match folder.symlink_metadata(name) {
            Ok(metadata) => metadata,
            // It went meanwhile, or can't be looked at.
            Err(error) => {
                self.leave(path, error);
                return Ok(());
            }
        };
        if self.tree.ignored.is_itself(&path, metadata.is_dir()) {
            return Ok(());
        }
        if metadata.is_symlink() {
            self.leave(path, "it is a symbolic link");
        } else if let Some(why) = names::unfit(&path) {
            self.leave(path, why);
        } else if metadata.is_dir() {
            match folder.open_dir_nofollow(name) {
                Ok(below) => self.folder(&below, &format!("{path}/"))?,
                Err(error) => self.leave(path, error),
            }
        } else {
            self.file(folder, path, name, &metadata)?;
        }
        Ok(())
    }

    fn file(
        &mut self,
        folder: &Dir,
        path: String,
        name: &str,
        metadata: &Metadata,
    ) -> Result<(), Stop> {
        if !metadata.is_file() {
            self.leave(path, "it is no file");
            return Ok(());
        }
        if metadata.len() > LARGEST {
            self.leave(path, TOO_LARGE);
            return Ok(());
        }
        let bytes = match read(folder, name, LARGEST) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.leave(path, error);
                return Ok(());
            }
        };
        self.bytes += bytes.len() as u64;
        if self.bytes > LARGEST_IN_ALL {
            return Err(Stop::TooMuch(format!(
                "{} MiB",
                LARGEST_IN_ALL / 1024 / 1024
            )));
        }
        if self.tree.files.len() == MOST_FILES {
            return Err(Stop::TooMuch(format!("{MOST_FILES} files")));
        }
        let entry = Entry {
            size: bytes.len() as u64,
            hash: digest::of(&bytes),
        };
        self.tree.files.insert(path, entry);
        Ok(())
    }

    fn leave(&mut self, path: String, why: impl ToString) {
        self.tree.left.insert(path, why.to_string());
    }
}
