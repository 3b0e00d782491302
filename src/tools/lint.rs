//! What some client refuses in a tool, and why. One bad tool can cost a session all of its tools.
//!
//! The rules are those of the providers behind common clients (Claude, Gemini, OpenAI) and of MCP Inspector's strict
//! mode, as their users met them.

use std::convert::Infallible;

use rmcp::model::{JsonObject, Tool as Definition};
use serde_json::{Value, json};

use super::{
    effort::{self, MOST_FOR_ONE},
    validation::Validator,
};
use crate::base::{
    client_rules::{LONGEST_TOOL_NAME, REFUSED_AT_ROOT, lacks_items, takes_argument},
    mirrored::without_wrong_headers,
    schema::{self, Next, SchemaPlace, Target},
};

/// The longest description, in bytes: what stands here is paid for with every request.
const MAX_DESCRIPTION: usize = 4 * 1024;

/// The longest schema, in bytes of JSON.
const MAX_SCHEMA: usize = 32 * 1024;

/// The deepest schema.
const MAX_DEPTH: usize = 24;

/// The only dialect that all clients take.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// Fills in what may be left out of an input schema and means the same: its type, and no empty `required`.
pub fn complete(schema: &mut JsonObject) {
    if !schema.contains_key("type") {
        schema.shift_insert(0, "type".to_owned(), json!("object"));
    }
    if !schema.contains_key("properties") {
        schema.insert("properties".to_owned(), json!({}));
    }
    if schema
        .get("required")
        .and_then(Value::as_array)
        .is_some_and(Vec::is_empty)
    {
        schema.shift_remove("required");
    }
}

/// What some client refuses in a tool. Empty if nothing.
pub fn check(tool: &Definition) -> Vec<String> {
    let mut problems = Vec::new();
    let name = tool.name.as_ref();
    let begins_well = name.starts_with(|c: char| c.is_ascii_alphabetic());
    let goes_on_well = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    if !begins_well || !goes_on_well || name.len() > LONGEST_TOOL_NAME {
        problems.push(format!(
            "the name must begin with a letter and have only letters, digits, _ and -, {LONGEST_TOOL_NAME} at most: clients put \
             their own before it, and many take no more"
        ));
    }
    match tool.description.as_deref() {
        None | Some("") => problems.push("it needs a description".to_owned()),
        Some(text) if text.len() > MAX_DESCRIPTION => problems.push(format!(
            "the description has {} bytes; more than {MAX_DESCRIPTION} is cut or refused",
            text.len()
        )),
        Some(_) => {}
    }
    whole(&tool.input_schema, "inputSchema", &mut problems);
    problems.extend(without_wrong_headers(&mut (*tool.input_schema).clone()));
    if let Some(output) = &tool.output_schema {
        whole(output, "outputSchema", &mut problems);
    }
    problems
}

/// Checks a tool's schema from its root.
fn whole(schema: &JsonObject, name: &str, problems: &mut Vec<String>) {
    let before = problems.len();
    if schema.get("type") != Some(&json!("object")) {
        problems.push(format!(
            "{name} must have `type: object` at its root, not {}",
            schema.get("type").cloned().unwrap_or_default()
        ));
    }
    for keyword in REFUSED_AT_ROOT {
        if schema.contains_key(keyword) {
            problems.push(format!(
                "{name} must not have `{keyword}` at its root: some clients drop the tool, or the whole server"
            ));
        }
    }
    if let Some(dialect) = schema.get("$schema")
        && dialect != DIALECT
    {
        problems.push(format!(
            "{name} must be JSON Schema 2020-12, so leave `$schema` out; it is {dialect}"
        ));
    }
    let size = serde_json::to_vec(schema).map_or(0, |json| json.len());
    if size > MAX_SCHEMA {
        problems.push(format!(
            "{name} has {size} bytes, and more than {MAX_SCHEMA} costs a model too much"
        ));
    }
    let root = Value::Object(schema.clone());
    let mut asks_too_much = false;
    let Ok(()) = schema::walk::<Infallible>(&mut root.clone(), name, |schema, place| {
        // The others are most often part of the first.
        if !asks_too_much && effort::of_one(schema, &root).is_err() {
            asks_too_much = true;
            problems.push(format!(
                "{} holds one value against more than {MOST_FOR_ONE} schemas, by `$ref`, `allOf` and the like: to check \
                 it would take too long, so let it ask for less",
                place.path
            ));
        }
        if place.depth > MAX_DEPTH {
            problems.push(format!(
                "{} is nested deeper than {MAX_DEPTH} levels",
                place.path
            ));
            return Ok(Next::Past);
        }
        part(schema, &root, place, problems);
        Ok(Next::Inside)
    });
    // Its own message would only say again what was said in better words.
    if problems.len() == before
        && let Err(problem) = Validator::new(schema)
    {
        problems.push(format!("{name} is no JSON Schema: {problem}"));
    }
}

/// Checks one schema inside another, but not those in it.
fn part(schema: &Value, root: &Value, place: &SchemaPlace, problems: &mut Vec<String>) {
    let (path, is_root) = (&place.path, place.depth == 0);
    let Value::Object(fields) = schema else {
        problems.push(format!(
            "{path} must be a schema such as `type: string`, not {schema}: some clients take no other"
        ));
        return;
    };
    if let Some(Value::Array(_)) = fields.get("type") {
        problems.push(format!(
            "{path} must have one `type`, not a list of them: leave the argument out of `required`, or use `anyOf` \
             inside it"
        ));
    }
    if lacks_items(fields) {
        problems.push(format!("{path} is an array, so it needs `items`"));
    }
    if let Some(Value::Object(properties)) = fields.get("properties") {
        for name in properties.keys().filter(|name| !takes_argument(name)) {
            problems.push(format!(
                "{path}: the argument `{name}` must have only letters, digits, _, . and -, 64 at most: some \
                 providers take no other"
            ));
        }
    }
    if fields.get("required") == Some(&json!([])) {
        problems.push(format!(
            "{path} must not have an empty `required`: leave it out"
        ));
    }
    for (keyword, why) in [
        ("$dynamicRef", "use `$ref`"),
        ("$id", "references lead into the whole schema"),
    ] {
        if fields.contains_key(keyword) && !(keyword == "$id" && is_root) {
            problems.push(format!("{path} must not have `{keyword}`: {why}"));
        }
    }
    if let Some(reference) = fields.get("$ref") {
        let target = reference.as_str().map(|text| schema::target(text, root));
        if target != Some(Target::Found) {
            problems.push(format!(
                "{path} has `$ref: {reference}`, which leads to nothing inside the schema: nothing is fetched"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn problems(name: &'static str, schema: Value) -> String {
        let Value::Object(mut schema) = schema else {
            panic!("{schema}");
        };
        complete(&mut schema);
        check(&Definition::new(name, "It does.", Arc::new(schema))).join("; ")
    }

    #[test]
    fn what_all_clients_take_has_no_problem() {
        let schema = json!({
            "$schema": DIALECT,
            "$id": "https://example.org/a",
            "properties": {
                "a": {"type": "array", "items": {"$ref": "#/$defs/x"}},
                "b": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            },
            "required": [],
            "additionalProperties": false,
            "$defs": {"x": {"type": "object", "additionalProperties": {"type": "string"}}},
        });
        assert_eq!(problems("get_weather", schema), "");
        assert_eq!(problems("a", json!({})), "");
    }

    #[test]
    fn what_some_client_refuses_is_told_with_its_place() {
        for (schema, said) in [
            (json!({"type": "string"}), "`type: object` at its root"),
            (json!({"anyOf": []}), "`anyOf` at its root"),
            (
                json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
                "leave `$schema` out",
            ),
            (
                json!({"properties": {"a": {"type": ["string", "null"]}}}),
                "inputSchema.properties.a must have one `type`",
            ),
            (
                json!({"properties": {"a": {"type": "array"}}}),
                "inputSchema.properties.a is an array, so it needs `items`",
            ),
            (
                json!({"properties": {"a": {"type": "object", "required": []}}}),
                "empty `required`",
            ),
            (
                json!({"properties": {"a": {"$ref": "https://example.org"}}}),
                "nothing is fetched",
            ),
            (
                json!({"properties": {"a": {"$ref": "#/$defs/a"}}}),
                "leads to nothing",
            ),
            (
                json!({"properties": {"a": {"$dynamicRef": "#a"}}}),
                "inputSchema.properties.a must not have `$dynamicRef`: use `$ref`",
            ),
            (
                json!({"properties": {"a": {"$id": "https://example.org"}}}),
                "must not have `$id`",
            ),
            (
                json!({"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}),
                "inputSchema.properties.a holds one value against more than 2000 schemas",
            ),
            (
                json!({"properties": {"a": true}}),
                "inputSchema.properties.a must be a schema",
            ),
            (json!({"properties": {"a b": {}}}), "the argument `a b`"),
            (
                json!({"properties": {"a": {"type": "strin"}}}),
                "is no JSON Schema",
            ),
            (
                json!({"properties": {"a": {"pattern": "("}}}),
                "is no JSON Schema",
            ),
            (json!({"properties": 1}), "is no JSON Schema"),
            (
                json!({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}),
                "inputSchema.properties.a: `x-mcp-header: \"A\"` needs the `type`",
            ),
        ] {
            let told = problems("a", schema.clone());
            assert!(told.contains(said), "{schema}: {told}");
        }
    }

    #[test]
    fn a_name_that_some_client_refuses_is_told() {
        for name in [
            "",
            "1a",
            "a.b",
            "a b",
            "ä",
            "a23456789012345678901234567890123456789012345678",
        ] {
            assert!(
                problems(name, json!({})).contains("the name must"),
                "{name}"
            );
        }
    }
}
