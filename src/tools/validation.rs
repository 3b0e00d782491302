//! Whether arguments fit a tool's schema: if not, which one, what was expected, and what came.

use std::borrow::Cow;

use jsonschema::{
    Draft, JsonType, ValidationError, Validator as Compiled,
    error::{TypeKind, ValidationErrorKind},
};
use rmcp::model::JsonObject;
use serde_json::Value;
use thiserror::Error;

use super::arguments::{names, no_such, shown};
use crate::base::excerpt::shortened;

/// How many problems are told at once.
const MOST: usize = 5;

/// Why a schema is none.
#[derive(Debug, Error)]
pub enum SchemaError {
    /// For what stands at its root.
    #[error("{0}")]
    AtRoot(String),
    /// For what stands inside.
    #[error("{reason} (at {place})")]
    Inside {
        /// A JSON pointer to it.
        place: String,
        /// Why.
        reason: String,
    },
}

/// What of a value does not fit a schema: one sentence for each problem, as far as they are told.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{}", .0.join(" "))]
pub struct Unfit(Vec<String>);

/// A schema that is ready to check values.
pub struct Validator {
    compiled: Compiled,
    /// The names of what the schema has at its root.
    names: Vec<String>,
}

impl Validator {
    /// A validator of a schema of JSON Schema 2020-12. Nothing is fetched: references lead inside the schema only.
    ///
    /// # Errors
    /// The schema is none; why.
    pub fn new(schema: &JsonObject) -> Result<Self, SchemaError> {
        jsonschema::options()
            .with_draft(Draft::Draft202012)
            .build(&Value::Object(schema.clone()))
            .map(|compiled| Self {
                compiled,
                names: names(schema),
            })
            .map_err(|error| match error.instance_path().as_str() {
                "" => SchemaError::AtRoot(error.to_string()),
                place => SchemaError::Inside {
                    place: place.to_owned(),
                    reason: error.to_string(),
                },
            })
    }

    /// Checks a value.
    ///
    /// # Errors
    /// What does not fit.
    pub fn check(&self, value: &Value) -> Result<(), Unfit> {
        if self.compiled.is_valid(value) {
            return Ok(());
        }
        let mut told: Vec<_> = self
            .compiled
            .iter_errors(value)
            .map(|error| sentence(&error, &self.names))
            .collect();
        told.dedup();
        if told.len() > MOST {
            let more = told.len() - MOST;
            told.truncate(MOST);
            told.push(format!("There are {more} more problems."));
        }
        Err(Unfit(told))
    }
}

/// Leaves out top-level arguments that are null but need not be there: some clients fill in every optional one.
pub fn without_nulls(schema: &JsonObject, arguments: &mut JsonObject) {
    let required = schema.get("required").and_then(Value::as_array);
    arguments.retain(|name, value| {
        !value.is_null() || required.is_some_and(|required| required.iter().any(|one| one == name))
    });
}

/// One problem, in words.
fn sentence(error: &ValidationError<'_>, names: &[String]) -> String {
    use ValidationErrorKind as Kind;

    let name = path(error.instance_path().as_str());
    let came = shown(error.instance());
    let expected = match error.kind() {
        Kind::Required { property } => {
            let property = property.as_str().unwrap_or_default();
            return match error.instance_path().as_str() {
                "" => format!("`{property}` is missing."),
                _ => format!("`{name}` lacks `{property}`."),
            };
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let at_root = error.instance_path().as_str().is_empty();
            if let (true, Some(first)) = (at_root, unexpected.first()) {
                return no_such("argument", first, names);
            }
            let unexpected: Vec<_> = unexpected
                .iter()
                .map(|name| format!("`{}`", crate::base::text::one_line(name)))
                .collect();
            return format!("`{name}` has no {}.", unexpected.join(", "));
        }
        Kind::Type { kind } => match kind {
            TypeKind::Single(kind) => type_name(*kind).to_owned(),
            TypeKind::Multiple(kinds) => {
                let kinds: Vec<_> = kinds.iter().map(type_name).collect();
                kinds.join(" or ")
            }
        },
        Kind::Enum { options } => one_of(options),
        Kind::Constant { expected_value } => shown(expected_value),
        Kind::Minimum { limit } => format!("at least {limit}"),
        Kind::Maximum { limit } => format!("at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        Kind::MinLength { limit } => format!("a string of at least {limit} characters"),
        Kind::MaxLength { limit } => format!("a string of at most {limit} characters"),
        Kind::MinItems { limit } => format!("a list of at least {limit}"),
        Kind::MaxItems { limit } => format!("a list of at most {limit}"),
        Kind::Pattern { pattern } => format!("a string that fits {pattern}"),
        Kind::Format { format } => format!("a string of the format {format}"),
        Kind::UniqueItems => "a list in which nothing stands twice".to_owned(),
        _ => {
            let reason = error.to_string();
            return match error.instance_path().as_str() {
                "" => format!("The arguments don't fit: {}.", cut(&reason)),
                _ => format!("`{name}` does not fit: {}.", cut(&reason)),
            };
        }
    };
    match error.instance_path().as_str() {
        "" => format!("The arguments must be {expected}, not {came}."),
        _ => format!("`{name}` must be {expected}, not {came}."),
    }
}

/// A JSON pointer as Lua and JavaScript write it: `/a/0/b` is `a[0].b`.
fn path(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if part.chars().all(|c| c.is_ascii_digit()) && !path.is_empty() {
            path.push_str(&format!("[{part}]"));
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&crate::base::text::one_line(&part));
        }
    }
    path
}

fn one_of(options: &Value) -> String {
    let options: Vec<_> = options
        .as_array()
        .into_iter()
        .flatten()
        .map(Value::to_string)
        .collect();
    options.join(" or ")
}

fn type_name(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Array => "a list",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a string",
    }
}

/// A reason, of which a client's own words may be part, to stand before a full stop.
fn cut(reason: &str) -> Cow<'_, str> {
    /// With the mark that there is more.
    const MOST: usize = 301;
    shortened(reason.trim_end_matches('.'), MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn problem(schema: Value, value: Value) -> String {
        let Value::Object(schema) = schema else {
            panic!("{schema}");
        };
        let unfit = Validator::new(&schema).unwrap().check(&value);
        unfit.unwrap_err().to_string()
    }

    #[test]
    fn a_wrong_argument_is_named_with_what_was_expected_and_what_came() {
        let schema = json!({
            "type": "object",
            "properties": {
                "code": {"type": "string"},
                "count": {"type": "integer", "minimum": 1, "maximum": 9},
                "mode": {"enum": ["a", "b"]},
                "items": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}},
            },
            "required": ["code"],
            "additionalProperties": false,
        });
        for (value, said) in [
            (json!({"code": 7}), "`code` must be a string, not 7."),
            (json!({}), "`code` is missing."),
            (
                json!({"code": "", "compterId": 1}),
                "There is no argument `compterId`. There are: code, count, mode, items.",
            ),
            (
                json!({"code": "", "count": 0}),
                "`count` must be at least 1, not 0.",
            ),
            (
                json!({"code": "", "count": 1.5}),
                "`count` must be a whole number, not 1.5.",
            ),
            (
                json!({"code": "", "mode": "c"}),
                "`mode` must be \"a\" or \"b\", not \"c\".",
            ),
            (
                json!({"code": "", "items": [{"n": "x"}]}),
                "`items[0].n` must be a number, not \"x\".",
            ),
            (json!({"code": "", "items": [{}]}), "`items[0]` lacks `n`."),
            (
                json!({"code": "", "items": {}}),
                "`items` must be a list, not {}.",
            ),
        ] {
            assert_eq!(problem(schema.clone(), value), said);
        }
    }

    #[test]
    fn a_whole_number_may_be_written_as_a_float() {
        let Value::Object(schema) =
            json!({"type": "object", "properties": {"n": {"type": "integer"}}})
        else {
            unreachable!()
        };
        assert_eq!(
            Validator::new(&schema).unwrap().check(&json!({"n": 5.0})),
            Ok(())
        );
    }

    #[test]
    fn a_reference_to_the_network_is_refused_not_followed() {
        let Value::Object(schema) = json!({"properties": {"a": {"$ref": "https://example.org/a"}}})
        else {
            unreachable!()
        };
        assert!(Validator::new(&schema).is_err());
    }

    #[test]
    fn a_null_counts_as_left_out_where_nothing_has_to_be() {
        let Value::Object(schema) = json!({"required": ["a"]}) else {
            unreachable!()
        };
        let Value::Object(mut arguments) = json!({"a": null, "b": null, "c": 1}) else {
            unreachable!()
        };
        without_nulls(&schema, &mut arguments);
        assert_eq!(json!(arguments), json!({"a": null, "c": 1}));
    }
}
