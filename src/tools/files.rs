//! What lies in a folder of tools: its manifests, and a stamp that tells whether anything has changed.

use std::{
    fs,
    hash::{DefaultHasher, Hash},
    io,
    path::{Path, PathBuf},
};

use super::manifest::FILE;

/// Deeper folders are not looked into.
const MAX_DEPTH: usize = 12;

/// More manifests are not read.
const MAX_MANIFESTS: usize = 1000;

/// All manifests at or below a folder, in order.
pub fn manifests(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(root, MAX_DEPTH, &mut found)?;
    Ok(found)
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder)? {
        let Ok(entry) = entry else {
            continue;
        };
        let name = entry.file_name();
        let path = entry.path();
        if name.to_str() == Some(FILE) {
            if found.len() < MAX_MANIFESTS {
                found.push(path);
            }
        } else if depth > 0 && !name.to_string_lossy().starts_with('.') && path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    for folder in folders {
        // One that can't be read, or is gone by now, does not take the others down.
        if let Err(error) = collect(&folder, depth - 1, found) {
            tracing::debug!(folder = %folder.display(), %error, "a folder of tools can't be looked into");
        }
    }
    Ok(())
}

/// Feeds a hasher with what differs when any file at or below a folder does.
pub fn stamp(folder: &Path, hasher: &mut DefaultHasher) {
    stamp_below(folder, MAX_DEPTH, hasher);
}

fn stamp_below(folder: &Path, depth: usize, hasher: &mut DefaultHasher) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let mut paths: Vec<_> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    for path in paths {
        // What a link leads to counts, not the link.
        let Ok(metadata) = fs::metadata(&path) else {
            continue;
        };
        path.hash(hasher);
        if metadata.is_dir() {
            let hidden = path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('.'));
            if depth > 0 && !hidden {
                stamp_below(&path, depth - 1, hasher);
            }
        } else {
            metadata.len().hash(hasher);
            metadata.modified().ok().hash(hasher);
        }
    }
}
