//! The arguments of a tool that is written in Rust: checked by its schema, which also says what stands for one that is
//! left out.
//!
//! Our own schemas use few words, which are read here: the library that checks users' tools takes 2.5 MB of memory from
//! the first schema on.

use std::fmt;

use rmcp::model::JsonObject;
use serde_json::{Value, json};
use thiserror::Error;

use super::coercion::nearest;
use crate::{base::text::one_line, computers::ComputerKey};

/// The largest whole number: Lua's are exact up to 2^53.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// Why arguments can't be used, for the model to read.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum ArgumentError {
    /// One that must be there is not.
    #[error("`{name}` is missing; it must be {expected}.")]
    Missing {
        /// Its name.
        name: String,
        /// What its schema asks for, in words.
        expected: String,
    },
    /// One is not what its schema asks for.
    #[error("`{name}` must be {expected}, not {came}.")]
    Unfit {
        /// Its name.
        name: String,
        /// What its schema asks for, in words.
        expected: String,
        /// Its value, cut short.
        came: String,
    },
    /// The schema has none of this name.
    #[error("{}", no_such("argument", .name, .known))]
    Unknown {
        /// The name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
}

/// That there is none of this name, which one may be meant, and which there are; `what` is what they are called.
pub fn no_such(what: &str, name: &str, known: &[String]) -> String {
    let name = one_line(name);
    let known: Vec<_> = known.iter().map(|name| one_line(name)).collect();
    let meant = match nearest(&name, known.iter().map(AsRef::as_ref)) {
        Some(meant) => format!("There is no {what} `{name}`; did you mean `{meant}`?"),
        None => format!("There is no {what} `{name}`."),
    };
    match known.as_slice() {
        [] => format!("{meant} None are taken."),
        known => format!("{meant} There are: {}.", known.join(", ")),
    }
}

/// The names of a schema's arguments.
pub fn names(schema: &JsonObject) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flat_map(JsonObject::keys);
    names.cloned().collect()
}

/// Arguments that fit the schema, with its defaults for those that are left out, in the schema's order. A `null` counts
/// as left out: some clients fill in every optional argument.
pub fn read(schema: &JsonObject, mut given: JsonObject) -> Result<JsonObject, ArgumentError> {
    given.retain(|_, value| !value.is_null());
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_known = |name: &str| properties.is_some_and(|known| known.contains_key(name));
    // Before what is missing: it may be that by another name.
    if let Some(name) = given.keys().find(|name| !is_known(name)) {
        return Err(ArgumentError::Unknown {
            name: name.clone(),
            known: names(schema),
        });
    }
    let mut read = JsonObject::new();
    for (name, property) in properties.into_iter().flatten() {
        let value = match given.shift_remove(name) {
            Some(value) => Some(fitting(name, property, value)?),
            None if is_required(schema, name) => {
                return Err(ArgumentError::Missing {
                    name: name.clone(),
                    expected: Expected::of(name, property).to_string(),
                });
            }
            None => property.get("default").cloned(),
        };
        read.extend(value.map(|value| (name.clone(), value)));
    }
    Ok(read)
}

fn is_required(schema: &JsonObject, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|one| one == name))
}

/// The value as the tool's own type reads it.
fn fitting(name: &str, property: &Value, value: Value) -> Result<Value, ArgumentError> {
    let expected = Expected::of(name, property);
    if let (Expected::List(items), Value::Array(values)) = (&expected, &value) {
        let values = values.iter().enumerate();
        let read = values.map(|(at, value)| item(&format!("{name}[{at}]"), items, value.clone()));
        return read.collect::<Result<_, _>>().map(Value::Array);
    }
    expected.read(&value).ok_or_else(|| ArgumentError::Unfit {
        name: name.to_owned(),
        expected: expected.to_string(),
        came: shown(&value),
    })
}

/// One of a list, as the tool's own type reads it.
fn item(name: &str, schema: &Value, value: Value) -> Result<Value, ArgumentError> {
    let fields = schema.as_object().filter(|schema| is_of_fields(schema));
    match (fields, value) {
        (Some(schema), Value::Object(fields)) => {
            let read = read(schema, fields).map(Value::Object);
            read.map_err(|error| error.within(name))
        }
        (Some(_), other) => Err(ArgumentError::Unfit {
            name: name.to_owned(),
            expected: Expected::Object.to_string(),
            came: shown(&other),
        }),
        // Anything.
        (None, value) if schema.get("type").is_none() => Ok(value),
        (None, value) => fitting(name, schema, value),
    }
}

/// Whether a schema says what an object has.
fn is_of_fields(schema: &JsonObject) -> bool {
    schema.contains_key("properties")
}

impl ArgumentError {
    /// The same of something inside an argument.
    fn within(self, path: &str) -> Self {
        let inside = |name: String| format!("{path}.{name}");
        match self {
            Self::Missing { name, expected } => Self::Missing {
                name: inside(name),
                expected,
            },
            Self::Unfit {
                name,
                expected,
                came,
            } => Self::Unfit {
                name: inside(name),
                expected,
                came,
            },
            Self::Unknown { name, known } => Self::Unknown {
                name: inside(name),
                known: known.into_iter().map(inside).collect(),
            },
        }
    }
}

/// What a schema asks for.
#[derive(Debug, PartialEq)]
enum Expected<'a> {
    Text,
    OneOf(&'a [Value]),
    WholeNumber {
        least: u64,
        most: u64,
    },
    Flag,
    Object,
    /// Each of what this schema says.
    List(&'a Value),
    /// `computerId` means the same in every tool.
    Computer,
    /// The schema uses a word that is not known here; a test holds our own against that.
    Anything,
}

impl<'a> Expected<'a> {
    fn of(name: &str, property: &'a Value) -> Self {
        let bound = |keyword, otherwise| match property.get(keyword) {
            Some(bound) => bound.as_u64(),
            None => Some(otherwise),
        };
        let words = property.get("enum").map(Value::as_array);
        match (property.get("type").and_then(Value::as_str), words) {
            (Some("integer"), None) if name == "computerId" => Self::Computer,
            (Some("integer"), None) => match (bound("minimum", 0), bound("maximum", u64::MAX)) {
                (Some(least), Some(most)) => Self::WholeNumber { least, most },
                _ => Self::Anything,
            },
            (Some("string"), None) => Self::Text,
            (Some("string"), Some(Some(words))) => Self::OneOf(words),
            (Some("boolean"), None) => Self::Flag,
            (Some("object"), None) => Self::Object,
            (Some("array"), None) => match property.get("items") {
                Some(items @ Value::Object(_)) => Self::List(items),
                _ => Self::Anything,
            },
            _ => Self::Anything,
        }
    }

    /// The value, if it is what is asked for. Some clients write whole numbers as floats, which become whole here.
    fn read(&self, value: &Value) -> Option<Value> {
        let fits = match self {
            Self::Text => value.is_string(),
            Self::OneOf(words) => words.contains(value),
            Self::Flag => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::List(_) => value.is_array(),
            Self::Anything => true,
            Self::WholeNumber { least, most } => {
                return whole(value)
                    .filter(|number| (least..=most).contains(&number))
                    .map(|number| json!(number));
            }
            Self::Computer => return ComputerKey::from_json(value).map(|id| json!(id)),
        };
        fits.then(|| value.clone())
    }
}

impl fmt::Display for Expected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("a string"),
            Self::OneOf(words) => {
                let words: Vec<_> = words.iter().map(Value::to_string).collect();
                f.write_str(&words.join(" or "))
            }
            Self::WholeNumber { least, most } => write!(f, "a whole number from {least} to {most}"),
            Self::Flag => f.write_str("true or false"),
            Self::Object => f.write_str("an object"),
            Self::List(_) => f.write_str("a list"),
            Self::Computer => f.write_str("a computer's number, such as 12, or its label"),
            Self::Anything => f.write_str("what the schema says"),
        }
    }
}

fn whole(value: &Value) -> Option<u64> {
    let number = value.as_f64()?;
    // In range and whole, so the conversion is exact.
    (number.fract() == 0.0 && (0.0..=MAX_WHOLE).contains(&number)).then_some(number as u64)
}

/// A value for an error message, cut short.
pub fn shown(value: &Value) -> String {
    const MOST: usize = 60;
    let mut beginning = Beginning {
        text: String::new(),
        left: MOST + 1,
    };
    // Ends early where there is more: a value may be of megabytes.
    let _ = fmt::Write::write_fmt(&mut beginning, format_args!("{value}"));
    let mut text = beginning.text;
    if beginning.left == 0 {
        text.pop();
        text.push('…');
    }
    text
}

/// The first characters of what is written.
struct Beginning {
    text: String,
    left: usize,
}

impl fmt::Write for Beginning {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        for c in more.chars() {
            if self.left == 0 {
                return Err(fmt::Error);
            }
            self.text.push(c);
            self.left -= 1;
        }
        match self.left {
            0 => Err(fmt::Error),
            _ => Ok(()),
        }
    }
}

/// What of a schema is not checked here.
#[cfg(test)]
pub fn unchecked(schema: &JsonObject) -> Vec<String> {
    const ROOT: [&str; 4] = ["type", "properties", "required", "additionalProperties"];
    const PROPERTY: [&str; 7] = [
        "type",
        "description",
        "enum",
        "minimum",
        "maximum",
        "default",
        "items",
    ];
    let mut unchecked: Vec<_> = schema
        .keys()
        .filter(|word| !ROOT.contains(&word.as_str()))
        .cloned()
        .collect();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let words = property.as_object().into_iter().flatten();
        let words = words.map(|(word, _)| word.as_str());
        unchecked.extend(
            words
                .filter(|word| !PROPERTY.contains(word))
                .map(|word| format!("{name}.{word}")),
        );
        let expected = Expected::of(name, property);
        if expected == Expected::Anything {
            unchecked.push(name.clone());
        }
        if let Expected::List(Value::Object(items)) = expected
            && is_of_fields(items)
        {
            let inside = self::unchecked(items).into_iter();
            unchecked.extend(inside.map(|word| format!("{name}[].{word}")));
        }
        let default = property.get("default");
        if default.is_some_and(|default| expected.read(default).as_ref() != Some(default)) {
            unchecked.push(format!("{name}.default"));
        }
    }
    unchecked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> JsonObject {
        match value {
            Value::Object(fields) => fields,
            other => panic!("{other}"),
        }
    }

    fn read_all(given: Value) -> Result<Value, String> {
        let schema = object(json!({
            "type": "object",
            "properties": {
                "computerId": {"type": "integer", "minimum": 0},
                "code": {"type": "string"},
                "timeoutMs": {"type": "integer", "minimum": 1, "maximum": 10, "default": 7},
                "cursor": {"type": "integer", "minimum": 0},
                "onTimeout": {"type": "string", "enum": ["detach", "cancel"], "default": "detach"},
                "exclusive": {"type": "boolean"},
                "arguments": {"type": "object"},
                "steps": {"type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "do": {"type": "string", "enum": ["type", "click"]},
                        "x": {"type": "integer", "minimum": 1},
                        "args": {"type": "array", "items": {}},
                    },
                    "required": ["do"],
                    "additionalProperties": false,
                }},
            },
            "required": ["code"],
            "additionalProperties": false,
        }));
        assert_eq!(unchecked(&schema), [""; 0]);
        match read(&schema, object(given)) {
            Ok(read) => Ok(Value::Object(read)),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_wrong_argument_is_named_with_what_was_expected_and_what_came() {
        for (given, said) in [
            (json!({"code": 7}), "`code` must be a string, not 7."),
            (json!({}), "`code` is missing; it must be a string."),
            (
                json!({"code": "", "timeoutMs": "soon"}),
                "`timeoutMs` must be a whole number from 1 to 10, not \"soon\".",
            ),
            (
                json!({"code": "", "timeoutMs": 11}),
                "`timeoutMs` must be a whole number from 1 to 10, not 11.",
            ),
            (
                json!({"code": "", "cursor": -1}),
                "`cursor` must be a whole number from 0 to 18446744073709551615, not -1.",
            ),
            (
                json!({"code": "", "computerId": "12"}),
                "`computerId` must be a computer's number, such as 12, or its label, not \"12\".",
            ),
            (
                json!({"code": "", "exclusive": "yes"}),
                "`exclusive` must be true or false, not \"yes\".",
            ),
            (
                json!({"code": "", "onTimeout": "stop"}),
                "`onTimeout` must be \"detach\" or \"cancel\", not \"stop\".",
            ),
            (
                json!({"code": "", "arguments": []}),
                "`arguments` must be an object, not [].",
            ),
            (
                json!({"code": "", "compterId\n": 1}),
                "There is no argument `compterId\\n`; did you mean `computerId`? There are: computerId, code, timeoutMs, \
                 cursor, onTimeout, exclusive, arguments, steps.",
            ),
            (
                json!({"code": "", "steps": {}}),
                "`steps` must be a list, not {}.",
            ),
            (
                json!({"code": "", "steps": [{"do": "type"}, 7]}),
                "`steps[1]` must be an object, not 7.",
            ),
            (
                json!({"code": "", "steps": [{"x": 1}]}),
                "`steps[0].do` is missing; it must be \"type\" or \"click\".",
            ),
            (
                json!({"code": "", "steps": [{"do": "click", "x": 0}]}),
                "`steps[0].x` must be a whole number from 1 to 18446744073709551615, not 0.",
            ),
            (
                json!({"code": "", "steps": [{"do": "click", "z": 0}]}),
                "There is no argument `steps[0].z`; did you mean `steps[0].x`? There are: steps[0].do, steps[0].x, \
                 steps[0].args.",
            ),
            (
                json!({"script": "x"}),
                "There is no argument `script`. There are: computerId, code, timeoutMs, cursor, onTimeout, exclusive, \
                 arguments, steps.",
            ),
        ] {
            assert_eq!(read_all(given).unwrap_err(), said);
        }
    }

    #[test]
    fn null_counts_as_left_out_and_a_float_form_as_the_number() {
        assert_eq!(
            read_all(json!({"code": "", "computerId": null, "timeoutMs": null, "cursor": 5.0})),
            Ok(json!({"code": "", "timeoutMs": 7, "cursor": 5, "onTimeout": "detach"}))
        );
        assert_eq!(
            read_all(json!({"code": null})).unwrap_err(),
            "`code` is missing; it must be a string."
        );
    }

    #[test]
    fn what_is_given_stands_before_the_default() {
        let given = json!({
            "computerId": 12, "code": "x", "timeoutMs": 1, "onTimeout": "cancel", "exclusive": true,
            "arguments": {"a": null}, "steps": [{"do": "click", "x": 2, "args": [null, {"a": 1}]}],
        });
        assert_eq!(read_all(given.clone()), Ok(given));
    }

    #[test]
    fn words_of_a_schema_that_nobody_checks_are_found() {
        let schema = object(json!({
            "oneOf": [],
            "properties": {
                "a": {"type": "string", "pattern": "x"},
                "b": {"type": "array"},
                "e": {"type": "array", "items": {"properties": {"f": {"type": "string", "format": "x"}}}},
                "c": {"type": "integer", "minimum": -1},
                "d": {"type": "integer", "minimum": 1, "default": 0},
            },
        }));
        assert_eq!(
            unchecked(&schema),
            ["oneOf", "a.pattern", "b", "e[].f.format", "c", "d.default"]
        );
    }
}
