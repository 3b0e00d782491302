//! A piece of Lua of ours as one chunk of plain code, for agents that keep no handlers.

use std::fmt::Write as _;

use mlua::{Lua, LuaOptions, StdLib, chunk::ChunkMode};
use serde_json::Value;

use crate::{base::byte_text, computers::About};

/// What goes with a handler to an agent that keeps none.
const CHUNK: &str = include_str!("../../lua/handler-chunk.lua");

/// Lua for a computer.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// What it is called in errors and lists.
    pub name: &'a str,
    /// Its source.
    pub source: &'a str,
    /// The function of the table that the source returns; none: the source itself is what is called.
    pub method: Option<&'a str>,
    /// What the function gets.
    pub arguments: &'a [Value],
    /// Whether it holds the turtle.
    pub exclusive: bool,
    /// Whether it may be called again, so that the agent is to keep it. Else it is what a script asks for.
    pub is_kept: bool,
    /// Whether a person's pause holds it up.
    pub pauses: bool,
}

impl<'a> Piece<'a> {
    /// What its job is about: in lists a handler is known by its name, and what a script asks for by its code.
    pub fn about(&self) -> About<'a> {
        let code = if self.is_kept { self.name } else { self.source };
        About::listed(code, self.exclusive).of_script(!self.is_kept)
    }
}

/// A piece of Lua as one chunk that returns a string. Its lines keep their numbers.
///
/// Strings are bytes (see [`byte_text`]), which stand in the chunk as escapes of Lua.
pub fn chunk_of(piece: Piece<'_>) -> String {
    // An expression, or else statements, as exec-lua takes them.
    let is_expression = piece.method.is_none() && compiles(&format!("return {}", piece.source));
    let keyword = if is_expression { "return " } else { "" };
    let mut chunk = if byte_text::holds_bytes(piece.source) {
        loaded(&format!("{keyword}{}", piece.source))
    } else {
        format!("local function handler(...) {keyword}{}\nend", piece.source)
    };
    chunk.push_str("\nlocal deliver = (function()\n");
    chunk.push_str(CHUNK);
    chunk.push_str("\nend)()\nreturn deliver(handler, ");
    match piece.method {
        Some(method) => lua_string(&mut chunk, method),
        None => chunk.push_str("nil"),
    }
    for argument in piece.arguments {
        chunk.push_str(", ");
        lua_literal(&mut chunk, argument);
    }
    chunk.push(')');
    chunk
}

/// Source that no text can hold, as a function `handler`: Lua reads it from a literal.
fn loaded(source: &str) -> String {
    let mut chunk = String::from("local handler, problem = load(");
    lua_string(&mut chunk, source);
    chunk.push_str(
        ", \"=exec-lua\", \"t\", _ENV or getfenv())\nif not handler then error(problem, 0) end",
    );
    chunk
}

/// Whether this is Lua.
fn compiles(source: &str) -> bool {
    Lua::new_with(StdLib::NONE, LuaOptions::new()).is_ok_and(|lua| {
        lua.load(byte_text::to_bytes(source).as_ref())
            .set_mode(ChunkMode::Text)
            .into_function()
            .is_ok()
    })
}

/// A value as a Lua literal in ASCII.
fn lua_literal(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("nil"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => lua_string(out, text),
        Value::Array(items) => {
            out.push('{');
            for item in items {
                lua_literal(out, item);
                out.push(',');
            }
            out.push('}');
        }
        Value::Object(fields) => {
            out.push('{');
            for (name, field) in fields {
                out.push('[');
                lua_string(out, name);
                out.push_str("]=");
                lua_literal(out, field);
                out.push(',');
            }
            out.push('}');
        }
    }
}

fn lua_string(out: &mut String, text: &str) {
    out.push('"');
    for byte in byte_text::to_bytes(text).iter().copied() {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..=b'~' => out.push(char::from(byte)),
            // Three digits, so that a digit after it is not taken for a part of it. Writing to a String can't fail.
            byte => {
                let _ = write!(out, "\\{byte:03}");
            }
        }
    }
    out.push('"');
}
