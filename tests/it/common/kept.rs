//! What a script has kept of earlier answers, put in where it is named.

use std::collections::BTreeMap;

use regex::{Captures, Regex};
use serde_json::Value;

/// Texts by their names.
pub type Kept = BTreeMap<String, String>;

/// A text in which each `{name}` of what was kept is what it stands for.
pub fn filled(text: &str, kept: &Kept) -> String {
    let place = Regex::new(r"\{([a-z]+)\}").unwrap();
    place
        .replace_all(text, |found: &Captures<'_>| {
            kept.get(&found[1])
                .cloned()
                .unwrap_or_else(|| found[0].to_owned())
        })
        .into_owned()
}

/// The same of all texts in a value.
pub fn filled_value(value: &Value, kept: &Kept) -> Value {
    match value {
        Value::String(text) => Value::from(filled(text, kept)),
        Value::Array(items) => items.iter().map(|item| filled_value(item, kept)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (filled(name, kept), filled_value(field, kept)))
            .collect(),
        other => other.clone(),
    }
}

/// Keeps what the group of each pattern finds in a text.
pub fn keep(kept: &mut Kept, patterns: &Kept, text: &str, told: &str) {
    for (name, pattern) in patterns {
        let found = Regex::new(pattern).unwrap();
        let found = found
            .captures(text)
            .unwrap_or_else(|| panic!("no `{pattern}`: {told}"));
        kept.insert(name.clone(), found[1].to_owned());
    }
}
