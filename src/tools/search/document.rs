//! What of a tool is searched.

use rmcp::model::Tool as Definition;
use serde_json::{Map, Value};

use crate::tools::manifest::{Example, Given};

/// How deep in a tool's schema arguments are looked for.
const DEEPEST: usize = 6;

/// How much of a tool's schema is searched, in bytes: more than any that a model could use.
const MOST: usize = 64 * 1024;

/// A part of a tool. A word in one counts more than in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// What it is called by; of a server's tool, the server's name too.
    Name,
    /// What a person reads.
    Title,
    /// What a model reads.
    Description,
    /// What its arguments are called.
    Arguments,
    /// What is said of them.
    AboutArguments,
    /// The values that they may have.
    Values,
    /// Its examples.
    Examples,
}

impl Part {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::Name,
        Self::Title,
        Self::Description,
        Self::Arguments,
        Self::AboutArguments,
        Self::Values,
        Self::Examples,
    ];
}

/// A tool's texts.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Each with what part of the tool it is.
    pub texts: Vec<(Part, String)>,
}

impl Document {
    /// A tool of which only the name is known.
    pub fn named(name: &str) -> Self {
        let mut document = Self::default();
        document.add(Part::Name, name);
        document
    }

    /// A tool, and what its examples show and give, if it has any; no client is shown those.
    pub fn of(tool: &Definition, examples: &[Example]) -> Self {
        let mut document = Self::named(&tool.name);
        if let Some(title) = &tool.title {
            document.add(Part::Title, title);
        }
        if let Some(description) = &tool.description {
            document.add(Part::Description, description);
        }
        let mut left = MOST;
        document.add_schema(&tool.input_schema, DEEPEST, &mut left);
        for example in examples {
            document.add(Part::Examples, &example.name);
            if let Given::Arguments(arguments) = &example.given {
                for text in arguments.values().filter_map(Value::as_str) {
                    document.add_bounded(Part::Examples, text, &mut left);
                }
            }
        }
        document
    }

    fn add(&mut self, part: Part, text: &str) {
        self.texts.push((part, text.to_owned()));
    }

    /// The arguments of a schema, what is said of them and what they may be, those within them too.
    fn add_schema(&mut self, schema: &Map<String, Value>, deeper: usize, left: &mut usize) {
        for (key, value) in schema {
            match (key.as_str(), value) {
                ("properties", Value::Object(arguments)) => {
                    for (name, argument) in arguments {
                        self.add_bounded(Part::Arguments, name, left);
                        self.add_argument(argument, deeper, left);
                    }
                }
                ("items" | "additionalProperties", inner) => {
                    self.add_argument(inner, deeper, left);
                }
                ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(choices)) => {
                    for choice in choices {
                        self.add_argument(choice, deeper, left);
                    }
                }
                ("$defs" | "definitions", Value::Object(parts)) => {
                    for part in parts.values() {
                        self.add_argument(part, deeper, left);
                    }
                }
                _ => {}
            }
        }
    }

    fn add_argument(&mut self, argument: &Value, deeper: usize, left: &mut usize) {
        let Value::Object(argument) = argument else {
            return;
        };
        for key in ["title", "description"] {
            if let Some(Value::String(text)) = argument.get(key) {
                self.add_bounded(Part::AboutArguments, text, left);
            }
        }
        let values = argument.get("enum").and_then(Value::as_array);
        let values = values.into_iter().flatten().chain(argument.get("const"));
        for value in values.filter_map(Value::as_str) {
            self.add_bounded(Part::Values, value, left);
        }
        if let Some(deeper) = deeper.checked_sub(1) {
            self.add_schema(argument, deeper, left);
        }
    }

    fn add_bounded(&mut self, part: Part, text: &str, left: &mut usize) {
        if let Some(rest) = left.checked_sub(text.len()) {
            *left = rest;
            self.add(part, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_at_any_depth_are_searched_with_what_is_said_of_them_and_what_they_may_be() {
        let schema = json!({
            "type": "object",
            "properties": {
                "side": {"type": "string", "enum": ["left", "right"], "description": "Which side."},
                "route": {"type": "array", "items": {"properties": {"waypoint": {"const": "base"}}}},
                "target": {"anyOf": [{"title": "A block"}, {"type": "null"}]},
            },
        });
        let tool = Definition::new(
            "t",
            "About it.",
            Arc::new(schema.as_object().unwrap().clone()),
        );
        let document = Document::of(&tool, &[]);
        let of = |part: Part| {
            let texts = document.texts.iter().filter(|(of, _)| *of == part);
            texts.map(|(_, text)| text.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(of(Part::Arguments), ["side", "route", "waypoint", "target"]);
        assert_eq!(of(Part::AboutArguments), ["Which side.", "A block"]);
        assert_eq!(of(Part::Values), ["left", "right", "base"]);
    }

    #[test]
    fn of_a_monster_of_a_schema_a_part_is_searched() {
        let names = (0..20_000).map(|n| (format!("argument{n}"), json!({})));
        let schema = json!({"properties": names.collect::<Map<_, _>>()});
        let tool = Definition::new("t", "", Arc::new(schema.as_object().unwrap().clone()));
        let size: usize = (Document::of(&tool, &[]).texts.iter())
            .map(|(_, text)| text.len())
            .sum();
        assert!(size > MOST / 2 && size <= MOST + 10, "{size}");
    }
}
