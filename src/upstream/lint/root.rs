//! The root of a tool's input schema, made into what every client takes: an object with properties, and nothing around
//! them.
//!
//! What a server says there by `anyOf`, `oneOf`, `allOf`, `not` or a reference is made looser, never tighter: all that the
//! server takes can be said, and it checks by itself what it gets. What gets lost by that is said in words.

use std::collections::{BTreeSet, HashSet};

use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::base::json::size_of;

/// How many levels of choices and references are gone through.
const DEEPEST: usize = 8;

/// The most choices that are said in words.
const MOST_CHOICES: usize = 12;

/// How many choices are gone through, each as often as a reference leads to it: a few of them can lead to any number.
const MOST_PARTS: usize = 500;

/// How large they may be together, in bytes of JSON.
const MOST_BYTES: usize = 2 * 1024 * 1024;

/// Why a schema has no object at its root.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NotFlat {
    /// None of what it offers is one.
    #[error("offers at its root nothing that is of the type `object`")]
    NoObject,
    /// What it offers is more than is gone through.
    #[error("has at its root more than {MOST_PARTS} choices, by references and all")]
    TooManyChoices,
}

/// The schema with an object at its root.
///
/// # Errors
/// It is of something else, or has more choices than are gone through.
pub fn flattened(schema: &JsonObject) -> Result<JsonObject, NotFlat> {
    let root = Value::Object(schema.clone());
    let mut way = Way {
        root: &root,
        parts: MOST_PARTS,
        bytes: MOST_BYTES,
        is_too_long: false,
    };
    let flat = way.flat(schema, 0);
    if way.is_too_long {
        return Err(NotFlat::TooManyChoices);
    }
    let mut flat = flat.ok_or(NotFlat::NoObject)?;
    flat.schema.insert("type".to_owned(), json!("object"));
    flat.schema.entry("properties").or_insert_with(|| json!({}));
    if !flat.choices.is_empty() {
        let words = in_words(&flat.choices);
        let description = match flat.schema.get("description").and_then(Value::as_str) {
            Some(before) => format!("{before}\n{words}"),
            None => words,
        };
        flat.schema
            .insert("description".to_owned(), json!(description));
    }
    Ok(flat.schema)
}

/// A schema without choices at its root.
struct Flat {
    schema: JsonObject,
    /// What had to be given together, one set or another.
    choices: Vec<BTreeSet<String>>,
}

/// The way through a schema's choices, and how much of it is left to go.
struct Way<'a> {
    root: &'a Value,
    parts: usize,
    bytes: usize,
    is_too_long: bool,
}

impl Way<'_> {
    /// None if it is of no object, or the way is too long.
    fn flat(&mut self, schema: &JsonObject, depth: usize) -> Option<Flat> {
        if depth > DEEPEST || self.is_too_long || !may_be_object(schema.get("type")) {
            return None;
        }
        let left = self
            .parts
            .checked_sub(1)
            .zip(self.bytes.checked_sub(size_of(schema)));
        let Some((parts, bytes)) = left else {
            self.is_too_long = true;
            return None;
        };
        (self.parts, self.bytes) = (parts, bytes);
        let mut whole = schema.clone();
        let mut choices = Vec::new();
        if let Some(Value::String(reference)) = whole.get("$ref")
            && let Some(Value::Object(target)) = followed(reference, self.root)
        {
            let target = self.flat(target, depth + 1)?;
            whole.remove("$ref");
            choices.extend(target.choices);
            join(&mut whole, target.schema, Together::All);
        }
        if let Some(Value::Array(parts)) = whole.remove("allOf") {
            for part in objects(&parts) {
                let part = self.flat(part, depth + 1)?;
                choices.extend(part.choices);
                join(&mut whole, part.schema, Together::All);
            }
        }
        for key in ["anyOf", "oneOf"] {
            let Some(Value::Array(parts)) = whole.remove(key) else {
                continue;
            };
            let branches: Vec<_> = objects(&parts)
                .filter_map(|part| self.flat(part, depth + 1))
                .collect();
            if branches.is_empty() && !parts.is_empty() {
                return None;
            }
            let own: BTreeSet<String> = required(&whole).collect();
            let sets = branches
                .iter()
                .map(|branch| required(&branch.schema).filter(|name| !own.contains(name)));
            let sets: Vec<BTreeSet<String>> = sets.map(Iterator::collect).collect();
            let mut common = sets.clone().into_iter().reduce(|one, other| &one & &other);
            for branch in branches {
                let mut branch = branch.schema;
                branch.remove("required");
                join(&mut whole, branch, Together::One);
            }
            let common = common.take().unwrap_or_default();
            require(&mut whole, common.iter().cloned());
            let rest: Vec<_> = sets.iter().map(|set| set - &common).collect();
            // Where one choice asks for nothing more, there is nothing to say.
            if rest.iter().all(|set| !set.is_empty()) {
                choices.extend(rest);
            }
        }
        for key in ["not", "enum", "if", "then", "else"] {
            whole.remove(key);
        }
        whole.insert("type".to_owned(), json!("object"));
        Some(Flat {
            schema: whole,
            choices,
        })
    }
}

/// How two schemas hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Together {
    /// Both.
    All,
    /// One or the other.
    One,
}

/// Takes the properties of `other` over, and what they need.
fn join(schema: &mut JsonObject, other: JsonObject, together: Together) {
    let names: Vec<_> = required(&other).collect();
    let count = |schema: &JsonObject| {
        let properties = schema.get("properties").and_then(Value::as_object);
        properties.map_or(0, Map::len)
    };
    let before = count(schema);
    for (key, value) in other {
        match (key.as_str(), value) {
            ("properties", Value::Object(new)) => {
                let properties = schema.entry("properties").or_insert_with(|| json!({}));
                let Value::Object(properties) = properties else {
                    continue;
                };
                for (name, property) in new {
                    add(properties, name, property, together);
                }
            }
            ("$defs" | "definitions", Value::Object(new)) => {
                let all = schema.entry(key).or_insert_with(|| json!({}));
                for (name, definition) in new {
                    if let Value::Object(all) = all {
                        all.entry(name).or_insert(definition);
                    }
                }
            }
            // What one of several says of all else holds for that one alone.
            _ if together == Together::One => {}
            ("required" | "type" | "properties" | "additionalProperties", _) => {}
            (_, value) => {
                schema.entry(key).or_insert(value);
            }
        }
    }
    require(schema, names);
    // What was closed was so for its own properties, and others have come.
    if schema.get("additionalProperties") == Some(&json!(false)) && count(schema) > before {
        schema.remove("additionalProperties");
    }
}

fn add(properties: &mut Map<String, Value>, name: String, new: Value, together: Together) {
    let Some(old) = properties.get_mut(&name) else {
        properties.insert(name, new);
        return;
    };
    if *old == new {
        return;
    }
    let key = match together {
        Together::All => "allOf",
        Together::One => "anyOf",
    };
    match old.as_object_mut() {
        Some(both) if both.len() == 1 && both.contains_key(key) => {
            if let Some(Value::Array(all)) = both.get_mut(key)
                && !all.contains(&new)
            {
                all.push(new);
            }
        }
        _ => *old = json!({ key: [old.take(), new] }),
    }
}

fn require(schema: &mut JsonObject, names: impl IntoIterator<Item = String>) {
    let mut all: Vec<String> = required(schema).collect();
    let mut seen: HashSet<String> = all.iter().cloned().collect();
    all.extend(names.into_iter().filter(|name| seen.insert(name.clone())));
    if all.is_empty() {
        schema.remove("required");
    } else {
        schema.insert("required".to_owned(), json!(all));
    }
}

fn required(schema: &JsonObject) -> impl Iterator<Item = String> {
    let names = schema.get("required").and_then(Value::as_array);
    names
        .into_iter()
        .flatten()
        .filter_map(|name| name.as_str().map(str::to_owned))
}

fn objects(parts: &[Value]) -> impl Iterator<Item = &JsonObject> {
    parts.iter().filter_map(Value::as_object)
}

fn may_be_object(kind: Option<&Value>) -> bool {
    match kind {
        None => true,
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(_) => false,
    }
}

fn followed<'a>(reference: &str, root: &'a Value) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}

/// `Give either a, or b and c.`
fn in_words(choices: &[BTreeSet<String>]) -> String {
    let mut said: Vec<String> = Vec::new();
    for choice in choices.iter().take(MOST_CHOICES) {
        let names: Vec<_> = choice.iter().map(|name| format!("`{name}`")).collect();
        let names = names.join(" and ");
        if !said.contains(&names) {
            said.push(names);
        }
    }
    if choices.len() > MOST_CHOICES {
        said.push("others".to_owned());
    }
    match said.as_slice() {
        [only] => format!("Give {only}."),
        all => format!("Give either {}.", all.join(", or ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(schema: Value) -> Option<Value> {
        flattened(schema.as_object().unwrap())
            .ok()
            .map(Value::Object)
    }

    #[test]
    fn choices_become_properties_of_one_object_and_are_said_in_words() {
        for (schema, expected) in [
            (
                json!({
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
                }),
                json!({
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "description": "Give either `a`, or `b`.",
                }),
            ),
            (
                json!({"description": "Moves.", "oneOf": [
                    {"type": "object", "properties": {"kind": {"const": "to"}, "x": {"type": "integer"}},
                        "required": ["kind", "x"], "additionalProperties": false},
                    {"type": "object", "properties": {"kind": {"const": "by"}, "path": {"type": "string"}},
                        "required": ["kind", "path"]},
                    {"type": "null"},
                ]}),
                json!({
                    "type": "object",
                    "properties": {
                        "kind": {"anyOf": [{"const": "to"}, {"const": "by"}]},
                        "x": {"type": "integer"}, "path": {"type": "string"},
                    },
                    "required": ["kind"],
                    "description": "Moves.\nGive either `x`, or `path`.",
                }),
            ),
            (
                json!({"allOf": [
                    {"$ref": "#/$defs/base"},
                    {"properties": {"b": {"type": "integer"}}, "required": ["b"]},
                ], "$defs": {"base": {"properties": {"a": {"type": "string"}}, "required": ["a"]}}}),
                json!({
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
                    "required": ["a", "b"],
                    "$defs": {"base": {"properties": {"a": {"type": "string"}}, "required": ["a"]}},
                }),
            ),
            (
                json!({"$ref": "#/definitions/a", "definitions": {"a": {"type": "object", "properties": {"b": {}}}}}),
                json!({"type": "object", "properties": {"b": {}},
                    "definitions": {"a": {"type": "object", "properties": {"b": {}}}}}),
            ),
            (
                json!({"type": ["object", "null"], "not": {"required": ["a"]}}),
                json!({"type": "object", "properties": {}}),
            ),
            // What is closed stays so, as long as no other properties come.
            (
                json!({"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": false,
                    "allOf": [{"required": ["a"]}, {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}]}),
                json!({"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": false,
                    "required": ["a"], "description": "Give either `a`, or `b`."}),
            ),
            // One of them asks for nothing.
            (
                json!({"type": "object", "anyOf": [{"required": ["a"]}, {}]}),
                json!({"type": "object", "properties": {}}),
            ),
        ] {
            assert_eq!(flat(schema.clone()), Some(expected), "{schema}");
        }
    }

    #[test]
    fn what_is_of_no_object_stays_what_it_is() {
        for schema in [
            json!({"type": "string"}),
            json!({"anyOf": [{"type": "string"}, {"type": "array"}]}),
            json!({"allOf": [{"type": "object"}, {"type": "string"}]}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "array"}}}),
            // One that goes round in a circle.
            json!({"$ref": "#"}),
        ] {
            assert_eq!(flat(schema.clone()), None, "{schema}");
        }
    }
    #[test]
    fn references_that_multiply_are_not_all_followed() {
        let levels = |width: usize| {
            let next = |level: usize| json!({"$ref": format!("#/$defs/{}", level + 1)});
            let level = |level: usize| json!({"anyOf": vec![next(level); width]});
            let mut all: Map<_, _> = (0..3).map(|at| (at.to_string(), level(at))).collect();
            all.insert(
                "3".to_owned(),
                json!({"type": "object", "properties": {"a": {}}}),
            );
            json!({"$ref": "#/$defs/0", "$defs": all})
        };
        let found = |width| flattened(levels(width).as_object().unwrap());
        assert!(found(2).unwrap()["properties"].get("a").is_some());
        assert_eq!(found(9), Err(NotFlat::TooManyChoices));
    }
}
