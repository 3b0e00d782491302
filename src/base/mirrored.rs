//! Arguments that clients over HTTP say in a header too, for what stands between to read (SEP-2243): a schema names the
//! header by `x-mcp-header`.

use std::{collections::HashSet, convert::Infallible};

use serde_json::{Map, Value};

use super::schema::{self, Next};

/// The keyword.
const HEADER: &str = "x-mcp-header";

/// What the name of a header may have beside letters and digits (RFC 9110, section 5.6.2).
const IN_NAMES: &str = "!#$%&'*+-.^_`|~";

/// Takes out of a tool's input schema what names headers otherwise than clients take it, and says what is wrong, with its
/// place: they leave out a tool that has any of it.
pub fn without_wrong_headers(schema: &mut Map<String, Value>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut seen = HashSet::new();
    let mut whole = Value::Object(std::mem::take(schema));
    let Ok(()) = schema::walk::<Infallible>(&mut whole, "inputSchema", |schema, place| {
        let Value::Object(fields) = schema else {
            return Ok(Next::Past);
        };
        if let Some(named) = fields.get(HEADER) {
            let kind = fields.get("type").and_then(Value::as_str);
            let name = named.as_str().filter(|name| is_name(name));
            let why = match (name, kind) {
                _ if !place.is_argument() => Some("belongs to an argument, by `properties` alone"),
                (None, _) => Some("must be the name of a header"),
                (_, Some("string" | "integer" | "boolean")) => name
                    .filter(|name| !seen.insert(name.to_ascii_lowercase()))
                    .map(|_| "names the header of another argument"),
                _ => Some("needs the `type` string, integer or boolean beside it"),
            };
            if let Some(why) = why {
                wrong.push(format!("{}: `{HEADER}: {named}` {why}", place.path));
                fields.shift_remove(HEADER);
            }
        }
        Ok(Next::Inside)
    });
    if let Value::Object(whole) = whole {
        *schema = whole;
    }
    wrong
}

fn is_name(text: &str) -> bool {
    let is_taken = |c: char| c.is_ascii_alphanumeric() || IN_NAMES.contains(c);
    !text.is_empty() && text.chars().all(is_taken)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(schema: Value) -> (Value, String) {
        let Value::Object(mut schema) = schema else {
            panic!("{schema}");
        };
        let wrong = without_wrong_headers(&mut schema).join("; ");
        (Value::Object(schema), wrong)
    }

    #[test]
    fn what_clients_take_is_left_as_it_is() {
        let good = json!({"properties": {
            "a": {"type": "string", "x-mcp-header": "Region"},
            "b": {"type": "object", "properties": {"c": {"type": "integer", "x-mcp-header": "X-2"}}},
            // An argument of this name.
            "x-mcp-header": {"type": "boolean"},
        }, "default": {"x-mcp-header": 1}});
        assert_eq!(checked(good.clone()), (good, String::new()));
    }

    #[test]
    fn what_makes_clients_leave_out_the_tool_is_taken_out_and_told() {
        let named = |kind: &str, name: Value| json!({"type": kind, "x-mcp-header": name});
        for (schema, told) in [
            (
                json!({"x-mcp-header": "A"}),
                "inputSchema: `x-mcp-header: \"A\"` belongs",
            ),
            (
                json!({"properties": {"a": named("string", json!(""))}}),
                "the name of a header",
            ),
            (
                json!({"properties": {"a": named("string", json!("My Region"))}}),
                "the name of a header",
            ),
            (
                json!({"properties": {"a": named("string", json!("Région"))}}),
                "the name of a header",
            ),
            (
                json!({"properties": {"a": named("string", json!(1))}}),
                "the name of a header",
            ),
            (
                json!({"properties": {"a": named("number", json!("A"))}}),
                "needs the `type`",
            ),
            (
                json!({"properties": {"a": {"x-mcp-header": "A"}}}),
                "needs the `type`",
            ),
            (
                json!({"properties": {"a": {"anyOf": [named("string", json!("A"))]}}}),
                "inputSchema.properties.a.anyOf[0]: `x-mcp-header: \"A\"` belongs",
            ),
            (
                json!({"$defs": {"a": {"properties": {"b": named("string", json!("A"))}}}}),
                "belongs to an argument",
            ),
            (
                json!({"properties": {"a": named("string", json!("A")), "b": named("string", json!("a"))}}),
                "inputSchema.properties.b: `x-mcp-header: \"a\"` names the header of another argument",
            ),
        ] {
            let (rest, wrong) = checked(schema.clone());
            assert!(wrong.contains(told), "{schema}: {wrong}");
            assert_eq!(wrong.matches("`x-mcp-header").count(), 1, "{wrong}");
            assert_eq!(checked(rest.clone()), (rest, String::new()), "{schema}");
        }
    }
}
