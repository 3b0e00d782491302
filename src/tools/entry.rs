//! A tool made of a manifest's entry: its arguments are checked, its handler runs, and what that returns is shown.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::model::{CallToolResult, JsonObject, Tool as Definition};
use serde_json::Value;
use thiserror::Error;

use super::{
    Context, Tool,
    arguments::{self, ArgumentError},
    choosing::{self, ChoiceError},
    coercion::coerced,
    content::{self, tool_result},
    empties, failure, legible,
    manifest::{Example, RunsOn, ToolSpec},
    result::{ToolFailed, value_of},
    validation::{self, SchemaError, Unfit, Validator},
};
use crate::{base::excerpt::shortened, computers::Fleet};

/// How much is said of arguments that don't fit, in characters.
const PROBLEM: usize = 4_000;

/// What stands behind a tool.
pub trait Handler: Send + Sync {
    /// Runs. Its arguments fit the tool's schema; one that is written in Rust finds the schema's defaults in them too.
    fn run<'a>(&'a self, context: Context<'a>, arguments: JsonObject) -> BoxFuture<'a, Handled>;
}

/// The handlers that are written in Rust, by the names that entries call them by.
pub type Natives = BTreeMap<&'static str, Arc<dyn Handler>>;

/// Why a handler was not called with these arguments.
#[derive(Debug, Error)]
enum UnfitArguments {
    #[error(transparent)]
    OfNative(#[from] ArgumentError),
    #[error(transparent)]
    OfLua(#[from] Unfit),
    #[error(transparent)]
    OfComputer(#[from] ChoiceError),
    #[error("the arguments are no object")]
    NoObject,
}

/// What a handler came to.
pub enum Handled {
    /// A result as clients get it.
    Result(CallToolResult),
    /// The values that Lua returned. Their strings are bytes: see `base::byte_text`.
    Values(Vec<Value>),
    /// It did not come to its end; why.
    Failed(String),
}

/// A tool of a manifest.
pub struct EntryTool {
    spec: ToolSpec,
    set: String,
    is_listed: bool,
    origin: String,
    handler: Arc<dyn Handler>,
    /// Made when they are first needed: that takes longer than a call.
    input: OnceLock<Result<Arc<Validator>, SchemaError>>,
    output: OnceLock<Result<Arc<Validator>, SchemaError>>,
}

impl EntryTool {
    /// A tool of a set. `is_listed`: it is in the list when no sets were chosen.
    pub fn new(
        spec: ToolSpec,
        set: String,
        is_listed: bool,
        origin: String,
        handler: Arc<dyn Handler>,
    ) -> Self {
        Self {
            spec,
            set,
            is_listed,
            origin,
            handler,
            input: OnceLock::new(),
            output: OnceLock::new(),
        }
    }

    async fn handled(&self, context: Context<'_>, arguments: JsonObject) -> Handled {
        match self.checked(context.fleet, arguments).await {
            Ok(arguments) => self.promised(self.handler.run(context, arguments).await),
            // A client's own words may stand in it, of any length.
            Err(problem) => Handled::Failed(shortened(&problem.to_string(), PROBLEM).into_owned()),
        }
    }

    /// What a handler of Lua came to, its empty tables being what the output schema has in their place.
    fn promised(&self, handled: Handled) -> Handled {
        match (handled, &self.spec.definition.output_schema) {
            (Handled::Values(mut values), Some(schema)) => {
                if let Some(first) = values.first_mut() {
                    let structured = match first.get("content") {
                        Some(_) => first.get_mut("structuredContent"),
                        None => Some(first),
                    };
                    if let Some(structured) = structured {
                        *structured = empties::fitted(schema, structured.take());
                    }
                }
                Handled::Values(values)
            }
            (handled, _) => handled,
        }
    }

    /// The arguments as the handler takes them, if they fit the schema, or can only mean what does.
    async fn checked(
        &self,
        fleet: &Fleet,
        mut arguments: JsonObject,
    ) -> Result<JsonObject, UnfitArguments> {
        let schema = &self.spec.definition.input_schema;
        if let RunsOn::Bridge(_) = self.spec.runs_on {
            let mut arguments = coerced(schema, arguments);
            choosing::number(schema, &mut arguments, fleet).await?;
            return Ok(arguments::read(schema, arguments)?);
        }
        validation::without_nulls(schema, &mut arguments);
        // The lint, or the test of our own, has made one of this schema before.
        let validator = self
            .input
            .get_or_init(|| Validator::new(schema).map(Arc::new));
        let Ok(validator) = validator else {
            return Ok(arguments);
        };
        let (mut arguments, mut fits) = validator.check_beside(Value::Object(arguments)).await;
        if fits.is_err()
            && let Value::Object(given) = arguments
        {
            let mut given = coerced(schema, given);
            choosing::number(schema, &mut given, fleet).await?;
            (arguments, fits) = validator.check_beside(Value::Object(given)).await;
        }
        fits?;
        match arguments {
            Value::Object(arguments) => Ok(arguments),
            _ => Err(UnfitArguments::NoObject),
        }
    }

    /// Clients end a call whose structured content does not fit the schema it was promised by.
    async fn kept_promise(&self, mut result: CallToolResult) -> CallToolResult {
        let Some(schema) = &self.spec.definition.output_schema else {
            return result;
        };
        // What is written in Rust is held to its schema by tests.
        if result.is_error == Some(true) || matches!(self.spec.runs_on, RunsOn::Bridge(_)) {
            return result;
        }
        let validator = self
            .output
            .get_or_init(|| Validator::new(schema).map(Arc::new));
        let Some(structured) = result.structured_content.take() else {
            return failure(format!(
                "{} promises structured content (mcp.outputSchema), but its handler returned none: return a table, or \
                 one with `structuredContent` beside `content`.",
                self.spec.definition.name
            ));
        };
        let Ok(validator) = validator else {
            // As with the arguments' schema.
            result.structured_content = Some(structured);
            return result;
        };
        let (structured, fits) = validator.check_beside(structured).await;
        result.structured_content = Some(structured);
        match fits {
            Ok(()) => result,
            Err(problem) => failure(format!(
                "What the handler of {} returned does not fit its mcp.outputSchema: {problem}",
                self.spec.definition.name
            )),
        }
    }
}

impl Tool for EntryTool {
    fn definition(&self) -> &Definition {
        &self.spec.definition
    }

    fn set(&self) -> &str {
        &self.set
    }

    fn is_listed(&self) -> bool {
        self.is_listed
    }

    fn is_confined(&self) -> bool {
        matches!(self.spec.runs_on, RunsOn::Host(_))
    }

    fn origin(&self) -> String {
        self.origin.clone()
    }

    fn examples(&self) -> &[Example] {
        &self.spec.examples
    }

    fn call<'a>(
        &'a self,
        context: Context<'a>,
        arguments: JsonObject,
    ) -> BoxFuture<'a, CallToolResult> {
        async move {
            match self.handled(context, arguments).await {
                Handled::Result(result) => result,
                Handled::Values(values) => {
                    let wants_structured = self.spec.definition.output_schema.is_some();
                    let holds_bytes = values.iter().any(legible::any_holds_bytes);
                    let values = values.into_iter().map(legible::value).collect();
                    let result = tool_result(values, wants_structured);
                    let result = self.kept_promise(result).await;
                    legible::noted(result, holds_bytes)
                }
                Handled::Failed(problem) => failure(legible::told(&problem)),
            }
        }
        .boxed()
    }

    fn value<'a>(
        &'a self,
        context: Context<'a>,
        arguments: JsonObject,
    ) -> BoxFuture<'a, Result<Value, ToolFailed>> {
        async move {
            match self.handled(context, arguments).await {
                Handled::Result(result) => value_of(result),
                Handled::Values(mut values) => match values.first() {
                    Some(first) if first.get("content").is_some() => {
                        value_of(tool_result(values, true))
                    }
                    // A nil with something after it is Lua's way to say what went wrong.
                    Some(Value::Null) | None => match values.get(1) {
                        Some(problem) if !problem.is_null() => {
                            Err(ToolFailed(content::shown(problem)))
                        }
                        _ => Ok(Value::Null),
                    },
                    Some(_) => Ok(values.swap_remove(0)),
                },
                Handled::Failed(problem) => Err(ToolFailed(problem)),
            }
        }
        .boxed()
    }
}
