//! What a state has that is not in Lua: what it prints, logs, reads of JSON and of the clock, and how it asks the bridge.

use std::{
    cell::Cell,
    rc::Rc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use mlua::{Function, Lua, Table, Value as LuaValue};
use serde_json::{Value, value::RawValue};

use super::{
    bounds::{ERROR, KEPT_OUTPUT, cut},
    fallible::outcome,
    lua_json, ours,
    protocol::Answer,
    regular,
};
use crate::{base::byte_text, tools::Level};

const COMPUTERS: &str = include_str!("../../../lua/host/computers.lua");
const TOOLS: &str = include_str!("../../../lua/host/tools.lua");
const REGEX: &str = include_str!("../../../lua/host/regex.lua");
const NAMESPACE: &str = include_str!("../../../lua/host/namespace.lua");

/// How long a question to the bridge may be, in bytes of JSON.
const QUESTION: usize = 4 * 1024 * 1024;

/// How much JSON a handler reads or writes at once, in bytes: what it takes meanwhile is not counted as Lua's memory.
const JSON: usize = 16 * 1024 * 1024;

/// How long a handler sleeps at most, in seconds: longer than any call may take.
const LONGEST_SLEEP: f64 = 3600.0;

/// How a state reaches the bridge.
pub trait Outside {
    /// Asks, and waits for the answer. The question is JSON text.
    fn ask(&self, question: Box<RawValue>) -> Answer;

    /// Hands over a line for the log.
    fn log(&self, level: Level, text: String);

    /// Hands over what was printed, and whether more of it is not kept.
    fn printed(&self, text: String, is_cut: bool);

    /// Tells how far the call has come.
    fn progress(&self, message: String, done: Option<f64>, total: Option<f64>);
}

/// What the environment is built of beside Lua's own functions.
pub fn natives(
    lua: &Lua,
    outside: &Rc<dyn Outside>,
    printed: &Rc<Cell<usize>>,
) -> mlua::Result<Table> {
    let native = lua.create_table()?;
    let (printer, printed) = (outside.clone(), printed.clone());
    native.raw_set(
        "print",
        lua.create_function(move |_, text: mlua::LuaString| {
            let (bytes, before) = (text.as_bytes(), printed.get());
            let room = KEPT_OUTPUT.saturating_sub(before);
            let told = room.min(bytes.len());
            printed.set(before + bytes.len());
            // At once: the handler may be ended at any moment. The first bytes that are too many are told of.
            if told > 0 || before == KEPT_OUTPUT && !bytes.is_empty() {
                let text = byte_text::of(&bytes[..told]).into_owned();
                printer.printed(text, told < bytes.len());
            }
            Ok(())
        })?,
    )?;
    let logger = outside.clone();
    native.raw_set(
        "log",
        lua.create_function(move |_, (level, text): (String, mlua::LuaString)| {
            let level = match level.as_str() {
                "debug" => Level::Debug,
                "warning" => Level::Warning,
                "error" => Level::Error,
                _ => Level::Info,
            };
            logger.log(level, cut(&byte_text::of(&text.as_bytes()), ERROR));
            Ok(())
        })?,
    )?;
    let teller = outside.clone();
    native.raw_set(
        "progress",
        lua.create_function(
            move |_, (message, done, total): (mlua::LuaString, Option<f64>, Option<f64>)| {
                let message = cut(&byte_text::of(&message.as_bytes()), ERROR);
                teller.progress(message, done, total);
                Ok(())
            },
        )?,
    )?;
    native.raw_set(
        "sleep",
        lua.create_function(|_, seconds: f64| {
            // Whoever waits for the call ends this process at its deadline.
            std::thread::sleep(Duration::from_secs_f64(seconds.min(LONGEST_SLEEP)));
            Ok(())
        })?,
    )?;
    native.raw_set(
        "epoch",
        lua.create_function(|_, ()| {
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default();
            // Lua's numbers hold milliseconds exactly.
            Ok(now.as_millis() as f64)
        })?,
    )?;
    let mut seed = [0; 4];
    // Without one, numbers that seem random are the same in each call, which is better than no call.
    let _ = getrandom::fill(&mut seed);
    native.raw_set("seed", u32::from_le_bytes(seed))?;
    native.raw_set("null", lua_json::null(lua)?)?;
    let array = lua.create_function(|lua, table: Option<Table>| {
        let table = match table {
            Some(table) => table,
            None => lua.create_table()?,
        };
        lua_json::mark_array(lua, &table)?;
        Ok(table)
    })?;
    native.raw_set("json_array", &array)?;
    native.raw_set(
        "json_encode",
        lua.create_function(|lua, value: LuaValue| {
            let json = match lua_json::to_json(lua, &value, JSON) {
                Ok(json) => Ok(LuaValue::String(
                    lua.create_string(byte_text::to_bytes(&json))?,
                )),
                Err(problem) => Err(problem.to_string()),
            };
            outcome(lua, json)
        })?,
    )?;
    native.raw_set(
        "json_decode",
        lua.create_function(|lua, text: mlua::LuaString| {
            if text.as_bytes().len() > JSON {
                return outcome(lua, Err(format!("it takes at most {JSON} bytes")));
            }
            let value = match serde_json::from_str::<Value>(&byte_text::of(&text.as_bytes())) {
                Ok(value) => Ok(lua_json::to_lua(lua, &value)?),
                Err(error) => Err(format!("no valid JSON: {error}")),
            };
            outcome(lua, value)
        })?,
    )?;
    let asker = outside.clone();
    let ask = lua.create_function(move |lua, question: LuaValue| {
        let json = match lua_json::to_json(lua, &question, QUESTION) {
            Ok(json) => json,
            Err(problem) => return outcome(lua, Err(problem.to_string())),
        };
        let question = RawValue::from_string(json).map_err(mlua::Error::external)?;
        let answer = match asker.ask(question) {
            Answer::Value(value) => Ok(lua_json::to_lua(lua, &value)?),
            Answer::Error(problem) => Err(problem),
        };
        outcome(lua, answer)
    })?;
    let null = lua_json::null(lua)?;
    let computers: Table = ours::load(lua, "computers", COMPUTERS)?.call((
        ask.clone(),
        null.clone(),
        array.clone(),
    ))?;
    native.raw_set("computers", computers)?;
    let tools: Table = ours::load(lua, "tools", TOOLS)?.call((ask.clone(), null.clone()))?;
    native.raw_set("tools", tools)?;
    let regex: Table = ours::load(lua, "regex", REGEX)?.call(regular::natives(lua)?)?;
    native.raw_set("regex", regex)?;
    let encode: Function = native.raw_get("json_encode")?;
    let (namespace, find): (Table, Function) =
        ours::load(lua, "namespace", NAMESPACE)?.call((ask, null, encode))?;
    native.raw_set("namespace", namespace)?;
    native.raw_set("module", find)?;
    Ok(native)
}
