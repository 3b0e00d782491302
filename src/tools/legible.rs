//! Bytes for a client, which takes text only: what is no UTF-8 is shown as Lua writes it in a string, and that is said.

use std::{borrow::Cow, fmt::Write as _};

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::Value;

use crate::base::byte_text;

/// What is said beside bytes that are shown so.
const NOTE: &str = "[Some of this is not UTF-8. A string that isn't is shown as Lua writes it between quotes: \\255 is one byte, \
    \\\\ a backslash.]";

/// A text as it is, if it is text; else as it stands between the quotes of a Lua string, but for line breaks, tabs and
/// quotes.
pub fn text(text: &str) -> Cow<'_, str> {
    if !byte_text::holds_bytes(text) {
        return Cow::Borrowed(text);
    }
    let bytes = match String::from_utf8(byte_text::to_bytes(text).into_owned()) {
        Ok(text) => return Cow::Owned(text),
        Err(error) => error.into_bytes(),
    };
    let mut shown = String::with_capacity(bytes.len() * 2);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' | '\t' => shown.push(c),
                '\\' => shown.push_str("\\\\"),
                c if c.is_ascii_control() => escape(&mut shown, c as u8),
                c => shown.push(c),
            }
        }
        chunk
            .invalid()
            .iter()
            .for_each(|byte| escape(&mut shown, *byte));
    }
    Cow::Owned(shown)
}

/// [`text`], and what is to be said if that shows bytes.
pub fn told(told: &str) -> String {
    let mut shown = text(told).into_owned();
    if holds_bytes(told) {
        shown.push_str("\n\n");
        shown.push_str(NOTE);
    }
    shown
}

/// [`text`] for every string of a value, keys too.
pub fn value(value: Value) -> Value {
    if !byte_text::any_holds_bytes(&value) {
        return value;
    }
    match value {
        Value::String(bytes) => Value::String(text(&bytes).into_owned()),
        Value::Array(items) => items.into_iter().map(self::value).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, field)| (text(&name).into_owned(), self::value(field)))
            .collect(),
        other => other,
    }
}

/// A result that was made of these values, with what is to be said if they hold bytes.
pub fn noted(mut result: CallToolResult, holds_bytes: bool) -> CallToolResult {
    if holds_bytes {
        result.content.push(ContentBlock::text(NOTE));
    }
    result
}

/// Whether a text is shown otherwise than it is.
pub fn holds_bytes(text: &str) -> bool {
    byte_text::holds_bytes(text) && std::str::from_utf8(&byte_text::to_bytes(text)).is_err()
}

/// [`holds_bytes`] for any string of a value, keys too.
pub fn any_holds_bytes(value: &Value) -> bool {
    match value {
        Value::String(text) => holds_bytes(text),
        Value::Array(items) => items.iter().any(any_holds_bytes),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, field)| holds_bytes(name) || any_holds_bytes(field)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Three digits, so that a digit after it is not taken for a part of it.
fn escape(shown: &mut String, byte: u8) {
    // Writing to a String can't fail.
    let _ = write!(shown, "\\{byte:03}");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_shown_as_it_is_and_bytes_as_lua_writes_them() {
        for (bytes, shown) in [
            (b"a\\255\0\r\n\"\xc3\xa9".as_slice(), "a\\255\0\r\n\"é"),
            (b"\xff\0\x01\xc8", "\\255\\000\\001\\200"),
            (b"\\255\n\t\"\xc3\xa9\xc3", "\\\\255\n\t\"é\\195"),
            ("\u{10FEFF}".as_bytes(), "\u{10FEFF}"),
        ] {
            let bytes = byte_text::of(bytes);
            assert_eq!(text(&bytes), shown);
            assert_eq!(told(&bytes).contains("not UTF-8"), holds_bytes(&bytes));
        }
    }

    #[test]
    fn bytes_deep_in_a_value_are_shown_and_noted_too() {
        let ff = byte_text::from_bytes(vec![255]);
        let given = json!([{ ff.as_str(): ["é", ff] }]);
        assert!(any_holds_bytes(&given));
        assert_eq!(value(given).to_string(), r#"[{"\\255":["é","\\255"]}]"#);
    }
}
