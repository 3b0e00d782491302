//! How Lua gets what of ours can fail.

use mlua::{Lua, Value as LuaValue};

use crate::base::byte_text;

/// What of ours can fail, as Lua gets it: true and a value, or false and why. An error of mlua's would be no string for
/// `pcall`, and not know the line that called; the Lua that is built on it throws.
pub fn outcome(lua: &Lua, result: Result<LuaValue, String>) -> mlua::Result<(bool, LuaValue)> {
    Ok(match result {
        Ok(value) => (true, value),
        Err(problem) => {
            let problem = lua.create_string(byte_text::to_bytes(&problem))?;
            (false, LuaValue::String(problem))
        }
    })
}
