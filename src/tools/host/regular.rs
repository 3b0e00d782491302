//! `regex`: regular expressions, for what Lua's patterns can't say. They take time in proportion to the text, whatever the
//! expression is.

use std::{cell::RefCell, rc::Rc};

use mlua::{Lua, LuaString, Table, Value as LuaValue};
use regex::bytes::{Regex, RegexBuilder};

use super::fallible::outcome;

/// The longest expression, in bytes.
const LONGEST: usize = 16 * 1024;

/// How much memory one may take once it is read, in bytes: Lua's own bound does not count it.
const SIZE: usize = 4 * 1024 * 1024;

/// The longest text that is made, in bytes.
const LONGEST_TEXT: usize = 16 * 1024 * 1024;

/// How many are kept, so that one in a loop is read once.
const KEPT: usize = 16;

/// Those that were read last, and their text.
type Read = Rc<RefCell<Vec<(Vec<u8>, Regex)>>>;

/// The functions that the Lua of `regex` is built on.
pub fn natives(lua: &Lua) -> mlua::Result<Table> {
    let read = Read::default();
    let native = lua.create_table()?;
    let known = read.clone();
    native.raw_set(
        "find",
        lua.create_function(
            move |lua, (text, pattern, from): (LuaString, LuaString, usize)| {
                let found = match regex(&known, &pattern.as_bytes()) {
                    Ok(regex) => Ok(find(lua, &regex, &text.as_bytes(), from)?),
                    Err(problem) => Err(problem),
                };
                outcome(lua, found)
            },
        )?,
    )?;
    native.raw_set(
        "replace",
        lua.create_function(
            move |lua, (text, pattern, by): (LuaString, LuaString, LuaString)| {
                let replaced = match regex(&read, &pattern.as_bytes()) {
                    Ok(regex) => replace(&regex, &text.as_bytes(), &by.as_bytes()),
                    Err(problem) => Err(problem),
                };
                let replaced = match replaced {
                    Ok(text) => Ok(LuaValue::String(lua.create_string(text)?)),
                    Err(problem) => Err(problem),
                };
                outcome(lua, replaced)
            },
        )?,
    )?;
    Ok(native)
}

/// The first match at or after a byte, from 0: where it begins and ends, from 1, and what it caught; nil if there is none.
fn find(lua: &Lua, regex: &Regex, text: &[u8], from: usize) -> mlua::Result<LuaValue> {
    if from > text.len() {
        return Ok(LuaValue::Nil);
    }
    let Some(captures) = regex.captures_at(text, from) else {
        return Ok(LuaValue::Nil);
    };
    let found = lua.create_table()?;
    for (index, part) in captures.iter().enumerate() {
        let part = match part {
            Some(part) => LuaValue::String(lua.create_string(part.as_bytes())?),
            None => LuaValue::Boolean(false),
        };
        found.raw_set(index, part)?;
    }
    found.raw_set("n", captures.len() - 1)?;
    if let Some(whole) = captures.get(0) {
        found.raw_set("first", whole.start() + 1)?;
        found.raw_set("last", whole.end())?;
    }
    Ok(LuaValue::Table(found))
}

/// A text with all matches replaced, if that is not too long: Lua's own bound does not count it while it is made.
fn replace(regex: &Regex, text: &[u8], by: &[u8]) -> Result<Vec<u8>, String> {
    let mut replaced = Vec::new();
    let mut rest = 0;
    for captures in regex.captures_iter(text) {
        let Some(whole) = captures.get(0) else {
            continue;
        };
        replaced.extend_from_slice(&text[rest..whole.start()]);
        captures.expand(by, &mut replaced);
        rest = whole.end();
        if replaced.len() > LONGEST_TEXT {
            return Err(format!(
                "the text would have more than {LONGEST_TEXT} bytes"
            ));
        }
    }
    replaced.extend_from_slice(&text[rest..]);
    Ok(replaced)
}

fn regex(read: &Read, pattern: &[u8]) -> Result<Regex, String> {
    let mut read = read.borrow_mut();
    if let Some(at) = read.iter().position(|(text, _)| text == pattern) {
        let (_, regex) = &read[at];
        return Ok(regex.clone());
    }
    if pattern.len() > LONGEST {
        return Err(format!("an expression has {LONGEST} bytes at most"));
    }
    let text = std::str::from_utf8(pattern).map_err(|_| "the expression is no UTF-8".to_owned())?;
    let regex = RegexBuilder::new(text)
        .size_limit(SIZE)
        .dfa_size_limit(SIZE)
        .build()
        .map_err(|error| {
            let told = error.to_string();
            let last = told.lines().last().unwrap_or_default();
            format!(
                "no regular expression: {}",
                last.trim_start_matches("error: ")
            )
        })?;
    if read.len() >= KEPT {
        read.remove(0);
    }
    read.push((pattern.to_vec(), regex.clone()));
    Ok(regex)
}
