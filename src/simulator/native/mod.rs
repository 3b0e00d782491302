//! What Lua sees of the machine: functions written in Rust, put into the game's APIs by the rom.
//!
//! An error of theirs carries the caller's position, as the game's do. It is a userdata while it is under way;
//! `pcall` and its like, which `rom/native.lua` wraps, give programs its text.

pub(super) mod convert;
mod filesystem;
mod http;
mod language;
mod pack;
mod random;
mod system;
mod terminal;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mlua::{IntoLua, IntoLuaMulti, Lua, LuaString, MultiValue, Table, Value};

use super::events::Events;
use super::http::Requests;
use super::options::ComputerOptions;
use super::shared::Shared;
use super::websocket::Slots;

pub(super) use language::describe;

/// What a running program asked of the machine's power switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Power {
    Off,
    Reboot,
}

/// What the native functions of one run of a computer work on.
pub(super) struct Host {
    pub(super) options: Arc<ComputerOptions>,
    pub(super) shared: Arc<Shared>,
    pub(super) events: Arc<Events>,
    pub(super) runtime: tokio::runtime::Handle,
    pub(super) slots: Slots,
    pub(super) requests: Requests,
    /// Set by `os.shutdown` and `os.reboot`; obeyed at the next yield.
    pub(super) power: Cell<Option<Power>>,
    /// The command line the shell runs after the start-up files.
    pub(super) program: String,
}

/// Why a native function did not succeed.
pub(super) enum Problem {
    /// Becomes an error with the caller's position.
    Thrown(String),
    /// Something that Lua itself reported.
    Lua(mlua::Error),
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        Problem::Thrown(message)
    }
}

impl From<&str> for Problem {
    fn from(message: &str) -> Self {
        Problem::Thrown(message.to_owned())
    }
}

impl From<mlua::Error> for Problem {
    fn from(error: mlua::Error) -> Self {
        Problem::Lua(error)
    }
}

/// A poisoned lock's data is still whole: every change is made in one step.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Builds the table of all native functions.
pub(super) fn build(lua: &Lua, host: &Rc<Host>) -> mlua::Result<Table> {
    let natives = lua.create_table()?;
    language::add(&section(lua, &natives, "language")?)?;
    pack::add(&section(lua, &natives, "pack")?)?;
    random::add(&section(lua, &natives, "random")?)?;
    system::add(&section(lua, &natives, "os")?, host)?;
    terminal::add(&section(lua, &natives, "term")?, host)?;
    filesystem::add(&section(lua, &natives, "fs")?, host)?;
    http::add(&section(lua, &natives, "http")?, host)?;
    Ok(natives)
}

fn section<'lua>(lua: &'lua Lua, natives: &Table, name: &str) -> mlua::Result<Section<'lua>> {
    let table = lua.create_table()?;
    natives.set(name, &table)?;
    Ok(Section { lua, table })
}

/// The native functions of one API.
struct Section<'lua> {
    lua: &'lua Lua,
    table: Table,
}

impl Section<'_> {
    fn add<R, F>(&self, name: &str, function: F) -> mlua::Result<()>
    where
        R: IntoLuaMulti,
        F: Fn(&Lua, Args) -> Result<R, Problem> + 'static,
    {
        let native = self.lua.create_function(move |lua, values: MultiValue| {
            function(lua, Args(values)).map_err(|problem| match problem {
                Problem::Thrown(message) => mlua::Error::runtime(language::place(lua) + &message),
                Problem::Lua(error) => error,
            })
        })?;
        self.table.set(name, native)
    }

    fn set(&self, name: &str, value: impl IntoLua) -> mlua::Result<()> {
        self.table.set(name, value)
    }
}

/// The arguments of a call, checked as the game checks them.
struct Args(MultiValue);

impl Args {
    /// The n-th argument, from 1.
    fn get(&self, n: usize) -> &Value {
        const NIL: &Value = &Value::Nil;
        self.0.get(n - 1).unwrap_or(NIL)
    }

    fn wrong(&self, n: usize, expected: &str) -> Problem {
        let got = match self.get(n) {
            Value::Integer(_) => "number",
            other => other.type_name(),
        };
        Problem::Thrown(format!(
            "bad argument #{n} ({expected} expected, got {got})"
        ))
    }

    fn is_nil(&self, n: usize) -> bool {
        self.get(n).is_nil()
    }

    fn string(&self, n: usize) -> Result<LuaString, Problem> {
        match self.get(n) {
            Value::String(text) => Ok(text.clone()),
            _ => Err(self.wrong(n, "string")),
        }
    }

    fn bytes(&self, n: usize) -> Result<Vec<u8>, Problem> {
        Ok(self.string(n)?.as_bytes().to_vec())
    }

    /// A string of text that the simulator itself reads, such as a path or a URL.
    fn text(&self, n: usize) -> Result<String, Problem> {
        Ok(self.string(n)?.to_string_lossy())
    }

    fn number(&self, n: usize) -> Result<f64, Problem> {
        match self.get(n) {
            Value::Number(number) => Ok(*number),
            Value::Integer(number) => Ok(*number as f64),
            _ => Err(self.wrong(n, "number")),
        }
    }

    fn finite(&self, n: usize) -> Result<f64, Problem> {
        let number = self.number(n)?;
        if number.is_finite() {
            return Ok(number);
        }
        let got = if number.is_nan() {
            "nan"
        } else if number > 0.0 {
            "inf"
        } else {
            "-inf"
        };
        Err(Problem::Thrown(format!(
            "bad argument #{n} (number expected, got {got})"
        )))
    }

    /// A number with its fraction cut off.
    fn integer(&self, n: usize) -> Result<i64, Problem> {
        Ok(self.finite(n)? as i64)
    }

    fn boolean(&self, n: usize) -> Result<bool, Problem> {
        match self.get(n) {
            Value::Boolean(value) => Ok(*value),
            _ => Err(self.wrong(n, "boolean")),
        }
    }

    /// Whether it is neither nil nor false.
    fn truthy(&self, n: usize) -> bool {
        !matches!(self.get(n), Value::Nil | Value::Boolean(false))
    }

    /// A table of strings, such as headers; other values in it don't count.
    fn headers(&self, n: usize) -> Result<Vec<(String, String)>, Problem> {
        let table = match self.get(n) {
            Value::Nil => return Ok(Vec::new()),
            Value::Table(table) => table,
            _ => return Err(self.wrong(n, "table")),
        };
        let mut headers = Vec::new();
        for pair in table.pairs::<Value, Value>() {
            if let (Value::String(name), Value::String(value)) = pair? {
                headers.push((name.to_string_lossy(), value.to_string_lossy()));
            }
        }
        Ok(headers)
    }
}
