//! The Lua of a user's handler for computers: it can't ask for the modules that it requires when it runs there, so they are
//! sent with it.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use mlua::{Lua, LuaOptions, StdLib, chunk::ChunkMode};

use super::{
    manifest::{Namespace, Problem},
    namespace::{ModuleError, module as find_module},
};
use crate::base::{
    files::FileError,
    lua::{
        modules::{Module, TooMuch, Wanted, bundle},
        own::OF_THE_GAME,
    },
};

/// Why a handler has no whole text with its modules: where, the handler's own file if that is empty, and what is wrong.
struct Unbundled(PathBuf, Option<usize>, String);

impl From<TooMuch> for Unbundled {
    fn from(problem: TooMuch) -> Self {
        Self(PathBuf::new(), None, problem.to_string())
    }
}

/// A handler's text with the modules that it requires.
pub struct Bundled {
    /// All of it.
    pub text: String,
    /// The modules' names.
    pub modules: BTreeSet<String>,
}

/// A handler's text with the modules that it requires; none if one of them may be half written. `read` gives a file's text,
/// none of one that may be. What is not there, and may be on computers, is among the doubts; what its last version had
/// of a user's is not looked for there.
///
/// # Errors
/// What is wrong with a module, or that there are too many.
pub fn bundled(
    text: &str,
    file: &Path,
    namespace: &Namespace,
    last: &BTreeSet<String>,
    mut read: impl FnMut(&Path) -> Result<Option<String>, FileError>,
    doubts: &mut Vec<Problem>,
) -> Result<Option<Bundled>, Problem> {
    let mut modules = BTreeSet::new();
    let beside = file.parent().unwrap_or(Path::new(""));
    let mut is_whole = true;
    let find = |wanted: Wanted<'_>| {
        // Who requires it.
        let by = wanted.by.map(|chunk| namespace.root.join(chunk));
        let by = by.as_deref().unwrap_or(file);
        let found = match find_module(wanted.name, beside, namespace) {
            Ok(found) => found,
            Err(error) if error.is_elsewhere() && !last.contains(wanted.name) => {
                doubts.extend(doubt(by, &wanted, &error));
                return Ok(None);
            }
            Err(error) => {
                let line = Some(wanted.line);
                let reason = match error.is_elsewhere() {
                    true => format!(
                        "{error}, where there was one: what was made with it goes on; if the computer's own is meant \
                         now, write _G.require"
                    ),
                    false => error.to_string(),
                };
                return Err(Unbundled(by.to_path_buf(), line, reason));
            }
        };
        let failed = |line, reason| Unbundled(found.file.clone(), line, reason);
        let source = match read(&found.file) {
            Ok(Some(source)) => source,
            Ok(None) => {
                is_whole = false;
                return Ok(None);
            }
            Err(error) => return Err(failed(None, error.to_string())),
        };
        check_lua(&source, &found.chunk).map_err(|(line, reason)| failed(line, reason))?;
        modules.insert(wanted.name.to_owned());
        Ok(Some(Module {
            chunk: found.chunk,
            source,
        }))
    };
    let whole = bundle(text, find).map_err(|Unbundled(place, line, reason)| {
        let is_own = place.as_os_str().is_empty();
        problem(if is_own { file } else { &place }, line, reason)
    })?;
    Ok(is_whole.then(|| Bundled {
        text: whole.unwrap_or_else(|| text.to_owned()),
        modules,
    }))
}

/// What is told of a module that is not in the folder of tools; nothing of the game's own.
fn doubt(by: &Path, wanted: &Wanted<'_>, error: &ModuleError) -> Option<Problem> {
    (!wanted.name.starts_with(OF_THE_GAME)).then(|| {
        let reason = format!(
            "{error}. So the computer's own `require` is asked for it when the handler runs there; if that is meant, \
             write _G.require"
        );
        problem(by, Some(wanted.line), reason)
    })
}

/// Something that is wrong with a file.
pub fn problem(file: &Path, line: Option<usize>, reason: String) -> Problem {
    Problem {
        file: file.to_path_buf(),
        line,
        reason,
    }
}

/// Whether a text is Lua; if not, where and why.
pub fn check_lua(text: &str, name: &str) -> Result<(), (Option<usize>, String)> {
    if text.trim().is_empty() {
        return Err((None, "is empty; a handler returns a table".to_owned()));
    }
    let failed = |error: mlua::Error| (None, error.to_string());
    let lua = Lua::new_with(StdLib::NONE, LuaOptions::new()).map_err(failed)?;
    match lua
        .load(text)
        .set_name("=lua")
        .set_mode(ChunkMode::Text)
        .into_function()
    {
        Ok(_) => Ok(()),
        Err(mlua::Error::SyntaxError { message, .. }) => {
            let rest = message.strip_prefix("lua:").unwrap_or(&message);
            match rest.split_once(": ") {
                Some((line, reason)) => Err((line.parse().ok(), reason.to_owned())),
                None => Err((None, message)),
            }
        }
        Err(error) => Err((None, format!("{name}: {error}"))),
    }
}
