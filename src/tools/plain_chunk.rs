//! A piece of Lua of ours for agents that lack something: as one chunk of plain code where they keep no handlers, and
//! with `json`, `log` and `progress` where they give handlers none.

use std::borrow::Cow;

use mlua::{Lua, LuaOptions, StdLib, chunk::ChunkMode};
use serde_json::Value;

use crate::{
    base::{byte_text, lua::literal::push_string},
    computers::About,
};

/// What goes with a handler to an agent that keeps none.
const CHUNK: &str = include_str!("../../lua/handler-chunk.lua");

/// The JSON that this and the helpers need.
const JSON: &str = include_str!("../../lua/handler-json.lua");

/// What makes the helpers of a handler.
const HELPERS: &str = include_str!("../../lua/handler-helpers.lua");

/// Their names.
const NAMES: [&str; 3] = ["json", "log", "progress"];

/// What makes a handler see its helpers by their names, and gives them to it once they are made.
const DECLARED: &str = "local json, log, progress ";
const GIVE: &str = ", function(...) json, log, progress = ... end";

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
    /// Whether it is worth a place in lists of jobs.
    pub is_listed: bool,
}

impl<'a> Piece<'a> {
    /// What its job is about: in lists a handler is known by its name, and what a script asks for by its code.
    pub fn about(&self) -> About<'a> {
        if !self.is_listed {
            return About::unlisted();
        }
        let code = if self.is_kept { self.name } else { self.source };
        About::listed(code, self.exclusive).of_script(!self.is_kept)
    }

    /// Whether it is a handler that may use `json`, `log` or `progress`.
    fn wants_helpers(&self) -> bool {
        self.is_kept && NAMES.iter().any(|name| self.source.contains(name))
    }
}

/// A handler's source for an agent that keeps handlers and gives them no `json`, `log` and `progress`: with these as far
/// as they can be had there, if it may use them. Its lines keep their numbers.
pub fn with_helpers(piece: Piece<'_>) -> Cow<'_, str> {
    if !piece.wants_helpers() {
        return Cow::Borrowed(piece.source);
    }
    let source = piece.source;
    Cow::Owned(format!(
        "local handler, give = (function() {DECLARED}local function handler(...) {source}\nend return handler{GIVE} end)() \
         give((function(...)\n{HELPERS}\nend)((function()\n{JSON}\nend)())) return handler(...)"
    ))
}

/// A piece of Lua as one chunk that returns a string. Its lines keep their numbers.
///
/// Strings are bytes (see [`byte_text`]), which stand in the chunk as escapes of Lua.
pub fn chunk_of(piece: Piece<'_>) -> String {
    // An expression, or else statements, as exec-lua takes them.
    let is_expression = piece.method.is_none() && compiles(&format!("return {}", piece.source));
    let keyword = if is_expression { "return " } else { "" };
    let (declared, give) = if piece.wants_helpers() {
        (DECLARED, GIVE)
    } else {
        ("", "")
    };
    let source = format!(
        "{declared}local function handler(...) {keyword}{}\nend return handler{give}",
        piece.source
    );
    let mut chunk = if byte_text::holds_bytes(&source) {
        loaded(&source)
    } else {
        format!("local handler, give = (function() {source} end)()")
    };
    chunk.push_str("\nlocal json = (function()\n");
    chunk.push_str(JSON);
    chunk.push_str("\nend)()\nif give then give((function(...)\n");
    chunk.push_str(if give.is_empty() { "" } else { HELPERS });
    chunk.push_str("\nend)(json)) end\nlocal deliver = (function(...)\n");
    chunk.push_str(CHUNK);
    chunk.push_str("\nend)(json)\nreturn deliver(handler, ");
    match piece.method {
        Some(method) => push_string(&mut chunk, method),
        None => chunk.push_str("nil"),
    }
    for argument in piece.arguments {
        chunk.push_str(", ");
        lua_literal(&mut chunk, argument);
    }
    chunk.push(')');
    chunk
}

/// Source that no text can hold, as the functions `handler` and `give` that it returns: Lua reads it from a literal.
fn loaded(source: &str) -> String {
    let mut chunk = String::from("local source, problem = load(");
    push_string(&mut chunk, source);
    chunk.push_str(
        ", \"=exec-lua\", \"t\", _ENV or getfenv())\nif not source then error(problem, 0) end\n\
         local handler, give = source()",
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
        Value::String(text) => push_string(out, text),
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
                push_string(out, name);
                out.push_str("]=");
                lua_literal(out, field);
                out.push(',');
            }
            out.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handler(source: &str) -> Piece<'_> {
        Piece {
            name: "handler.lua",
            source,
            method: Some("call"),
            arguments: &[],
            exclusive: false,
            is_kept: true,
            pauses: false,
            is_listed: true,
        }
    }

    /// What a chunk printed, and the string that it returned.
    fn run(chunk: &str) -> (String, String) {
        let lua = Lua::new();
        lua.load("printed = '' function print(text) printed = printed .. text .. '\\n' end")
            .exec()
            .unwrap();
        let bytes = byte_text::to_bytes(chunk);
        let returned: mlua::LuaString = lua.load(bytes.as_ref()).eval().unwrap();
        (
            lua.globals().get("printed").unwrap(),
            returned.to_string_lossy(),
        )
    }

    #[test]
    fn a_handler_has_its_helpers_where_an_agent_gives_none() {
        let source = "return { call = function()\n progress('dig', 1, 3) progress('dig', 2, 3)\n \
            log.warn('low', { 'a' }, nil) log('x')\n\
            local ok, why = pcall(json.decode, '[1')\n\
            local t = json.decode('{\"a\":[1,null,{\"b\":null}],\"u\":\"\\\\u00e9\\\\ud83d\\\\ude00\"}')\n\
            return json.encode({ t.a, json.array(), t.u }), ok, why, t.a[2] == json.null, t.a[3].b end }";
        let (printed, returned) = run(&chunk_of(handler(source)));
        assert_eq!(
            printed,
            "dig (1 of 3)\n[warning] low [\"a\"] nil\n[info] x\n"
        );
        let values: Value = serde_json::from_str(&returned).unwrap();
        let encoded =
            crate::wire::text::decode_value(values[0].clone(), crate::wire::text::TextMode::Bytes);
        assert_eq!(encoded, r#"[[1,null,{}],[],"é😀"]"#);
        assert_eq!(values[1], false);
        assert_eq!(
            values[2],
            "json.decode: a comma or ']' is missing at character 3"
        );
        assert_eq!((&values[3], &values[4]), (&Value::Bool(true), &Value::Null));
    }

    #[test]
    fn what_takes_no_helpers_has_none() {
        let source = "return { call = function() return 1 end }";
        assert_eq!(with_helpers(handler(source)), source);
        assert!(!chunk_of(handler(source)).contains("print_text"));
        let script = Piece {
            is_kept: false,
            method: None,
            ..handler("return json == nil, log == nil")
        };
        assert_eq!(run(&chunk_of(script)).1, "[true,true]");
    }

    #[test]
    fn a_handler_with_helpers_keeps_its_lines_and_its_bytes() {
        for source in [
            "return {\n call = function() json.x() end }",
            "return {\n call = function() json.x('\u{10FEFF}') end }",
        ] {
            let lua = Lua::new();
            let chunk = chunk_of(handler(source));
            let failed = lua.load(chunk).set_name("=h").eval::<mlua::LuaString>();
            let failed = failed.unwrap_err().to_string();
            assert!(failed.contains(":2: attempt to call"), "{failed}");
            let wrapped = with_helpers(handler(source)).into_owned();
            let exports: mlua::Table = lua
                .load(byte_text::to_bytes(&wrapped).as_ref())
                .set_name("=h")
                .eval()
                .unwrap();
            let failed = exports.get::<mlua::Function>("call").unwrap();
            let failed = failed.call::<()>(()).unwrap_err().to_string();
            assert!(failed.contains("h:2: attempt to call"), "{failed}");
        }
    }
}
