//! Lua values as JSON and back. Nothing here calls back into Lua, so no metamethod can interfere.
//!
//! Lua's strings are bytes, and so are those of the JSON: see [`byte_text`]. mlua's own `serde` would stand for 150 of
//! these lines, but writes a string that is not UTF-8 as an array of numbers, and reads none back.

use std::fmt::Write as _;

use mlua::{Lua, Table, Value as LuaValue};
use serde_json::Value;

use crate::base::byte_text;

/// Deeper values are refused.
const MAX_DEPTH: usize = 64;

/// The largest whole number that a Lua number holds exactly: 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Where a state keeps what marks a table as an array, and what stands for `null`.
const ARRAY: &str = "mcp-bridge array";
const NULL: &str = "mcp-bridge null";

/// Why a value can't be JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoJson {
    /// Tables inside tables, too many of them, or a cycle.
    #[error("the value holds tables inside more than {MAX_DEPTH} others, or a cycle")]
    TooDeep,
    /// The JSON is longer than it may be.
    #[error("the value takes more than {0} bytes as JSON, which is as much as it may")]
    TooLarge(usize),
}

/// Prepares a state: the metatable that marks arrays, and `null`.
///
/// # Errors
/// There is no memory left.
pub fn install(lua: &Lua) -> mlua::Result<()> {
    let array = lua.create_table()?;
    array.raw_set("__metatable", "array")?;
    lua.set_named_registry_value(ARRAY, array)?;
    let null = lua.create_table()?;
    let shown = lua.create_table()?;
    shown.raw_set(
        "__tostring",
        lua.create_function(|_, _: LuaValue| Ok("null"))?,
    )?;
    // In Lua, so that it is a string with the line that did it.
    let refuse =
        "local error = error return function() error(\"json.null can't be changed\", 2) end";
    let refuse: LuaValue = lua.load(refuse).set_name("=json").eval()?;
    shown.raw_set("__newindex", refuse)?;
    shown.raw_set("__metatable", "null")?;
    null.set_metatable(Some(shown))?;
    lua.set_named_registry_value(NULL, null)
}

/// What stands for JSON's `null` where Lua's nil would be lost.
///
/// # Errors
/// The state was not prepared.
pub fn null(lua: &Lua) -> mlua::Result<Table> {
    lua.named_registry_value(NULL)
}

/// Marks a table as an array, so that an empty one is `[]`.
///
/// # Errors
/// The state was not prepared, or the table has a metatable of its own.
pub fn mark_array(lua: &Lua, table: &Table) -> mlua::Result<()> {
    table.set_metatable(Some(lua.named_registry_value(ARRAY)?))
}

/// A JSON value in Lua. In objects `null` is left out; in arrays it is [`null`].
///
/// # Errors
/// There is no memory left.
pub fn to_lua(lua: &Lua, value: &Value) -> mlua::Result<LuaValue> {
    Ok(match value {
        Value::Null => LuaValue::Table(null(lua)?),
        Value::Bool(truth) => LuaValue::Boolean(*truth),
        Value::Number(number) => LuaValue::Number(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => LuaValue::String(lua.create_string(byte_text::to_bytes(text))?),
        Value::Array(items) => {
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            for (index, item) in items.iter().enumerate() {
                table.raw_set(index + 1, to_lua(lua, item)?)?;
            }
            mark_array(lua, &table)?;
            LuaValue::Table(table)
        }
        Value::Object(fields) => {
            let table = lua.create_table_with_capacity(0, fields.len())?;
            for (name, field) in fields {
                if !field.is_null() {
                    let name = lua.create_string(byte_text::to_bytes(name))?;
                    table.raw_set(name, to_lua(lua, field)?)?;
                }
            }
            LuaValue::Table(table)
        }
    })
}

/// A Lua value as JSON text of at most `limit` bytes.
///
/// A table is an array if it is marked as one or holds exactly the keys 1 to n, else an object with its keys in order.
/// What JSON can't hold (functions, NaN, infinities) is `null`.
///
/// # Errors
/// See [`NoJson`].
pub fn to_json(lua: &Lua, value: &LuaValue, limit: usize) -> Result<String, NoJson> {
    let mut writer = Writer {
        text: String::new(),
        limit,
        array: lua
            .named_registry_value::<Table>(ARRAY)
            .ok()
            .map(|table| table.to_pointer()),
        null: null(lua).ok().map(|table| table.to_pointer()),
    };
    writer.value(value, 0)?;
    Ok(writer.text)
}

struct Writer {
    text: String,
    limit: usize,
    array: Option<*const std::ffi::c_void>,
    null: Option<*const std::ffi::c_void>,
}

impl Writer {
    fn push(&mut self, piece: &str) -> Result<(), NoJson> {
        if self.text.len() + piece.len() > self.limit {
            return Err(NoJson::TooLarge(self.limit));
        }
        self.text.push_str(piece);
        Ok(())
    }

    fn value(&mut self, value: &LuaValue, depth: usize) -> Result<(), NoJson> {
        match value {
            LuaValue::Boolean(truth) => self.push(if *truth { "true" } else { "false" }),
            LuaValue::Integer(number) => self.push(&number.to_string()),
            LuaValue::Number(number) => self.push(&number_text(*number)),
            LuaValue::String(text) => self.string(&text.as_bytes()),
            LuaValue::Table(table) if self.null != Some(table.to_pointer()) => {
                if depth >= MAX_DEPTH {
                    return Err(NoJson::TooDeep);
                }
                self.table(table, depth + 1)
            }
            _ => self.push("null"),
        }
    }

    fn string(&mut self, bytes: &[u8]) -> Result<(), NoJson> {
        // Before it is copied, and escapes only make it longer.
        if self.text.len() + bytes.len() > self.limit {
            return Err(NoJson::TooLarge(self.limit));
        }
        let text = byte_text::of(bytes);
        let start = self.text.len();
        self.text.push('"');
        for c in text.chars() {
            match c {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\t' => self.text.push_str("\\t"),
                c if c.is_ascii_control() => {
                    // Writing to a String can't fail.
                    let _ = write!(self.text, "\\u{:04x}", u32::from(c));
                }
                c => self.text.push(c),
            }
        }
        self.text.push('"');
        if self.text.len() > self.limit {
            self.text.truncate(start);
            return Err(NoJson::TooLarge(self.limit));
        }
        Ok(())
    }

    fn table(&mut self, table: &Table, depth: usize) -> Result<(), NoJson> {
        let marked = table
            .metatable()
            .is_some_and(|meta| Some(meta.to_pointer()) == self.array);
        let length = table.raw_len();
        if marked || (length > 0 && is_sequence(table, length)) {
            self.push("[")?;
            for index in 1..=length {
                if index > 1 {
                    self.push(",")?;
                }
                let item = table.raw_get(index).unwrap_or(LuaValue::Nil);
                self.value(&item, depth)?;
            }
            return self.push("]");
        }
        let mut fields: Vec<(Vec<u8>, LuaValue)> = table
            .pairs::<LuaValue, LuaValue>()
            .filter_map(Result::ok)
            .filter_map(|(key, value)| Some((key_text(&key)?, value)))
            .collect();
        fields.sort_by(|(one, _), (other, _)| one.cmp(other));
        self.push("{")?;
        for (index, (name, value)) in fields.iter().enumerate() {
            if index > 0 {
                self.push(",")?;
            }
            self.string(name)?;
            self.push(":")?;
            self.value(value, depth)?;
        }
        self.push("}")
    }
}

/// Whether a table holds exactly the keys 1 to `length`.
fn is_sequence(table: &Table, length: usize) -> bool {
    let mut count = 0;
    for pair in table.pairs::<LuaValue, LuaValue>() {
        count += 1;
        if count > length || pair.is_err() {
            return false;
        }
    }
    count == length
}

/// A key's name in JSON; none if it has none, and its field is left out.
fn key_text(key: &LuaValue) -> Option<Vec<u8>> {
    let name = match key {
        LuaValue::String(bytes) => return Some(bytes.as_bytes().to_vec()),
        LuaValue::Integer(number) => number.to_string(),
        LuaValue::Number(number) => number_text(*number),
        LuaValue::Boolean(truth) => truth.to_string(),
        _ => return None,
    };
    Some(name.into_bytes())
}

/// A number as JSON: whole ones without a fraction, and none for what is no number.
fn number_text(number: f64) -> String {
    if !number.is_finite() {
        "null".to_owned()
    } else if number.fract() == 0.0 && number.abs() <= EXACT {
        format!("{number:.0}")
    } else {
        serde_json::Number::from_f64(number)
            .map_or_else(|| "null".to_owned(), |number| number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json_of(code: &str, limit: usize) -> Result<String, NoJson> {
        let lua = Lua::new();
        install(&lua).unwrap();
        lua.globals().set("null", null(&lua).unwrap()).unwrap();
        let value: LuaValue = lua.load(code).eval().unwrap();
        to_json(&lua, &value, limit)
    }

    #[test]
    fn lua_values_are_shown_as_json() {
        for (code, json) in [
            ("nil", "null"),
            ("2", "2"),
            ("-0.5", "-0.5"),
            ("1e300", "1e+300"),
            ("0/0", "null"),
            ("'a\"\\n\\1'", "\"a\\\"\\n\\u0001\""),
            ("'\\255'", "\"\u{10feff}\""),
            ("{}", "{}"),
            ("{1, 2, {}}", "[1,2,{}]"),
            ("{b = 1, a = {true}}", "{\"a\":[true],\"b\":1}"),
            ("{1, 2, x = 3}", "{\"1\":1,\"2\":2,\"x\":3}"),
            ("{[3] = 'x'}", "{\"3\":\"x\"}"),
            ("{null, print}", "[null,null]"),
        ] {
            assert_eq!(json_of(code, 1000).as_deref(), Ok(json), "{code}");
        }
    }

    #[test]
    fn a_cycle_and_a_value_that_is_too_large_are_refused() {
        let cycle = "(function() local t = {} t.t = t return t end)()";
        assert_eq!(json_of(cycle, 1000), Err(NoJson::TooDeep));
        assert_eq!(json_of("('x'):rep(1000)", 999), Err(NoJson::TooLarge(999)));
        assert_eq!(
            json_of("('\\n'):rep(600)", 1000),
            Err(NoJson::TooLarge(1000))
        );
    }

    #[test]
    fn json_comes_back_as_it_went() {
        let lua = Lua::new();
        install(&lua).unwrap();
        let text = "{\"a\":[],\"b\":{},\"c\":[1,null,\"x\"],\"d\":true,\"e\":-1.5,\"\u{10fe80}\":\"é\u{10fec3}\"}";
        let value = to_lua(&lua, &serde_json::from_str(text).unwrap()).unwrap();
        assert_eq!(to_json(&lua, &value, 1000).as_deref(), Ok(text));
    }
}
