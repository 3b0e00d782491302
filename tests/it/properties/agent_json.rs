//! The agent's JSON codec, run in embedded Lua, with serde_json as the reference.

use mcp_bridge::wire::text::{TextMode, decode_value, encode};
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::{
    strings::{any_mode, any_text},
    targets::agent_json::{
        self as target, AgentJson, Held, MAX_DEPTH, agent_bytes, agent_text, held, read_written,
        written,
    },
};

thread_local! {
    static CODEC: AgentJson = AgentJson::new().unwrap();
}

/// Whole numbers and doubles of every size.
fn any_number() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1000..1000i32).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (-1000..1000i32, -6..6i32).prop_map(|(n, e)| Value::from(f64::from(n) * 10f64.powi(e))),
    ]
}

/// Any JSON value.
pub fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any_number(),
        any_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((any_text(), inner), 0..6)
                .prop_map(|fields| Value::Object(Map::from_iter(fields))),
        ]
    })
}

/// Any Lua value, with what JSON can't say among it.
#[derive(Debug, Clone)]
enum InLua {
    Nil,
    Function,
    Boolean(bool),
    Number(f64),
    String(Vec<u8>),
    /// With the keys 1 to n, and not empty.
    Sequence(Vec<InLua>),
    Table(Vec<(Vec<u8>, InLua)>),
    /// A table under these whole numbers and doubles.
    Numbered(Vec<(f64, InLua)>),
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..40),
        any_text().prop_map(String::into_bytes),
    ]
}

fn any_in_lua() -> impl Strategy<Value = InLua> {
    let number = prop_oneof![
        any::<f64>(),
        any::<f64>().prop_map(f64::trunc),
        any::<i32>().prop_map(f64::from),
        proptest::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0]),
    ];
    let leaf = prop_oneof![
        Just(InLua::Nil),
        Just(InLua::Function),
        any::<bool>().prop_map(InLua::Boolean),
        number.prop_map(InLua::Number),
        any_bytes().prop_map(InLua::String),
    ];
    leaf.prop_recursive(5, 32, 5, |inner| {
        // A nil in a table is no entry.
        let inner = inner.prop_map(|value| match value {
            InLua::Nil => InLua::Boolean(false),
            value => value,
        });
        // 1 is left out: with it, the table may be a sequence.
        let key = prop_oneof![(2..9i32).prop_map(f64::from), -1e15..0.5f64];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 1..5).prop_map(InLua::Sequence),
            proptest::collection::btree_map(any_bytes(), inner.clone(), 0..5)
                .prop_map(|fields| InLua::Table(fields.into_iter().collect())),
            proptest::collection::vec((key, inner), 1..5).prop_map(InLua::Numbered),
        ]
    })
}

impl InLua {
    fn to_lua(&self, lua: &mlua::Lua) -> mlua::Value {
        let table = lua.create_table().unwrap();
        match self {
            Self::Nil => return mlua::Value::Nil,
            Self::Function => {
                let function = lua.create_function(|_, ()| Ok(())).unwrap();
                return mlua::Value::Function(function);
            }
            Self::Boolean(truth) => return mlua::Value::Boolean(*truth),
            Self::Number(number) => return mlua::Value::Number(*number),
            Self::String(bytes) => return mlua::Value::String(lua.create_string(bytes).unwrap()),
            Self::Sequence(items) => {
                for item in items {
                    table.raw_push(item.to_lua(lua)).unwrap();
                }
            }
            Self::Table(fields) => {
                for (key, item) in fields {
                    let key = lua.create_string(key).unwrap();
                    table.raw_set(key, item.to_lua(lua)).unwrap();
                }
            }
            Self::Numbered(fields) => {
                for (key, item) in fields {
                    table.raw_set(*key, item.to_lua(lua)).unwrap();
                }
            }
        }
        mlua::Value::Table(table)
    }

    /// The JSON it is written as.
    fn expected(&self, mode: TextMode) -> Value {
        match self {
            Self::Nil | Self::Function => Value::Null,
            Self::Boolean(truth) => Value::Bool(*truth),
            Self::Number(number) if number.is_finite() => written(&Held::Number(*number), mode),
            Self::Number(_) => Value::Null,
            Self::String(bytes) => Value::String(agent_text(bytes, mode)),
            Self::Sequence(items) => items.iter().map(|item| item.expected(mode)).collect(),
            Self::Table(fields) => {
                let fields = fields.iter();
                Value::Object(Map::from_iter(
                    fields.map(|(key, item)| (agent_text(key, mode), item.expected(mode))),
                ))
            }
            Self::Numbered(fields) => {
                Value::Object(Map::from_iter(fields.iter().map(|(key, item)| {
                    let key = written(&Held::Number(*key), mode).to_string();
                    (key, item.expected(mode))
                })))
            }
        }
    }

    /// Whether two of its keys are written alike, so that one of them goes lost.
    fn has_lost_keys(&self, mode: TextMode) -> bool {
        match self {
            Self::Table(fields) => {
                let keys: std::collections::BTreeSet<_> = fields
                    .iter()
                    .map(|(key, _)| agent_text(key, mode))
                    .collect();
                keys.len() < fields.len() || fields.iter().any(|(_, item)| item.has_lost_keys(mode))
            }
            Self::Numbered(fields) => fields.iter().any(|(_, item)| item.has_lost_keys(mode)),
            Self::Sequence(items) => items.iter().any(|item| item.has_lost_keys(mode)),
            _ => false,
        }
    }
}

/// JSON text with whitespace, broken at random places or not.
fn near_json() -> impl Strategy<Value = String> {
    let spaced = any_json().prop_map(|value| serde_json::to_string_pretty(&value).unwrap());
    let edit = (
        any::<prop::sample::Index>(),
        prop::option::of("[\\[\\]{}\",:\\\\u0-9eE+.a-f\t\r\n\0-]"),
    );
    (spaced, proptest::collection::vec(edit, 0..3)).prop_map(|(text, edits)| {
        let mut characters: Vec<char> = text.chars().collect();
        for (at, change) in edits {
            if characters.is_empty() {
                break;
            }
            let at = at.index(characters.len());
            match change.and_then(|change| change.chars().next()) {
                Some(other) => characters[at] = other,
                None => drop(characters.remove(at)),
            }
        }
        characters.into_iter().collect()
    })
}

proptest! {
    #![proptest_config(super::cases())]

    #[test]
    fn what_serde_json_writes_the_agent_reads_as_the_same(value in any_json(), mode in any_mode()) {
        let raw = value.to_string();
        let escaped = encode(&value, TextMode::Plain).unwrap();
        CODEC.with(|codec| {
            assert_eq!(codec.decode(raw.as_bytes(), mode), Ok(held(&value, mode)));
            assert_eq!(codec.decode(escaped.as_bytes(), mode), Ok(held(&value, mode)));
        });
    }

    #[test]
    fn what_the_bridge_sends_in_byte_mode_the_agent_holds_as_utf_8(value in any_json()) {
        let wire = encode(&value, TextMode::Bytes).unwrap();
        CODEC.with(|codec| {
            let decoded = codec.decode(wire.as_bytes(), TextMode::Bytes);
            assert_eq!(decoded, Ok(held(&value, TextMode::Plain)));
        });
    }

    #[test]
    fn what_the_agent_writes_serde_json_reads_as_the_same(value in any_in_lua(), mode in any_mode()) {
        prop_assume!(!value.has_lost_keys(mode));
        CODEC.with(|codec| {
            let json = codec.encode(value.to_lua(codec.lua()), mode);
            assert_eq!(read_written(&json), value.expected(mode), "{json}");
        });
    }

    #[test]
    fn valid_utf_8_of_the_agent_is_text_to_the_bridge_in_both_modes(text in any_text(), mode in any_mode()) {
        CODEC.with(|codec| {
            let json = codec.encode(codec.lua().create_string(&text).unwrap(), mode);
            let wire: Value = serde_json::from_str(&json).unwrap();
            assert_eq!(decode_value(wire, mode), Value::String(text));
        });
    }

    #[test]
    fn any_bytes_come_back_to_the_agent_as_they_were_in_byte_mode(bytes in any_bytes()) {
        CODEC.with(|codec| {
            let json = codec.encode(codec.lua().create_string(&bytes).unwrap(), TextMode::Bytes);
            assert_eq!(codec.decode(json.as_bytes(), TextMode::Bytes), Ok(Held::String(bytes)));
        });
    }

    #[test]
    fn long_strings_full_of_escapes_are_read_and_written_as_short_ones_are(
        texts in proptest::collection::vec(any_text(), 10..60), broken in any::<bool>(), at in any::<prop::sample::Index>(),
    ) {
        let mut json = encode(&texts.concat(), TextMode::Bytes).unwrap();
        if broken {
            // Pure ASCII, so any place is one between characters.
            json.remove(at.index(json.len()));
        }
        CODEC.with(|codec| {
            target::check(codec, &[b"1", json.as_bytes()].concat());
            target::check(codec, &[b"0", json.as_bytes()].concat());
        });
    }

    #[test]
    fn the_agent_and_serde_json_agree_on_what_is_json(text in near_json(), mode in any::<u8>()) {
        CODEC.with(|codec| target::check(codec, &[&[mode], text.as_bytes()].concat()));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in any_bytes(), mode in any::<u8>()) {
        CODEC.with(|codec| {
            target::check(codec, &[&[mode], &bytes[..]].concat());
            target::check(codec, &[&[mode, b'"'], &bytes[..], b"\""].concat());
        });
    }
}

#[test]
fn every_byte_alone_is_written_and_read_in_both_modes() {
    CODEC.with(|codec| {
        for byte in 0..=255u8 {
            for mode in [TextMode::Plain, TextMode::Bytes] {
                let json = codec.encode(codec.lua().create_string([byte]).unwrap(), mode);
                let wire: String = serde_json::from_str(&json).unwrap();
                assert_eq!(wire, char::from(byte).to_string(), "{mode:?}");
            }
            target::check(codec, &[0, b'"', byte, b'"']);
            target::check(codec, &[1, b'"', byte, b'"']);
        }
    });
}

#[test]
fn a_string_of_many_blocks_survives_the_way_there_and_back() {
    // All pairs of bytes, in an order in which no block ends alike.
    let bytes: Vec<u8> = (0..=255u8)
        .flat_map(|a| (0..=255u8).flat_map(move |b| [a, b, b]))
        .collect();
    CODEC.with(|codec| {
        for mode in [TextMode::Plain, TextMode::Bytes] {
            let json = codec.encode(codec.lua().create_string(&bytes).unwrap(), mode);
            let wire: String = serde_json::from_str(&json).unwrap();
            assert!(wire == agent_text(&bytes, mode), "{mode:?}");
            let decoded = codec.decode(json.as_bytes(), mode);
            assert!(
                decoded == Ok(Held::String(agent_bytes(&wire, mode))),
                "{mode:?}"
            );
        }
    });
}

#[test]
fn depth_is_limited_both_ways_and_the_limit_is_the_same() {
    CODEC.with(|codec| {
        let nested = |depth: usize| format!("{}7{}", "[".repeat(depth), "]".repeat(depth));
        assert!(
            codec
                .decode(nested(MAX_DEPTH).as_bytes(), TextMode::Plain)
                .is_ok()
        );
        for depth in [MAX_DEPTH + 1, 100_000] {
            let refused = codec.decode(nested(depth).as_bytes(), TextMode::Plain);
            assert_eq!(refused, Err("nested too deep".to_owned()), "{depth}");
        }
        let mut table = mlua::Value::Integer(7);
        for _ in 0..MAX_DEPTH + 6 {
            table = mlua::Value::Table(codec.lua().create_sequence_from([table]).unwrap());
        }
        let cut = format!("{}null{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert_eq!(codec.encode(table, TextMode::Plain), cut);
    });
}
