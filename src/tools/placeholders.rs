//! Texts with `{{names}}` for what is filled in.

use std::collections::BTreeMap;

use serde_json::Value;
use thiserror::Error;

/// The most bytes that are filled in for one question.
const MOST: usize = 16 * 1024 * 1024;

/// There would be more than may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "With its arguments filled in it has more than {MOST} bytes. Pass shorter ones, or fill them in fewer times."
)]
pub struct TooLong;

/// How much may still be made of texts for one question.
#[derive(Debug)]
pub struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Self(MOST)
    }
}

impl Room {
    /// Takes so many bytes of it.
    ///
    /// # Errors
    /// There are no more.
    pub fn take(&mut self, bytes: usize) -> Result<(), TooLong> {
        self.0 = self.0.checked_sub(bytes).ok_or(TooLong)?;
        Ok(())
    }
}

/// A text with its `{{names}}` filled in. What is filled in is not looked at again; a name that is not known stays.
///
/// # Errors
/// It is longer than there is room for.
pub fn filled(
    text: &str,
    values: &BTreeMap<String, String>,
    room: &mut Room,
) -> Result<String, TooLong> {
    room.take(text.len())?;
    let mut filled = String::with_capacity(text.len());
    let (mut place, mut close) = (0, 0);
    while let Some(open) = text[place..].find("{{") {
        let inside = place + open + 2;
        filled.push_str(&text[place..place + open]);
        // One that was found for an earlier bracket is the next for this one too.
        if close < inside {
            match text[inside..].find("}}") {
                Some(at) => close = inside + at,
                None => {
                    place += open;
                    break;
                }
            }
        }
        match values.get(text[inside..close].trim()) {
            Some(value) => {
                room.take(value.len())?;
                filled.push_str(value);
                place = close + 2;
            }
            None => {
                filled.push_str("{{");
                place = inside;
            }
        }
    }
    filled.push_str(&text[place..]);
    Ok(filled)
}

/// [`filled`], for every text inside a value.
///
/// # Errors
/// They are longer than there is room for.
pub fn filled_value(
    value: &Value,
    values: &BTreeMap<String, String>,
    room: &mut Room,
) -> Result<Value, TooLong> {
    Ok(match value {
        Value::String(text) => Value::String(filled(text, values, room)?),
        Value::Array(items) => {
            let items = items.iter().map(|item| filled_value(item, values, room));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(name, field)| Ok((name.clone(), filled_value(field, values, room)?)));
            Value::Object(fields.collect::<Result<_, _>>()?)
        }
        other => other.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_filled_in_once_and_what_is_unknown_stays() {
        let values = BTreeMap::from([
            ("name".to_owned(), "{{other}}".to_owned()),
            ("other".to_owned(), "x".to_owned()),
        ]);
        for (text, expected) in [
            ("Hi {{name}}!", "Hi {{other}}!"),
            ("{{ other }}{{other}}", "xx"),
            ("{{unknown}} {{", "{{unknown}} {{"),
            ("{{{{other}}}}", "{{x}}"),
            ("{{ {{other}} {{", "{{ x {{"),
            ("}} {{other}} }} {{é}}", "}} x }} {{é}}"),
        ] {
            let filled = filled(text, &values, &mut Room::default());
            assert_eq!(filled.as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_would_be_too_long_is_not_made() {
        let values = BTreeMap::from([("a".to_owned(), "x".repeat(1_000_000))]);
        let times = |times: usize| filled(&"{{a}}".repeat(times), &values, &mut Room::default());
        assert_eq!(times(16).unwrap().len(), 16_000_000);
        assert_eq!(times(17), Err(TooLong));
        assert_eq!(times(1_000_000), Err(TooLong));
        let both = serde_json::json!([{ "text": "{{a}}".repeat(9) }, "{{a}}".repeat(9)]);
        assert_eq!(
            filled_value(&both, &values, &mut Room::default()),
            Err(TooLong)
        );
    }

    #[test]
    fn many_brackets_are_read_once() {
        let begun = std::time::Instant::now();
        for text in ["{{".repeat(200_000), "{{".repeat(200_000) + "}}"] {
            assert_eq!(
                filled(&text, &BTreeMap::new(), &mut Room::default()),
                Ok(text)
            );
        }
        // To look for the end from each would be more than a minute.
        assert!(begun.elapsed() < std::time::Duration::from_secs(10));
    }
}
