//! `require`: Lua files that handlers share, found in their folder of tools and nowhere else. A handler on the host asks for
//! them as it runs; with one for computers they are sent ([`base::lua::modules`](crate::base::lua::modules)).

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use thiserror::Error;

use crate::{
    base::files::{self, FileError},
    tools::manifest::Namespace,
};

/// Larger files are not read, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// How many folders deep a module may be.
const MAX_DEPTH: usize = 8;

/// A module that was read.
pub struct Read {
    /// Its file.
    pub file: PathBuf,
    /// What it is called in errors.
    pub chunk: String,
    /// Its Lua.
    pub source: String,
}

impl Read {
    /// As a worker gets it.
    pub fn to_json(&self) -> Value {
        json!({ "source": self.source, "chunk": self.chunk })
    }

    /// Whether its file is still what it was.
    pub fn is_current(&self) -> bool {
        files::read_text(&self.file, MAX_FILE).is_ok_and(|source| source == self.source)
    }
}

/// Why there is no such module.
#[derive(Debug, Error)]
pub enum ModuleError {
    /// It is no name of one.
    #[error(
        "'{0}' is no module's name: it has letters, digits, _ and -, with a dot between the folder and the file, such as 'lib.items'"
    )]
    NoName(String),
    /// There is no such file.
    #[error("there is no module '{name}': there is no {}", .looked.join(", nor "))]
    Missing {
        /// The name.
        name: String,
        /// The files that it could be.
        looked: Vec<String>,
    },
    /// There is such a file, which is not read.
    #[error("{file} {problem}")]
    File {
        /// The file.
        file: String,
        /// Why.
        problem: FileError,
    },
    /// A link leads out of the folder of tools.
    #[error("{0} leads out of the folder of tools, and is not read")]
    Outside(String),
}

impl ModuleError {
    /// Whether there is none here, so that there may be one elsewhere.
    pub fn is_elsewhere(&self) -> bool {
        matches!(self, Self::NoName(_) | Self::Missing { .. })
    }
}

/// Finds a module: beside the handler, in the manifest's folder, or in the folder of tools.
pub fn find(name: &str, beside: &Path, namespace: &Namespace) -> Result<Read, ModuleError> {
    let no_name = || ModuleError::NoName(name.chars().take(100).collect());
    let parts: Vec<_> = name.split(['.', '/']).collect();
    let is_part = |part: &&str| {
        !part.is_empty()
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    };
    if parts.len() > MAX_DEPTH || name.len() > 200 || !parts.iter().all(is_part) {
        return Err(no_name());
    }
    let mut looked = Vec::new();
    let mut folders = vec![beside, namespace.folder(), &namespace.root];
    folders.dedup();
    for folder in folders {
        let path = parts
            .iter()
            .fold(folder.to_path_buf(), |path, part| path.join(part));
        for file in [path.with_extension("lua"), path.join("init.lua")] {
            let shown = shown(&file, &namespace.root);
            match files::read_text(&file, MAX_FILE) {
                Ok(source) if is_within(&file, &namespace.root) => {
                    return Ok(Read {
                        chunk: shown,
                        file,
                        source,
                    });
                }
                Ok(_) => return Err(ModuleError::Outside(shown)),
                Err(error) if error.is_missing() => looked.push(shown),
                Err(problem) => {
                    return Err(ModuleError::File {
                        file: shown,
                        problem,
                    });
                }
            }
        }
    }
    looked.dedup();
    Err(ModuleError::Missing {
        name: name.to_owned(),
        looked,
    })
}

/// A file as it is called in errors: by its way from the folder of tools.
fn shown(file: &Path, root: &Path) -> String {
    let path = file.strip_prefix(root).unwrap_or(file);
    path.to_string_lossy().replace('\\', "/")
}

/// Whether a file is in a folder, whatever links lead to it. What else a user has that is Lua, or nearly, is none of a
/// handler's business.
fn is_within(file: &Path, folder: &Path) -> bool {
    match (fs::canonicalize(file), fs::canonicalize(folder)) {
        (Ok(file), Ok(folder)) => file.starts_with(folder),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_found_beside_its_handler_then_above_and_never_outside() {
        let outside = tempfile::tempdir().unwrap();
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("farm");
        fs::create_dir_all(folder.join("handlers/lib")).unwrap();
        fs::write(folder.join("handlers/lib/a.lua"), "1").unwrap();
        fs::write(folder.join("b.lua"), "2").unwrap();
        fs::write(root.path().join("c.lua"), "3").unwrap();
        fs::create_dir_all(root.path().join("d")).unwrap();
        fs::write(root.path().join("d/init.lua"), "4").unwrap();
        fs::write(outside.path().join("e.lua"), "5").unwrap();
        let namespace = Namespace {
            spec: Default::default(),
            manifest: folder.join("_index.yaml"),
            hash: String::new(),
            root: root.path().to_path_buf(),
        };
        let find = |name: &str| find(name, &folder.join("handlers"), &namespace);
        let source = |name: &str| find(name).map(|module| module.source);
        assert_eq!(source("lib.a").unwrap(), "1");
        assert_eq!(find("lib/a").ok().unwrap().chunk, "farm/handlers/lib/a.lua");
        assert_eq!(source("b").unwrap(), "2");
        assert_eq!(source("c").unwrap(), "3");
        assert_eq!(source("d").unwrap(), "4");
        let told = |name: &str| find(name).err().unwrap().to_string();
        for name in [
            "../e",
            "..",
            "",
            "a..b",
            "/etc/passwd",
            "a\0",
            "a.lua.b ",
            &"a.".repeat(20),
        ] {
            assert!(told(name).contains("is no module's name"), "{name}");
        }
        assert_eq!(
            told("none"),
            "there is no module 'none': there is no farm/handlers/none.lua, nor farm/handlers/none/init.lua, nor farm/none.lua, \
             nor farm/none/init.lua, nor none.lua, nor none/init.lua"
        );
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(outside.path().join("e.lua"), root.path().join("e.lua"))
                .unwrap();
            assert!(
                told("e").contains("leads out of the folder"),
                "{}",
                told("e")
            );
        }
    }
}
