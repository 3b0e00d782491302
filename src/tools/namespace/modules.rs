//! `require`: Lua files that handlers share, found in their folder of tools and nowhere else. A handler on the host asks for
//! them as it runs; with one for computers they are sent ([`base::lua::modules`](crate::base::lua::modules)).

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use thiserror::Error;

use super::module::{Module, Modules};
use crate::{
    base::files::{self, FileError},
    tools::manifest::Namespace,
};

/// Larger files are not read, in bytes.
const MAX_FILE: u64 = 1024 * 1024;

/// How many folders deep a module may be.
const MAX_DEPTH: usize = 8;

/// How many names of modules are noted of one handler.
const MOST_NAMES: usize = 500;

/// How many bytes of modules are kept for one handler.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// What a handler required as it was loaded: by each name the module, or why there was none.
#[derive(Default)]
pub struct Required {
    found: BTreeMap<String, Result<Arc<Module>, String>>,
    bytes: usize,
}

impl Required {
    /// Looks for a module as [`find`] does, and notes what came of it; none if that is more than is kept.
    pub fn find(
        &mut self,
        name: &str,
        beside: &Path,
        namespace: &Namespace,
    ) -> Option<Result<Arc<Module>, String>> {
        let found = looked_for(name, beside, namespace);
        self.bytes += found.as_ref().map_or(0, |module| module.source.len());
        self.found.insert(name.to_owned(), found.clone());
        (self.bytes <= MOST_BYTES && self.found.len() <= MOST_NAMES).then_some(found)
    }

    /// Whether the same would come of all of it now: also what was not there is still away.
    pub fn is_current(&self, beside: &Path, namespace: &Namespace) -> bool {
        let mut all = self.found.iter();
        all.all(|(name, found)| looked_for(name, beside, namespace) == *found)
    }

    /// Those that there were.
    pub fn modules(&self) -> Modules {
        let found = self.found.iter().filter_map(|(name, found)| {
            let module = found.as_ref().ok()?;
            Some((name.clone(), module.clone()))
        });
        found.collect()
    }
}

fn looked_for(name: &str, beside: &Path, namespace: &Namespace) -> Result<Arc<Module>, String> {
    match find(name, beside, namespace) {
        Ok(module) => Ok(Arc::new(module)),
        Err(error) => Err(error.to_string()),
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
pub fn find(name: &str, beside: &Path, namespace: &Namespace) -> Result<Module, ModuleError> {
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
                    return Ok(Module {
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

    fn namespace(root: &Path, manifest: &Path) -> Namespace {
        Namespace {
            spec: Default::default(),
            manifest: manifest.join("_index.yaml"),
            hash: String::new(),
            root: root.to_path_buf(),
        }
    }

    #[test]
    fn what_was_required_is_current_until_another_module_would_be_found() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("farm")).unwrap();
        fs::write(at("there.lua"), "1").unwrap();
        fs::write(at("odd.lua"), [255]).unwrap();
        let namespace = namespace(root.path(), &at("farm"));
        let mut required = Required::default();
        for (name, is_found) in [("there", true), ("away", false), ("odd", false)] {
            let found = required.find(name, &at("farm"), &namespace).unwrap();
            assert_eq!(found.is_ok(), is_found, "{name}");
        }
        let is_current = || required.is_current(&at("farm"), &namespace);
        assert!(is_current());
        for (file, text, before) in [
            ("away.lua", "2", None),
            ("odd.lua", "3", Some(&[255][..])),
            ("there.lua", "4", Some(b"1")),
            // It is nearer than the one that was found.
            ("farm/there.lua", "1", None),
        ] {
            fs::write(at(file), text).unwrap();
            assert!(!is_current(), "{file}");
            match before {
                Some(bytes) => fs::write(at(file), bytes).unwrap(),
                None => fs::remove_file(at(file)).unwrap(),
            }
            assert!(is_current(), "{file}");
        }
        let modules = required.modules();
        assert_eq!(modules.get("there").unwrap().source, "1");
        assert!(modules.get("away").is_none() && modules.get("odd").is_none());
    }

    #[test]
    fn there_are_bounds_on_what_is_noted_of_one_handler() {
        let root = tempfile::tempdir().unwrap();
        let namespace = namespace(root.path(), root.path());
        let mut required = Required::default();
        let mut find = |name: &str| required.find(name, root.path(), &namespace).is_some();
        assert!((0..MOST_NAMES).all(|number| find(&format!("none{number}"))));
        // Once more is no more.
        assert!(find("none1"));
        assert!(!find("one-more"));
        fs::write(root.path().join("large.lua"), "x".repeat(1024 * 1024)).unwrap();
        let mut required = Required::default();
        let found = |_| required.find("large", root.path(), &namespace).is_some();
        assert_eq!((0..20).map(found).filter(|found| *found).count(), 16);
    }

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
        let namespace = namespace(root.path(), &folder);
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
