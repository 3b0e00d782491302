//! Reads the examples of an entry, and holds them against it.
//!
//! What is wrong with an example keeps nobody from using the entry: it costs that example only.

use rmcp::model::JsonObject;
use serde_json::Value;

use super::{
    example::{Example, Given, expected},
    fields::Fields,
    meant, provided,
    resource::Shown,
    simulated,
    tree::Node,
    what::What,
    wrong::Wrong,
};
use crate::tools::{coercion::coerced, uri_template::Template, validation::Validator};

/// The keys of an example.
const OF_EXAMPLE: &[&str] = &[
    "name",
    "arguments",
    "uri",
    "computers",
    "store",
    "secrets",
    "requests",
    "expect",
];

/// Reads the examples of an entry that is `of` this; and what is wrong with those that can't be run. Of what `is_built_in`
/// a test holds the arguments to the schemas: at each start it would be most of what a start takes.
pub fn read(meta: &Fields<'_>, of: &What, is_built_in: bool) -> (Vec<Example>, Vec<Wrong>) {
    let nodes = match meta.list("mcp.examples") {
        Ok(nodes) => nodes.unwrap_or_default(),
        Err(wrong) => return (Vec::new(), vec![wrong]),
    };
    let (mut examples, mut wrongs) = (Vec::new(), Vec::new());
    // It takes longer than all else here.
    let validator = match of {
        What::Tool(tool) if !nodes.is_empty() && !is_built_in => {
            Validator::new(&tool.definition.input_schema).ok()
        }
        _ => None,
    };
    for (index, node) in nodes.iter().enumerate() {
        let example = one(node, index + 1, of).and_then(|example| {
            fits(&example, of, validator.as_ref(), node)?;
            Ok(example)
        });
        match example {
            Ok(example) => examples.push(example),
            Err(wrong) => wrongs.push(wrong),
        }
    }
    (examples, wrongs)
}

fn one(node: &Node, number: usize, of: &What) -> Result<Example, Wrong> {
    let fields = Fields::of(node, "an example")?;
    meant::only(&fields, OF_EXAMPLE, "an example")?;
    let computers = fields.list("computers")?.unwrap_or_default();
    Ok(Example {
        name: fields
            .text("name")?
            .unwrap_or_else(|| format!("example {number}")),
        line: node.line,
        given: given(&fields, of)?,
        computers: simulated::read(computers)?,
        provided: provided::read(&fields)?,
        expected: expected(&fields)?,
    })
}

fn given(fields: &Fields<'_>, of: &What) -> Result<Given, Wrong> {
    let out_of_place = |key: &str, reason: &str| match fields.get(key) {
        Some(node) => Err(Wrong {
            line: node.line,
            reason: reason.to_owned(),
        }),
        None => Ok(()),
    };
    let What::Resource(resource) = of else {
        out_of_place(
            "uri",
            "`uri` is for examples of resources; tools and prompts have `arguments`",
        )?;
        let Some(node) = fields.get("arguments") else {
            return Ok(Given::Arguments(JsonObject::new()));
        };
        let Value::Object(arguments) = node.to_json() else {
            return Err(Wrong {
                line: node.line,
                reason: format!(
                    "`arguments` must be a map of names to values, not {}",
                    node.what()
                ),
            });
        };
        return Ok(Given::Arguments(arguments));
    };
    out_of_place(
        "arguments",
        "`arguments` are for examples of tools and prompts; a resource has `uri`",
    )?;
    match (fields.text("uri")?, &resource.definition) {
        (Some(uri), _) => Ok(Given::Uri(uri)),
        (None, Shown::One(one)) => Ok(Given::Uri(one.uri.clone())),
        (None, Shown::Template(template)) => Err(fields.wrong(format!(
            "an example of a template needs `uri`, one of {}",
            template.uri_template
        ))),
    }
}

/// Whether what is given is what the entry takes. An example of what goes wrong may give anything.
fn fits(
    example: &Example,
    of: &What,
    validator: Option<&Validator>,
    node: &Node,
) -> Result<(), Wrong> {
    let wrong = |key: &str, reason: String| {
        let line = Fields::of(node, "an example").map_or(node.line, |fields| fields.line_of(key));
        Err(Wrong {
            line,
            reason: format!("the example \"{}\": {reason}", example.name),
        })
    };
    if example.expected.is_error {
        return Ok(());
    }
    match (of, &example.given) {
        (What::Tool(tool), Given::Arguments(arguments)) => {
            let mut arguments = coerced(&tool.definition.input_schema, arguments.clone());
            // By its label: the number is known when there are computers.
            if arguments.get("computerId").is_some_and(Value::is_string) {
                arguments.insert("computerId".to_owned(), 0.into());
            }
            match validator.map(|validator| validator.check(&Value::Object(arguments))) {
                Some(Err(unfit)) => wrong("arguments", unfit.to_string()),
                Some(Ok(())) | None => Ok(()),
            }
        }
        (What::Prompt(prompt), Given::Arguments(arguments)) => {
            let all = prompt.definition.arguments.as_deref().unwrap_or_default();
            let has = |name: &str| all.iter().any(|argument| argument.name == name);
            if let Some(unknown) = arguments.keys().find(|name| !all.is_empty() && !has(name)) {
                return wrong(
                    "arguments",
                    format!("the prompt has no argument `{unknown}`"),
                );
            }
            let missing = all.iter().find(|argument| {
                argument.required == Some(true) && !arguments.contains_key(&argument.name)
            });
            match missing {
                Some(missing) => wrong("arguments", format!("`{}` is missing", missing.name)),
                None => Ok(()),
            }
        }
        (What::Resource(resource), Given::Uri(uri)) => {
            let own = resource.definition.uri();
            let is_its = match &resource.definition {
                Shown::One(_) => uri == own,
                Shown::Template(_) => {
                    Template::parse(own).is_ok_and(|template| template.names_in(uri).is_some())
                }
            };
            match is_its {
                true => Ok(()),
                false => wrong("uri", format!("{uri} is none of {own}")),
            }
        }
        _ => Ok(()),
    }
}
