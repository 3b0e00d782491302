//! What some client refuses in a tool's definition: repaired where nothing is lost by it, else the tool is withheld.
//!
//! One bad schema can break every tool of a client's session, so none is passed on unseen. The rules are those of
//! MCP clients and of the model providers behind them.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::base::{
    client_rules::{REFUSED_AT_ROOT, lacks_items, takes_argument},
    schema::{self, Next, Target},
};

/// How deep a schema may be nested.
const DEEPEST: usize = 32;

/// The largest definition that is passed on, in bytes of JSON: about ten times the largest of well-known servers.
const LARGEST: usize = 64 * 1024;

/// What is wrong with a tool's definition and can't be repaired.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unfit {
    /// Its input schema is none that clients take.
    #[error("its input schema {0}")]
    Schema(#[from] UnfitSchema),
    /// It has more bytes of JSON than are passed on.
    #[error("its definition is {0} bytes long; {LARGEST} are passed on at most")]
    TooLarge(usize),
}

/// What is wrong with a schema.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnfitSchema {
    /// It does not say what it is of.
    #[error("is not of the type `object`")]
    NoType,
    /// It is of something else.
    #[error("is of the type {0}, not `object`")]
    OtherType(Value),
    /// It has a key where clients refuse it.
    #[error("has `{0}` at its root")]
    AtRoot(&'static str),
    /// It has too many levels.
    #[error("is nested more than {DEEPEST} deep")]
    TooDeep,
    /// It has something else in a schema's place.
    #[error("has {0} where a schema belongs")]
    NoSchema(Value),
    /// It is none of the draft that clients read.
    #[error("is no JSON Schema 2020-12: {error} (at {place})")]
    OtherDraft {
        /// Why not.
        error: String,
        /// Where.
        place: String,
    },
    /// It has a reference that clients can't follow.
    #[error("refers to `{0}`, outside of itself")]
    Outside(String),
    /// It has an argument of a name that providers refuse.
    #[error("has an argument `{0}`; names of 1 to 64 letters, digits, `_`, `-` and `.` are taken")]
    Argument(String),
}

/// The tool as clients take it.
///
/// # Errors
/// See [`Unfit`].
pub fn checked(tool: &Tool) -> Result<Tool, Unfit> {
    let mut tool = tool.clone();
    let schema = repaired(&tool.input_schema)?;
    tool.input_schema = Arc::new(schema);
    // Clients check answers against it, and many refuse forms that are right. It only helps programs, so nothing but
    // the right form is worth the risk.
    tool.output_schema = tool
        .output_schema
        .and_then(|schema| repaired(&schema).ok())
        .map(Arc::new);
    let size = serde_json::to_vec(&tool).map_or(usize::MAX, |json| json.len());
    if size > LARGEST {
        return Err(Unfit::TooLarge(size));
    }
    Ok(tool)
}

fn repaired(schema: &JsonObject) -> Result<JsonObject, UnfitSchema> {
    let mut schema = schema.clone();
    let root = Value::Object(schema.clone());
    // Clients refuse every dialect but their own, and read the schema in that anyway.
    schema.remove("$schema");
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        None if REFUSED_AT_ROOT.iter().all(|key| !schema.contains_key(*key))
            && !schema.contains_key("$ref") =>
        {
            schema.insert("type".to_owned(), json!("object"));
        }
        None => return Err(UnfitSchema::NoType),
        Some(other) => return Err(UnfitSchema::OtherType(other.clone())),
    }
    if let Some(key) = REFUSED_AT_ROOT
        .iter()
        .find(|key| schema.contains_key(**key))
    {
        return Err(UnfitSchema::AtRoot(key));
    }
    let mut whole = Value::Object(schema);
    schema::walk(&mut whole, "", |schema, place| match schema {
        Value::Object(_) if place.depth > DEEPEST => Err(UnfitSchema::TooDeep),
        Value::Object(fields) => repair(fields, &root).map(|()| Next::Inside),
        Value::Bool(all) => {
            *schema = if *all {
                json!({})
            } else {
                json!({ "not": {} })
            };
            Ok(Next::Past)
        }
        other => Err(UnfitSchema::NoSchema(other.clone())),
    })?;
    jsonschema::draft202012::meta::validate(&whole).map_err(|error| UnfitSchema::OtherDraft {
        error: error.to_string(),
        place: error.instance_path().to_string(),
    })?;
    match whole {
        Value::Object(schema) => Ok(schema),
        other => Err(UnfitSchema::NoSchema(other)),
    }
}

/// Repairs one schema of the tool's schema `root`, but not those in it.
fn repair(schema: &mut JsonObject, root: &Value) -> Result<(), UnfitSchema> {
    if let Some(Value::String(reference)) = schema.get("$ref") {
        match schema::target(reference, root) {
            Target::Outside => return Err(UnfitSchema::Outside(reference.clone())),
            // What some generators leave behind. It says nothing, but providers refuse all tools for it.
            Target::Missing => {
                schema.remove("$ref");
            }
            Target::Found | Target::Unseen => {}
        }
    }
    if let Some(Value::Array(required)) = schema.get("required")
        && required.is_empty()
    {
        schema.remove("required");
    }
    if let Some(Value::Object(properties)) = schema.get("properties")
        && let Some(name) = properties.keys().find(|name| !takes_argument(name))
    {
        return Err(UnfitSchema::Argument(name.clone()));
    }
    renew(schema);
    split_types(schema);
    if lacks_items(schema) {
        schema.insert("items".to_owned(), json!({}));
    }
    Ok(())
}

/// Writes what older drafts of JSON Schema wrote otherwise as the draft 2020-12 does, which is what clients read.
fn renew(schema: &mut JsonObject) {
    // A list of schemas for the first items of a list, and one for the others.
    if matches!(schema.get("items"), Some(Value::Array(_))) {
        if let Some(first) = schema.remove("items") {
            schema.insert("prefixItems".to_owned(), first);
        }
        if let Some(others) = schema.remove("additionalItems") {
            schema.insert("items".to_owned(), others);
        }
    }
    // Whether the limit itself is excluded.
    for (excluded, limit) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        if let Some(&Value::Bool(is_excluded)) = schema.get(excluded) {
            schema.remove(excluded);
            if is_excluded && let Some(limit) = schema.remove(limit) {
                schema.insert(excluded.to_owned(), limit);
            }
        }
    }
}

/// `"type": ["string", "null"]` says the same as an `anyOf` of the two, which clients take.
fn split_types(schema: &mut JsonObject) {
    let Some(Value::Array(types)) = schema.get("type") else {
        return;
    };
    let types = types.clone();
    if let [only] = types.as_slice() {
        schema.insert("type".to_owned(), only.clone());
        return;
    }
    let choices = Value::Array(
        types
            .into_iter()
            .map(|kind| {
                let mut choice = Map::from_iter([("type".to_owned(), kind.clone())]);
                if kind == "array" {
                    choice.insert(
                        "items".to_owned(),
                        schema.get("items").cloned().unwrap_or_else(|| json!({})),
                    );
                }
                Value::Object(choice)
            })
            .collect(),
    );
    schema.remove("type");
    if schema.contains_key("anyOf") {
        let all = schema.entry("allOf").or_insert_with(|| json!([]));
        if let Value::Array(all) = all {
            all.push(json!({ "anyOf": choices }));
        }
    } else {
        schema.insert("anyOf".to_owned(), choices);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(input: Value, output: Option<Value>) -> Tool {
        let object = |value| Arc::new(serde_json::from_value::<JsonObject>(value).unwrap());
        let tool = Tool::new("t", "A tool.", object(input));
        match output {
            Some(schema) => tool.with_raw_output_schema(object(schema)),
            None => tool,
        }
    }

    fn input(schema: Value) -> Result<Value, Unfit> {
        checked(&tool(schema, None)).map(|tool| Value::Object((*tool.input_schema).clone()))
    }

    #[test]
    fn a_good_schema_passes_unchanged() {
        let good = json!({
            "type": "object",
            "properties": {
                "a": { "type": "string", "enum": ["x"] },
                "b": { "type": "array", "items": { "$ref": "#/$defs/c" } },
                "d": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
            },
            "required": ["a"],
            "additionalProperties": false,
            "$defs": { "c": { "type": "object" } },
        });
        assert_eq!(input(good.clone()), Ok(good));
    }

    #[test]
    fn what_can_be_said_otherwise_is_repaired() {
        for (schema, expected) in [
            (json!({}), json!({"type": "object"})),
            (
                json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": []}),
                json!({"type": "object"}),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": ["string", "null"], "minLength": 1}}}),
                json!({"type": "object", "properties": {"a": {
                    "anyOf": [{"type": "string"}, {"type": "null"}], "minLength": 1,
                }}}),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": ["string"]}, "b": true, "c": {"type": "array"}}}),
                json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}, "c": {"type": "array", "items": {}}}}),
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "array", "items": true}}),
                json!({"type": "object", "additionalProperties": {"type": "array", "items": {}}}),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": ["string", "array"], "anyOf": [{"minLength": 1}]}}}),
                json!({"type": "object", "properties": {"a": {
                    "anyOf": [{"minLength": 1}],
                    "allOf": [{"anyOf": [{"type": "string"}, {"type": "array", "items": {}}]}],
                }}}),
            ),
            (
                json!({"type": "object", "properties": {
                    "a": {"type": "array", "items": [{"type": "string"}, true], "additionalItems": false},
                    "b": {"type": "number", "minimum": 0, "exclusiveMinimum": true, "exclusiveMaximum": false},
                }}),
                json!({"type": "object", "properties": {
                    "a": {"type": "array", "prefixItems": [{"type": "string"}, {}], "items": {"not": {}}},
                    "b": {"type": "number", "exclusiveMinimum": 0},
                }}),
            ),
            (
                json!({"type": "object", "properties": {
                    "a": {"$ref": "#/definitions/gone", "description": "an a"},
                    "b": {"$ref": "#/definitions/x~1y"},
                    "c": {"$ref": "#"},
                }, "definitions": {"x/y": {"type": "string"}}}),
                json!({"type": "object", "properties": {
                    "a": {"description": "an a"},
                    "b": {"$ref": "#/definitions/x~1y"},
                    "c": {"$ref": "#"},
                }, "definitions": {"x/y": {"type": "string"}}}),
            ),
        ] {
            assert_eq!(input(schema.clone()), Ok(expected), "{schema}");
        }
    }

    #[test]
    fn what_breaks_a_client_is_withheld_with_the_reason() {
        let mut deep = json!({});
        for _ in 0..40 {
            deep = json!({ "type": "array", "items": deep });
        }
        for (schema, reason) in [
            (json!({"type": "string"}), "type \"string\""),
            (
                json!({"type": "object", "oneOf": [{"required": ["a"]}]}),
                "`oneOf` at its root",
            ),
            (
                json!({"anyOf": [{"type": "object"}]}),
                "not of the type `object`",
            ),
            (
                json!({"type": "object", "properties": {"a": {"$ref": "https://example.org/s"}}}),
                "outside of itself",
            ),
            (
                json!({"type": "object", "properties": {"$filter": {}}}),
                "`$filter`",
            ),
            (json!({"type": "object", "properties": {"a": 7}}), "has 7"),
            (
                json!({"type": "object", "properties": {"a": {"type": "strin"}}}),
                "(at /properties/a/type)",
            ),
            (json!({"type": "object", "properties": 1}), "no JSON Schema"),
            (
                json!({"type": "object", "enum": [{}]}),
                "`enum` at its root",
            ),
            (
                json!({"type": "object", "properties": {"a": deep}}),
                "nested",
            ),
            (
                json!({"type": "object", "description": "x".repeat(70_000)}),
                "bytes long",
            ),
        ] {
            let problem = input(schema.clone()).unwrap_err().to_string();
            assert!(problem.contains(reason), "{schema}: {problem}");
        }
    }

    #[test]
    fn an_output_schema_that_clients_refuse_is_dropped_and_a_good_one_stays() {
        let good = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
        let object = json!({"type": "object"});
        let output = |schema: Value| {
            checked(&tool(object.clone(), Some(schema)))
                .unwrap()
                .output_schema
                .map(|schema| Value::Object((*schema).clone()))
        };
        assert_eq!(output(good.clone()), Some(good));
        for bad in [
            json!({"type": "array"}),
            json!({"type": "object", "anyOf": [{}]}),
            json!({"$ref": "#/$defs/a"}),
        ] {
            assert_eq!(output(bad), None);
        }
    }
}
