//! Whether arguments fit a tool's schema: if not, which one, what was expected, and what came.

use std::{borrow::Cow, sync::Arc};

use jsonschema::{
    Draft, JsonType, PatternOptions, ValidationError, Validator as Compiled,
    error::{TypeKind, ValidationErrorKind},
};
use rmcp::model::JsonObject;
use serde_json::Value;
use thiserror::Error;
use tokio::task::spawn_blocking;

use super::{
    arguments::{names, no_such, shown},
    effort::{MOST_STEPS, TooMuch, steps},
};
use crate::base::excerpt::shortened;

/// How many problems are told at once.
const MOST: usize = 5;

/// Up to how many steps a check is done where it is asked for, and all that is wrong is looked for: a few milliseconds.
const SHORT: usize = 20_000;

/// How often a pattern may try anew on one text.
const TRIES: usize = 20_000;

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
    /// What it is made of.
    schema: Value,
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
        let names = names(schema);
        let schema = Value::Object(schema.clone());
        jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(TRIES))
            .build(&schema)
            .map(|compiled| Self {
                schema,
                compiled,
                names,
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
    /// What does not fit; or that it would take too long to know.
    pub fn check(&self, value: &Value) -> Result<(), Unfit> {
        let steps = steps(&self.schema, value)?;
        self.checked(value, steps)
    }

    /// The same where others wait: what takes longer is done beside them.
    pub async fn check_beside(self: &Arc<Self>, value: Value) -> (Value, Result<(), Unfit>) {
        let steps = match steps(&self.schema, &value) {
            Ok(steps) => steps,
            Err(error) => return (value, Err(error.into())),
        };
        if steps <= SHORT {
            let fits = self.checked(&value, steps);
            return (value, fits);
        }
        let this = self.clone();
        let checked = spawn_blocking(move || {
            let fits = this.checked(&value, steps);
            (value, fits)
        });
        match checked.await {
            Ok(checked) => checked,
            Err(error) => (
                Value::Null,
                Err(Unfit(vec![format!("It could not be checked: {error}.")])),
            ),
        }
    }

    fn checked(&self, value: &Value, steps: usize) -> Result<(), Unfit> {
        if self.compiled.is_valid(value) {
            return Ok(());
        }
        if steps > SHORT {
            // To look for all that is wrong takes much longer, and room for each.
            return self.compiled.validate(value).map_err(|error| {
                let first = sentence(&error, &self.names);
                Unfit(vec![first, "There may be more problems.".to_owned()])
            });
        }
        let (mut told, mut more) = (Vec::new(), 0);
        for error in self.compiled.iter_errors(value) {
            if told.len() == MOST {
                more += 1;
                continue;
            }
            let sentence = sentence(&error, &self.names);
            if told.last() != Some(&sentence) {
                told.push(sentence);
            }
        }
        if more > 0 {
            told.push(format!("There are {more} more problems."));
        }
        Err(Unfit(told))
    }
}

impl From<TooMuch> for Unfit {
    fn from(_: TooMuch) -> Self {
        Self(vec![format!(
            "It is too much to be checked: to hold it against the schema takes more than {MOST_STEPS} steps. Pass less \
             at once, or have the schema ask for less."
        )])
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
            let first: Vec<_> = unexpected
                .iter()
                .take(MOST)
                .map(|name| format!("`{}`", crate::base::text::one_line(name)))
                .collect();
            let more = match unexpected.len() - first.len() {
                0 => String::new(),
                more => format!(", nor {more} others"),
            };
            return format!("`{name}` has no {}{more}.", first.join(", "));
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
    fn of_many_problems_the_first_are_told() {
        let schema = json!({"properties": {"l": {"items": {"type": "integer"}}, "o": {"properties": {"z": {}}, "additionalProperties": false}}});
        let all = |count: usize| problem(schema.clone(), json!({"l": vec!["x"; count]}));
        assert!(all(5).ends_with("`l[4]` must be a whole number, not \"x\"."));
        assert!(
            all(9)
                .ends_with("`l[4]` must be a whole number, not \"x\". There are 4 more problems.")
        );
        assert_eq!(
            all(100_000),
            "`l[0]` must be a whole number, not \"x\". There may be more problems."
        );
        assert!(all(MOST_STEPS).starts_with("It is too much to be checked: "));
        assert_eq!(
            problem(
                schema,
                json!({"o": {"a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1}})
            ),
            "`o` has no `a`, `b`, `c`, `d`, `e`, nor 2 others."
        );
    }

    #[test]
    fn a_check_that_would_not_end_is_not_begun() {
        let mut definitions = JsonObject::new();
        for at in 0..60 {
            let next = json!({ "$ref": format!("#/$defs/d{}", at + 1) });
            definitions.insert(format!("d{at}"), json!({ "allOf": [next, next] }));
        }
        definitions.insert("d60".to_owned(), json!({ "type": "integer" }));
        let schema = json!({"properties": {"x": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
        let told = problem(schema, json!({"x": 1}));
        assert!(told.starts_with("It is too much to be checked: "), "{told}");
    }

    #[tokio::test]
    async fn what_takes_longer_is_checked_beside_what_others_do() {
        let Value::Object(schema) = json!({"properties": {"l": {"items": {"type": "integer"}}}})
        else {
            unreachable!()
        };
        let validator = Arc::new(Validator::new(&schema).unwrap());
        let (value, fits) = validator.check_beside(json!({"l": vec![1; 50_000]})).await;
        assert_eq!(
            (value["l"].as_array().unwrap().len(), fits),
            (50_000, Ok(()))
        );
        let (_, fits) = validator
            .check_beside(json!({"l": vec!["x"; 50_000]}))
            .await;
        assert!(
            fits.unwrap_err()
                .to_string()
                .ends_with("There may be more problems.")
        );
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
