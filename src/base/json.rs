//! How large JSON is, told without making it or anything of it.
//!
//! A value takes up to 150 bytes in memory and up to half a microsecond of the one thread, and as JSON as few as two bytes.
//! So of what others send the values are counted before it is read, where it is long enough to have many.

use std::io;

use serde::Serialize;

/// How many bytes of JSON this is. What can't be written has no size.
pub fn size_of(value: &(impl Serialize + ?Sized)) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    match serde_json::to_writer(&mut count, value) {
        Ok(()) => count.0,
        Err(_) => 0,
    }
}

/// Whether this JSON has more than `most` values, told by its commas and brackets: keys are none, what is empty counts as
/// two. Costs nothing where there can't be that many.
pub fn has_more_values(json: &[u8], most: usize) -> bool {
    if json.len() < most {
        return false;
    }
    let (mut left, mut in_string, mut escaped) = (most, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'"' => in_string = !in_string,
            _ if in_string => escaped = *byte == b'\\',
            b',' | b'[' | b'{' => {
                left = left.saturating_sub(1);
                if left == 0 {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_what_stands_in_texts_is_not() {
        let count = |json: &str| {
            let fits = |most: &usize| !has_more_values(json.as_bytes(), *most);
            (1..).find(fits).unwrap()
        };
        for (json, values) in [
            ("1", 1),
            ("[1,2]", 3),
            (r#"{"a":[{},"b"],"c":null}"#, 6),
            (r#"["[,,{\",[[",1]"#, 3),
            (r#"["\\",",,,,"]"#, 3),
        ] {
            assert_eq!(count(json), values, "{json}");
        }
    }

    #[test]
    fn a_long_text_is_one_value() {
        let text = serde_json::to_string(&"[\n,\\\",".repeat(1_000)).unwrap();
        assert!(!has_more_values(text.as_bytes(), 1));
        assert_eq!(size_of(&"a\n"), 5);
    }
}
