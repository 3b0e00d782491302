//! Finds the `id` of a JSON object that can't be parsed: because it is broken, or because it is too long to keep.

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
    place: Place,
    /// Inside a string; and whether its next byte is escaped.
    in_string: bool,
    escaped: bool,
    /// The key or id that is being read.
    token: Vec<u8>,
    /// The last id that was read to its end.
    found: Option<String>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq)]
enum Place {
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
        if self.place == Place::Id && !self.in_string {
            self.take_id();
        }
        self.found
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            return self.step_in_string(byte);
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'"' => {
                self.in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => self.open(byte),
            b'}' | b']' => self.close(),
            b':' if self.depth == 1 => {
                if let Place::Colon(is_id) = self.place {
                    self.place = if is_id { Place::Id } else { Place::Value };
                }
            }
            b',' if self.depth == 1 => {
                self.take_id();
                self.place = Place::Key;
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
            if self.depth == 1 && self.place == Place::Key {
                let key = std::mem::take(&mut self.token);
                let is_id = serde_json::from_slice::<String>(&key).is_ok_and(|key| key == "id");
                self.place = Place::Colon(is_id);
            }
        }
    }

    fn open(&mut self, byte: u8) {
        if self.depth == 0 {
            self.place = if byte == b'{' && self.place == Place::Outside {
                Place::Key
            } else {
                Place::Over
            };
        } else if self.place == Place::Id {
            // An object or array is no id.
            self.place = Place::Value;
        }
        self.depth += 1;
    }

    fn close(&mut self) {
        if self.depth == 1 {
            self.take_id();
            self.place = Place::Over;
        }
        self.depth = self.depth.saturating_sub(1);
    }

    /// Keeps a byte of the key or id at hand.
    fn keep(&mut self, byte: u8) {
        let most = match self.place {
            Place::Key if self.depth == 1 => MAX_KEY,
            Place::Id => MAX_ID,
            _ => return,
        };
        if self.token.len() <= most {
            self.token.push(byte);
        }
    }

    fn take_id(&mut self) {
        let token = std::mem::take(&mut self.token);
        if self.place != Place::Id || token.len() > MAX_ID {
            return;
        }
        if let Ok(value) = serde_json::from_slice::<&serde_json::value::RawValue>(&token)
            && matches!(value.get().as_bytes(), [b'"' | b'-' | b'0'..=b'9', ..])
        {
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
