//! What Lua sees of the machine: functions written in Rust, put into the game's APIs by the rom.
//!
//! An error of theirs carries the caller's position, as the game's do. It is a userdata while it is under way;
//! `pcall` and its like, which `rom/native.lua` wraps, give programs its text.

pub(super) mod convert;
mod filesystem;
mod host;
mod http;
mod land;
mod language;
mod pack;
mod random;
mod section;
mod stack;
mod system;
mod terminal;

use std::rc::Rc;

use mlua::{Lua, Table};

use section::Section;

pub(super) use host::{Host, Power};
pub(super) use language::describe;

/// Builds the table of all native functions.
pub(super) fn build(lua: &Lua, host: &Rc<Host>) -> mlua::Result<Table> {
    let natives = lua.create_table()?;
    language::add(&Section::new(lua, &natives, "language")?)?;
    pack::add(&Section::new(lua, &natives, "pack")?)?;
    random::add(&Section::new(lua, &natives, "random")?)?;
    system::add(&Section::new(lua, &natives, "os")?, host)?;
    terminal::add(&Section::new(lua, &natives, "term")?, host)?;
    filesystem::add(&Section::new(lua, &natives, "fs")?, host)?;
    http::add(&Section::new(lua, &natives, "http")?, host)?;
    land::add(&Section::new(lua, &natives, "land")?, host)?;
    Ok(natives)
}
