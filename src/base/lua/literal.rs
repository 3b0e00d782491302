//! Texts as they stand in Lua.

use std::fmt::Write as _;

use crate::base::byte_text;

/// Adds a text as a literal of Lua, all in ASCII. What stands for bytes becomes these bytes.
pub fn push_string(out: &mut String, text: &str) {
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

/// What stands between the two brackets around a text that is written in long ones, so that it doesn't end before.
pub fn level(text: &str) -> String {
    let mut level = String::new();
    while text.contains(&format!("]{level}]")) {
        level.push('=');
    }
    level
}
