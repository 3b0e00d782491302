//! The options of `computers.exec` and `computers.call`: those that there are, and what a script meant by others.

use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use crate::tools::{
    arguments::{names, no_such},
    coercion::{as_object, coerced},
    validation::Validator,
};

/// How a question to computers is to be put.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Options {
    /// How long each computer has, in milliseconds.
    #[serde(default)]
    pub timeout_ms: Option<f64>,
    /// Whether the code holds the turtle.
    #[serde(default)]
    pub exclusive: bool,
    /// What the code gets as `...`.
    #[serde(default)]
    pub arguments: Vec<Value>,
}

/// Which function the options are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// `computers.exec`.
    Exec,
    /// `computers.call`.
    Call,
}

/// Why options can't be used.
#[derive(Debug, Error)]
pub enum OptionsError {
    /// They are no table of options.
    #[error("options must be a table such as {{ timeoutMs = 5000 }}, not {0}")]
    NoTable(Value),
    /// There is none of this name.
    #[error("options: {}", no_such("option", .name, .known))]
    Unknown {
        /// The name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// One is of a wrong type.
    #[error("options: {0}")]
    Unfit(String),
}

impl Options {
    /// The options that a handler wrote; a null is none.
    ///
    /// # Errors
    /// They are none, and which are.
    pub fn read(given: &Value, of: For) -> Result<Self, OptionsError> {
        if given.is_null() {
            return Ok(Self::default());
        }
        let mut given = as_object(given).ok_or_else(|| OptionsError::NoTable(given.clone()))?;
        given.retain(|_, value| !value.is_null());
        let schema = schema(of);
        let given = coerced(&schema, given);
        let known = names(&schema);
        if let Some(name) = given.keys().find(|name| !known.contains(name)) {
            let name = name.clone();
            return Err(OptionsError::Unknown { name, known });
        }
        let given = Value::Object(given);
        Self::deserialize(&given).map_err(|error| {
            let unfit = Validator::new(&schema).ok();
            let unfit = unfit.and_then(|validator| validator.check(&given).err());
            OptionsError::Unfit(unfit.map_or_else(|| error.to_string(), |unfit| unfit.to_string()))
        })
    }
}

fn schema(of: For) -> JsonObject {
    let mut options = JsonObject::new();
    options.insert("timeoutMs".to_owned(), json!({ "type": "number" }));
    if of == For::Exec {
        options.insert("exclusive".to_owned(), json!({ "type": "boolean" }));
        options.insert("arguments".to_owned(), json!({ "type": "array" }));
    }
    let mut schema = JsonObject::new();
    schema.insert("properties".to_owned(), Value::Object(options));
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_taken_as_they_are_meant_or_refused_with_those_there_are() {
        let given = json!({"timeout_ms": "5000", "exclusive": "true", "arguments": {}});
        let options = Options::read(&given, For::Exec).unwrap();
        assert_eq!(options.timeout_ms, Some(5000.0));
        assert!(options.exclusive && options.arguments.is_empty());
        for none in [json!(null), json!([]), json!({"timeoutMs": null})] {
            assert_eq!(Options::read(&none, For::Call).unwrap().timeout_ms, None);
        }
        for (given, of, said) in [
            (
                json!({"timeout": 5}),
                For::Exec,
                "options: There is no option `timeout`; did you mean `timeoutMs`? There are: timeoutMs, exclusive, arguments.",
            ),
            (
                json!({"exclusive": true}),
                For::Call,
                "options: There is no option `exclusive`. There are: timeoutMs.",
            ),
            (
                json!([5]),
                For::Exec,
                "options must be a table such as { timeoutMs = 5000 }, not [5]",
            ),
            (
                json!({"timeoutMs": "soon"}),
                For::Exec,
                "options: `timeoutMs` must be a number, not \"soon\".",
            ),
        ] {
            assert_eq!(Options::read(&given, of).unwrap_err().to_string(), said);
        }
    }
}
