//! Runs one example.

use std::{
    future::ready,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock, JsonObject, ResourceContents},
};
use serde_json::Value;
use tokio::time::timeout;

use super::{
    judge::{Came, Miss, judge},
    test::{Outcome, Test},
    world::World,
};
use crate::{
    base::byte_text,
    settings::LinkConfig,
    tools::{
        Catalogue, Client, Context, Level, Listener, Notes, Printed, Step, kit::Item, legible,
        manifest::Given,
    },
};

/// How long after its time a tool may say that it was up.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How much of what is printed is kept, in bytes.
const KEPT: usize = 64 * 1024;

/// Runs an example in a world of its own.
pub async fn run(test: &Test, catalogue: &Catalogue, link: &LinkConfig) -> Outcome {
    let start = Instant::now();
    let heard = Heard::default();
    let (came, misses) = match World::of(&test.example.computers, link).await {
        Ok(world) => {
            let longest = test.time + LAST_WORDS;
            let came = timeout(longest, call(test, catalogue, &world, &heard)).await;
            world.end();
            match came {
                Ok(came) => {
                    let misses = judge(&test.example.expected, &came);
                    (Some(came), misses)
                }
                Err(_) => {
                    let miss = format!("an answer within {} s", longest.as_secs());
                    (None, vec![Miss::of(miss)])
                }
            }
        }
        Err(problem) => (
            None,
            vec![Miss::of(format!("its computers, but {problem:#}"))],
        ),
    };
    Outcome {
        came,
        misses,
        printed: heard.all(),
        took: start.elapsed(),
    }
}

async fn call(test: &Test, catalogue: &Catalogue, world: &World, heard: &Heard) -> Came {
    let others = catalogue.open_for(Client::Anyone);
    let notes = Notes::default();
    let context = Context {
        fleet: &world.fleet,
        others: &others,
        listener: heard,
        notes: &notes,
        call: None,
        depth: 0,
    };
    match (&test.item, &test.example.given) {
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

/// Keeps what is printed and logged while an example runs, for whoever looks why it failed.
#[derive(Default)]
struct Heard(Mutex<Vec<u8>>);

impl Heard {
    fn add(&self, bytes: &[u8]) {
        let mut kept = self.lock();
        let room = KEPT.saturating_sub(kept.len());
        kept.extend_from_slice(&bytes[..room.min(bytes.len())]);
    }

    fn all(&self) -> String {
        legible::text(&byte_text::of(&self.lock())).into_owned()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u8>> {
        // Nothing that holds the lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Heard {
    fn listens(&self) -> bool {
        true
    }

    fn tell(&self, _: Step) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }

    fn log(&self, level: Level, _: &str, text: String) -> BoxFuture<'_, ()> {
        self.add(format!("{level:?}: {text}\n").as_bytes());
        ready(()).boxed()
    }

    fn wants_output(&self) -> bool {
        true
    }

    fn print(&self, printed: Printed<'_>) {
        self.add(&byte_text::to_bytes(printed.text));
    }
}
