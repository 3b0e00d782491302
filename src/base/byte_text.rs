//! Any bytes as a `String`, and back: how a Lua string, which is bytes, stands in the JSON values inside the bridge.
//!
//! UTF-8 stands as it is. Each byte that is no part of UTF-8 stands as a character of its own for private use, U+10FE80
//! for byte 128 to U+10FEFF for byte 255, as Python's `surrogateescape` has it with surrogates, which Rust's strings
//! can't hold. The four bytes of such a character itself stand one by one, so that every string of bytes comes back as
//! it went. What a client writes is text; one that writes these characters means the bytes.

use std::borrow::Cow;

use serde_json::Value;

/// What stands for byte 0, if that were not text.
const ZERO: u32 = 0x0010_FE00;

/// Bytes as text.
pub fn from_bytes(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) if !holds_bytes(&text) => text,
        Ok(text) => escaped(text.as_bytes()),
        Err(error) => escaped(error.as_bytes()),
    }
}

/// Bytes as text.
pub fn of(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !holds_bytes(text) => Cow::Borrowed(text),
        _ => Cow::Owned(escaped(bytes)),
    }
}

/// The bytes that a text stands for.
pub fn to_bytes(text: &str) -> Cow<'_, [u8]> {
    if !holds_bytes(text) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match byte_of(c) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

/// Whether a text stands for anything else than its own UTF-8.
pub fn holds_bytes(text: &str) -> bool {
    // Most text holds no character of four bytes that begins so, and is looked through faster by bytes.
    text.as_bytes().contains(&0xF4) && text.chars().any(|c| byte_of(c).is_some())
}

/// Whether any string in a value does, keys too.
pub fn any_holds_bytes(value: &Value) -> bool {
    match value {
        Value::String(text) => holds_bytes(text),
        Value::Array(items) => items.iter().any(any_holds_bytes),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, item)| holds_bytes(key) || any_holds_bytes(item)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The byte that a character stands for, if it stands for one.
pub fn byte_of(c: char) -> Option<u8> {
    let byte = u8::try_from(u32::from(c).checked_sub(ZERO)?).ok()?;
    (byte >= 128).then_some(byte)
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match byte_of(c) {
                Some(_) => text.extend(c.encode_utf8(&mut [0; 4]).bytes().map(character)),
                None => text.push(c),
            }
        }
        text.extend(chunk.invalid().iter().copied().map(character));
    }
    text
}

/// What stands for a byte that is no text. One below 128 always is.
fn character(byte: u8) -> char {
    char::from_u32(ZERO + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stands_as_it_is() {
        for text in [
            "",
            "plain",
            "é€\u{1F600}\0\u{10FFFF}",
            "\u{10FE7F}\u{10FF00}",
        ] {
            assert_eq!(from_bytes(text.into()), text);
            assert_eq!(of(text.as_bytes()), text);
            assert_eq!(to_bytes(text), text.as_bytes());
        }
    }

    #[test]
    fn what_is_no_text_comes_back_byte_by_byte() {
        for bytes in [
            b"\xff\0\x01\xc8".as_slice(),
            b"\xc3",
            b"\xa9\xc3\xa9\xc3",
            b"\xed\xa0\x80",
            b"\xf4\x8f\xba\x80",
            b"a\xf4\x8f\xbb\xbf\xff",
        ] {
            let text = from_bytes(bytes.to_vec());
            assert_eq!(of(bytes), text);
            assert!(holds_bytes(&text), "{bytes:?}");
            assert_eq!(to_bytes(&text), bytes);
        }
        assert_eq!(from_bytes(vec![b'a', 255]), "a\u{10FEFF}");
    }
}
