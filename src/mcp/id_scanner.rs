//! Finds the `id` of a JSON object that can't be parsed: because it is broken, or because it is too long to keep.
//!
//! A visitor of serde_json's would take 30 lines instead of 170, but sees no `id` behind a fault and takes no pieces; and
//! clients made with the official TypeScript SDK write it last, after what is broken or too long.

/// The longest id that is picked out, in bytes.
const MAX_ID: usize = 64 * 1024;

/// The longest key that is looked at: `id` with both letters escaped.
const MAX_KEY: usize = 16;

/// The `id` of the object in `line` as JSON, if it is a string or a number.
pub fn find_id(line: &[u8]) -> Option<String> {
    let mut scanner = IdScanner::default();
    scanner.feed(line);
    scanner.id()
}

/// Picks the top-level `id` out of an object that passes by in pieces, and keeps nothing else of it.
#[derive(Debug, Default)]
pub struct IdScanner {
    /// How many objects and arrays are open.
    depth: usize,
    /// Where in the outermost object the scan is.
    position: Position,
    /// Inside a string; and whether its next byte is escaped.
    in_string: bool,
    escaped: bool,
    /// The key or id that is being read.
    token: Vec<u8>,
    /// The last id that was read to its end.
    found: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Position {
    /// Before the outermost object.
    #[default]
    Outside,
    /// Before or in a key.
    Key,
    /// After a key; whether the key was `id`.
    Colon(bool),
    /// In the value of `id`.
    Id,
    /// In another value.
    Value,
    /// The object is over, or was none.
    Over,
}

impl IdScanner {
    /// Takes the next piece.
    pub fn feed(&mut self, piece: &[u8]) {
        for &byte in piece {
            self.step(byte);
        }
    }

    /// The id as JSON, if one was read and it is a string or a number.
    pub fn id(mut self) -> Option<String> {
        // A line that breaks off right after the id has it all the same.
        if self.position == Position::Id && !self.in_string {
            self.take_id();
        }
        self.found
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            return self.step_in_string(byte);
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {
                // What it stands between is two things, and no id. One blank is enough to tell.
                if self.position == Position::Id && !matches!(self.token.last(), None | Some(b' '))
                {
                    self.keep(b' ');
                }
            }
            b'"' => {
                self.in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => self.open(byte),
            b'}' | b']' => self.close(),
            b':' if self.depth == 1 => match self.position {
                Position::Colon(is_id) => {
                    self.position = if is_id { Position::Id } else { Position::Value };
                }
                // What it stands in is no id.
                _ => self.keep(byte),
            },
            b',' if self.depth == 1 => {
                self.take_id();
                self.position = Position::Key;
            }
            _ => self.keep(byte),
        }
    }

    fn step_in_string(&mut self, byte: u8) {
        self.keep(byte);
        if self.escaped {
            self.escaped = false;
        } else if byte == b'\\' {
            self.escaped = true;
        } else if byte == b'"' {
            self.in_string = false;
            if self.depth == 1 && self.position == Position::Key {
                let key = std::mem::take(&mut self.token);
                let is_id = serde_json::from_slice::<String>(&key).is_ok_and(|key| key == "id");
                self.position = Position::Colon(is_id);
            }
        }
    }

    fn open(&mut self, byte: u8) {
        if self.depth == 0 {
            self.position = if byte == b'{' && self.position == Position::Outside {
                Position::Key
            } else {
                Position::Over
            };
        } else if self.position == Position::Id {
            // An object or array is no id.
            self.position = Position::Value;
        }
        self.depth += 1;
    }

    fn close(&mut self) {
        if self.depth == 1 {
            self.take_id();
            self.position = Position::Over;
        }
        self.depth = self.depth.saturating_sub(1);
    }

    /// Keeps a byte of the key or id at hand.
    fn keep(&mut self, byte: u8) {
        let most = match self.position {
            Position::Key if self.depth == 1 => MAX_KEY,
            Position::Id => MAX_ID,
            _ => return,
        };
        if self.token.len() <= most {
            self.token.push(byte);
        }
    }

    fn take_id(&mut self) {
        let token = std::mem::take(&mut self.token);
        if self.position != Position::Id || token.len() > MAX_ID {
            return;
        }
        let Ok(value) = serde_json::from_slice::<&serde_json::value::RawValue>(&token) else {
            return;
        };
        let is_id = match value.get().as_bytes() {
            [b'"', ..] => true,
            // A number that is too large for a double is not JSON to everyone.
            [b'-' | b'0'..=b'9', ..] => serde_json::from_str::<f64>(value.get()).is_ok(),
            _ => false,
        };
        if is_id {
            self.found = Some(value.get().to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_found_wherever_it_stands() {
        for (line, id) in [
            (r#"{"id":1,"a":2}"#, "1"),
            (r#" { "a" : {"id":9} , "id" : "x\"y" } "#, r#""x\"y""#),
            (r#"{"a":["id",{"id":3}],"b":"id\":4,","id":-5}"#, "-5"),
            (r#"{"\u0069d":6}"#, "6"),
            (r#"{"id":7"#, "7"),
            (r#"{"id":1,"id":2}"#, "2"),
            (r#"{"a":tru,"id":8,"#, "8"),
            ("{\"id\":\t9 \r\n ", "9"),
        ] {
            assert_eq!(find_id(line.as_bytes()).as_deref(), Some(id), "{line}");
        }
    }

    #[test]
    fn what_is_no_id_is_not_found() {
        for line in [
            r#"{"a":{"id":1}}"#,
            r#"[{"id":1}]"#,
            r#"{"id":null}"#,
            r#"{"id":{"id":1}}"#,
            r#"{"id":true}"#,
            r#"{"id":"unfinished"#,
            r#"{"a":"id"}"#,
            "",
            "id:1",
            r#"{}{"id":1}"#,
            r#"{"id":1 2}"#,
            r#"{"id":1:3}"#,
            r#"{"id":- 1}"#,
            r#"{"id":1e999}"#,
        ] {
            assert_eq!(find_id(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn pieces_of_any_size_give_the_same_id() {
        let line = br#"{"params":{"text":"\\\"}{,:"},"id":"a\u00e9b","jsonrpc":"2.0"}"#;
        for size in 1..line.len() {
            let mut scanner = IdScanner::default();
            line.chunks(size).for_each(|piece| scanner.feed(piece));
            assert_eq!(
                scanner.id().as_deref(),
                Some(r#""a\u00e9b""#),
                "pieces of {size}"
            );
        }
    }

    #[test]
    fn an_endless_line_is_not_kept() {
        let mut scanner = IdScanner::default();
        scanner.feed(br#"{"text":""#);
        for _ in 0..1_000 {
            scanner.feed(&[b'x'; 1_000]);
        }
        assert!(scanner.token.capacity() < 1_000);
        scanner.feed(br#"","id":12}"#);
        assert_eq!(scanner.id().as_deref(), Some("12"));
    }
}

#[cfg(test)]
pub(super) mod properties {
    use std::fmt;

    use proptest::{collection::vec, prelude::*, sample::select, test_runner::Config};
    use serde::{Deserialize, de};
    use serde_json::{Value, value::RawValue};

    use super::*;

    /// How many cases each property is tried with. What fails is printed, and is to become a test of its own.
    pub fn cases() -> Config {
        Config {
            failure_persistence: None,
            ..Config::with_cases(1_000)
        }
    }

    /// Whitespace as JSON has it; most often none.
    fn space() -> impl Strategy<Value = String> {
        prop_oneof![3 => Just(String::new()), 1 => "[ \t\r\n]{0,3}"]
    }

    /// JSON for this string, with some of its characters escaped.
    fn written(text: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
        (text, any::<u64>()).prop_map(|(text, escaped)| {
            let mut json = String::from("\"");
            for (at, c) in text.chars().enumerate() {
                if escaped >> (at % 64) & 1 == 1 {
                    let units = c.encode_utf16(&mut [0; 2]).to_vec();
                    json.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
                } else {
                    let plain = Value::from(c.to_string()).to_string();
                    json.push_str(&plain[1..plain.len() - 1]);
                }
            }
            json + "\""
        })
    }

    fn written_text() -> impl Strategy<Value = String> {
        written(prop_oneof!["[ -~]{0,9}", "\\PC{0,5}", any::<String>()])
    }

    /// An id of text or of at most 64 bits.
    pub fn written_id() -> impl Strategy<Value = String> {
        prop_oneof![any::<i64>().prop_map(|id| id.to_string()), written_text()]
    }

    /// JSON of any value, full of what could be taken for an id.
    fn written_value() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            select(vec![
                "null", "true", "false", "-1.5e-7", "\"2.0\"", "\"id\"", "{}", "[]"
            ])
            .prop_map(str::to_owned),
            written_id(),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            let item = (space(), inner.clone(), space()).prop_map(|(a, item, b)| a + &item + &b);
            prop_oneof![
                vec(item, 0..4).prop_map(|items| format!("[{}]", items.join(","))),
                written_object(vec((written_key(), inner), 0..4).boxed()),
            ]
        })
    }

    fn written_key() -> impl Strategy<Value = String> {
        let words = vec![
            "id", "jsonrpc", "method", "params", "result", "error", "_meta", "i", "Id",
        ];
        prop_oneof![3 => written(select(words).prop_map(str::to_owned)), 1 => written_text()]
    }

    /// Fields of a message that are right, nearly right or anything.
    pub fn message_fields() -> impl Strategy<Value = Vec<(String, String)>> {
        let right = vec![
            (r#""jsonrpc""#, r#""2.0""#),
            (r#""method""#, r#""tools/call""#),
            (r#""method""#, r#""initialize""#),
            (r#""method""#, r#""notifications/cancelled""#),
            (r#""params""#, r#"{"name":"exec-lua","arguments":{"id":3}}"#),
            (
                r#""params""#,
                r#"{"requestId":1,"_meta":{"progressToken":2}}"#,
            ),
            (r#""result""#, "{}"),
            (r#""error""#, r#"{"code":-1,"message":"no"}"#),
        ];
        let right = select(right).prop_map(|(key, value)| (key.to_owned(), value.to_owned()));
        let field = prop_oneof![2 => right, 1 => (written_key(), written_value())];
        vec(field, 0..7)
    }

    /// An object of these fields, with whitespace anywhere.
    pub fn written_object(
        fields: impl Strategy<Value = Vec<(String, String)>>,
    ) -> impl Strategy<Value = String> {
        (fields, vec(space(), 8)).prop_map(|(fields, spaces)| {
            let [a, b, c, d, e, f, g, h] = <[String; 8]>::try_from(spaces).unwrap_or_default();
            let fields = fields
                .iter()
                .map(|(key, value)| format!("{a}{key}{b}:{c}{value}{d}"));
            format!("{e}{{{f}{}{g}}}{h}", fields.collect::<Vec<_>>().join(","))
        })
    }

    /// All fields of an object, in order, repeated ones too.
    pub struct Fields(pub Vec<(String, Box<RawValue>)>);

    impl<'de> Deserialize<'de> for Fields {
        fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Visitor;
            impl<'de> de::Visitor<'de> for Visitor {
                type Value = Fields;

                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("an object")
                }

                fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                    let mut fields = Vec::new();
                    while let Some(field) = map.next_entry()? {
                        fields.push(field);
                    }
                    Ok(Fields(fields))
                }
            }
            deserializer.deserialize_map(Visitor)
        }
    }

    /// The last top-level `id` that is a string or a number, by serde_json's reading.
    fn last_id(object: &str) -> Option<String> {
        let Fields(fields) = serde_json::from_str(object).unwrap();
        let ids = fields.iter().filter(|(key, _)| key == "id");
        ids.map(|(_, value)| value.get().to_owned())
            .rfind(|value| value.starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit()))
    }

    fn find_in_pieces(line: &[u8], lengths: &[usize]) -> Option<String> {
        let mut scanner = IdScanner::default();
        let mut rest = line;
        for length in lengths {
            let (piece, after) = rest.split_at((*length).min(rest.len()));
            scanner.feed(piece);
            rest = after;
        }
        scanner.feed(rest);
        scanner.id()
    }

    proptest! {
        #![proptest_config(cases())]

        #[test]
        fn the_id_of_an_object_is_the_last_that_serde_json_sees(
            object in written_object(message_fields()), lengths in vec(0..9usize, 0..60),
        ) {
            prop_assert_eq!(find_id(object.as_bytes()), last_id(&object));
            prop_assert_eq!(find_in_pieces(object.as_bytes(), &lengths), last_id(&object));
        }

        #[test]
        fn an_object_that_breaks_off_has_an_id_that_was_whole_before(
            object in written_object(message_fields()), at in any::<prop::sample::Index>(),
        ) {
            let line = &object.as_bytes()[..at.index(object.len() + 1)];
            if let Some(id) = find_id(line) {
                prop_assert!(object.contains(&id) && serde_json::from_str::<&RawValue>(&id).is_ok(), "{}", id);
            }
        }

        #[test]
        fn any_bytes_in_any_pieces_have_the_id_they_have_as_one(
            line in vec(prop_oneof![select(b"{}[]\":,\\id1 ".to_vec()), any::<u8>()], 0..60),
            lengths in vec(0..9usize, 0..20),
        ) {
            prop_assert_eq!(find_in_pieces(&line, &lengths), find_id(&line));
        }
    }
}
