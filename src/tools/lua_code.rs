//! Lua as models write it: without what stands around it that surely is no Lua.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};

/// Reads an argument that is Lua, as [`bare`] has it.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let code = String::deserialize(deserializer)?;
    Ok(bare(&code).into_owned())
}

/// Code without a byte order mark, a first line that names an interpreter (`#!`), and the fences or backticks of Markdown
/// around it. Lines keep their numbers: what went leaves an empty one.
pub fn bare(code: &str) -> Cow<'_, str> {
    let code = code.strip_prefix('\u{feff}').unwrap_or(code);
    let inner = without_fences(code);
    match inner.as_deref().unwrap_or(code) {
        script if script.trim_start_matches(['\r', '\n']).starts_with("#!") => {
            Cow::Owned(without_interpreter(script))
        }
        _ => inner.map_or(Cow::Borrowed(code), Cow::Owned),
    }
}

/// Code without the fences around it: no Lua begins with a backtick, nor is the last line of any a fence. None if there
/// are none.
fn without_fences(code: &str) -> Option<String> {
    const FENCE: &str = "```";
    let text = code.trim_end();
    let start = text.len() - text.trim_start().len();
    let (blanks, text) = text.split_at(start);
    if !text.contains('\n') && text.starts_with('`') {
        let inner = text.trim_matches('`');
        let inner = match text.starts_with(FENCE) {
            true => inner.strip_prefix("lua ").unwrap_or(inner),
            false => inner,
        };
        return (!inner.contains('`')).then(|| format!("{blanks}{inner}"));
    }
    let opens = text.starts_with(FENCE);
    let text = match text.find('\n') {
        Some(end) if opens => &text[end..],
        _ => text,
    };
    let last = text.rfind('\n').map_or(0, |at| at + 1);
    let closes = text[last..].trim_start().starts_with(FENCE)
        && text[last..].trim_matches(['`', ' ', '\t']).is_empty();
    let text = if closes {
        &text[..last]
    } else {
        // On the last line of the code itself.
        text.strip_suffix(FENCE).filter(|_| opens).unwrap_or(text)
    };
    (opens || closes).then(|| format!("{blanks}{text}"))
}

/// Code whose first line that is not empty names an interpreter, which is emptied.
fn without_interpreter(code: &str) -> String {
    let start = code.find("#!").unwrap_or(0);
    let end = code[start..]
        .find('\n')
        .map_or(code.len(), |length| start + length);
    format!("{}{}", &code[..start], &code[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_around_lua_is_taken_off_and_lines_keep_their_numbers() {
        for (code, lua) in [
            ("return 1", "return 1"),
            ("\u{feff}return 1", "return 1"),
            ("#!/usr/bin/lua\nreturn 1", "\nreturn 1"),
            ("#!/bin/sh", ""),
            ("```lua\nreturn 1\n```", "\nreturn 1\n"),
            ("```lua\nreturn 1```", "\nreturn 1"),
            ("```\r\nreturn 1\r\n```\r\n", "\nreturn 1\r\n"),
            ("\n\n  ```Lua\nreturn 1\n  ```  \n", "\n\n  \nreturn 1\n"),
            ("````lua\nreturn 1\n````", "\nreturn 1\n"),
            ("```lua\nreturn 1", "\nreturn 1"),
            ("return 1\n```", "return 1\n"),
            (
                "\u{feff}```lua\n#!/usr/bin/lua\nreturn 1\n```",
                "\n\nreturn 1\n",
            ),
            ("```return 1```", "return 1"),
            ("```lua return 1```", "return 1"),
            ("`turtle.getFuelLevel()`", "turtle.getFuelLevel()"),
        ] {
            assert_eq!(bare(code), lua, "{code}");
        }
    }

    #[test]
    fn what_may_be_lua_stays() {
        for code in [
            "",
            "\n",
            "#'abc'",
            "# '!'",
            "return [[\n```lua\nx\n```\n]]",
            "print('```')",
            "return '`'",
            "`a` and `b`",
            "Here it is:\n```lua\nreturn 1\n``` Have fun",
            "--[[\n#!\n]] return 1",
        ] {
            assert_eq!(bare(code), code);
        }
    }
}
