//! `mcp-bridge tools prompt`.

use anyhow::bail;
use clap::Args;
use rmcp::model::{JsonObject, Prompt as Definition, PromptMessage, Role};
use serde_json::json;

use super::{house::House, terminal::Terminal};
use crate::{
    commands::{
        arguments::Arguments,
        console::{note, say},
    },
    settings::{Config, FlagsOf, Folders},
    tools::{Client, Notes},
};

/// Get a prompt as a client would, and print its messages
#[derive(Debug, Args)]
pub struct Prompt {
    /// Its name
    name: String,

    #[command(flatten)]
    arguments: Arguments,

    #[command(flatten)]
    settings: FlagsOf<Config>,
}

impl Prompt {
    /// Gets it; tells whether there were messages to print.
    pub fn run(self, folders: &Folders) -> anyhow::Result<bool> {
        House::used(&self.settings.given, folders, async |house| {
            show(house, &self.name, &self.arguments).await
        })
    }
}

/// Gets a prompt, and prints its messages.
///
/// # Errors
/// There is no such prompt, or it has no messages for these arguments.
pub async fn show(house: &House, name: &str, arguments: &Arguments) -> anyhow::Result<bool> {
    let others = house.catalogue.open_for(Client::Anyone);
    let view = others.now();
    let Some(prompt) = view.prompt(name) else {
        bail!("there is no prompt {name}; `mcp-bridge tools list` names all");
    };
    let definition = prompt.definition();
    let arguments = arguments.read(&schema(definition))?;
    for unknown in arguments.keys().filter(|name| !takes(definition, name)) {
        note(&format!(
            "{name} says of no argument that it is called {unknown}."
        ));
    }
    let (terminal, notes) = (Terminal::default(), Notes::default());
    let context = house.context(&others, &terminal, &notes);
    let got = prompt.get(context, Some(arguments)).await;
    terminal.end();
    match got {
        Ok(prompt) => {
            let texts: Vec<_> = prompt.messages.iter().map(shown).collect();
            say(&texts.join("\n\n"));
            Ok(true)
        }
        Err(error) => bail!("{}", error.message),
    }
}

/// The arguments of a prompt, all of which are texts.
fn schema(prompt: &Definition) -> JsonObject {
    let arguments = prompt.arguments.iter().flatten();
    let properties: JsonObject = arguments
        .map(|argument| (argument.name.clone(), json!({ "type": "string" })))
        .collect();
    JsonObject::from_iter([("properties".to_owned(), properties.into())])
}

/// Whether a prompt has this argument, as far as it says which it has.
fn takes(prompt: &Definition, name: &str) -> bool {
    let arguments = prompt.arguments.as_deref().unwrap_or_default();
    arguments.is_empty() || arguments.iter().any(|argument| argument.name == name)
}

/// Who says it, and below that what: a text as it is, all else as JSON.
fn shown(message: &PromptMessage) -> String {
    let role = match message.role {
        Role::Assistant => "assistant",
        _ => "user",
    };
    let said = match message.content.as_text() {
        Some(text) => text.text.clone(),
        None => serde_json::to_string(&message.content).unwrap_or_default(),
    };
    format!("{role}:\n{said}")
}
