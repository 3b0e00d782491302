//! Uses a tool, a prompt or a resource in a simulated world, and brings what comes of it into one form.

use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock, JsonObject, ResourceContents},
};
use serde_json::Value;

use super::{judge::Came, world::World};
use crate::tools::{Catalogue, Client, Context, Listener, Notes, kit::Item, manifest::Given};

/// Calls a tool, gets a prompt or reads a resource in a world, as a client would.
pub async fn call(
    item: &Item,
    given: &Given,
    catalogue: &Catalogue,
    world: &World,
    listener: &dyn Listener,
) -> Came {
    let others = catalogue.open_for(Client::Anyone);
    let notes = Notes::default();
    let context = Context {
        fleet: &world.fleet,
        others: &others,
        listener,
        notes: &notes,
        call: None,
        stand_in: Some(&world.stand_in),
        depth: 0,
    };
    match (item, given) {
        (Item::Tool(tool), Given::Arguments(arguments)) => {
            let result = tool.call(context, arguments.clone()).await;
            of_tool(&notes.on(result))
        }
        (Item::Prompt(prompt), Given::Arguments(arguments)) => {
            let got = prompt.get(context, Some(as_texts(arguments))).await;
            came(got.map(|prompt| {
                let contents = prompt.messages.iter().map(|message| &message.content);
                contents.map(shown).collect()
            }))
        }
        (Item::Resource(resource), Given::Uri(uri)) => {
            let read = resource.read(context, uri).await;
            came(read.map(|read| read.contents.iter().map(content).collect()))
        }
        // Examples are read for what the entry is.
        _ => Came::default(),
    }
}

fn of_tool(result: &CallToolResult) -> Came {
    let text = join(result.content.iter().map(shown).collect());
    Came {
        is_error: result.is_error == Some(true),
        value: match &result.structured_content {
            Some(value) => Some(value.clone()),
            None => serde_json::from_str(&text).ok(),
        },
        text,
    }
}

/// What came of a prompt or a resource: its texts, or what went wrong.
fn came(texts: Result<Vec<String>, ErrorData>) -> Came {
    let is_error = texts.is_err();
    let text = texts.map_or_else(|error| error.message.into_owned(), join);
    Came {
        is_error,
        value: serde_json::from_str(&text).ok(),
        text,
    }
}

fn join(texts: Vec<String>) -> String {
    texts.join("\n")
}

/// A text as it is, all else as JSON.
fn shown(block: &ContentBlock) -> String {
    match block.as_text() {
        Some(text) => text.text.clone(),
        None => serde_json::to_string(block).unwrap_or_default(),
    }
}

/// A text as it is, bytes in base64.
fn content(content: &ResourceContents) -> String {
    match content {
        ResourceContents::TextResourceContents { text, .. } => text.clone(),
        ResourceContents::BlobResourceContents { blob, .. } => blob.clone(),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}

/// A prompt's arguments, which are texts.
fn as_texts(arguments: &JsonObject) -> JsonObject {
    let text = |value: &Value| match value {
        Value::String(_) | Value::Null => value.clone(),
        other => Value::String(other.to_string()),
    };
    let texts = arguments.iter();
    texts
        .map(|(name, value)| (name.clone(), text(value)))
        .collect()
}
