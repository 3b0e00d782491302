//! The Lua of our own tools, `lua/tools/`: it is embedded whole, so that a set, a handler or a module that handlers share is
//! added by its files alone.
//!
//! Each folder with a manifest is a set of tools, prompts and resources. What one handler is made of stands in a folder of
//! its name beside it, what several sets share in `shared/`: they `require` it, and the bridge sends it along
//! ([`modules`]).

use std::{collections::HashMap, path::Path, sync::LazyLock};

use include_dir::{Dir, File, include_dir};
use thiserror::Error;

use super::modules::{self, Module, TooMuch, Wanted};

/// All of it.
pub static TOOLS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/lua/tools");

/// What the names of the game's own modules begin with.
pub const OF_THE_GAME: &str = "cc.";

/// Why there is no handler.
#[derive(Debug, Error)]
pub enum HandlerError {
    /// Of the handler, or of a module that was found.
    #[error("{0} is not there, or is no UTF-8 text")]
    NoFile(String),
    /// A module that is required.
    #[error("{by}:{line}: there is no module '{name}': there is no {}", .looked.join(", nor "))]
    NoModule {
        /// The file that requires it.
        by: String,
        /// Its line.
        line: usize,
        /// Its name.
        name: String,
        /// The files that it could be.
        looked: [String; 2],
    },
    /// It requires too much.
    #[error("{0}")]
    TooMuch(#[from] TooMuch),
}

static OWN: LazyLock<Files<'static>> = LazyLock::new(|| Files::of(&TOOLS));

/// A handler, by its path among these files, as it is sent: with the modules that it requires.
///
/// # Errors
/// It is not there, or something that it requires.
pub fn handler(file: &str) -> Result<String, HandlerError> {
    OWN.handler(file)
}

/// The text of a file, by its path among these.
///
/// # Errors
/// It is not there, or no text.
pub fn text(file: &str) -> Result<&'static str, HandlerError> {
    OWN.text(file)
}

/// Files that are embedded like these, by their paths: the crate's own search goes through whole folders for each.
pub struct Files<'a>(HashMap<&'a Path, &'a File<'a>>);

impl<'a> Files<'a> {
    /// Those of a folder and the folders in it.
    pub fn of(folder: &'a Dir<'a>) -> Self {
        fn add<'a>(folder: &'a Dir<'a>, files: &mut HashMap<&'a Path, &'a File<'a>>) {
            files.extend(folder.files().map(|file| (file.path(), file)));
            for folder in folder.dirs() {
                add(folder, files);
            }
        }
        let mut files = HashMap::new();
        add(folder, &mut files);
        Self(files)
    }

    /// As [`text()`].
    ///
    /// # Errors
    /// Likewise.
    pub fn text(&self, file: &str) -> Result<&'a str, HandlerError> {
        let found = self.0.get(Path::new(file));
        let text = found.and_then(|file| file.contents_utf8());
        text.ok_or_else(|| HandlerError::NoFile(file.to_owned()))
    }

    /// As [`handler()`].
    ///
    /// # Errors
    /// Likewise.
    pub fn handler(&self, file: &str) -> Result<String, HandlerError> {
        let source = self.text(file)?;
        let beside = file.rsplit_once('/').map_or("", |(folder, _)| folder);
        let find = |wanted: Wanted<'_>| {
            let path = format!("{}.lua", wanted.name.replace('.', "/"));
            let looked = [format!("{beside}/{path}"), path];
            let is_there = |path: &&String| self.0.contains_key(Path::new(path));
            let Some(chunk) = looked.iter().find(is_there) else {
                return match wanted.name.starts_with(OF_THE_GAME) {
                    true => Ok(None),
                    false => Err(HandlerError::NoModule {
                        by: wanted.by.unwrap_or(file).to_owned(),
                        line: wanted.line,
                        name: wanted.name.to_owned(),
                        looked,
                    }),
                };
            };
            Ok(Some(Module {
                chunk: chunk.clone(),
                source: self.text(chunk)?.to_owned(),
            }))
        };
        let bundle = modules::bundle(source, find)?;
        Ok(bundle.unwrap_or_else(|| source.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use include_dir::DirEntry;

    use super::*;

    const FILES: &[DirEntry<'static>] = &[
        DirEntry::Dir(Dir::new(
            "set",
            &[
                DirEntry::File(File::new(
                    "set/good.lua",
                    b"local words = require('shared.words')\nlocal own = require('good.own')\nreturn words .. own",
                )),
                DirEntry::File(File::new(
                    "set/bad.lua",
                    b"\nlocal words = require('shared.wrods')",
                )),
                DirEntry::File(File::new("set/worse.lua", b"return require('good.bad')")),
                DirEntry::File(File::new("set/game.lua", b"return require('cc.expect')")),
                DirEntry::Dir(Dir::new(
                    "set/good",
                    &[
                        DirEntry::File(File::new("set/good/own.lua", b"return ' and its own'")),
                        DirEntry::File(File::new("set/good/bad.lua", b"\n\nrequire('gone')")),
                    ],
                )),
            ],
        )),
        DirEntry::Dir(Dir::new(
            "shared",
            &[DirEntry::File(File::new(
                "shared/words.lua",
                b"return 'what is shared'",
            ))],
        )),
    ];

    #[test]
    fn a_handler_is_sent_with_what_it_requires_from_its_set_and_from_what_is_shared() {
        let tools = Dir::new("", FILES);
        let tools = Files::of(&tools);
        let good = tools.handler("set/good.lua").unwrap();
        let lua = mlua::Lua::new();
        let whole: String = lua.load(&good).eval().unwrap();
        assert_eq!(whole, "what is shared and its own");
        assert!(good.contains("\"set/good/own.lua\"") && good.contains("\"shared/words.lua\""));
        assert_eq!(
            tools.handler("set/game.lua").unwrap(),
            "return require('cc.expect')"
        );
        for (file, told) in [
            (
                "set/bad.lua",
                "set/bad.lua:2: there is no module 'shared.wrods': there is no set/shared/wrods.lua, nor shared/wrods.lua",
            ),
            (
                "set/worse.lua",
                "set/good/bad.lua:3: there is no module 'gone': there is no set/gone.lua, nor gone.lua",
            ),
            (
                "set/none.lua",
                "set/none.lua is not there, or is no UTF-8 text",
            ),
        ] {
            assert_eq!(tools.handler(file).unwrap_err().to_string(), told);
        }
    }

    #[test]
    fn what_handlers_share_is_needed_by_some_handler() {
        fn files<'a>(folder: &'a Dir<'a>, found: &mut Vec<&'a File<'a>>) {
            found.extend(folder.files());
            for folder in folder.dirs() {
                files(folder, found);
            }
        }
        let mut all = Vec::new();
        files(&TOOLS, &mut all);
        let path = |file: &File<'_>| file.path().to_string_lossy().replace('\\', "/");
        let is_lua = |file: &&&File<'_>| file.path().extension().is_some_and(|end| end == "lua");
        let handlers: Vec<_> = all
            .iter()
            .filter(is_lua)
            .filter(|file| {
                let folder = file.path().parent().unwrap();
                TOOLS.get_file(folder.join("_index.yaml")).is_some()
            })
            .map(|file| handler(&path(file)).unwrap())
            .collect();
        for file in all.iter().filter(is_lua) {
            let folder = file.path().parent().unwrap();
            let name = format!("{{\"{}\",", path(file));
            let is_handler = TOOLS.get_file(folder.join("_index.yaml")).is_some();
            assert!(
                is_handler || handlers.iter().any(|handler| handler.contains(&name)),
                "no handler requires lua/tools/{}",
                path(file)
            );
        }
    }
}
