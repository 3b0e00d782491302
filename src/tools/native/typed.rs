//! What a tool that is written in Rust is: a name, a type of its arguments, and what it does with them.

use std::{fmt::Display, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::kept::Kept;
use crate::{
    base::excerpt::{self, excerpt},
    tools::{
        Context,
        bounds::{MaxChars, left_out},
        entry::{Handled, Handler},
        legible, text_of,
    },
};

/// A tool that is written in Rust.
pub trait Native: Send + Sync + 'static {
    /// What an entry calls it by, as `method`.
    const NAME: &'static str;

    /// Whether its results are those of other tools, which are passed on as they are.
    const PASSES_ON: bool = false;

    /// Its arguments. They fit the schema of its entry, which alone has their bounds and defaults; an `Option` is one
    /// that may be left out.
    type Arguments: DeserializeOwned + Send;

    /// What can go wrong, for the model to read.
    type Error: Display;

    /// Does it.
    fn run(
        &self,
        context: Context<'_>,
        arguments: Self::Arguments,
    ) -> impl Future<Output = Result<CallToolResult, Self::Error>> + Send;
}

/// The arguments of a tool that has none.
#[derive(Deserialize)]
pub struct NoArguments {}

/// A tool by its name, as an entry's handler. Of its answers that are too long the rest is `kept`.
pub fn named<N: Native>(native: N, kept: &Arc<Kept>) -> (&'static str, Arc<dyn Handler>) {
    let kept = kept.clone();
    (N::NAME, Arc::new(Typed { native, kept }))
}

struct Typed<N> {
    native: N,
    kept: Arc<Kept>,
}

impl<N: Native> Typed<N> {
    /// A result whose texts are no longer than `most` together. Images and the like stay.
    fn bounded(&self, mut result: CallToolResult, most: MaxChars) -> CallToolResult {
        let text = text_of(&result);
        if let Some(cut) = self.cut(&text, most) {
            result.content.retain(|block| block.as_text().is_none());
            result.content.insert(0, ContentBlock::text(cut));
        }
        result
    }

    /// A text that is longer than `MaxChars`, cut; none if it is not.
    fn cut(&self, text: &str, MaxChars(most): MaxChars) -> Option<String> {
        // A character has a byte at least.
        if text.len() <= most || text.chars().count() <= most {
            return None;
        }
        let id = self.kept.keep(N::NAME, text);
        let lines: Vec<_> = excerpt::lines(text, 0).collect();
        Some(excerpt(&lines, most, |gap| left_out(&id, gap)))
    }
}

impl<N: Native> Handler for Typed<N> {
    fn run<'a>(&'a self, context: Context<'a>, arguments: JsonObject) -> BoxFuture<'a, Handled> {
        async move {
            let most = arguments.get("maxChars").cloned();
            let most = most.and_then(|most| serde_json::from_value(most).ok());
            let most: MaxChars = most.unwrap_or_default();
            let arguments = match serde_json::from_value(Value::Object(arguments)) {
                Ok(arguments) => arguments,
                // A test holds the schema of each tool and its type against each other.
                Err(error) => {
                    return Handled::Failed(format!(
                        "{} can't read its arguments: {error}",
                        N::NAME
                    ));
                }
            };
            match self.native.run(context, arguments).await {
                Ok(result) if N::PASSES_ON => Handled::Result(result),
                Ok(result) => Handled::Result(self.bounded(result, most)),
                Err(problem) => {
                    let problem = problem.to_string();
                    // As a client is shown it: bytes take more characters there.
                    let cut = self.cut(&legible::told(&problem), most);
                    Handled::Failed(cut.unwrap_or(problem))
                }
            }
        }
        .boxed()
    }
}
