//! Prompts: texts with arguments that a person chooses in a client.

use std::{collections::BTreeMap, future::ready, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::{
    ErrorData,
    model::{CompleteResult, GetPromptResult, JsonObject, Prompt as Definition},
};
use serde_json::Value;
use thiserror::Error;

use super::{
    client::Client,
    completion::{Begun, of_values},
    content::{self, ContentError, shown},
    couriers::Couriers,
    host::{Code, HostHandler, NotWell, Rights},
    legible,
    manifest::{Choices, Message, PromptSpec, TIME},
    own_resources::completing::{self, Beginning},
    placeholders::{Room, TooLong, filled, filled_value},
    tool::{Context, Others},
};
use crate::base::excerpt::{LONGEST_NAME, shortened};

/// How many prompts may extend each other in a row.
const DEEPEST: usize = 16;

/// What a prompt counts for that another extends, in bytes, beside its texts.
const EXTENDED: usize = 8 * 1024;

/// A prompt, or a template that prompts extend.
pub trait Prompt: Send + Sync {
    /// Its name, texts and arguments.
    fn definition(&self) -> &Definition;

    /// Whether it is in the list. If not, it can still be got.
    fn is_listed(&self) -> bool {
        true
    }

    /// Whether only other prompts use it: no client sees or gets it.
    fn is_template(&self) -> bool {
        false
    }

    /// The client that has it without us too, if there is one.
    fn owner(&self) -> Option<Client> {
        None
    }

    /// Its messages for these arguments.
    ///
    /// # Errors
    /// What keeps them from being made, for the person who chose the prompt.
    fn get<'a>(
        &'a self,
        context: Context<'a>,
        arguments: Option<JsonObject>,
    ) -> BoxFuture<'a, Result<GetPromptResult, ErrorData>>;

    /// What an argument can be that was begun.
    ///
    /// # Errors
    /// Somebody else's, who was asked.
    fn complete<'a>(
        &'a self,
        _: Context<'a>,
        _: &'a Begun,
    ) -> BoxFuture<'a, Result<CompleteResult, ErrorData>> {
        ready(Ok(of_values(Vec::new()))).boxed()
    }

    /// What it is made of, for prompts that extend it; none: it can't be extended.
    fn spec(&self) -> Option<&PromptSpec> {
        None
    }
}

/// The error of a prompt that there is not.
pub fn unknown(name: &str) -> ErrorData {
    let name = shortened(name, LONGEST_NAME);
    ErrorData::invalid_params(format!("Unknown prompt: {name}"), None)
}

/// Why a prompt has no messages.
#[derive(Debug, Error)]
enum PromptError {
    #[error(transparent)]
    Failed(#[from] NotWell),
    #[error(transparent)]
    Content(#[from] ContentError),
    #[error("The prompt {name} can't be shown, with what it extends. {too_long}")]
    TooLong { name: String, too_long: TooLong },
    #[error("The prompt {0} extends itself, or more than {DEEPEST} others in a row.")]
    TooDeep(String),
    #[error("The prompt {name} extends {parent}, which there is not.")]
    ExtendsNothing { name: String, parent: String },
}

/// A prompt of a manifest.
pub struct EntryPrompt {
    spec: PromptSpec,
    handler: Option<(Code, Arc<HostHandler>)>,
    /// Brings the Lua to computers that tells what there is on one.
    couriers: Arc<Couriers>,
}

impl EntryPrompt {
    /// A prompt whose handler, if it has one, is this code. What completes its arguments gets to computers by `couriers`.
    pub fn new(
        spec: PromptSpec,
        handler: Option<(Code, Arc<HostHandler>)>,
        couriers: Arc<Couriers>,
    ) -> Self {
        Self {
            spec,
            handler,
            couriers,
        }
    }

    /// What the computer is called by that these arguments name, if one of them does.
    fn computer<'a>(&self, begun: &'a Begun) -> Option<&'a str> {
        let given = begun.context.as_ref()?;
        let mut values = self.spec.values.iter();
        let (name, _) = values.find(|(_, choices)| **choices == Choices::Computers)?;
        given.get_argument(name).map(String::as_str)
    }

    /// An argument that it needs and that is not among these.
    fn missing(&self, arguments: &JsonObject) -> Option<&str> {
        self.spec
            .definition
            .arguments
            .iter()
            .flatten()
            .filter(|argument| argument.required == Some(true))
            .map(|argument| argument.name.as_str())
            .find(|name| arguments.get(*name).is_none_or(Value::is_null))
    }

    async fn made(
        &self,
        context: Context<'_>,
        arguments: JsonObject,
    ) -> Result<GetPromptResult, PromptError> {
        let description = self.spec.definition.description.as_deref();
        if let Some((code, host)) = &self.handler {
            let arguments = Value::Object(arguments);
            let ended = host
                .run(context, code, Rights::OfItsAuthor, arguments, TIME)
                .await;
            let values = ended.end?.into_iter().map(legible::value).collect();
            return Ok(content::prompt_result(values, description)?);
        }
        // Some clients send null for what was left out.
        let arguments = arguments
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), shown(value)))
            .collect();
        let mut messages = Vec::new();
        let (others, mut room) = (context.others, Room::default());
        collect(
            &self.spec,
            others,
            &arguments,
            DEEPEST,
            (&mut messages, &mut room),
        )?;
        let messages: Vec<_> = messages.iter().map(Message::to_json).collect();
        let all = serde_json::json!({ "messages": messages });
        Ok(content::prompt_result(vec![all], description)?)
    }
}

impl Prompt for EntryPrompt {
    fn definition(&self) -> &Definition {
        &self.spec.definition
    }

    fn is_template(&self) -> bool {
        self.spec.is_template
    }

    fn get<'a>(
        &'a self,
        context: Context<'a>,
        arguments: Option<JsonObject>,
    ) -> BoxFuture<'a, Result<GetPromptResult, ErrorData>> {
        async move {
            let arguments = arguments.unwrap_or_default();
            if let Some(missing) = self.missing(&arguments) {
                let name = &self.spec.definition.name;
                return Err(ErrorData::invalid_params(
                    format!("The prompt {name} needs the argument `{missing}`."),
                    None,
                ));
            }
            self.made(context, arguments)
                .await
                .map_err(|problem| ErrorData::internal_error(problem.to_string(), None))
        }
        .boxed()
    }

    fn complete<'a>(
        &'a self,
        context: Context<'a>,
        begun: &'a Begun,
    ) -> BoxFuture<'a, Result<CompleteResult, ErrorData>> {
        async move {
            let Some(choices) = self.spec.values.get(&begun.argument.name) else {
                return Ok(of_values(Vec::new()));
            };
            let beginning = Beginning {
                text: &begun.argument.value,
                computer: self.computer(begun),
            };
            let fitting = completing::choices(choices, &self.couriers, context, beginning).await;
            Ok(of_values(fitting))
        }
        .boxed()
    }

    fn spec(&self) -> Option<&PromptSpec> {
        Some(&self.spec)
    }
}

/// The messages of what a prompt extends, then its own, with arguments filled in.
fn collect(
    spec: &PromptSpec,
    others: &dyn Others,
    arguments: &BTreeMap<String, String>,
    depth: usize,
    (messages, room): (&mut Vec<Message>, &mut Room),
) -> Result<(), PromptError> {
    let name = &spec.definition.name;
    let wrong = |too_long| PromptError::TooLong {
        name: name.clone(),
        too_long,
    };
    if depth == 0 {
        return Err(PromptError::TooDeep(name.clone()));
    }
    let arguments = &whole(spec, arguments);
    for parent in &spec.parents {
        let Some(found) = others.extended(&parent.id) else {
            return Err(PromptError::ExtendsNothing {
                name: name.clone(),
                parent: parent.id.clone(),
            });
        };
        let passed_on = arguments.values().map(String::len).sum::<usize>();
        room.take(EXTENDED + passed_on).map_err(wrong)?;
        let mut given = arguments.clone();
        for (name, value) in &parent.arguments {
            let value = filled(value, arguments, room).map_err(wrong)?;
            given.insert(name.clone(), value);
        }
        collect(&found, others, &given, depth - 1, (messages, room))?;
    }
    for message in spec.messages.iter().flatten() {
        messages.push(Message {
            role: message.role.clone(),
            content: filled_value(&message.content, arguments, room).map_err(wrong)?,
        });
    }
    Ok(())
}

/// The arguments with those that a prompt says it has and that were left out, which are empty.
fn whole(spec: &PromptSpec, given: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut whole = given.clone();
    for argument in spec.definition.arguments.iter().flatten() {
        whole.entry(argument.name.clone()).or_default();
    }
    whole
}
