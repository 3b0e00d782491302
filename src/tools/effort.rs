//! How many steps it takes to hold a value against a schema, counted before it is done. A short schema can ask for more of
//! them than anybody can wait for, and a check that has begun can't be stopped. Pure.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use thiserror::Error;

/// The most steps of one check: they take a fraction of a second.
pub const MOST_STEPS: usize = 1_000_000;

/// The most schemas that one value may be held against, without what is in it.
pub const MOST_FOR_ONE: usize = 2_000;

/// How many schemas may stand in each other, by references too.
const DEEPEST: usize = 600;

/// What a pattern counts for, whatever text it is held against.
const PATTERN: usize = 20;

/// How many bytes of a text count for one step.
const BYTES: usize = 64;

/// There are more steps than may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("it takes too many steps to hold a value against the schema")]
pub struct TooMuch;

/// How many steps it takes at most to hold `value` against a schema.
///
/// # Errors
/// There are more than [`MOST_STEPS`].
pub fn steps(schema: &Value, value: &Value) -> Result<usize, TooMuch> {
    let mut count = Count {
        root: schema,
        left: MOST_STEPS,
    };
    count.visit(schema, Some(value), DEEPEST)?;
    Ok(MOST_STEPS - count.left)
}

/// Whether a single value is held against no more than [`MOST_FOR_ONE`] schemas by `schema`, which is a part of `root`.
///
/// # Errors
/// There are more.
pub fn of_one(schema: &Value, root: &Value) -> Result<(), TooMuch> {
    let mut count = Count {
        root,
        left: MOST_FOR_ONE,
    };
    count.visit(schema, None, DEEPEST)
}

struct Count<'a> {
    /// Where references lead into.
    root: &'a Value,
    /// How many steps may still be.
    left: usize,
}

impl Count<'_> {
    fn take(&mut self, steps: usize) -> Result<(), TooMuch> {
        self.left = self.left.checked_sub(steps).ok_or(TooMuch)?;
        Ok(())
    }

    /// Counts a schema with all that it holds a value against; without one, what it holds any value against.
    fn visit(
        &mut self,
        schema: &Value,
        value: Option<&Value>,
        depth: usize,
    ) -> Result<(), TooMuch> {
        self.take(1)?;
        let depth = depth.checked_sub(1).ok_or(TooMuch)?;
        let Value::Object(fields) = schema else {
            return Ok(());
        };
        // To know what nobody has looked at, all others are asked once more.
        let asks_again = ["unevaluatedItems", "unevaluatedProperties"]
            .iter()
            .any(|keyword| fields.contains_key(*keyword));
        for (keyword, inner) in fields {
            self.beside(keyword, inner, value, depth)?;
            if asks_again {
                self.beside(keyword, inner, value, depth)?;
            }
            if let Some(value) = value {
                self.inside(keyword, inner, value, depth)?;
            }
        }
        Ok(())
    }

    /// Counts what a keyword holds the same value against.
    fn beside(
        &mut self,
        keyword: &str,
        inner: &Value,
        value: Option<&Value>,
        depth: usize,
    ) -> Result<(), TooMuch> {
        match (keyword, inner) {
            ("$ref" | "$dynamicRef", Value::String(reference)) => {
                match target(reference, self.root) {
                    Some(target) => self.visit(target, value, depth),
                    None => Ok(()),
                }
            }
            ("not" | "if" | "then" | "else", schema) => self.visit(schema, value, depth),
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => schemas
                .iter()
                .try_for_each(|schema| self.visit(schema, value, depth)),
            ("dependentSchemas" | "dependencies", Value::Object(schemas)) => schemas
                .values()
                .try_for_each(|schema| self.visit(schema, value, depth)),
            _ => Ok(()),
        }
    }

    /// Counts what a keyword holds the parts of a value against, and what else it does with the value.
    fn inside(
        &mut self,
        keyword: &str,
        inner: &Value,
        value: &Value,
        depth: usize,
    ) -> Result<(), TooMuch> {
        match (keyword, inner, value) {
            ("items" | "contains" | "unevaluatedItems", schema, Value::Array(items)) => items
                .iter()
                .try_for_each(|item| self.visit(schema, Some(item), depth)),
            ("prefixItems", Value::Array(schemas), Value::Array(items)) => schemas
                .iter()
                .zip(items)
                .try_for_each(|(schema, item)| self.visit(schema, Some(item), depth)),
            ("properties", Value::Object(schemas), Value::Object(parts)) => {
                self.properties(schemas, parts, depth)
            }
            ("patternProperties", Value::Object(schemas), Value::Object(parts)) => {
                let each = schemas
                    .values()
                    .flat_map(|schema| parts.values().map(move |part| (schema, part)));
                each.into_iter().try_for_each(|(schema, part)| {
                    self.take(PATTERN)?;
                    self.visit(schema, Some(part), depth)
                })
            }
            ("additionalProperties" | "unevaluatedProperties", schema, Value::Object(parts)) => {
                parts
                    .values()
                    .try_for_each(|part| self.visit(schema, Some(part), depth))
            }
            ("propertyNames", schema, Value::Object(parts)) => parts.keys().try_for_each(|_| {
                self.take(PATTERN)?;
                self.visit(schema, None, depth)
            }),
            ("enum" | "required", Value::Array(all), _) => self.take(all.len()),
            ("dependentRequired", Value::Object(all), Value::Object(_)) => all
                .values()
                .try_for_each(|names| self.take(1 + names.as_array().map_or(0, Vec::len))),
            ("uniqueItems", _, Value::Array(items)) => self.take(4 * items.len()),
            ("pattern" | "format", _, Value::String(text)) => {
                self.take(PATTERN + text.len() / BYTES)
            }
            ("minLength" | "maxLength", _, Value::String(text)) => self.take(text.len() / BYTES),
            _ => Ok(()),
        }
    }

    fn properties(
        &mut self,
        schemas: &Map<String, Value>,
        parts: &Map<String, Value>,
        depth: usize,
    ) -> Result<(), TooMuch> {
        self.take(schemas.len())?;
        for (name, schema) in schemas {
            if let Some(part) = parts.get(name) {
                self.visit(schema, Some(part), depth)?;
            }
        }
        Ok(())
    }
}

/// What a reference leads to.
fn target<'a>(reference: &str, root: &'a Value) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    let decoded = percent_decode_str(pointer).decode_utf8_lossy();
    root.pointer(&decoded).or_else(|| root.pointer(pointer))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Definitions each of which asks twice for the next, and then for `last`.
    fn doubled(times: usize, asks: impl Fn(Value) -> Value, last: Value) -> Value {
        let mut all = Map::new();
        for at in 0..times {
            let next = json!({ "$ref": format!("#/$defs/d{}", at + 1) });
            all.insert(format!("d{at}"), asks(next));
        }
        all.insert(format!("d{times}"), last);
        json!({ "properties": { "x": { "$ref": "#/$defs/d0" } }, "$defs": all })
    }

    #[test]
    fn what_doubles_with_each_reference_is_too_much_and_what_does_not_is_counted() {
        let both = |next: Value| json!({ "allOf": [next.clone(), next] });
        let few = doubled(5, both, json!({ "type": "integer" }));
        assert!(steps(&few, &json!({ "x": 1 })).unwrap() < 200);
        assert_eq!(of_one(&few["$defs"]["d0"], &few), Ok(()));
        let many = doubled(30, both, json!({ "type": "integer" }));
        assert_eq!(steps(&many, &json!({ "x": 1 })), Err(TooMuch));
        // None of it is asked for.
        assert!(steps(&many, &json!({ "y": 1 })).is_ok());
        assert_eq!(of_one(&many, &many), Ok(()));
        assert_eq!(of_one(&many["$defs"]["d0"], &many), Err(TooMuch));
        let in_a_row = doubled(30, |next| next, json!({ "type": "integer" }));
        assert!(steps(&in_a_row, &json!({ "x": 1 })).unwrap() < 100);
    }

    #[test]
    fn what_doubles_with_each_level_of_the_value_is_too_much() {
        let schema = json!({ "allOf": [
            { "properties": { "a": { "$ref": "#" } } }, { "properties": { "a": { "$ref": "#" } } },
        ] });
        let mut value = json!({});
        for _ in 0..5 {
            value = json!({ "a": value });
        }
        assert!(steps(&schema, &value).is_ok());
        for _ in 0..25 {
            value = json!({ "a": value });
        }
        assert_eq!(steps(&schema, &value), Err(TooMuch));
        assert_eq!(of_one(&schema, &schema), Ok(()));
    }

    #[test]
    fn what_leads_to_itself_ends() {
        for schema in [
            json!({ "$ref": "#" }),
            json!({ "anyOf": [{ "$ref": "#" }] }),
            json!({ "not": { "$ref": "#" } }),
            json!({ "unevaluatedItems": false, "allOf": [{ "$ref": "#" }] }),
        ] {
            assert_eq!(of_one(&schema, &schema), Err(TooMuch), "{schema}");
            assert_eq!(steps(&schema, &json!(1)), Err(TooMuch), "{schema}");
        }
    }

    #[test]
    fn a_reference_is_followed_as_the_check_follows_it() {
        let both = |next: Value| json!({ "anyOf": [next.clone(), next] });
        let mut schema = doubled(30, both, json!({}));
        schema["$defs"]["d%30"] = json!({});
        schema["properties"]["x"] = json!({ "$ref": "#/$defs/d%30" });
        assert_eq!(steps(&schema, &json!({ "x": 1 })), Err(TooMuch));
    }

    #[test]
    fn long_lists_cost_what_each_item_costs() {
        let list = |count: usize| json!({ "l": vec!["x"; count] });
        let schema = json!({ "properties": { "l": { "items": { "type": "integer" } } } });
        let few = steps(&schema, &list(10)).unwrap();
        assert_eq!(steps(&schema, &list(1_010)).unwrap(), few + 1_000);
        let schema = json!({ "properties": { "l": { "items": { "pattern": "^(a+)+$" } } } });
        assert!(steps(&schema, &list(10_000)).is_ok());
        assert_eq!(steps(&schema, &list(100_000)), Err(TooMuch));
    }
}
