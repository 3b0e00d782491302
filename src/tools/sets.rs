//! The files of `lua/tools/`, of which each folder is a set of the product's own tools, prompts and resources.

use include_dir::{Dir, include_dir};

/// All sets. The folder is embedded whole, so that a set, or a handler in Lua, is added by its files alone.
pub static SETS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/lua/tools");

/// The text of a file of a set, by its path among them, with `/` between its parts. One that is not there is empty: what
/// asks for a file names it itself, and is tested.
pub fn file(path: &str) -> &'static str {
    let file = SETS.get_file(path).and_then(|file| file.contents_utf8());
    file.unwrap_or_default()
}
