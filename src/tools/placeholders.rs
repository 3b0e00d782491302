//! Texts with `{{names}}` for what is filled in.

use std::collections::BTreeMap;

use serde_json::Value;

/// A text with its `{{names}}` filled in. What is filled in is not looked at again; a name that is not known stays.
pub fn filled(text: &str, values: &BTreeMap<String, String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let known = after.split_once("}}").and_then(|(name, after)| {
            let value = values.get(name.trim())?;
            Some((value, after))
        });
        match known {
            Some((value, after)) => {
                filled.push_str(value);
                rest = after;
            }
            None => {
                filled.push_str("{{");
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// [`filled`], for every text inside a value.
pub fn filled_value(value: &Value, values: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) => Value::String(filled(text, values)),
        Value::Array(items) => items
            .iter()
            .map(|item| filled_value(item, values))
            .collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.clone(), filled_value(field, values)))
            .collect(),
        other => other.clone(),
    }
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
        ] {
            assert_eq!(filled(text, &values), expected, "{text}");
        }
    }
}
