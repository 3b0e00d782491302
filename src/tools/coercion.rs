//! Arguments as models and clients send them, in the form that a schema asks for, where it leaves no doubt what is meant.
//! Pure. What a schema accepts already is never changed; what stays in doubt is left for the check to refuse.

use rmcp::model::JsonObject;
use serde_json::{Number, Value};

/// Keys that clients add to the arguments of any tool by themselves.
const ADDED_BY_CLIENTS: [&str; 5] = [
    // Gemini CLI offers it to its model with every tool, and sends it on (0.61).
    "wait_for_previous",
    // n8n's MCP Client Tool.
    "sessionId",
    "action",
    "chatInput",
    "toolCallId",
];

/// Of how many names that a schema does not have it is looked for which is meant. Each is held against all that it has.
const MOST_UNKNOWN: usize = 100;

/// The largest whole number that is exact wherever numbers are doubles.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// The arguments with each value that the schema can't accept as what it can only mean: `"7"` as 7 where a number is asked
/// for, `"true"` as true, JSON text as the object or list it is, 7 as `"7"` where a string is asked for.
///
/// Of keys that the schema closes out, those that clients are known to add are left out, and one that is another's name but
/// for case and separators (`computer_id`) becomes that.
pub fn coerced(schema: &JsonObject, arguments: JsonObject) -> JsonObject {
    fields(schema, arguments)
}

/// What is an object if it is meant as one: itself, JSON text of one, and an empty list, which is how languages without
/// a type for objects write one that is empty.
pub fn as_object(value: &Value) -> Option<JsonObject> {
    match value {
        Value::Object(fields) => Some(fields.clone()),
        Value::Array(items) if items.is_empty() => Some(JsonObject::new()),
        Value::String(text) => match serde_json::from_str(text).ok()? {
            Value::Object(fields) => Some(fields),
            _ => None,
        },
        _ => None,
    }
}

/// What of `names` somebody most likely means by another name, if that is near.
pub fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// Of 1, which is the same: below it the two have little in common.
    const LEAST: f64 = 0.75;
    /// Longer than any name, in bytes: comparing takes as many steps as both are long, one times the other.
    const LONGEST: usize = 1_000;
    if name.len() > LONGEST {
        return None;
    }
    let name = letters(name);
    let near = |other: &&str| {
        let other = letters(other);
        let starts = other.starts_with(&name) && name.len() >= 3;
        if starts {
            1.0
        } else {
            strsim::jaro_winkler(&name, &other)
        }
    };
    names
        .filter(|other| other.len() <= LONGEST)
        .map(|other| (near(&other), other))
        .filter(|(nearness, _)| *nearness >= LEAST)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, other)| other)
}

fn fields(schema: &JsonObject, given: JsonObject) -> JsonObject {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return given;
    };
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.into_iter().flatten().any(|one| one == name);
    let is_closed = schema.get("additionalProperties") == Some(&Value::Bool(false))
        && schema.get("patternProperties").is_none();
    let mut fields = JsonObject::new();
    let mut unknown = 0;
    for (name, value) in &given {
        let name = match properties.contains_key(name) || !is_closed {
            true => name,
            false if ADDED_BY_CLIENTS.contains(&name.as_str()) => continue,
            // One that is nobody's is refused, however many there are.
            false if unknown == MOST_UNKNOWN => name,
            false => match same_but_for_case(name, properties) {
                Some(meant) if !given.contains_key(meant) => meant,
                _ => {
                    unknown += 1;
                    name
                }
            },
        };
        let Some(property) = properties.get(name) else {
            fields.insert(name.clone(), value.clone());
            continue;
        };
        let is_empty = matches!(value, Value::String(text) if text.trim().is_empty());
        if is_empty
            && !is_required(name)
            && expected(property).is_some_and(|expected| !expected.accepts(value))
        {
            // Some clients fill in every argument.
            continue;
        }
        fields.insert(name.clone(), one(property, value.clone()));
    }
    fields
}

/// The only property whose name is this but for case and separators.
fn same_but_for_case<'a>(name: &str, properties: &'a JsonObject) -> Option<&'a String> {
    let mut meant = properties
        .keys()
        .filter(|other| letters(other) == letters(name));
    meant.next().filter(|_| meant.next().is_none())
}

fn letters(name: &str) -> String {
    let letters = name.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// One value as its schema asks for it.
fn one(schema: &Value, value: Value) -> Value {
    let Some(expected) = expected(schema) else {
        return value;
    };
    let value = match expected.accepts(&value) {
        true => value,
        false => expected.meant_by(&value).unwrap_or(value),
    };
    match (value, expected.schema.get("items")) {
        (Value::Object(given), _) => Value::Object(fields(expected.schema, given)),
        (Value::Array(items), Some(schema)) => {
            items.into_iter().map(|item| one(schema, item)).collect()
        }
        (value, _) => value,
    }
}

/// What a schema asks for, where that is one type, or null.
struct Expected<'a> {
    schema: &'a JsonObject,
    kind: Kind,
    is_nullable: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Whole,
    Number,
    Flag,
    Object,
    List,
}

/// None where more than one type may be meant, or the schema says it in words that are not read here.
fn expected(schema: &Value) -> Option<Expected<'_>> {
    const UNREAD: [&str; 4] = ["$ref", "allOf", "not", "if"];
    let schema = schema.as_object()?;
    if UNREAD.iter().any(|word| schema.contains_key(*word)) {
        return None;
    }
    if let Some(alternatives) = schema.get("anyOf").or_else(|| schema.get("oneOf")) {
        let is_null = |one: &Value| one.get("type").is_some_and(|kind| kind == "null");
        let alternatives = alternatives.as_array()?;
        let mut others = alternatives.iter().filter(|one| !is_null(one));
        let only = others.next().filter(|_| others.next().is_none())?;
        return Some(Expected {
            is_nullable: true,
            ..expected(only)?
        });
    }
    let names = match schema.get("type")? {
        Value::String(name) => vec![name.as_str()],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let mut kinds = names.iter().filter(|name| **name != "null");
    let kind = match *kinds.next()? {
        "string" => Kind::Text,
        "integer" => Kind::Whole,
        "number" => Kind::Number,
        "boolean" => Kind::Flag,
        "object" => Kind::Object,
        "array" => Kind::List,
        _ => return None,
    };
    kinds.next().is_none().then_some(Expected {
        schema,
        kind,
        is_nullable: names.contains(&"null"),
    })
}

impl Expected<'_> {
    /// Whether a value is of the type, and one of those that are listed, if any are.
    fn accepts(&self, value: &Value) -> bool {
        let is_of_kind = match self.kind {
            Kind::Text => value.is_string(),
            Kind::Whole => value.as_f64().is_some_and(|number| number.fract() == 0.0),
            Kind::Number => value.is_number(),
            Kind::Flag => value.is_boolean(),
            Kind::Object => value.is_object(),
            Kind::List => value.is_array(),
        };
        let is_listed = |words: &Vec<Value>| words.contains(value);
        is_of_kind && self.words().is_none_or(is_listed) || value.is_null() && self.is_nullable
    }

    fn words(&self) -> Option<&Vec<Value>> {
        self.schema.get("enum").and_then(Value::as_array)
    }

    /// What a value of another type can only mean.
    fn meant_by(&self, value: &Value) -> Option<Value> {
        match (self.kind, value) {
            (Kind::Text, Value::String(text)) => self.word(text),
            (Kind::Text, Value::Number(number)) => Some(Value::String(written(number))),
            (Kind::Text, Value::Bool(flag)) => Some(Value::String(flag.to_string())),
            (Kind::Whole, Value::String(text)) => whole(text.trim()),
            (Kind::Number, Value::String(text)) => {
                let number = serde_json::from_str::<Number>(text.trim()).ok()?;
                Some(Value::Number(number))
            }
            (Kind::Flag, Value::String(text)) => {
                let text = text.trim().to_ascii_lowercase();
                text.parse().ok().map(Value::Bool)
            }
            (Kind::Object, value) => as_object(value).map(Value::Object),
            (Kind::List, Value::String(text)) => match serde_json::from_str(text).ok()? {
                items @ Value::Array(_) => Some(items),
                _ => None,
            },
            (Kind::List, Value::Object(fields)) if fields.is_empty() => {
                Some(Value::Array(Vec::new()))
            }
            _ => None,
        }
        .filter(|value| self.accepts(value))
    }

    /// The only listed word that this is but for case and blanks around it.
    fn word(&self, text: &str) -> Option<Value> {
        let is_meant = |word: &&Value| {
            let word = word.as_str().unwrap_or_default();
            word.to_lowercase() == text.trim().to_lowercase()
        };
        let mut meant = self.words()?.iter().filter(is_meant);
        meant.next().filter(|_| meant.next().is_none()).cloned()
    }
}

/// A whole number in digits, also with nothing but noughts behind a point.
fn whole(text: &str) -> Option<Value> {
    let (digits, noughts) = text.split_once('.').unwrap_or((text, "0"));
    if noughts.is_empty() || noughts.bytes().any(|byte| byte != b'0') {
        return None;
    }
    let number = digits.parse::<i64>().ok()?;
    (number.unsigned_abs() as f64 <= MAX_WHOLE).then(|| number.into())
}

/// A number as somebody writes it: some clients write whole ones as floats.
fn written(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= MAX_WHOLE => {
            format!("{float:.0}")
        }
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> JsonObject {
        match value {
            Value::Object(fields) => fields,
            other => panic!("{other}"),
        }
    }

    /// What an argument `a` of this schema becomes, where it must not be there.
    fn argument(schema: &Value, value: Value) -> Option<Value> {
        let schema = json!({"type": "object", "properties": {"a": schema}});
        let arguments = object(json!({ "a": value }));
        coerced(&object(schema), arguments).shift_remove("a")
    }

    #[test]
    fn a_value_becomes_what_it_can_only_mean() {
        let whole = json!({"type": "integer"});
        let number = json!({"type": "number"});
        let flag = json!({"type": "boolean"});
        let text = json!({"type": "string"});
        let word = json!({"type": "string", "enum": ["detach", "cancel"]});
        let map = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let list = json!({"type": "array", "items": {"type": "integer"}});
        let maybe = json!({"type": ["integer", "null"]});
        let optional = json!({"anyOf": [{"type": "boolean"}, {"type": "null"}]});
        for (schema, value, meant) in [
            (&whole, json!("7"), json!(7)),
            (&whole, json!(" 5000 "), json!(5000)),
            (&whole, json!("-3"), json!(-3)),
            (&whole, json!("7.0"), json!(7)),
            (&number, json!("0.5"), json!(0.5)),
            (&number, json!("1e3"), json!(1000.0)),
            (&flag, json!("true"), json!(true)),
            (&flag, json!("False"), json!(false)),
            (&text, json!(7), json!("7")),
            (&text, json!(7.0), json!("7")),
            (&text, json!(0.5), json!("0.5")),
            (&text, json!(true), json!("true")),
            (&word, json!("Cancel "), json!("cancel")),
            (&map, json!("{\"n\": \"1\"}"), json!({"n": 1})),
            (&map, json!({"n": "1"}), json!({"n": 1})),
            (&map, json!([]), json!({})),
            (&list, json!("[1, \"2\"]"), json!([1, 2])),
            (&list, json!(["1"]), json!([1])),
            (&list, json!({}), json!([])),
            (&maybe, json!("1"), json!(1)),
            (&optional, json!("TRUE"), json!(true)),
        ] {
            assert_eq!(
                argument(schema, value.clone()),
                Some(meant),
                "{value} for {schema}"
            );
        }
        // Left out.
        for schema in [&whole, &number, &flag, &word, &map, &list] {
            assert_eq!(argument(schema, json!("")), None, "{schema}");
        }
    }

    #[test]
    fn what_is_in_doubt_stays_as_it_came() {
        let one_of_two = json!({"anyOf": [{"type": "integer"}, {"type": "boolean"}]});
        for (schema, value) in [
            (json!({"type": "integer"}), json!("seven")),
            (json!({"type": "integer"}), json!("5s")),
            (json!({"type": "integer"}), json!("1.5")),
            (json!({"type": "integer"}), json!("0x10")),
            (json!({"type": "integer"}), json!("90071992547409931")),
            (json!({"type": "integer"}), json!(true)),
            (json!({"type": "integer"}), json!([7])),
            (json!({"type": "number"}), json!("inf")),
            (json!({"type": "boolean"}), json!("yes")),
            (json!({"type": "boolean"}), json!(1)),
            (json!({"type": "string"}), json!({"a": 1})),
            (json!({"type": "string", "enum": ["a", "A"]}), json!("a ")),
            (json!({"type": "string", "enum": ["7"]}), json!(8)),
            (json!({"type": "object"}), json!("[1]")),
            (json!({"type": "object"}), json!([1])),
            (json!({"type": "array"}), json!("a, b")),
            (one_of_two, json!("1")),
            (json!({"type": ["integer", "boolean"]}), json!("1")),
            (json!({"$ref": "#/$defs/n", "type": "integer"}), json!("1")),
            (json!({}), json!("1")),
            (json!(true), json!("1")),
        ] {
            assert_eq!(argument(&schema, value.clone()), Some(value), "{schema}");
        }
    }

    #[test]
    fn what_a_schema_accepts_is_never_changed() {
        for (schema, value) in [
            (json!({"type": "string"}), json!("7")),
            (json!({"type": "string"}), json!("")),
            (json!({"type": "string", "enum": ["a", "A"]}), json!("A")),
            (json!({"type": ["string", "integer"]}), json!("7")),
            (json!({"type": ["integer", "null"]}), json!(null)),
            (json!({"type": "integer"}), json!(7.0)),
            (json!({"type": "array"}), json!(["1", {}])),
            (json!({"type": "object"}), json!({"n": "1"})),
        ] {
            assert_eq!(argument(&schema, value.clone()), Some(value), "{schema}");
        }
        let open = object(json!({"type": "object", "properties": {"id": {"type": "integer"}}}));
        let given = object(json!({"wait_for_previous": true, "ID": "7", "id": 1}));
        assert_eq!(coerced(&open, given.clone()), given);
    }

    #[test]
    fn of_keys_that_a_schema_closes_out_only_known_ones_go_and_only_spellings_are_mended() {
        let schema = object(json!({
            "type": "object",
            "properties": {"computerId": {"type": "integer"}, "action": {"type": "string"}},
            "required": ["action"],
            "additionalProperties": false,
        }));
        let given = object(json!({
            "wait_for_previous": false, "toolCallId": "call_1", "action": "dig", "computer_id": "7", "reason": "x",
        }));
        let taken = json!({"action": "dig", "computerId": 7, "reason": "x"});
        assert_eq!(Value::Object(coerced(&schema, given)), taken);
        let twice = object(json!({"computerId": 1, "ComputerID": 2, "action": ""}));
        assert_eq!(coerced(&schema, twice.clone()), twice);
    }

    #[test]
    fn the_nearest_name_is_found_if_there_is_one() {
        let names = [
            "code",
            "computerId",
            "timeoutMs",
            "onTimeout",
            "exclusive",
            "where",
        ];
        for (name, meant) in [
            ("compterId", Some("computerId")),
            ("computer", Some("computerId")),
            ("timeout", Some("timeoutMs")),
            ("time_out", Some("timeoutMs")),
            ("exclusiv", Some("exclusive")),
            ("reason", None),
            ("x", None),
        ] {
            assert_eq!(nearest(name, names.into_iter()), meant, "{name}");
        }
    }
}
