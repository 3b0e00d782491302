//! What lies in a folder of tools: its manifests, and a stamp that tells whether anything has changed.

use std::{
    collections::BTreeSet,
    fs,
    hash::{DefaultHasher, Hash},
    io,
    path::{Path, PathBuf},
};

use super::manifest::FILE;

/// Deeper folders are not looked into.
const MAX_DEPTH: usize = 12;

/// More folders are not looked into.
const MAX_FOLDERS: usize = 2000;

/// All manifests at or below a folder, in order; also what only has the name of one, which its reader says.
///
/// # Errors
/// The folder can't be read.
pub fn manifests(root: &Path) -> io::Result<Vec<PathBuf>> {
    let manifests = folders(root)?.into_iter().map(|folder| folder.join(FILE));
    Ok(manifests
        .filter(|file| file.symlink_metadata().is_ok())
        .collect())
}

/// Feeds a hasher with what differs when any file at or below a folder does.
pub fn stamp(root: &Path, hasher: &mut DefaultHasher) {
    for folder in folders(root).unwrap_or_default() {
        folder.hash(hasher);
        for path in entries(&folder).unwrap_or_default() {
            // What a link leads to counts, not the link.
            if let Ok(metadata) = fs::metadata(&path)
                && !metadata.is_dir()
            {
                path.hash(hasher);
                metadata.is_file().hash(hasher);
                metadata.len().hash(hasher);
                metadata.modified().ok().hash(hasher);
            }
        }
    }
}

/// A folder and all below it, in order; hidden ones are passed over, and none is looked into twice, whatever links lead
/// to it.
fn folders(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut known = BTreeSet::new();
    let mut open = vec![(root.to_path_buf(), MAX_DEPTH)];
    while let Some((folder, depth)) = open.pop() {
        if !known.insert(folder.canonicalize().unwrap_or_else(|_| folder.clone())) {
            continue;
        }
        let entries = match entries(&folder) {
            Ok(entries) => entries,
            Err(error) if found.is_empty() => return Err(error),
            // One that can't be read, or is gone by now, does not take the others down.
            Err(error) => {
                tracing::debug!(folder = %folder.display(), %error, "a folder of tools can't be looked into");
                continue;
            }
        };
        found.push(folder);
        if depth == 0 || found.len() >= MAX_FOLDERS {
            continue;
        }
        let inner = entries.into_iter().filter(|path| {
            let hidden = path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('.'));
            !hidden && path.is_dir()
        });
        // The last that is pushed comes next.
        open.extend(inner.rev().map(|path| (path, depth - 1)));
    }
    Ok(found)
}

/// What is in a folder, in order.
fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries: Vec<_> = fs::read_dir(folder)?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_are_found_in_order_and_once_and_not_in_hidden_folders() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["", "b", "a/deep", ".git"] {
            let folder = root.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(FILE), "").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(root.path(), root.path().join("a/loop")).unwrap();
        let found: Vec<_> = manifests(root.path())
            .unwrap()
            .into_iter()
            .map(|file| file.strip_prefix(root.path()).unwrap().to_path_buf())
            .collect();
        let expected = [
            FILE.into(),
            Path::new("a/deep").join(FILE),
            Path::new("b").join(FILE),
        ];
        assert_eq!(found, expected);
        assert!(manifests(&root.path().join("nowhere")).is_err());
    }
}
