//! What lies in a folder of tools: its manifests, and a stamp that tells whether anything has changed.

use std::{
    collections::BTreeSet,
    fs,
    hash::{DefaultHasher, Hash},
    io,
    path::{Path, PathBuf},
};

use super::manifest::{FILE, Problem};

/// Deeper folders are not looked into.
const MAX_DEPTH: usize = 12;

/// More folders are not looked into.
const MAX_FOLDERS: usize = 2000;

/// What lies at and below a folder.
#[derive(Default)]
pub struct Found {
    /// All manifests, in order; also what only has the name of one, which its reader says.
    pub manifests: Vec<PathBuf>,
    /// What was passed over, though somebody may want it read.
    pub passed_over: Vec<Problem>,
}

/// What lies at and below a folder.
///
/// # Errors
/// The folder can't be read.
pub fn look(root: &Path) -> io::Result<Found> {
    let Folders {
        folders,
        passed_over,
    } = folders(root)?;
    let mut found = Found {
        passed_over,
        ..Found::default()
    };
    for folder in folders {
        let file = folder.join(FILE);
        if file.symlink_metadata().is_ok() {
            found.manifests.push(file);
        } else if let Some(file) = misnamed(&folder) {
            found.passed_over.push(Problem {
                file,
                line: None,
                reason: format!("is not read: a manifest is named {FILE}"),
            });
        }
    }
    Ok(found)
}

/// What a folder has in the place of a manifest, by its name.
fn misnamed(folder: &Path) -> Option<PathBuf> {
    entries(folder).ok()?.into_iter().find(|path| {
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().to_lowercase());
        name.is_some_and(|name| [FILE, "_index.yml"].contains(&name.as_str()))
    })
}

/// All files of Lua at and below a folder.
///
/// # Errors
/// The folder can't be read.
pub fn lua(root: &Path) -> io::Result<Vec<PathBuf>> {
    let is_lua =
        |path: &PathBuf| path.extension().is_some_and(|end| end == "lua") && path.is_file();
    let folders = folders(root)?.folders;
    Ok(folders
        .iter()
        .flat_map(|folder| entries(folder).unwrap_or_default())
        .filter(is_lua)
        .collect())
}

/// Feeds a hasher with what differs when any file at or below a folder does.
pub fn stamp(root: &Path, hasher: &mut DefaultHasher) {
    for folder in folders(root).unwrap_or_default().folders {
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

/// A folder and those below it.
#[derive(Default)]
struct Folders {
    /// In order.
    folders: Vec<PathBuf>,
    /// Those that were not looked into.
    passed_over: Vec<Problem>,
}

/// A folder and all below it; hidden ones are left out, and none is looked into twice, whatever links lead to it.
fn folders(root: &Path) -> io::Result<Folders> {
    let mut found = Vec::new();
    let mut passed_over = Vec::new();
    let (mut deeper, mut more) = (None, None);
    let mut known = BTreeSet::new();
    let mut open = vec![(root.to_path_buf(), MAX_DEPTH + 1)];
    while let Some((folder, depth)) = open.pop() {
        if !known.insert(folder.canonicalize().unwrap_or_else(|_| folder.clone())) {
            continue;
        }
        let entries = match entries(&folder) {
            Ok(entries) => entries,
            Err(error) if found.is_empty() => return Err(error),
            // One that can't be read, or is gone by now, does not take the others down.
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    passed_over.push(Problem {
                        file: folder,
                        line: None,
                        reason: format!("this folder can't be looked into: {error}"),
                    });
                }
                continue;
            }
        };
        if depth == 0 {
            deeper.get_or_insert(folder);
            continue;
        }
        if found.len() >= MAX_FOLDERS {
            more.get_or_insert(folder);
            continue;
        }
        found.push(folder);
        let inner = entries.into_iter().filter(|path| {
            let hidden = path
                .file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('.'));
            !hidden && path.is_dir()
        });
        // The last that is pushed comes next.
        open.extend(inner.rev().map(|path| (path, depth - 1)));
    }
    let too_much = [
        (deeper, format!("is more than {MAX_DEPTH} folders deep")),
        (more, format!("is one of more than {MAX_FOLDERS} folders")),
    ];
    passed_over.extend(too_much.into_iter().filter_map(|(folder, why)| {
        Some(Problem {
            file: folder?,
            line: None,
            reason: format!("is not looked into, nor are others like it: it {why}"),
        })
    }));
    Ok(Folders {
        folders: found,
        passed_over,
    })
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
        let found: Vec<_> = look(root.path())
            .unwrap()
            .manifests
            .into_iter()
            .map(|file| file.strip_prefix(root.path()).unwrap().to_path_buf())
            .collect();
        let expected = [
            FILE.into(),
            Path::new("a/deep").join(FILE),
            Path::new("b").join(FILE),
        ];
        assert_eq!(found, expected);
        assert!(look(&root.path().join("nowhere")).is_err());
    }

    #[test]
    fn what_is_passed_over_is_told() {
        let root = tempfile::tempdir().unwrap();
        let deepest = (0..MAX_DEPTH).fold(root.path().to_path_buf(), |path, _| path.join("a"));
        let too_deep = deepest.join("a");
        fs::create_dir_all(too_deep.join("a")).unwrap();
        fs::create_dir_all(deepest.join("b")).unwrap();
        for folder in [&deepest, &too_deep] {
            fs::write(folder.join(FILE), "").unwrap();
        }
        let misnamed = root.path().join("_index.yml");
        fs::write(&misnamed, "").unwrap();
        let found = look(root.path()).unwrap();
        assert_eq!(found.manifests, [deepest.join(FILE)]);
        let told: Vec<_> = found.passed_over.iter().map(|one| &one.file).collect();
        assert_eq!(told, [&too_deep, &misnamed]);
        let told = found.passed_over[0].to_string();
        assert!(told.ends_with("it is more than 12 folders deep"), "{told}");
    }
}
