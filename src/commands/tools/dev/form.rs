//! A form for one call: what a person is asked, one question after the other, and what they answered.

use rmcp::model::JsonObject;
use serde_json::Value;

use crate::{
    base::text::one_line,
    tools::{
        kit::Item,
        manifest::{Given, Provided, Shown, Simulated, What},
    },
};

/// What stands for an empty text: nothing typed is nothing answered.
const EMPTY: &str = "\"\"";

/// A form.
pub struct Form {
    /// What is called.
    pub item: Item,
    /// What the manifest says of it.
    pub what: What,
    fields: Vec<Field>,
    /// The answers so far, in the order of the fields.
    answers: Vec<Answer>,
}

/// Something that is asked for.
#[derive(Debug, Clone, PartialEq)]
struct Field {
    name: String,
    /// What it is, in a few words.
    about: String,
    reads: Reads,
    /// What nothing typed stands for; none: an answer is needed.
    default: Option<Answer>,
}

/// How an answer is read.
#[derive(Debug, Clone, PartialEq)]
enum Reads {
    /// As text.
    Text,
    /// As JSON of this type.
    Json(String),
    /// As one of these.
    OneOf(Vec<Value>),
    /// As kinds of computers.
    Computers,
}

/// What was answered.
#[derive(Debug, Clone, PartialEq)]
enum Answer {
    LeftOut,
    Value(Value),
    Computers(Vec<Simulated>),
}

impl Form {
    /// An empty form for something of a manifest.
    pub fn of(what: &What, item: &Item) -> Self {
        let mut fields = match what {
            What::Tool(tool) => of_schema(&tool.definition.input_schema),
            What::Prompt(prompt) => {
                let all = prompt.definition.arguments.iter().flatten();
                all.map(|argument| Field {
                    name: argument.name.clone(),
                    about: about("a text", argument.description.as_deref()),
                    reads: Reads::Text,
                    default: (argument.required != Some(true)).then_some(Answer::LeftOut),
                })
                .collect()
            }
            What::Resource(resource) => vec![Field {
                name: "uri".to_owned(),
                about: resource.definition.uri().to_owned(),
                reads: Reads::Text,
                default: match &resource.definition {
                    Shown::One(one) => Some(Answer::Value(one.uri.clone().into())),
                    Shown::Template(_) => None,
                },
            }],
        };
        if what.needs_computers() {
            fields.push(computers(what));
        }
        Self {
            item: item.clone(),
            what: what.clone(),
            fields,
            answers: Vec::new(),
        }
    }

    /// The same form for what the manifest says now; empty if it asks for something else now.
    pub fn renewed(self, what: &What, item: &Item) -> Self {
        let mut new = Self::of(what, item);
        if new.fields == self.fields {
            new.answers = self.answers;
        }
        new
    }

    /// The next question; none if all are answered.
    pub fn question(&self) -> Option<String> {
        let field = self.fields.get(self.answers.len())?;
        let default = match &field.default {
            None => String::new(),
            Some(default) => format!(" [{}]", shown(default)),
        };
        Some(format!("{} ({}){default}: ", field.name, field.about))
    }

    /// Takes the answer to it.
    ///
    /// # Errors
    /// It is none; why.
    pub fn answer(&mut self, line: &str) -> Result<(), String> {
        if let Some(field) = self.fields.get(self.answers.len()) {
            self.answers.push(field.read(line)?);
        }
        Ok(())
    }

    /// What the first example provides beside computers that provides something.
    pub fn provided(&self) -> Provided {
        let all = self.what.examples().iter().map(|example| &example.provided);
        let mut provided = all.filter(|provided| **provided != Provided::default());
        provided.next().cloned().unwrap_or_default()
    }

    /// What is given to the call, and the computers that there are to be.
    pub fn filled(self) -> (Given, Vec<Simulated>) {
        let (mut arguments, mut computers) = (JsonObject::new(), Vec::new());
        for (field, answer) in self.fields.into_iter().zip(self.answers) {
            match answer {
                Answer::LeftOut => {}
                Answer::Value(value) => {
                    arguments.insert(field.name, value);
                }
                Answer::Computers(given) => computers = given,
            }
        }
        let given = match &self.what {
            What::Resource(_) => {
                let uri = arguments.get("uri").and_then(Value::as_str);
                Given::Uri(uri.unwrap_or_default().to_owned())
            }
            What::Tool(_) | What::Prompt(_) => Given::Arguments(arguments),
        };
        (given, computers)
    }
}

impl Field {
    fn read(&self, line: &str) -> Result<Answer, String> {
        let name = &self.name;
        if line.is_empty() {
            return self
                .default
                .clone()
                .ok_or_else(|| format!("{name} is needed; {EMPTY} is an empty text"));
        }
        let value = || serde_json::from_str(line).unwrap_or_else(|_| Value::from(line));
        match &self.reads {
            Reads::Text if line == EMPTY => Ok(Answer::Value("".into())),
            Reads::Text => Ok(Answer::Value(line.into())),
            Reads::Json(kind) => match value() {
                value if is_of(&value, kind) => Ok(Answer::Value(value)),
                _ => Err(format!(
                    "{name} must be {}, not {}",
                    named(kind),
                    one_line(line)
                )),
            },
            Reads::OneOf(all) => {
                let meant = all.iter().find(|one| **one == value() || **one == line);
                match meant {
                    Some(meant) => Ok(Answer::Value(meant.clone())),
                    None => Err(format!("{name} must be one of {}", list(all))),
                }
            }
            Reads::Computers => {
                let kinds = line.split([' ', ',']).filter(|kind| !kind.is_empty());
                let kinds = kinds.filter(|kind| *kind != "none");
                let all = kinds.enumerate().map(|(index, kind)| {
                    Simulated::of_kind(kind, index as u64 + 1).ok_or_else(|| {
                        format!(
                            "there is no kind of computer {}: write some of computer, turtle, pocket and command, or none",
                            one_line(kind)
                        )
                    })
                });
                Ok(Answer::Computers(all.collect::<Result<_, _>>()?))
            }
        }
    }
}

/// The fields of a tool's arguments.
fn of_schema(schema: &JsonObject) -> Vec<Field> {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        required.is_some_and(|required| required.iter().any(|one| one.as_str() == Some(name)))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    let fields = properties.into_iter().flatten().map(|(name, property)| {
        let kind = property.get("type").and_then(Value::as_str);
        let reads = match (property.get("enum").and_then(Value::as_array), kind) {
            (Some(all), _) => Reads::OneOf(all.clone()),
            // A computer may be named by its label.
            (None, Some("string")) => Reads::Text,
            (None, _) if name == "computerId" => Reads::Json(String::new()),
            (None, kind) => Reads::Json(kind.unwrap_or_default().to_owned()),
        };
        let what = match &reads {
            _ if name == "computerId" => "a number or a label".to_owned(),
            Reads::OneOf(all) => format!("one of {}", list(all)),
            Reads::Json(kind) => named(kind).to_owned(),
            Reads::Text | Reads::Computers => "a text".to_owned(),
        };
        Field {
            name: name.clone(),
            about: about(&what, property.get("description").and_then(Value::as_str)),
            reads,
            default: match property.get("default") {
                Some(default) => Some(Answer::Value(default.clone())),
                None => (!is_required(name)).then_some(Answer::LeftOut),
            },
        }
    });
    fields.collect()
}

/// Which computers there are to be: those of the first example that has some, or what suits the tool.
fn computers(what: &What) -> Field {
    let of_example = what.examples().iter().map(|example| &example.computers);
    let default = match of_example
        .into_iter()
        .find(|computers| !computers.is_empty())
    {
        Some(computers) => computers.clone(),
        None => Simulated::of_kind("turtle", 1).into_iter().collect(),
    };
    Field {
        name: "computers".to_owned(),
        about: "kinds, such as turtle computer".to_owned(),
        reads: Reads::Computers,
        default: Some(Answer::Computers(default)),
    }
}

fn about(what: &str, description: Option<&str>) -> String {
    match description.map(str::trim) {
        None | Some("") => what.to_owned(),
        Some(description) => {
            let description = one_line(description);
            format!("{what}; {}", description.trim_end_matches('.'))
        }
    }
}

/// A type of JSON Schema, in words.
fn named(kind: &str) -> &str {
    match kind {
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list as JSON",
        "object" => "an object as JSON",
        _ => "text or JSON",
    }
}

fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

fn list(all: &[Value]) -> String {
    let all: Vec<_> = all.iter().map(as_typed).collect();
    all.join(", ")
}

/// A value as a person would type it.
fn as_typed(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => EMPTY.to_owned(),
        Value::String(text) => one_line(text).into_owned(),
        other => other.to_string(),
    }
}

fn shown(answer: &Answer) -> String {
    match answer {
        Answer::LeftOut => "left out".to_owned(),
        Answer::Value(value) => as_typed(value),
        Answer::Computers(computers) if computers.is_empty() => "none".to_owned(),
        Answer::Computers(computers) => {
            let all = computers.iter().map(|computer| match &computer.label {
                Some(label) => format!("{} {}", computer.kind, one_line(label)),
                None => computer.kind.clone(),
            });
            all.collect::<Vec<_>>().join(", ")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_argument_is_asked_for_by_its_schema_and_read_as_that_says() {
        let schema = json!({
            "properties": {
                "text": {"type": "string", "description": "What is said."},
                "count": {"type": "integer", "default": 3},
                "loud": {"type": "boolean"},
                "way": {"enum": ["up", "down", 5]},
                "computerId": {"type": "integer"},
                "list": {"type": "array"},
            },
            "required": ["text", "list"],
        });
        let fields = of_schema(schema.as_object().unwrap());
        let asked: Vec<_> = fields
            .iter()
            .map(|field| {
                let default = field.default.as_ref().map(shown);
                format!("{}: {} {default:?}", field.name, field.about)
            })
            .collect();
        assert_eq!(
            asked,
            [
                "text: a text; What is said None",
                "count: a whole number Some(\"3\")",
                "loud: true or false Some(\"left out\")",
                "way: one of up, down, 5 Some(\"left out\")",
                "computerId: a number or a label Some(\"left out\")",
                "list: a list as JSON None",
            ]
        );
        let value = |value: Value| Ok(Answer::Value(value));
        for (field, line, read) in [
            (0, "5", value(json!("5"))),
            (0, "\"\"", value(json!(""))),
            (
                0,
                "",
                Err("text is needed; \"\" is an empty text".to_owned()),
            ),
            (1, "7", value(json!(7))),
            (1, "", value(json!(3))),
            (
                1,
                "7.5",
                Err("count must be a whole number, not 7.5".to_owned()),
            ),
            (
                1,
                "five",
                Err("count must be a whole number, not five".to_owned()),
            ),
            (2, "true", value(json!(true))),
            (2, "", Ok(Answer::LeftOut)),
            (3, "down", value(json!("down"))),
            (3, "5", value(json!(5))),
            (3, "left", Err("way must be one of up, down, 5".to_owned())),
            (4, "miner", value(json!("miner"))),
            (4, "12", value(json!(12))),
            (5, "[1]", value(json!([1]))),
            (5, "1", Err("list must be a list as JSON, not 1".to_owned())),
        ] {
            assert_eq!(
                fields[field].read(line),
                read,
                "{} {line}",
                fields[field].name
            );
        }
    }
}
