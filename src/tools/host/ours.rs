//! The Lua that every state begins with. To read it takes most of the time that a state takes to be made, so each file is
//! compiled once for a process.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use mlua::{Function, Lua, chunk::ChunkMode};

/// What was compiled, by its name.
static COMPILED: Mutex<BTreeMap<&str, Arc<[u8]>>> = Mutex::new(BTreeMap::new());

/// A file of ours as a function; `name` is what it is called in errors.
pub fn load(lua: &Lua, name: &'static str, source: &'static str) -> mlua::Result<Function> {
    let compiled = || COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let chunk_name = format!("={name}");
    let known = compiled().get(name).cloned();
    if let Some(code) = known {
        let chunk = lua.load(&*code).set_name(chunk_name);
        return chunk.set_mode(ChunkMode::Binary).into_function();
    }
    let function = lua.load(source).set_name(chunk_name).into_function()?;
    compiled().insert(name, function.dump(false).into());
    Ok(function)
}
