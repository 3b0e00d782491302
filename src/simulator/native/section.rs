//! One API's native functions, their arguments, and their errors, which carry the caller's position as the game's do.

use mlua::{IntoLua, IntoLuaMulti, Lua, LuaString, MultiValue, Table, Value};

use super::stack::place;

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

/// The native functions of one API.
pub(super) struct Section<'lua> {
    pub(super) lua: &'lua Lua,
    table: Table,
}

impl<'lua> Section<'lua> {
    /// An API without functions yet, put among the others under its name.
    pub(super) fn new(lua: &'lua Lua, natives: &Table, name: &str) -> mlua::Result<Self> {
        let table = lua.create_table()?;
        natives.set(name, &table)?;
        Ok(Section { lua, table })
    }

    pub(super) fn add<R, F>(&self, name: &str, function: F) -> mlua::Result<()>
    where
        R: IntoLuaMulti,
        F: Fn(&Lua, Args) -> Result<R, Problem> + 'static,
    {
        let native = self.lua.create_function(move |lua, values: MultiValue| {
            function(lua, Args(values)).map_err(|problem| match problem {
                Problem::Thrown(message) => mlua::Error::runtime(place(lua) + &message),
                Problem::Lua(error) => error,
            })
        })?;
        self.table.set(name, native)
    }

    pub(super) fn set(&self, name: &str, value: impl IntoLua) -> mlua::Result<()> {
        self.table.set(name, value)
    }
}

/// The arguments of a call, checked as the game checks them.
pub(super) struct Args(pub(super) MultiValue);

impl Args {
    /// The n-th argument, from 1.
    pub(super) fn get(&self, n: usize) -> &Value {
        const NIL: &Value = &Value::Nil;
        self.0.get(n - 1).unwrap_or(NIL)
    }

    pub(super) fn wrong(&self, n: usize, expected: &str) -> Problem {
        let got = match self.get(n) {
            Value::Integer(_) => "number",
            other => other.type_name(),
        };
        Problem::Thrown(format!(
            "bad argument #{n} ({expected} expected, got {got})"
        ))
    }

    pub(super) fn is_nil(&self, n: usize) -> bool {
        self.get(n).is_nil()
    }

    pub(super) fn string(&self, n: usize) -> Result<LuaString, Problem> {
        match self.get(n) {
            Value::String(text) => Ok(text.clone()),
            _ => Err(self.wrong(n, "string")),
        }
    }

    pub(super) fn bytes(&self, n: usize) -> Result<Vec<u8>, Problem> {
        Ok(self.string(n)?.as_bytes().to_vec())
    }

    /// A string of text that the simulator itself reads, such as a path or a URL.
    pub(super) fn text(&self, n: usize) -> Result<String, Problem> {
        Ok(self.string(n)?.to_string_lossy())
    }

    pub(super) fn number(&self, n: usize) -> Result<f64, Problem> {
        match self.get(n) {
            Value::Number(number) => Ok(*number),
            Value::Integer(number) => Ok(*number as f64),
            _ => Err(self.wrong(n, "number")),
        }
    }

    pub(super) fn finite(&self, n: usize) -> Result<f64, Problem> {
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
    pub(super) fn integer(&self, n: usize) -> Result<i64, Problem> {
        Ok(self.finite(n)? as i64)
    }

    pub(super) fn boolean(&self, n: usize) -> Result<bool, Problem> {
        match self.get(n) {
            Value::Boolean(value) => Ok(*value),
            _ => Err(self.wrong(n, "boolean")),
        }
    }

    /// Whether it is neither nil nor false.
    pub(super) fn truthy(&self, n: usize) -> bool {
        !matches!(self.get(n), Value::Nil | Value::Boolean(false))
    }

    /// A table of strings, such as headers; other values in it don't count.
    pub(super) fn headers(&self, n: usize) -> Result<Vec<(String, String)>, Problem> {
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
