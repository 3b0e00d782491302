//! Prompts: texts with arguments that a person chooses in a client.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use rmcp::model::{GetPromptResult, JsonObject, Prompt as Definition};
use serde_json::Value;

use super::{
    Context, Snapshot,
    content::{self, shown},
    host::{Code, HostHandler, Rights, values_of},
    manifest::{Message, PromptSpec},
};

/// How long a handler has to write a prompt.
const TIME: Duration = Duration::from_secs(20);

/// How many prompts may extend each other in a row.
const DEEPEST: usize = 16;

/// A prompt, or a template that prompts extend.
pub struct Prompt {
    /// What clients are shown.
    pub definition: Definition,
    /// Whether only other prompts use it.
    pub is_template: bool,
    spec: PromptSpec,
    handler: Option<(Code, Arc<HostHandler>)>,
}

impl Prompt {
    /// A prompt whose handler, if it has one, is this code.
    pub fn new(spec: PromptSpec, handler: Option<(Code, Arc<HostHandler>)>) -> Self {
        Self {
            definition: spec.definition.clone(),
            is_template: spec.is_template,
            spec,
            handler,
        }
    }

    /// An argument that it needs and that is not among these.
    pub fn missing(&self, arguments: &JsonObject) -> Option<&str> {
        self.definition
            .arguments
            .iter()
            .flatten()
            .filter(|argument| argument.required == Some(true))
            .map(|argument| argument.name.as_str())
            .find(|name| arguments.get(*name).is_none_or(Value::is_null))
    }

    /// Its messages for these arguments.
    ///
    /// # Errors
    /// What keeps them from being made, for the person who chose the prompt.
    pub async fn get(
        &self,
        context: Context<'_>,
        prompts: &Snapshot,
        arguments: JsonObject,
    ) -> Result<GetPromptResult, String> {
        let description = self.definition.description.as_deref();
        if let Some((code, host)) = &self.handler {
            let arguments = Value::Object(arguments);
            let done = host
                .run(context, code, Rights::OfItsAuthor, arguments, TIME)
                .await?;
            return content::prompt_result(values_of(done)?, description);
        }
        let arguments = arguments
            .iter()
            .map(|(name, value)| (name.clone(), shown(value)))
            .collect();
        let mut messages = Vec::new();
        self.collect(prompts, &arguments, DEEPEST, &mut messages)?;
        let messages: Vec<_> = messages.iter().map(Message::to_json).collect();
        let all = serde_json::json!({ "messages": messages });
        content::prompt_result(vec![all], description)
    }

    /// The messages of what it extends, then its own, with arguments filled in.
    fn collect(
        &self,
        prompts: &Snapshot,
        arguments: &BTreeMap<String, String>,
        depth: usize,
        messages: &mut Vec<Message>,
    ) -> Result<(), String> {
        let name = &self.definition.name;
        if depth == 0 {
            return Err(format!(
                "The prompt {name} extends itself, or more than {DEEPEST} others in a row."
            ));
        }
        for parent in &self.spec.parents {
            let Some(found) = prompts.prompt(&parent.id) else {
                return Err(format!(
                    "The prompt {name} extends {}, which there is not.",
                    parent.id
                ));
            };
            let mut given = arguments.clone();
            for (name, value) in &parent.arguments {
                given.insert(name.clone(), filled(value, arguments));
            }
            found.collect(prompts, &given, depth - 1, messages)?;
        }
        for message in self.spec.messages.iter().flatten() {
            messages.push(Message {
                role: message.role.clone(),
                content: filled_value(&message.content, arguments),
            });
        }
        Ok(())
    }

    /// What an argument can be, of what begins like this.
    pub fn complete(&self, argument: &str, begun: &str) -> Vec<String> {
        self.spec
            .values
            .get(argument)
            .into_iter()
            .flatten()
            .filter(|value| value.to_lowercase().starts_with(&begun.to_lowercase()))
            .cloned()
            .collect()
    }

    /// What it was made of.
    pub fn spec(&self) -> &PromptSpec {
        &self.spec
    }
}

/// A text with its `{{arguments}}` filled in. What is filled in is not looked at again.
fn filled(text: &str, arguments: &BTreeMap<String, String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        match after.split_once("}}") {
            Some((name, after)) if arguments.contains_key(name.trim()) => {
                filled.push_str(arguments.get(name.trim()).map_or("", String::as_str));
                rest = after;
            }
            _ => {
                filled.push_str("{{");
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// [`filled`], for every text inside a value.
fn filled_value(value: &Value, arguments: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) => Value::String(filled(text, arguments)),
        Value::Array(items) => items
            .iter()
            .map(|item| filled_value(item, arguments))
            .collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| (name.clone(), filled_value(field, arguments)))
            .collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_filled_in_once_and_what_is_unknown_stays() {
        let arguments = BTreeMap::from([
            ("name".to_owned(), "{{other}}".to_owned()),
            ("other".to_owned(), "x".to_owned()),
        ]);
        for (text, expected) in [
            ("Hi {{name}}!", "Hi {{other}}!"),
            ("{{ other }}{{other}}", "xx"),
            ("{{unknown}} {{", "{{unknown}} {{"),
            ("{{{{other}}}}", "{{x}}"),
        ] {
            assert_eq!(filled(text, &arguments), expected, "{text}");
        }
    }
}
