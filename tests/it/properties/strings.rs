//! How a Lua string travels in JSON.

use mcp_bridge::{
    base::byte_text,
    wire::text::{self, TextMode, decode, decode_value, encode, encode_in_parts},
};
use proptest::prelude::*;
use serde_json::Value;

use super::{agent_json::any_json, targets::link_frames::check_line};

pub fn any_mode() -> impl Strategy<Value = TextMode> {
    prop_oneof![Just(TextMode::Plain), Just(TextMode::Bytes)]
}

/// Text of every kind of character: ASCII, Latin-1, controls, directions of writing, and anything.
pub fn any_text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        3 => proptest::char::range(' ', '~'),
        2 => proptest::char::range('\0', '\u{ff}'),
        1 => proptest::char::range('\u{2000}', '\u{206f}'),
        1 => any::<char>(),
    ];
    // Those that stand for bytes are no text.
    let character = character.prop_filter("text", |c| byte_text::byte_of(*c).is_none());
    proptest::collection::vec(character, 0..40).prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(super::cases())]

    #[test]
    fn any_text_survives_the_wire_in_both_modes(text in any_text(), mode in any_mode()) {
        let json = encode(&text, mode).unwrap();
        prop_assert!(json.is_ascii());
        let wire: String = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(decode(&wire, mode), text);
    }

    #[test]
    fn any_json_survives_the_wire_in_both_modes(value in any_json(), mode in any_mode()) {
        let json = encode(&value, mode).unwrap();
        prop_assert!(json.is_ascii());
        let wire: Value = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(decode_value(wire, mode), value);
    }

    #[test]
    fn in_byte_mode_the_wire_holds_one_code_point_for_each_byte(text in any_text()) {
        let json = encode(&text, TextMode::Bytes).unwrap();
        let wire: String = serde_json::from_str(&json).unwrap();
        let bytes: Vec<_> = wire.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        prop_assert_eq!(bytes, text.into_bytes());
    }

    #[test]
    fn any_bytes_are_read_as_utf_8_or_else_by_the_games_characters_one_for_each(
        bytes in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let wire: String = bytes.iter().copied().map(char::from).collect();
        let decoded = decode(&wire, TextMode::Bytes);
        prop_assert_eq!(byte_text::to_bytes(&decoded).into_owned(), bytes.clone());
        let read = text::read(&decoded).into_owned();
        match String::from_utf8(bytes.clone()) {
            Ok(text) => prop_assert_eq!(read, text),
            Err(_) => {
                prop_assert_eq!(read.chars().count(), bytes.len());
                prop_assert_eq!(read, text::from_game(&bytes));
            }
        }
    }

    #[test]
    fn any_bytes_survive_as_text_and_on_the_wire_whole_and_in_parts(
        bytes in proptest::collection::vec(any::<u8>(), 0..64),
    ) {
        let text = byte_text::from_bytes(bytes.clone());
        prop_assert_eq!(byte_text::to_bytes(&text).into_owned(), bytes.clone());
        let wire: String = serde_json::from_str(&encode(&text, TextMode::Bytes).unwrap()).unwrap();
        prop_assert!(wire.chars().map(u32::from).eq(bytes.iter().copied().map(u32::from)));
        // In parts UTF-8 stands as it is, as one code point for each byte once it is cut.
        let parts: String = encode_in_parts(&text).unwrap().bytes().map(char::from).collect();
        let wire: String = serde_json::from_str(&parts).unwrap();
        prop_assert!(wire.chars().map(u32::from).eq(bytes.iter().copied().map(u32::from)));
    }

    #[test]
    fn a_line_never_holds_what_ends_it_or_moves_the_cursor(text in any_text()) {
        check_line(&text);
    }
}

#[test]
fn each_character_alone_is_safe_in_a_line() {
    for c in (0..=0x10_FFFF).filter_map(char::from_u32) {
        check_line(c.encode_utf8(&mut [0; 4]));
    }
}
