//! What a tool that is written in Rust is: a name, a type of its arguments, and what it does with them.

use std::{fmt::Display, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::model::{CallToolResult, JsonObject};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::tools::{
    Context,
    entry::{Handled, Handler},
};

/// A tool that is written in Rust.
pub trait Native: Send + Sync + 'static {
    /// What an entry calls it by, as `method`.
    const NAME: &'static str;

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

/// A tool by its name, as an entry's handler.
pub fn named<N: Native>(native: N) -> (&'static str, Arc<dyn Handler>) {
    (N::NAME, Arc::new(Typed(native)))
}

struct Typed<N>(N);

impl<N: Native> Handler for Typed<N> {
    fn run<'a>(&'a self, context: Context<'a>, arguments: JsonObject) -> BoxFuture<'a, Handled> {
        async move {
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
            match self.0.run(context, arguments).await {
                Ok(result) => Handled::Result(result),
                Err(problem) => Handled::Failed(problem.to_string()),
            }
        }
        .boxed()
    }
}
