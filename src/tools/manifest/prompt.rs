//! A prompt's entry: messages with `{{arguments}}`, or a handler that writes them.

use std::collections::BTreeMap;

use rmcp::model::{Prompt as Definition, PromptArgument};
use serde_json::Value;

use super::{
    encoded,
    example::Example,
    fields::{Fields, text_of},
    handler::{Handler, Kind, handler},
    meant,
    tree::NodeKind,
    wrong::Wrong,
};

/// A prompt, or a template that prompts extend.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptSpec {
    /// What clients are shown.
    pub definition: Definition,
    /// Whether only other prompts use it.
    pub is_template: bool,
    /// The prompts whose messages come before its own.
    pub parents: Vec<Parent>,
    /// Its messages; none: its handler writes them.
    pub messages: Option<Vec<Message>>,
    /// The Lua that writes its messages.
    pub handler: Option<Handler>,
    /// What an argument can be, for clients that complete it.
    pub values: BTreeMap<String, Choices>,
    /// What it is given, and what comes of that.
    pub examples: Vec<Example>,
}

/// What an argument can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choices {
    /// One of these.
    Of(Vec<String>),
    /// A computer, by its number or label.
    Computers,
    /// A path on the computer that another argument names, or on the only one.
    Paths,
    /// A peripheral of that computer.
    Peripherals,
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// `user` or `assistant`.
    pub role: String,
    /// A text or a content block, in whose texts `{{name}}` stands for an argument.
    pub content: Value,
}

/// A prompt whose messages come first.
#[derive(Debug, Clone, PartialEq)]
pub struct Parent {
    /// Its name.
    pub id: String,
    /// Its arguments, in which `{{name}}` stands for an argument of the extending prompt.
    pub arguments: BTreeMap<String, String>,
}

/// Reads it. A key `mcp.prompt.X` may also be called `mcp.X`.
pub fn read(fields: &Fields<'_>, meta: &Fields<'_>, kind: Kind) -> Result<PromptSpec, Wrong> {
    let name = meta
        .first_text(&["mcp.prompt.name", "mcp.name"])?
        .map_or_else(|| fields.text("name"), |name| Ok(Some(name)))?
        .filter(|name| !name.is_empty())
        .ok_or_else(|| meta.wrong("a prompt needs `mcp.prompt.name`"))?;
    let description = meta.first_text(&["mcp.prompt.description", "mcp.description"])?;
    let (arguments, values) = arguments(meta)?;
    let mut definition = Definition::new(name.clone(), description, arguments);
    if let Some(title) = meta.first_text(&["mcp.prompt.title", "mcp.title"])? {
        definition = definition.with_title(title);
    }
    let is_template = match meta.first_text(&["mcp.prompt.type"])?.as_deref() {
        None | Some("prompt") => false,
        Some("template") => true,
        Some(other) => {
            return Err(Wrong {
                line: meta.line_of("mcp.prompt.type"),
                reason: format!("`mcp.prompt.type` must be prompt or template, not {other}"),
            });
        }
    };
    let parents = parents(meta)?;
    let mut messages = messages(meta)?;
    if messages.is_none()
        && let Some(text) = meta.first_text(&["mcp.prompt.text", "mcp.text"])?
    {
        messages = Some(vec![Message {
            role: "user".to_owned(),
            content: Value::String(text),
        }]);
    }
    let is_fixed = messages.is_some() || !parents.is_empty();
    // In the existing format a prompt may be a function's, whose `source` counts for nothing beside messages.
    let handler = match is_fixed && kind != Kind::Prompt {
        true => None,
        false => handler(fields)?,
    };
    if is_fixed && let Some(handler) = &handler {
        return Err(Wrong {
            line: handler.line,
            reason: format!(
                "the prompt {name} has both `source` and messages of its own; leave one of them out"
            ),
        });
    }
    if !is_fixed && handler.is_none() {
        return Err(meta.wrong(format!(
            "the prompt {name} needs `mcp.prompt.messages`, `mcp.prompt.text`, or a handler in `source`"
        )));
    }
    Ok(PromptSpec {
        definition,
        is_template,
        parents,
        messages: is_fixed.then(|| messages.unwrap_or_default()),
        handler,
        values,
        examples: Vec::new(),
    })
}

type Arguments = (Option<Vec<PromptArgument>>, BTreeMap<String, Choices>);

fn arguments(meta: &Fields<'_>) -> Result<Arguments, Wrong> {
    let key = meta.first(&["mcp.prompt.arguments", "mcp.arguments"]);
    let Some(list) = key.map(|key| meta.list(key)).transpose()?.flatten() else {
        return Ok((None, BTreeMap::new()));
    };
    let (mut arguments, mut values) = (Vec::new(), BTreeMap::new());
    for node in list {
        let fields = Fields::of(node, "an argument")?;
        meant::no_slip(&fields, meant::OF_ARGUMENT)?;
        let name = fields
            .text("name")?
            .ok_or_else(|| fields.wrong("an argument needs `name`"))?;
        let mut argument = PromptArgument::new(name.clone());
        if let Some(description) = fields.text("description")? {
            argument = argument.with_description(description);
        }
        if let Some(title) = fields.text("title")? {
            argument = argument.with_title(title);
        }
        if let Some(required) = fields.flag("required")? {
            argument = argument.with_required(required);
        }
        if let Some(choices) = choices(&fields)? {
            values.insert(name, choices);
        }
        arguments.push(argument);
    }
    Ok((Some(arguments), values))
}

/// What an argument can be, if that is said: one of `values`, or one of those that `complete` names a kind of.
fn choices(fields: &Fields<'_>) -> Result<Option<Choices>, Wrong> {
    let values = fields.list("values")?;
    let kind = fields.text("complete")?;
    match (values, kind.as_deref()) {
        (None, None) => Ok(None),
        (Some(values), None) => {
            let values = values.iter().map(|node| text_of(node, "values"));
            Ok(Some(Choices::Of(values.collect::<Result<_, _>>()?)))
        }
        (None, Some("computers")) => Ok(Some(Choices::Computers)),
        (None, Some("paths")) => Ok(Some(Choices::Paths)),
        (None, Some("peripherals")) => Ok(Some(Choices::Peripherals)),
        (None, Some(other)) => Err(Wrong {
            line: fields.line_of("complete"),
            reason: format!("`complete` must be computers, paths or peripherals, not {other}"),
        }),
        (Some(_), Some(_)) => Err(Wrong {
            line: fields.line_of("complete"),
            reason: "an argument has both `values` and `complete`; leave one of them out"
                .to_owned(),
        }),
    }
}

fn messages(meta: &Fields<'_>) -> Result<Option<Vec<Message>>, Wrong> {
    let key = meta.first(&["mcp.prompt.messages", "mcp.messages"]);
    let Some(list) = key.map(|key| meta.list(key)).transpose()?.flatten() else {
        return Ok(None);
    };
    let messages = list.iter().enumerate().map(|(index, node)| {
        let fields = Fields::of(node, "a message")?;
        meant::no_slip(&fields, meant::OF_MESSAGE)?;
        let node = fields
            .get("content")
            .ok_or_else(|| fields.wrong("a message needs `content`"))?;
        let mut content = node.to_json();
        encoded::read_block(&mut content).map_err(|reason| Wrong {
            line: node.line,
            reason,
        })?;
        let message = Message {
            role: fields.text("role")?.unwrap_or_else(|| "user".to_owned()),
            content,
        };
        // What can't be sent is to be known now.
        crate::tools::content::prompt_message(message.to_json(), index + 1)
            .map_err(|error| fields.wrong(error.to_string()))?;
        Ok(message)
    });
    messages.collect::<Result<_, _>>().map(Some)
}

fn parents(meta: &Fields<'_>) -> Result<Vec<Parent>, Wrong> {
    let key = meta.first(&["mcp.prompt.extend", "mcp.extend"]);
    let Some(list) = key.map(|key| meta.list(key)).transpose()?.flatten() else {
        return Ok(Vec::new());
    };
    list.iter()
        .map(|node| {
            if let NodeKind::Scalar(Value::String(id)) = &node.kind {
                return Ok(Parent {
                    id: id.clone(),
                    arguments: BTreeMap::new(),
                });
            }
            let fields = Fields::of(node, "what is extended")?;
            let mut arguments = BTreeMap::new();
            if let Some(given) = fields.map("arguments")? {
                for (name, node) in given.entries() {
                    arguments.insert(name.to_owned(), text_of(node, name)?);
                }
            }
            Ok(Parent {
                id: fields
                    .text("id")?
                    .ok_or_else(|| fields.wrong("what is extended needs `id`, a prompt's name"))?,
                arguments,
            })
        })
        .collect()
}

impl Message {
    /// As a handler would return it.
    pub fn to_json(&self) -> Value {
        serde_json::json!({ "role": self.role, "content": self.content })
    }
}
