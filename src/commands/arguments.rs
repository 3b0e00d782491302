//! The arguments of a tool's call, as they are given on the command line.

use std::{
    io,
    path::{Path, PathBuf},
};

use anyhow::{anyhow, bail};
use clap::Args;
use rmcp::model::JsonObject;
use serde_json::Value;

use crate::base::files;

/// The largest file of arguments that is read, in bytes: as much as a call over standard input may have.
const LARGEST_ARGUMENTS: u64 = 16 * 1024 * 1024;

/// What a tool is given: a shell of Windows can't hand on JSON with its quotes, so there are ways without.
#[derive(Debug, Args)]
pub struct Arguments {
    /// An argument, such as text=hello; what the tool takes as something else than text is read as JSON
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    one_by_one: Vec<String>,

    /// Its arguments, as a JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "args_file")]
    args: Option<String>,

    /// A file with its arguments, as a JSON object; - is standard input
    #[arg(long, value_name = "FILE")]
    args_file: Option<PathBuf>,
}

impl Arguments {
    /// What is given of these to a tool with this schema.
    ///
    /// # Errors
    /// It is no JSON object, or can't be read.
    pub fn read(&self, schema: &JsonObject) -> anyhow::Result<JsonObject> {
        let (source, text) = match (&self.args, &self.args_file) {
            (Some(text), _) => ("--args".to_owned(), text.clone()),
            (None, Some(file)) if file == Path::new("-") => (
                "standard input".to_owned(),
                io::read_to_string(io::stdin())?,
            ),
            (None, Some(file)) => {
                let text = files::read_text(file, LARGEST_ARGUMENTS)
                    .map_err(|error| anyhow!("{} {error}", file.display()))?;
                (file.display().to_string(), text)
            }
            (None, None) => (String::new(), "{}".to_owned()),
        };
        let json = text.trim_start_matches('\u{feff}');
        let Ok(Value::Object(mut arguments)) = serde_json::from_str(json) else {
            bail!("{source} must be a JSON object, such as {{\"name\":\"World\"}}, not {text}");
        };
        for given in &self.one_by_one {
            let Some((name, value)) = given.split_once('=') else {
                bail!("--arg must be NAME=VALUE, such as text=hello, not {given}");
            };
            arguments.insert(name.to_owned(), value_of(value, schema, name));
        }
        Ok(arguments)
    }

    /// The names given one by one that a schema does not know, where it knows any: a slip, most likely, though the tool
    /// is given it all the same, as it would be by a client.
    pub fn unknown<'a>(&'a self, schema: &JsonObject) -> Vec<&'a str> {
        let takes_others = [
            "patternProperties",
            "additionalProperties",
            "allOf",
            "anyOf",
            "oneOf",
        ];
        let known = schema.get("properties").and_then(Value::as_object);
        let Some(known) =
            known.filter(|_| !takes_others.iter().any(|word| schema.contains_key(*word)))
        else {
            return Vec::new();
        };
        let names = self
            .one_by_one
            .iter()
            .filter_map(|given| given.split_once('='));
        let names = names.map(|(name, _)| name);
        names.filter(|name| !known.contains_key(*name)).collect()
    }
}

/// A value as the schema takes the argument of this name: as text, if it takes any, or else as JSON.
fn value_of(value: &str, schema: &JsonObject, name: &str) -> Value {
    let property = schema.get("properties").and_then(|all| all.get(name));
    let kind = property.and_then(|property| property.get("type"));
    let takes_text = match kind {
        Some(Value::String(kind)) => kind == "string",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
        // One of those that it lists.
        _ => property
            .and_then(|property| property.get("enum")?.as_array())
            .is_some_and(|all| all.iter().any(|one| one == value)),
    };
    let json = (!takes_text).then(|| serde_json::from_str(value).ok());
    json.flatten().unwrap_or_else(|| value.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_is_what_the_schema_takes() {
        let schema = json!({"properties": {
            "text": {"type": "string"}, "count": {"type": "integer"}, "either": {"type": ["string", "null"]},
            "list": {"type": "array"}, "choice": {"enum": ["5", "6", 7]},
        }});
        let schema = schema.as_object().unwrap();
        for (name, value, read) in [
            ("text", "5", json!("5")),
            ("either", "true", json!("true")),
            ("count", "5", json!(5)),
            ("count", "five", json!("five")),
            ("list", "[1, 2]", json!([1, 2])),
            ("choice", "5", json!("5")),
            ("choice", "7", json!(7)),
            ("unknown", "{}", json!({})),
        ] {
            assert_eq!(value_of(value, schema, name), read, "{name}={value}");
        }
    }

    #[test]
    fn a_name_that_the_schema_does_not_know_is_told() {
        let given = Arguments {
            one_by_one: ["name=Bob", "nam=Bob"].map(str::to_owned).to_vec(),
            args: None,
            args_file: None,
        };
        for (schema, unknown) in [
            (json!({"properties": {"name": {}}}), vec!["nam"]),
            (json!({"type": "object"}), Vec::new()),
            (
                json!({"properties": {"name": {}}, "additionalProperties": {"type": "string"}}),
                Vec::new(),
            ),
        ] {
            assert_eq!(
                given.unknown(schema.as_object().unwrap()),
                unknown,
                "{schema}"
            );
        }
    }
}
