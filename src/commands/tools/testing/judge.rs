//! Whether what came is what must come; if not, what was expected.

use serde_json::Value;

use crate::tools::manifest::Expected;

/// What came of an example.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Came {
    /// Whether it went wrong.
    pub is_error: bool,
    /// What a model would read.
    pub text: String,
    /// The value: the structured content, or what the text says as JSON.
    pub value: Option<Value>,
}

/// Something that was expected and did not come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// What was expected: a sentence's end.
    pub expected: String,
    /// That itself, if it is not all said.
    pub shown: Option<String>,
}

impl Miss {
    /// Something that is said in one sentence.
    pub fn of(expected: impl Into<String>) -> Self {
        Self {
            expected: expected.into(),
            shown: None,
        }
    }

    fn showing(expected: &str, shown: impl Into<String>) -> Self {
        Self {
            expected: expected.to_owned(),
            shown: Some(shown.into()),
        }
    }
}

/// What of `expected` did not come; nothing if all did.
pub fn judge(expected: &Expected, came: &Came) -> Vec<Miss> {
    // What else is said of an error is about something else.
    match (expected.is_error, came.is_error) {
        (true, false) => return vec![Miss::of("an error")],
        (false, true) => return vec![Miss::of("no error")],
        _ => {}
    }
    let mut misses = Vec::new();
    if let Some(text) = &expected.text
        && text.trim_end() != came.text.trim_end()
    {
        misses.push(Miss::showing("the text", text.trim_end()));
    }
    for part in &expected.contains {
        if !came.text.contains(part.as_str()) {
            misses.push(Miss::showing("a text that contains", part));
        }
    }
    for pattern in &expected.matches {
        if !pattern.is_in(&came.text) {
            misses.push(Miss::showing("a text that matches", pattern.as_str()));
        }
    }
    for (value, what, how) in [
        (&expected.value, "the value", How::Whole),
        (
            &expected.value_includes,
            "a value that includes",
            How::Included,
        ),
    ] {
        let Some(value) = value else { continue };
        let reason = match &came.value {
            Some(came) => difference(value, came, how, "it"),
            None => Some("it is no value: the text is no JSON".to_owned()),
        };
        if let Some(reason) = reason {
            misses.push(Miss::showing(what, format!("{}\n({reason})", json(value))));
        }
    }
    misses
}

/// A value as JSON, a line for each part of one that has several.
pub fn json(value: &Value) -> String {
    let text = match value {
        Value::Array(_) | Value::Object(_) => serde_json::to_string_pretty(value),
        _ => serde_json::to_string(value),
    };
    text.unwrap_or_default()
}

/// How much of a value is to be there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// Nothing else than what is expected.
    Whole,
    /// Objects may have more keys.
    Included,
}

/// The first part of a value that is not as expected, and how.
fn difference(expected: &Value, came: &Value, how: How, place: &str) -> Option<String> {
    match (expected, came) {
        (Value::Object(expected), Value::Object(came)) => {
            for (key, value) in expected {
                let place = format!("{place}.{key}");
                let Some(came) = came.get(key) else {
                    return Some(format!("{place} is missing"));
                };
                if let Some(found) = difference(value, came, how, &place) {
                    return Some(found);
                }
            }
            let more = came.keys().find(|key| !expected.contains_key(*key));
            match (how, more) {
                (How::Whole, Some(more)) => Some(format!("{place}.{more} is there too")),
                _ => None,
            }
        }
        (Value::Array(expected), Value::Array(came)) => {
            if expected.len() != came.len() {
                return Some(format!(
                    "{place} has {} entries, not {}",
                    came.len(),
                    expected.len()
                ));
            }
            // As Lua counts.
            let all = expected.iter().zip(came).enumerate();
            all.into_iter().find_map(|(index, (expected, came))| {
                difference(expected, came, how, &format!("{place}[{}]", index + 1))
            })
        }
        // Lua has one kind of number, and one empty table.
        (Value::Number(one), Value::Number(other)) if one.as_f64() == other.as_f64() => None,
        (Value::Array(items), Value::Object(fields))
        | (Value::Object(fields), Value::Array(items))
            if items.is_empty() && fields.is_empty() =>
        {
            None
        }
        (expected, came) if expected == came => None,
        (expected, came) => Some(format!("{place} is {came}, not {expected}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn came(text: &str) -> Came {
        Came {
            is_error: false,
            text: text.to_owned(),
            value: serde_json::from_str(text).ok(),
        }
    }

    fn misses(expected: Expected, came: &Came) -> Vec<String> {
        judge(&expected, came)
            .into_iter()
            .map(|miss| match miss.shown {
                Some(shown) => format!("{}: {shown}", miss.expected),
                None => miss.expected,
            })
            .collect()
    }

    #[test]
    fn a_text_is_equal_contains_and_all_of_it_counts() {
        let text = |text: &str| Expected {
            text: Some(text.to_owned()),
            ..Expected::default()
        };
        assert_eq!(misses(text("a\nb\n"), &came("a\nb")), [""; 0]);
        assert_eq!(misses(text("a"), &came("a b")), ["the text: a"]);
        let contains = Expected {
            contains: vec!["a".to_owned(), "c".to_owned()],
            ..text("a")
        };
        assert_eq!(
            misses(contains, &came("a b")),
            ["the text: a", "a text that contains: c"]
        );
    }

    #[test]
    fn an_error_is_expected_or_it_is_all_that_is_told() {
        let failed = Came {
            is_error: true,
            ..came("no fuel")
        };
        let expected = |is_error, part: &str| Expected {
            is_error,
            contains: vec![part.to_owned()],
            ..Expected::default()
        };
        assert_eq!(misses(expected(true, "fuel"), &failed), [""; 0]);
        assert_eq!(misses(expected(false, "coal"), &failed), ["no error"]);
        assert_eq!(misses(expected(true, "fuel"), &came("fuel")), ["an error"]);
        assert_eq!(
            misses(expected(true, "coal"), &failed),
            ["a text that contains: coal"]
        );
    }

    #[test]
    fn the_first_part_of_a_value_that_is_another_is_named() {
        let both = json!({"a": [{"b": 1.0, "c": "x"}, {}], "d": null});
        for (expected, how, told) in [
            (
                json!({"a": [{"b": 1, "c": "x"}, []], "d": null}),
                How::Whole,
                None,
            ),
            (json!({"a": [{"b": 1}, {}]}), How::Included, None),
            (
                json!({"a": [{"b": 1}, {}]}),
                How::Whole,
                Some("it.a[1].c is there too"),
            ),
            (
                json!({"a": [{}]}),
                How::Included,
                Some("it.a has 2 entries, not 1"),
            ),
            (
                json!({"a": [{"b": 2}, {}]}),
                How::Included,
                Some("it.a[1].b is 1.0, not 2"),
            ),
            (json!({"e": 1}), How::Included, Some("it.e is missing")),
            (
                json!([]),
                How::Included,
                Some("it is {\"a\":[{\"b\":1.0,\"c\":\"x\"},{}],\"d\":null}, not []"),
            ),
        ] {
            assert_eq!(difference(&expected, &both, how, "it").as_deref(), told);
        }
        let expected = Expected {
            value: Some(json!(5)),
            ..Expected::default()
        };
        assert_eq!(
            misses(expected, &came("five")),
            ["the value: 5\n(it is no value: the text is no JSON)"]
        );
    }
}
