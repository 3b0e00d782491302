//! Arguments with names that model providers refuse: they go by other names here, and reach the server under its own.

use std::collections::{BTreeMap, HashMap, HashSet};

use rmcp::model::JsonObject;
use serde_json::{Value, json};

use crate::base::client_rules::takes_argument;

/// The longest name that every client takes, in characters.
const LONGEST: usize = 64;

/// Arguments that go by another name here, each with the server's own.
pub type Renamed = BTreeMap<String, String>;

/// Gives the arguments at the root of this schema names that all take.
pub fn rename(schema: &mut JsonObject) -> Renamed {
    let mut renamed = Renamed::new();
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return renamed;
    };
    if properties.keys().all(|name| takes_argument(name)) {
        return renamed;
    }
    let before = std::mem::take(properties);
    let mut taken: HashSet<String> = before
        .keys()
        .filter(|name| takes_argument(name))
        .cloned()
        .collect();
    // The number that was given last to names that begin alike.
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let mut new_names: HashMap<String, String> = HashMap::new();
    for (own, mut property) in before {
        if takes_argument(&own) {
            properties.insert(own, property);
            continue;
        }
        let mut name = plain(&own);
        let begin = shortened(&name, LONGEST - 8).to_owned();
        while taken.contains(&name) {
            let number = numbers.entry(begin.clone()).or_insert(1);
            *number += 1;
            name = format!("{begin}_{number}");
        }
        taken.insert(name.clone());
        tell(&mut property, &own);
        properties.insert(name.clone(), property);
        new_names.insert(own.clone(), name.clone());
        renamed.insert(name, own);
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        for name in required {
            if let Some(new) = name.as_str().and_then(|name| new_names.get(name)) {
                *name = json!(new);
            }
        }
    }
    renamed
}

/// The arguments under the server's own names.
pub fn under_own_names(arguments: JsonObject, renamed: &Renamed) -> JsonObject {
    arguments
        .into_iter()
        .map(|(name, value)| (renamed.get(&name).cloned().unwrap_or(name), value))
        .collect()
}

/// The name with what is refused replaced.
fn plain(own: &str) -> String {
    let plain: String = own
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') => c,
            _ => '_',
        })
        .collect();
    let trimmed = plain.trim_matches('_');
    match trimmed.is_empty() {
        true => "argument".to_owned(),
        false => shortened(trimmed, LONGEST).to_owned(),
    }
}

fn shortened(ascii: &str, most: usize) -> &str {
    &ascii[..ascii.len().min(most)]
}

/// Says in the argument's description what the server calls it.
fn tell(property: &mut Value, own: &str) {
    if *property == json!(true) {
        *property = json!({});
    }
    let Value::Object(property) = property else {
        return;
    };
    let words = format!("The server's own name for it is `{own}`.");
    let words = match property.get("description").and_then(Value::as_str) {
        Some(before) => format!("{before} {words}"),
        None => words,
    };
    property.insert("description".to_owned(), json!(words));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strange_names_become_plain_ones_that_lead_back() {
        let long = "x".repeat(70);
        let mut schema = json!({
            "properties": {
                "$filter": {"type": "string", "description": "What."}, "filter": {}, "first name": true, "名": {}, (long.clone()): {},
            },
            "required": ["$filter", "filter"],
        });
        let schema = schema.as_object_mut().unwrap();
        let renamed = rename(schema);
        assert_eq!(
            serde_json::to_value(&renamed).unwrap(),
            json!({"filter_2": "$filter", "first_name": "first name", "argument": "名", (long[..64]): long})
        );
        assert_eq!(schema["required"], json!(["filter_2", "filter"]));
        assert_eq!(
            schema["properties"]["filter_2"]["description"],
            "What. The server's own name for it is `$filter`."
        );
        assert!(
            schema["properties"]
                .as_object()
                .unwrap()
                .keys()
                .all(|name| takes_argument(name))
        );
        let given = json!({"filter_2": 1, "filter": 2, "other": 3});
        let given = given.as_object().unwrap().clone();
        assert_eq!(
            Value::Object(under_own_names(given, &renamed)),
            json!({"$filter": 1, "filter": 2, "other": 3})
        );
    }

    #[test]
    fn plain_names_stay_as_they_are() {
        let mut schema = json!({"properties": {"a": {}, "b.c-d_e": {}}});
        let before = schema.clone();
        assert!(rename(schema.as_object_mut().unwrap()).is_empty());
        assert_eq!(schema, before);
    }
}
