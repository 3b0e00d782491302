//! How a Lua string, which is bytes, travels in JSON, and how a person reads it.

use std::{borrow::Cow, io};

use serde::Serialize;
use serde_json::{
    Value,
    ser::{CharEscape, Formatter},
};

use crate::base::byte_text;

/// How strings stand in the JSON of a link, agreed in the handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextMode {
    /// Version 1: plain JSON text.
    Plain,
    /// Version 2: one code point U+0000–U+00FF for each byte.
    Bytes,
}

/// `value` as JSON in pure ASCII, with strings as `mode` says.
///
/// Pure ASCII because games before 1.109 turn every character over U+00FF into `?`, and later ones close the
/// socket at invalid UTF-8.
///
/// # Errors
/// `value` can't be JSON (a map whose keys are not strings).
pub fn encode(value: &impl Serialize, mode: TextMode) -> serde_json::Result<String> {
    write(value, AsciiFormatter(mode))
}

/// `value` as JSON for a frame in parts of a link in byte mode: text over 127 stands there as it is.
///
/// # Errors
/// `value` can't be JSON.
pub fn encode_in_parts(value: &impl Serialize) -> serde_json::Result<String> {
    write(value, InPartsFormatter)
}

fn write(value: &impl Serialize, formatter: impl Formatter) -> serde_json::Result<String> {
    let mut json = Vec::with_capacity(256);
    value.serialize(&mut serde_json::Serializer::with_formatter(
        &mut json, formatter,
    ))?;
    String::from_utf8(json).map_err(|error| serde_json::Error::io(io::Error::other(error)))
}

/// Escapes everything outside ASCII; in byte mode, byte by byte.
struct AsciiFormatter(TextMode);

/// Escapes each byte that is no part of UTF-8, and nothing else that needs no escape.
struct InPartsFormatter;

impl Formatter for InPartsFormatter {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if !byte_text::holds_bytes(fragment) {
            return writer.write_all(fragment.as_bytes());
        }
        fragment
            .chars()
            .try_for_each(|c| match byte_text::byte_of(c) {
                Some(byte) => write!(writer, "\\u{byte:04x}"),
                None => write!(writer, "{c}"),
            })
    }
}

impl Formatter for AsciiFormatter {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(|c: char| !c.is_ascii()) {
            let (ascii, other) = rest.split_at(at);
            writer.write_all(ascii.as_bytes())?;
            let end = other.find(|c: char| c.is_ascii()).unwrap_or(other.len());
            let (other, after) = other.split_at(end);
            match self.0 {
                TextMode::Bytes => byte_text::to_bytes(other)
                    .iter()
                    .try_for_each(|byte| write!(writer, "\\u{byte:04x}"))?,
                TextMode::Plain => other
                    .encode_utf16()
                    .try_for_each(|unit| write!(writer, "\\u{unit:04x}"))?,
            }
            rest = after;
        }
        writer.write_all(rest.as_bytes())
    }

    fn write_char_escape<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        serde_json::ser::CompactFormatter.write_char_escape(writer, escape)
    }
}

/// What a JSON string of an agent stands for: its bytes, as [`byte_text`] has them.
///
/// A string with a character over U+00FF is no byte string: it is taken as it is.
pub fn decode(text: &str, mode: TextMode) -> Cow<'_, str> {
    if mode == TextMode::Plain || text.is_ascii() {
        return Cow::Borrowed(text);
    }
    match wire_bytes(text) {
        Some(bytes) => Cow::Owned(byte_text::from_bytes(bytes)),
        None => Cow::Borrowed(text),
    }
}

/// A string as a person reads it: as UTF-8 if it is valid UTF-8, else by the game's character set.
pub fn read(text: &str) -> Cow<'_, str> {
    if !byte_text::holds_bytes(text) {
        return Cow::Borrowed(text);
    }
    let bytes = byte_text::to_bytes(text).into_owned();
    Cow::Owned(String::from_utf8(bytes).unwrap_or_else(|error| from_game(error.as_bytes())))
}

/// [`read`], for every string inside `value`, keys too.
pub fn read_value(value: Value) -> Value {
    in_strings(value, &|text| read(text).into_owned())
}

/// The bytes that a JSON string of an agent stands for.
pub fn bytes(text: &str, mode: TextMode) -> Vec<u8> {
    match mode {
        TextMode::Bytes if !text.is_ascii() => {
            wire_bytes(text).unwrap_or_else(|| text.as_bytes().to_vec())
        }
        TextMode::Plain | TextMode::Bytes => text.as_bytes().to_vec(),
    }
}

fn wire_bytes(text: &str) -> Option<Vec<u8>> {
    text.chars()
        .map(|c| u8::try_from(u32::from(c)).ok())
        .collect()
}

/// Output as a person reads it: each line as UTF-8 if it is valid UTF-8, else by the game's character set.
pub fn from_bytes(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| std::str::from_utf8(line).map_or_else(|_| from_game(line), str::to_owned))
            .collect(),
    }
}

/// [`decode`], for every string inside `value`, keys too.
pub fn decode_value(value: Value, mode: TextMode) -> Value {
    if mode == TextMode::Plain {
        return value;
    }
    in_strings(value, &|text| decode(text, mode).into_owned())
}

fn in_strings(value: Value, change: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(&text)),
        Value::Array(items) => items
            .into_iter()
            .map(|item| in_strings(item, change))
            .collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(key, item)| (change(&key), in_strings(item, change)))
            .collect(),
        other => other,
    }
}

/// Bytes read by the game's character set: code page 437's pictures below 32, 2×3 blocks from 128 to 159, Latin-1
/// above. Line feed, tab and carriage return stay what they are.
pub fn from_game(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| game_character(byte)).collect()
}

/// The pictures of 1 to 31.
const LOW: [char; 31] = [
    '☺', '☻', '♥', '♦', '♣', '♠', '•', '◘', '○', '◙', '♂', '♀', '♪', '♬', '☼', '►', '◄', '↕', '‼',
    '¶', '§', '▬', '↨', '↑', '↓', '→', '←', '∟', '↔', '▲', '▼',
];

/// What a cell of a screen shows that holds this byte: always one character that is seen as one.
pub fn picture_of(byte: u8) -> char {
    match byte {
        0 | 160 => ' ',
        // A hyphen that others show at the ends of lines only.
        173 => '-',
        1..=31 => LOW[usize::from(byte) - 1],
        other => game_character(other),
    }
}

/// The byte whose picture this character is, or that stands for it in the game; none if the game can't show it.
pub fn byte_for(character: char) -> Option<u8> {
    match u8::try_from(u32::from(character)) {
        Ok(byte @ (32..=126 | 160..=255)) => Some(byte),
        _ => (1..=255).find(|byte| picture_of(*byte) == character),
    }
}

fn game_character(byte: u8) -> char {
    match byte {
        b'\t' | b'\n' | b'\r' => char::from(byte),
        1..=31 => LOW[usize::from(byte) - 1],
        127 => '▒',
        // The low five bits are the cells: top left, top right, middle left, middle right, bottom left. Unicode's
        // sextants stand in that order too, but leave out the empty one and the left half.
        128 => ' ',
        149 => '▌',
        129..=159 => {
            let cells = u32::from(byte) - 128;
            char::from_u32(0x1FB00 + cells - 1 - u32::from(cells > 21)).unwrap_or('?')
        }
        other => char::from(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_cell_is_one_character_and_most_lead_back_to_their_byte() {
        for byte in 0..=255 {
            let character = picture_of(byte);
            assert!(!character.is_control(), "{byte}");
            if ![0, 128, 160, 173].contains(&byte) {
                // Two paragraph signs are one character.
                let same = picture_of(byte_for(character).unwrap());
                assert_eq!(same, character, "{byte}");
            }
        }
        assert_eq!(byte_for('é'), Some(233));
        assert_eq!(byte_for('♥'), Some(3));
        assert_eq!(byte_for('\n'), None);
        assert_eq!(byte_for('€'), None);
    }

    #[test]
    fn frames_are_ascii_in_both_modes() {
        let value = json!({"é": "a\u{1F600}\u{ff}\n\"z"});
        assert_eq!(
            encode(&value, TextMode::Plain).unwrap(),
            r#"{"\u00e9":"a\ud83d\ude00\u00ff\n\"z"}"#
        );
        assert_eq!(
            encode(&json!("é€"), TextMode::Bytes).unwrap(),
            r#""\u00c3\u00a9\u00e2\u0082\u00ac""#
        );
    }

    #[test]
    fn plain_text_survives_the_way_there_and_back() {
        let text = "é€\u{1F600}\u{0}\u{7f}\\ \"";
        for mode in [TextMode::Plain, TextMode::Bytes] {
            let json = encode(&text, mode).unwrap();
            let wire: String = serde_json::from_str(&json).unwrap();
            assert_eq!(decode(&wire, mode), text, "{mode:?}");
        }
    }

    #[test]
    fn every_byte_is_read_in_byte_mode() {
        let all: String = (0..=255u8).map(char::from).collect();
        let decoded = decode(&all, TextMode::Bytes);
        assert!(byte_text::to_bytes(&decoded).iter().copied().eq(0..=255));
        let read = read(&decoded);
        assert_eq!(read.chars().count(), 256);
        assert!(
            read.contains("☺☻♥") && read.contains("▒ 🬀🬁") && read.ends_with("ýþÿ"),
            "{read}"
        );
    }

    #[test]
    fn bytes_are_bytes_in_messages_and_in_parts() {
        let value = json!({ byte_text::from_bytes(b"\xff".to_vec()): byte_text::from_bytes(b"\xc3\xa9\xc3\0".to_vec()) });
        assert_eq!(
            encode(&value, TextMode::Bytes).unwrap(),
            r#"{"\u00ff":"\u00c3\u00a9\u00c3\u0000"}"#
        );
        assert_eq!(
            encode_in_parts(&value).unwrap(),
            r#"{"\u00ff":"é\u00c3\u0000"}"#
        );
    }

    #[test]
    fn block_characters_become_unicode_sextants() {
        assert_eq!(
            from_game(&[128, 129, 148, 149, 150, 159]),
            " \u{1FB00}\u{1FB13}▌\u{1FB14}\u{1FB1D}"
        );
    }

    #[test]
    fn strings_deep_in_a_value_are_read_too() {
        let wire = json!([{"k\u{c3}\u{a9}": ["\u{e2}\u{82}\u{ac}", 1, null]}]);
        assert_eq!(
            decode_value(wire, TextMode::Bytes),
            json!([{"ké": ["€", 1, null]}])
        );
    }
}
