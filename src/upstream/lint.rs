//! What some client refuses in a tool's definition: repaired where nothing is lost by it, else the tool is withheld.
//!
//! One bad schema can break every tool of a client's session, so none is passed on unseen. The rules are those of
//! MCP clients and of the model providers behind them.

mod arguments;
mod root;

use std::{collections::HashSet, sync::Arc};

use rmcp::model::{JsonObject, Tool};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::base::{
    client_rules::{REFUSED_AT_ROOT, lacks_items, takes_argument},
    json::size_of,
    mirrored::without_wrong_headers,
    schema::{self, Next, Target},
};

pub use arguments::{Renamed, under_own_names};

/// How deep a schema may be nested.
const DEEPEST: usize = 32;

/// The largest definition that is passed on, in bytes of JSON: about ten times the largest of well-known servers.
const LARGEST: usize = 64 * 1024;

/// The largest definition that is looked into, in bytes of JSON: repairs may make it smaller, but take time by its size.
const LARGEST_SEEN: usize = 4 * LARGEST;

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
    /// What it offers at its root can't be made one object.
    #[error(transparent)]
    AtItsRoot(#[from] root::NotFlat),
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
    /// Something deep in it has to be given by a name that providers refuse.
    #[error(
        "asks, inside of an argument, for `{0}`; names of 1 to 64 letters, digits, `_`, `-` and `.` are taken"
    )]
    Argument(String),
}

/// A tool as clients take it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Its definition.
    pub tool: Tool,
    /// Those of its arguments that go by another name in it.
    pub renamed: Renamed,
}

/// The tool as clients take it.
///
/// # Errors
/// See [`Unfit`].
pub fn checked(tool: &Tool) -> Result<Fit, Unfit> {
    let size = size_of(tool);
    if size > LARGEST_SEEN {
        return Err(Unfit::TooLarge(size));
    }
    let mut tool = tool.clone();
    let (schema, renamed) = input(&tool.input_schema)?;
    tool.input_schema = Arc::new(schema);
    // Clients check answers against it, and many refuse forms that are right. It only helps programs, so nothing but
    // the right form is worth the risk.
    tool.output_schema = tool
        .output_schema
        .and_then(|schema| output(&schema).ok())
        .map(Arc::new);
    let size = size_of(&tool);
    if size > LARGEST {
        return Err(Unfit::TooLarge(size));
    }
    Ok(Fit { tool, renamed })
}

/// An input schema as clients take it: what they refuse at its root is made looser, since the server checks what it gets.
fn input(schema: &JsonObject) -> Result<(JsonObject, Renamed), UnfitSchema> {
    let mut schema = schema.clone();
    without_nulls(&mut schema);
    let kind = schema.get("type").cloned();
    let refused = REFUSED_AT_ROOT
        .iter()
        .find(|key| schema.contains_key(**key));
    if refused.is_some() || schema.contains_key("$ref") || matches!(kind, Some(Value::Array(_))) {
        schema = root::flattened(&schema)?;
    }
    // Some providers refuse an object without them.
    schema.entry("properties").or_insert_with(|| json!({}));
    let renamed = arguments::rename(&mut schema);
    let mut schema = repaired(schema)?;
    // They only help what stands between a client and us.
    without_wrong_headers(&mut schema);
    Ok((schema, renamed))
}

/// An output schema as clients take it. It can't be made looser: what it says is that of an answer.
fn output(schema: &JsonObject) -> Result<JsonObject, UnfitSchema> {
    let mut schema = schema.clone();
    without_nulls(&mut schema);
    if schema.contains_key("$ref") {
        return Err(UnfitSchema::NoType);
    }
    repaired(schema)
}

fn repaired(mut schema: JsonObject) -> Result<JsonObject, UnfitSchema> {
    let root = Value::Object(schema.clone());
    // Clients refuse every dialect but their own, and read the schema in that anyway.
    schema.remove("$schema");
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        None if REFUSED_AT_ROOT.iter().all(|key| !schema.contains_key(*key)) => {
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

/// How many types JSON Schema has.
const KINDS: usize = 7;

/// Keywords whose value may be null, and mean it.
const MAY_BE_NULL: [&str; 3] = ["const", "default", "examples"];

/// Drops what is null, which is how some generators write what is not there.
fn without_nulls(schema: &mut JsonObject) {
    schema.retain(|key, value| !value.is_null() || MAY_BE_NULL.contains(&key.as_str()));
}

/// Repairs one schema of the tool's schema `root`, but not those in it.
fn repair(schema: &mut JsonObject, root: &Value) -> Result<(), UnfitSchema> {
    without_nulls(schema);
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
    require_by_list(schema);
    without_strange_names(schema)?;
    renew(schema);
    split_types(schema);
    if lacks_items(schema) {
        schema.insert("items".to_owned(), json!({}));
    }
    Ok(())
}

/// What is required stands in a list beside the properties; the draft 3 said it in each of them, and some still do.
fn require_by_list(schema: &mut JsonObject) {
    let mut named = Vec::new();
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for (name, property) in properties {
            let says = property.get("required").and_then(Value::as_bool);
            if let (Some(says), Value::Object(property)) = (says, property) {
                property.remove("required");
                named.extend(says.then(|| json!(name)));
            }
        }
    }
    let list = match schema.remove("required") {
        Some(Value::Array(list)) => list,
        // Of a whole object it says nothing.
        Some(Value::Bool(_)) | None => Vec::new(),
        Some(other) => {
            schema.insert("required".to_owned(), other);
            return;
        }
    };
    let mut all: Vec<Value> = Vec::new();
    let mut seen = HashSet::new();
    for name in list.into_iter().chain(named) {
        // What is no text has no place here, and the schema is refused for it.
        let is_new = name
            .as_str()
            .is_none_or(|name| seen.insert(name.to_owned()));
        if is_new {
            all.push(name);
        }
    }
    if !all.is_empty() {
        schema.insert("required".to_owned(), Value::Array(all));
    }
}

/// Leaves out what needs not be given and has a name that is refused. At the root it has another name by now.
fn without_strange_names(schema: &mut JsonObject) -> Result<(), UnfitSchema> {
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let required: HashSet<&str> = required.collect();
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return Ok(());
    };
    let mut strange = properties
        .keys()
        .filter(|name| !takes_argument(name))
        .peekable();
    if strange.peek().is_none() {
        return Ok(());
    }
    if let Some(name) = strange.find(|name| required.contains(name.as_str())) {
        return Err(UnfitSchema::Argument(name.clone()));
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.retain(|name, _| takes_argument(name));
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
    let mut kinds: Vec<Value> = Vec::new();
    for kind in types {
        // There are seven: more of them are none, which the schema is refused for.
        if kinds.len() <= KINDS && !kinds.contains(kind) {
            kinds.push(kind.clone());
        }
    }
    if let [only] = kinds.as_slice() {
        schema.insert("type".to_owned(), only.clone());
        return;
    }
    // They are of arrays alone, and go there: if they stood in both places, each level of nested arrays would double
    // all that is in it.
    let is_of_arrays = kinds.iter().any(|kind| kind == "array");
    let mut items = match is_of_arrays {
        true => schema.shift_remove("items").or_else(|| Some(json!({}))),
        false => None,
    };
    let choices = kinds.into_iter().map(|kind| {
        let items = (kind == "array").then(|| items.take()).flatten();
        let mut choice = Map::from_iter([("type".to_owned(), kind)]);
        if let Some(items) = items {
            choice.insert("items".to_owned(), items);
        }
        Value::Object(choice)
    });
    let choices = Value::Array(choices.collect());
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
        checked(&tool(schema, None)).map(|fit| Value::Object((*fit.tool.input_schema).clone()))
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
    fn a_definition_is_judged_in_time_by_its_size() {
        let strange = |name: char, count: u32| {
            let names = (0..count).map(|at| {
                (
                    format!("{name}{}", char::from_u32(0x4e00 + at).unwrap()),
                    json!({}),
                )
            });
            names.collect::<Map<String, Value>>()
        };
        let nested = |levels| {
            let inner = (0..levels).fold(
                json!({}),
                |inner, _| json!({"type": ["array", "null", "array"], "items": inner}),
            );
            json!({"type": "object", "properties": {"a": inner}})
        };
        for (schema, is_fit) in [
            // Each of them is named by a number, after all of those before it.
            (
                json!({"type": "object", "properties": strange('\u{4e00}', 1_500)}),
                false,
            ),
            (
                json!({"type": "object", "properties": {"a": {"properties": strange('$', 6_000)}}}),
                true,
            ),
            (
                json!({"type": "object", "required": (0..5_000).map(|at| format!("k{at}")).collect::<Vec<_>>()}),
                true,
            ),
            (nested(15), true),
            (nested(200), false),
        ] {
            let begun = std::time::Instant::now();
            let judged = input(schema);
            assert_eq!(judged.is_ok(), is_fit, "{judged:?}");
            assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
        }
        let large = json!({"type": "object", "required": (0..60_000).map(|at| format!("k{at}")).collect::<Vec<_>>()});
        assert!(matches!(input(large), Err(Unfit::TooLarge(size)) if size > 500_000));
    }

    #[test]
    fn what_can_be_said_otherwise_is_repaired() {
        for (schema, expected) in [
            (json!({}), json!({"type": "object", "properties": {}})),
            (
                json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": []}),
                json!({"type": "object", "properties": {}}),
            ),
            (
                json!({"type": "object", "properties": null, "required": null, "title": null}),
                json!({"type": "object", "properties": {}}),
            ),
            (
                json!({"type": "object", "properties": {
                    "a": {"type": "string", "required": true, "default": null, "description": null},
                    "b": {"type": "object", "required": false, "properties": {"$c": {}, "d": {}}},
                }, "required": ["b"]}),
                json!({"type": "object", "properties": {
                    "a": {"type": "string", "default": null},
                    "b": {"type": "object", "properties": {"d": {}}},
                }, "required": ["b", "a"]}),
            ),
            (
                json!({"type": "object", "properties": {"a": {}}, "oneOf": [{"required": ["a"]}]}),
                json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": ["string", "null"], "minLength": 1}}}),
                json!({"type": "object", "properties": {"a": {
                    "anyOf": [{"type": "string"}, {"type": "null"}], "minLength": 1,
                }}}),
            ),
            (
                json!({"type": "object", "properties": {
                    "a": {"type": ["string", "null"], "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "B"},
                }}),
                json!({"type": "object", "properties": {
                    "a": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "b": {"type": "string", "x-mcp-header": "B"},
                }}),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": ["string"]}, "b": true, "c": {"type": "array"}}}),
                json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}, "c": {"type": "array", "items": {}}}}),
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "array", "items": true}}),
                json!({"type": "object", "additionalProperties": {"type": "array", "items": {}}, "properties": {}}),
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
                json!({"anyOf": [{"type": "string"}]}),
                "nothing that is of the type `object`",
            ),
            (
                json!({"type": "object", "properties": {"a": {"$ref": "https://example.org/s"}}}),
                "outside of itself",
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"$b": {}}, "required": ["$b"]}}}),
                "`$b`",
            ),
            (json!({"type": "object", "properties": {"a": 7}}), "has 7"),
            (
                json!({"type": "object", "properties": {"a": {"type": "strin"}}}),
                "(at /properties/a/type)",
            ),
            (json!({"type": "object", "properties": 1}), "no JSON Schema"),
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
                .tool
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
