//! The Lua state of one call: nothing of the world but what the bridge hands in.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use mlua::{
    Function, Lua, LuaOptions, MultiValue, StdLib, Table, Value as LuaValue, chunk::ChunkMode,
};
use serde_json::Value;
use thiserror::Error;

use super::{
    bounds::{ERROR, KEPT_OUTPUT, cut},
    lua_json,
    natives::{Outside, natives},
    ours,
    protocol::{Done, End, Order},
};
use crate::base::byte_text;

const ENVIRONMENT: &str = include_str!("../../../lua/host/environment.lua");

/// Why a call has no values.
#[derive(Debug, Error)]
enum SandboxError {
    /// What Lua, or the handler, says of it, with where that was.
    #[error("{0}")]
    Lua(String),
    #[error("{chunk}: the table it returns has no function `{method}`{found}{others}")]
    NoFunction {
        chunk: String,
        method: String,
        /// What it has in its place, in words.
        found: String,
        /// Which functions it has, in words.
        others: String,
    },
    #[error("{chunk}: it must return a table with the function `{method}`, not a {found}")]
    NoTable {
        chunk: String,
        method: String,
        found: &'static str,
    },
    #[error("The result can't be returned: {0}.")]
    Result(#[from] lua_json::NoJson),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl SandboxError {
    fn of(error: &mlua::Error) -> Self {
        Self::Lua(describe(error))
    }
}

/// A state that waits for its call.
pub struct Sandbox {
    lua: Lua,
    environment: Table,
    /// Gives the environment what handlers of a manifest have.
    at_home: Function,
    /// Lua's own, which a handler may have replaced in its environment.
    xpcall: Function,
    printed: Rc<Cell<usize>>,
}

impl Sandbox {
    /// A fresh state.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn new(outside: Rc<dyn Outside>) -> mlua::Result<Self> {
        let libraries = StdLib::COROUTINE
            | StdLib::TABLE
            | StdLib::OS
            | StdLib::STRING
            | StdLib::BIT
            | StdLib::MATH;
        // Panics of ours are to end the worker, not to be caught by a handler.
        let lua = Lua::new_with(libraries, LuaOptions::new().catch_rust_panics(false))?;
        lua_json::install(&lua)?;
        let printed = Rc::<Cell<usize>>::default();
        let native = natives(&lua, &outside, &printed)?;
        let (environment, at_home): (Table, Function) =
            ours::load(&lua, "environment", ENVIRONMENT)?.call(native)?;
        let xpcall = environment.raw_get("xpcall")?;
        lua.set_globals(environment.clone())?;
        Ok(Self {
            lua,
            environment,
            at_home,
            xpcall,
            printed,
        })
    }

    /// Runs a call to its end. Dropping the state afterwards runs the finalizers of what it made.
    pub fn run(&self, order: &Order) -> Done {
        self.bounded(order, || self.call(order))
    }

    /// Loads what is to be called, and does not call it.
    pub fn load(&self, order: &Order) -> Done {
        self.bounded(order, || {
            self.function(order).map(|_| End::Values(Vec::new()))
        })
    }

    fn bounded(&self, order: &Order, work: impl FnOnce() -> Result<End, SandboxError>) -> Done {
        let end = match self.lua.set_memory_limit(order.memory) {
            Ok(_) => work().unwrap_or_else(|error| End::Failed(error.to_string())),
            Err(error) => End::Failed(error.to_string()),
        };
        Done {
            untold: self.printed.get().saturating_sub(KEPT_OUTPUT),
            end,
        }
    }

    fn call(&self, order: &Order) -> Result<End, SandboxError> {
        let function = self.function(order)?;
        let arguments = match (&order.method, &order.arguments) {
            (None, Value::Array(items)) => items
                .iter()
                .map(|item| lua_json::to_lua(&self.lua, item))
                .collect::<mlua::Result<MultiValue>>(),
            (_, arguments) => lua_json::to_lua(&self.lua, arguments)
                .map(|arguments| MultiValue::from_vec(vec![arguments])),
        }
        .map_err(|error| SandboxError::of(&error))?;
        let returned = self.protected(function, arguments, &order.chunk)?;
        let mut left = order.output;
        let mut values = Vec::new();
        for value in &returned {
            let value = match value {
                // As Lua shows it: it is no JSON, but may be all there is.
                LuaValue::Function(_) | LuaValue::Thread(_) if returned.len() == 1 => {
                    Value::String(format!("{}: {:p}", value.type_name(), value.to_pointer()))
                }
                value => {
                    let json = lua_json::to_json(&self.lua, value, left)?;
                    left = left.saturating_sub(json.len());
                    serde_json::from_str(&json)?
                }
            };
            values.push(value);
        }
        Ok(End::Values(values))
    }

    /// What is to be called.
    fn function(&self, order: &Order) -> Result<Function, SandboxError> {
        if order.is_handler {
            self.at_home
                .call::<()>(())
                .map_err(|error| SandboxError::of(&error))?;
        }
        let load = |source: &[u8]| {
            let chunk = self.lua.load(source).set_name(format!("={}", order.chunk));
            let chunk = chunk.set_mode(ChunkMode::Text);
            chunk
                .set_environment(self.environment.clone())
                .into_function()
        };
        let source = byte_text::to_bytes(&order.source);
        if order.method.is_none() && load(&[b"return ", &*source].concat()).is_ok() {
            // In brackets it is no tail call, which would leave no line of its own in a traceback.
            let values = [b"return (function(...) return ... end)(", &*source, b"\n)"].concat();
            if let Ok(expression) = load(&values) {
                return Ok(expression);
            }
        }
        let chunk = load(&source).map_err(|error| SandboxError::of(&error))?;
        let Some(method) = &order.method else {
            return Ok(chunk);
        };
        let exports = self.protected(chunk, MultiValue::new(), &order.chunk)?;
        match exports.front() {
            Some(LuaValue::Table(exports)) => match exports.raw_get(method.as_str()) {
                Ok(LuaValue::Function(function)) => Ok(function),
                Ok(other) => Err(SandboxError::NoFunction {
                    chunk: order.chunk.clone(),
                    method: method.clone(),
                    found: match type_name(&other) {
                        "nil" => String::new(),
                        kind => format!(", but a {kind} there"),
                    },
                    others: functions(exports),
                }),
                Err(error) => Err(SandboxError::of(&error)),
            },
            other => Err(SandboxError::NoTable {
                chunk: order.chunk.clone(),
                method: method.clone(),
                found: other.map_or("nil", type_name),
            }),
        }
    }

    /// Calls a function; an error is what it threw, with where that was.
    fn protected(
        &self,
        function: Function,
        arguments: MultiValue,
        chunk: &str,
    ) -> Result<MultiValue, SandboxError> {
        let caught = Rc::new(RefCell::new(None));
        let handler = {
            let (caught, chunk) = (caught.clone(), chunk.to_owned());
            self.lua.create_function(move |lua, thrown: LuaValue| {
                let trace = lua
                    .traceback(None, 2)
                    .map(|trace| byte_text::of(&trace.as_bytes()).into_owned())
                    .unwrap_or_default();
                *caught.borrow_mut() = Some(with_trace(&thrown_text(lua, &thrown), &trace, &chunk));
                Ok(())
            })
        };
        let failed = |error: mlua::Error| SandboxError::of(&error);
        let mut all = MultiValue::from_vec(vec![
            LuaValue::Function(function),
            LuaValue::Function(handler.map_err(failed)?),
        ]);
        all.extend(arguments);
        let mut results: MultiValue = self.xpcall.call(all).map_err(failed)?;
        match results.pop_front() {
            Some(LuaValue::Boolean(true)) => Ok(results),
            // The handler may have had no stack or memory left to run on.
            _ => {
                let thrown = caught.borrow_mut().take().unwrap_or_else(|| {
                    results.front().map_or_else(
                        || "unknown error".to_owned(),
                        |thrown| thrown_text(&self.lua, thrown),
                    )
                });
                Err(SandboxError::Lua(thrown))
            }
        }
    }
}

/// What was thrown, as text. A metamethod that makes the text of a table may do what all code may.
fn thrown_text(lua: &Lua, thrown: &LuaValue) -> String {
    let text = match thrown {
        LuaValue::String(text) => byte_text::of(&text.as_bytes()).into_owned(),
        LuaValue::Error(error) => describe(error),
        LuaValue::Table(table) if !has_tostring(table) => {
            lua_json::to_json(lua, thrown, ERROR).unwrap_or_else(|_| "a table".to_owned())
        }
        other => other
            .to_string()
            .unwrap_or_else(|_| format!("a {}", other.type_name())),
    };
    cut(&text, ERROR)
}

/// A value's type, as Lua calls it.
fn type_name(value: &LuaValue) -> &'static str {
    match value.type_name() {
        "integer" => "number",
        name => name,
    }
}

/// Which functions a table has, in words; nothing if none.
fn functions(exports: &Table) -> String {
    /// How many are named.
    const MOST: usize = 5;
    let pairs = exports.pairs::<LuaValue, LuaValue>();
    let mut names: Vec<_> = pairs
        .filter_map(Result::ok)
        .filter_map(|pair| match pair {
            (LuaValue::String(name), LuaValue::Function(_)) => {
                Some(format!("`{}`", cut(&byte_text::of(&name.as_bytes()), 50)))
            }
            _ => None,
        })
        .collect();
    names.sort();
    names.truncate(MOST);
    match names.as_slice() {
        [] => String::new(),
        [one] => format!("; it has the function {one}"),
        several => format!("; it has the functions {}", several.join(", ")),
    }
}

fn has_tostring(table: &Table) -> bool {
    table
        .metatable()
        .and_then(|meta| meta.raw_get::<LuaValue>("__tostring").ok())
        .is_some_and(|field| !field.is_nil())
}

/// An error with its traceback, down to the last frame of the handler's own code.
fn with_trace(message: &str, trace: &str, chunk: &str) -> String {
    let own = format!("{chunk}:");
    let frames: Vec<_> = trace.lines().skip(1).collect();
    let Some(last) = frames.iter().rposition(|frame| frame.contains(&own)) else {
        return message.to_owned();
    };
    let frames = frames[..=last].join("\n");
    format!("{message}\n\nstack traceback:\n{}", cut(&frames, ERROR))
}

/// An error of the embedded Lua, in its own words.
fn describe(error: &mlua::Error) -> String {
    match error {
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        mlua::Error::MemoryError(_) => "not enough memory".to_owned(),
        mlua::Error::RuntimeError(message) => {
            let end = message.find("\nstack traceback:").unwrap_or(message.len());
            message[..end].to_owned()
        }
        mlua::Error::CallbackError { cause, .. } => describe(cause),
        other => other.to_string(),
    }
}
