//! What a person has allowed to a namespace: the hosts and secrets that its manifest names, for as long as the manifest and
//! its Lua stay what they were.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    base::{
        files,
        store::{self, hash},
    },
    tools::{files as tool_files, manifest::Namespace},
};

/// More files of Lua are none that somebody has looked at.
const MOST_FILES: usize = 5000;

/// Larger files are not run, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// What was allowed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Grant {
    /// The namespace, for a person who looks into the folder.
    namespace: String,
    /// The manifest.
    manifest: PathBuf,
    /// The hash of its text. That says which hosts and secrets.
    hash: String,
    /// The hashes of all Lua in its folder of tools, by the file.
    sources: BTreeMap<PathBuf, String>,
}

impl Grant {
    /// Allows a namespace what its manifest names, with the Lua that there is now.
    ///
    /// # Errors
    /// Its folder can't be read, or has too many files.
    pub fn of(namespace: &Namespace) -> io::Result<Self> {
        let files = tool_files::lua(&namespace.root)?;
        if files.len() > MOST_FILES {
            return Err(io::Error::other(format!(
                "{} has {} files of Lua; of {MOST_FILES} at most can be said what they are",
                namespace.root.display(),
                files.len()
            )));
        }
        let sources = files.into_iter().filter_map(|file| {
            let bytes = files::read(&file, MAX_FILE).ok()?;
            Some((real(&file), hash(&bytes)))
        });
        Ok(Self {
            namespace: namespace.name().to_owned(),
            manifest: real(&namespace.manifest),
            hash: namespace.hash.clone(),
            sources: sources.collect(),
        })
    }

    /// Notes it.
    ///
    /// # Errors
    /// The state folder can't be written.
    pub fn save(&self, state: &Path) -> io::Result<()> {
        store::write(&file(state, &self.manifest), self)
    }
}

/// Whether a namespace has what its manifest names, while Lua of these files and hashes runs.
pub fn is_granted<'a>(
    state: &Path,
    namespace: &Namespace,
    sources: impl IntoIterator<Item = (&'a PathBuf, &'a String)>,
) -> bool {
    let files = sources
        .into_iter()
        .map(|(file, source)| (real(file), source));
    covers(state, &real(&namespace.manifest), &namespace.hash, files)
}

/// Whether this was allowed already, with all Lua that it is about.
pub fn is_allowed(state: &Path, grant: &Grant) -> bool {
    covers(state, &grant.manifest, &grant.hash, &grant.sources)
}

/// Whether a manifest of this hash was allowed what it names, with files of these hashes; links are followed in all paths.
fn covers<'a>(
    state: &Path,
    manifest: &Path,
    hash: &str,
    files: impl IntoIterator<Item = (impl AsRef<Path>, &'a String)>,
) -> bool {
    store::read::<Grant>(&file(state, manifest)).is_some_and(|grant| {
        grant.manifest == manifest
            && grant.hash == hash
            && files
                .into_iter()
                .all(|(file, source)| grant.sources.get(file.as_ref()) == Some(source))
    })
}

/// One file for each manifest.
fn file(state: &Path, manifest: &Path) -> PathBuf {
    let name = hash(manifest.as_os_str().as_encoded_bytes());
    state
        .join("tools")
        .join("granted")
        .join(format!("{name}.json"))
}

/// The path with links followed, so that a manifest has one name.
fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_allowed_holds_until_the_manifest_or_the_lua_that_runs_changes() {
        let (state, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let state = state.path();
        fs::create_dir_all(root.path().join("lib")).unwrap();
        fs::write(root.path().join("_index.yaml"), "m").unwrap();
        fs::write(root.path().join("h.lua"), "h").unwrap();
        fs::write(root.path().join("lib/l.lua"), "l").unwrap();
        let namespace = |text: &str| Namespace {
            spec: Default::default(),
            manifest: root.path().join("_index.yaml"),
            hash: hash(text.as_bytes()),
            root: root.path().to_path_buf(),
        };
        let now = namespace("m");
        let (handler, module) = (hash(b"h"), hash(b"l"));
        let (file, library) = (root.path().join("h.lua"), root.path().join("lib/l.lua"));
        assert!(!is_granted(state, &now, [(&file, &handler)]));
        Grant::of(&now).unwrap().save(state).unwrap();
        assert!(is_granted(
            state,
            &now,
            [(&file, &handler), (&library, &module)]
        ));
        assert!(!is_granted(state, &now, [(&file, &hash(b"other"))]));
        // What another file had is another's.
        assert!(!is_granted(state, &now, [(&file, &module)]));
        assert!(!is_granted(state, &namespace("m2"), [(&file, &handler)]));
        assert!(is_allowed(state, &Grant::of(&now).unwrap()));
        // A file that it does not run is nothing to it.
        fs::write(root.path().join("new.lua"), "n").unwrap();
        assert!(is_granted(state, &now, [(&file, &handler)]));
        assert!(!is_allowed(state, &Grant::of(&now).unwrap()));
        let elsewhere = Namespace {
            manifest: root.path().join("lib/_index.yaml"),
            ..now
        };
        assert!(!is_granted(state, &elsewhere, [(&file, &handler)]));
    }
}
