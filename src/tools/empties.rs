//! Lua has one empty table for both: where a schema says which of the two JSON has there, it is that.

use serde_json::{Map, Value};

use super::effort;

/// References that follow each other without going deeper into a value, at most: they may go round.
const MOST_REFERENCES: usize = 16;

/// A value whose empty lists and objects are what the schema asks for in their place. All else stays as it is.
pub fn fitted(schema: &Map<String, Value>, mut value: Value) -> Value {
    if holds_empty(&value) {
        let root = Value::Object(schema.clone());
        // Else it is refused, whatever it holds.
        if effort::steps(&root, &value).is_ok() {
            fit(&root, &root, &mut value, 0);
        }
    }
    value
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn holds_empty(value: &Value) -> bool {
    is_empty(value)
        || match value {
            Value::Array(items) => items.iter().any(holds_empty),
            Value::Object(fields) => fields.values().any(holds_empty),
            _ => false,
        }
}

fn fit(schema: &Value, root: &Value, value: &mut Value, references: usize) {
    let reference = schema.get("$ref").and_then(Value::as_str);
    if let Some(target) = reference
        .and_then(|reference| reference.strip_prefix('#'))
        .and_then(|pointer| root.pointer(pointer))
        && references < MOST_REFERENCES
    {
        fit(target, root, value, references + 1);
    }
    if is_empty(value) {
        match (may_be(schema, "array"), may_be(schema, "object")) {
            (true, false) => *value = Value::Array(Vec::new()),
            (false, true) => *value = Value::Object(Map::new()),
            _ => {}
        }
    }
    let alternatives = ["allOf", "anyOf", "oneOf"]
        .iter()
        .filter_map(|word| schema.get(word)?.as_array());
    let alternatives: Vec<_> = alternatives.flatten().collect();
    // An empty one of which more than one could be meant is left as it is.
    if alternatives.len() == 1 || !is_empty(value) {
        for schema in alternatives {
            fit(schema, root, value, references);
        }
    }
    match value {
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for item in items {
                    fit(schema, root, item, 0);
                }
            }
        }
        Value::Object(fields) => {
            let properties = schema.get("properties");
            let others = schema.get("additionalProperties");
            for (name, field) in fields {
                let own = properties.and_then(|properties| properties.get(name));
                if let Some(schema) = own.or(others) {
                    fit(schema, root, field, 0);
                }
            }
        }
        _ => {}
    }
}

/// Whether a schema says that a value may be of a type, in itself or its alternatives.
fn may_be(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == kind,
        Some(Value::Array(names)) => names.iter().any(|name| name == kind),
        _ => ["anyOf", "oneOf"]
            .iter()
            .filter_map(|word| schema.get(word)?.as_array())
            .flatten()
            .any(|schema| may_be(schema, kind)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_empty_table_is_what_the_schema_has_in_its_place() {
        let schema = json!({
            "type": "object",
            "properties": {
                "list": {"type": "array", "items": {"type": "array"}},
                "map": {"type": "object", "additionalProperties": {"type": "array"}},
                "named": {"$ref": "#/$defs/list"},
                "nullable": {"anyOf": [{"type": "array"}, {"type": "null"}]},
                "either": {"anyOf": [{"type": "array"}, {"type": "object"}]},
                "round": {"$ref": "#/properties/round"},
                "open": {},
            },
            "$defs": {"list": {"type": ["array", "null"]}},
        });
        let fits = |value: Value| fitted(schema.as_object().unwrap(), value);
        for (given, fit) in [
            (json!({"list": {}}), json!({"list": []})),
            (json!({"list": [{}, [1]]}), json!({"list": [[], [1]]})),
            (json!({"map": []}), json!({"map": {}})),
            (json!({"map": {"a": {}}}), json!({"map": {"a": []}})),
            (json!({"named": {}}), json!({"named": []})),
            (json!({"nullable": {}}), json!({"nullable": []})),
            (json!([]), json!({})),
        ] {
            assert_eq!(fits(given.clone()), fit, "{given}");
        }
        for same in [
            json!({"either": {}}),
            json!({"round": {}}),
            json!({"open": {}, "other": []}),
            json!({"list": "[]"}),
            json!({"list": {"a": 1}}),
        ] {
            assert_eq!(fits(same.clone()), same);
        }
    }
}
