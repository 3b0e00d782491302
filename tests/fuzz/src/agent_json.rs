//! The agent's JSON codec in embedded Lua, beside serde_json.

use std::collections::BTreeMap;

use mcp_bridge::wire::text::TextMode;
use mlua::{Function, IntoLua, Lua, Table};
use serde_json::{Map, Value};

/// The agent's modules that the codec consists of.
const MODULES: [(&str, &str); 3] = [
    (
        "mcp-computer.json",
        include_str!("../../../lua/mcp-computer/json.lua"),
    ),
    (
        "mcp-computer.number",
        include_str!("../../../lua/mcp-computer/number.lua"),
    ),
    (
        "mcp-computer.text",
        include_str!("../../../lua/mcp-computer/text.lua"),
    ),
];

/// How many arrays and objects may stand in each other in what the agent reads and writes.
pub const MAX_DEPTH: usize = 64;

/// A JSON value as the agent holds it: its strings are bytes, its numbers doubles.
#[derive(Debug, Clone)]
pub enum Held {
    Null,
    Boolean(bool),
    Number(f64),
    String(Vec<u8>),
    Array(Vec<Held>),
    Object(BTreeMap<Vec<u8>, Held>),
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Boolean(one), Self::Boolean(other)) => one == other,
            (Self::Number(one), Self::Number(other)) => one.to_bits() == other.to_bits(),
            (Self::String(one), Self::String(other)) => one == other,
            (Self::Array(one), Self::Array(other)) => one == other,
            (Self::Object(one), Self::Object(other)) => one == other,
            _ => false,
        }
    }
}

/// The codec.
pub struct AgentJson {
    lua: Lua,
    encode: Function,
    decode: Function,
    mark_array: Function,
    null: Table,
}

impl AgentJson {
    /// The agent's own modules in a Lua of their own.
    pub fn new() -> mlua::Result<Self> {
        let lua = Lua::new();
        let preload: Table = lua.globals().get::<Table>("package")?.get("preload")?;
        for (name, source) in MODULES {
            let module = lua.load(source).set_name(format!("={name}"));
            preload.set(name, module.into_function()?)?;
        }
        let json: Table = lua.load("return require('mcp-computer.json')").eval()?;
        Ok(Self {
            encode: json.get("encode")?,
            decode: json.get("decode")?,
            mark_array: json.get("array")?,
            null: json.get("null")?,
            lua,
        })
    }

    /// The Lua it runs in.
    pub fn lua(&self) -> &Lua {
        &self.lua
    }

    /// What the agent writes for a Lua value.
    pub fn encode(&self, value: impl IntoLua, mode: TextMode) -> String {
        let text: mlua::LuaString = self.encode.call((value, mode_name(mode))).unwrap();
        let text = text.to_str().unwrap().to_owned();
        assert!(text.is_ascii(), "the wire is ASCII: {text}");
        text
    }

    /// What the agent makes of this text, or what it says is wrong with it.
    pub fn decode(&self, text: &[u8], mode: TextMode) -> Result<Held, String> {
        let text = self.lua.create_string(text).unwrap();
        let (value, problem): (mlua::Value, Option<String>) =
            self.decode.call((text, mode_name(mode))).unwrap();
        match problem {
            Some(problem) => {
                assert!(value.is_nil(), "a value and a problem: {problem}");
                Err(problem)
            }
            None => Ok(self.held(&value)),
        }
    }

    /// A decoded value as a Lua value again.
    pub fn to_lua(&self, held: &Held) -> mlua::Result<mlua::Value> {
        Ok(match held {
            Held::Null => mlua::Value::Table(self.null.clone()),
            Held::Boolean(truth) => mlua::Value::Boolean(*truth),
            Held::Number(number) => mlua::Value::Number(*number),
            Held::String(bytes) => mlua::Value::String(self.lua.create_string(bytes)?),
            Held::Array(items) => {
                let table = self.lua.create_table()?;
                for item in items {
                    table.raw_push(self.to_lua(item)?)?;
                }
                self.mark_array.call(table)?
            }
            Held::Object(fields) => {
                let table = self.lua.create_table()?;
                for (key, item) in fields {
                    table.raw_set(self.lua.create_string(key)?, self.to_lua(item)?)?;
                }
                mlua::Value::Table(table)
            }
        })
    }

    fn held(&self, value: &mlua::Value) -> Held {
        match value {
            mlua::Value::Boolean(truth) => Held::Boolean(*truth),
            // mlua gives whole doubles as integers, but for -0.
            mlua::Value::Integer(number) => Held::Number(*number as f64),
            mlua::Value::Number(number) => Held::Number(*number),
            mlua::Value::String(bytes) => Held::String(bytes.as_bytes().to_vec()),
            mlua::Value::Table(table) if *table == self.null => Held::Null,
            mlua::Value::Table(table) if table.metatable().is_some() => {
                let items = table.sequence_values::<mlua::Value>();
                Held::Array(items.map(|item| self.held(&item.unwrap())).collect())
            }
            mlua::Value::Table(table) => {
                let fields = table.pairs::<mlua::LuaString, mlua::Value>();
                let fields = fields.map(|field| {
                    let (key, value) = field.unwrap();
                    (key.as_bytes().to_vec(), self.held(&value))
                });
                Held::Object(fields.collect())
            }
            other => panic!("decoding gave a {}", other.type_name()),
        }
    }
}

fn mode_name(mode: TextMode) -> &'static str {
    match mode {
        TextMode::Plain => "text",
        TextMode::Bytes => "bytes",
    }
}

/// The bytes that the agent holds for a JSON string: one for each code point up to U+00FF in byte mode, else UTF-8.
pub fn agent_bytes(text: &str, mode: TextMode) -> Vec<u8> {
    if mode == TextMode::Plain {
        return text.as_bytes().to_vec();
    }
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match u8::try_from(u32::from(c)) {
            Ok(byte) => bytes.push(byte),
            Err(_) => bytes.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

/// The JSON string that the agent writes for these bytes: a code point for each byte in byte mode; else UTF-8 where it
/// is valid, and the code point of the same number for any other byte.
pub fn agent_text(bytes: &[u8], mode: TextMode) -> String {
    match mode {
        TextMode::Bytes => bytes.iter().copied().map(char::from).collect(),
        TextMode::Plain => latin_1_for_invalid(bytes),
    }
}

fn latin_1_for_invalid(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().copied().map(char::from));
    }
    text
}

/// What the agent must hold for this value.
pub fn held(value: &Value, mode: TextMode) -> Held {
    match value {
        Value::Null => Held::Null,
        Value::Bool(truth) => Held::Boolean(*truth),
        Value::Number(number) => Held::Number(number.as_f64().unwrap_or(f64::NAN)),
        Value::String(text) => Held::String(agent_bytes(text, mode)),
        Value::Array(items) => Held::Array(items.iter().map(|item| held(item, mode)).collect()),
        Value::Object(fields) => {
            let fields = fields.iter();
            Held::Object(
                fields
                    .map(|(key, item)| (agent_bytes(key, mode), held(item, mode)))
                    .collect(),
            )
        }
    }
}

/// The JSON that the agent must write for this.
pub fn written(held: &Held, mode: TextMode) -> Value {
    match held {
        Held::Null => Value::Null,
        Held::Boolean(truth) => Value::Bool(*truth),
        Held::Number(number) => whole(*number).map_or_else(|| Value::from(*number), Value::from),
        Held::String(bytes) => Value::String(agent_text(bytes, mode)),
        Held::Array(items) => items.iter().map(|item| written(item, mode)).collect(),
        Held::Object(fields) => {
            let fields = fields.iter();
            Value::Object(Map::from_iter(
                fields.map(|(key, item)| (agent_text(key, mode), written(item, mode))),
            ))
        }
    }
}

/// A number that is written without a fraction or exponent.
fn whole(number: f64) -> Option<i64> {
    let exact = number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0;
    // In range and whole, so the conversion is exact.
    (exact && !(number == 0.0 && number.is_sign_negative())).then_some(number as i64)
}

/// JSON that the agent wrote, with whole numbers over 2^53 as the doubles that they are to it.
pub fn read_written(json: &str) -> Value {
    fn with_doubles(value: Value) -> Value {
        match value {
            Value::Number(number) => match number.as_f64() {
                Some(double) if whole(double).is_none() => Value::from(double),
                _ => Value::Number(number),
            },
            Value::Array(items) => items.into_iter().map(with_doubles).collect(),
            Value::Object(fields) => {
                let fields = fields.into_iter();
                Value::Object(
                    fields
                        .map(|(key, item)| (key, with_doubles(item)))
                        .collect(),
                )
            }
            other => other,
        }
    }
    with_doubles(serde_json::from_str(json).unwrap())
}

/// How many arrays and objects stand in each other.
pub fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// What serde_json refuses and the agent knowingly takes: a lone half of a surrogate pair, which becomes U+FFFD, and a
/// number beyond the doubles, which becomes infinite.
fn more_lenient_than(refusal: &serde_json::Error) -> bool {
    let refusal = refusal.to_string();
    ["hex escape", "number out of range"]
        .iter()
        .any(|known| refusal.contains(known))
}

/// The agent reads any bytes as serde_json does, never throws, and writes what it read as the same value again.
///
/// Bytes that are no UTF-8 come from games that hand each code point up to U+00FF to Lua as one byte.
pub fn check(codec: &AgentJson, data: &[u8]) {
    let Some((mode, data)) = split_mode(data) else {
        return;
    };
    let text = latin_1_for_invalid(data);
    let expected = serde_json::from_str::<Value>(&text);
    let decoded = codec.decode(data, mode);
    match (&decoded, &expected) {
        (Ok(decoded), Ok(expected)) => assert_eq!(*decoded, held(expected, mode)),
        (Err(_), Err(_)) => {}
        (Ok(_), Err(refusal)) => {
            assert!(more_lenient_than(refusal), "the agent reads it: {refusal}")
        }
        (Err(problem), Ok(expected)) => assert!(
            depth(expected) > MAX_DEPTH,
            "the agent refuses it: {problem}"
        ),
    }
    let (Ok(decoded), Ok(_)) = (decoded, expected) else {
        return;
    };
    let again = codec.encode(codec.to_lua(&decoded).unwrap(), mode);
    assert_eq!(read_written(&again), written(&decoded, mode));
    assert_eq!(codec.decode(again.as_bytes(), mode), Ok(decoded));
}

/// The text mode that an input's first byte chooses, and the rest.
pub fn split_mode(data: &[u8]) -> Option<(TextMode, &[u8])> {
    let (first, rest) = data.split_first()?;
    let mode = if first % 2 == 0 {
        TextMode::Plain
    } else {
        TextMode::Bytes
    };
    Some((mode, rest))
}
