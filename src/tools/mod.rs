//! What a tool is, where tools come from, and what a client may do with them.
//!
//! A tool is an entry of a manifest and a handler ([`manifest`]), the product's own ones too ([`builtin`]). The
//! [`catalogue`] puts all sources together under a [`policy`] and replaces what there is when a source changes.

mod arguments;
mod asking;
pub mod builtin;
pub mod catalogue;
mod choosing;
mod computer;
mod content;
mod entry;
mod files;
pub mod folder;
mod handlers;
pub mod host;
pub mod kit;
pub mod lint;
pub mod manifest;
mod native;
mod outcome;
pub mod policy;
pub mod prompt;
pub mod resource;
pub mod upstream;
pub mod upstream_status;
mod validation;
pub mod watch;
mod wording;

use std::{path::PathBuf, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool as Definition, ToolAnnotations};
use serde_json::Value;

use crate::{computers::Fleet, settings::Config};
pub use catalogue::{Catalogue, Offer, Snapshot, Source};
use folder::Root;
use policy::Policy;

/// All tools of this bridge: its own; those of the user's `own_folder` and of the folders that `config` names, which it
/// follows; and those of `others`. To be called in the runtime.
pub fn start(config: &Config, own_folder: Option<PathBuf>, others: Vec<Source>) -> Arc<Catalogue> {
    let roots = roots(own_folder, &config.tools.chosen.folders);
    let (built_in, folders, begin) = watch::follow(roots, config.probe_timeout);
    let sources = [built_in, folders].into_iter().chain(others).collect();
    let catalogue = Catalogue::start_when_wanted(sources, Policy::of(&config.tools), begin);
    let (told, mut follow) = (catalogue.clone(), catalogue.follow());
    tokio::spawn(async move {
        if let Ok(snapshot) = follow.wait_for(|snapshot| snapshot.is_ready()).await {
            for unmet in told.policy().unmet(&snapshot) {
                tracing::warn!("{unmet}");
            }
        }
    });
    catalogue
}

/// The folders of tools that there are to be: the user's own one, and those that were named.
pub fn roots(own: Option<PathBuf>, named: &[PathBuf]) -> Vec<Root> {
    let own = own.map(|path| (path, false));
    let named = named.iter().map(|path| (path.clone(), true));
    own.into_iter()
        .chain(named)
        .map(|(path, is_named)| Root { path, is_named })
        .collect()
}

/// A tool: what a client is shown of it, and what it does.
pub trait Tool: Send + Sync {
    /// Its name, texts, schemas and annotations.
    fn definition(&self) -> &Definition;

    /// The set it belongs to, by which it can be switched on and off.
    fn set(&self) -> &str;

    /// Whether it is in the list when no sets were chosen. If not, it can still be found.
    fn is_listed(&self) -> bool {
        true
    }

    /// Where it is defined, in the user's words: a file and line, or a server.
    fn origin(&self) -> String;

    /// Does it. What goes wrong is a result too, one the model can act on.
    fn call<'a>(
        &'a self,
        context: Context<'a>,
        arguments: JsonObject,
    ) -> BoxFuture<'a, CallToolResult>;

    /// Does it for a program, which wants the value, not how a model is shown it.
    ///
    /// # Errors
    /// What the model would be told.
    fn value<'a>(
        &'a self,
        context: Context<'a>,
        arguments: JsonObject,
    ) -> BoxFuture<'a, Result<Value, String>> {
        async move { value_of(self.call(context, arguments).await) }.boxed()
    }
}

/// What a call has at hand besides its arguments.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The computers.
    pub fleet: &'a Fleet,
    /// The other tools there are.
    pub catalogue: &'a Catalogue,
    /// Whoever waits for the answer.
    pub listener: &'a dyn Listener,
    /// How many tools stand between the client and this call: tools can call tools.
    pub depth: u8,
}

/// How many tools may call each other in a row.
const DEEPEST: u8 = 4;

impl Context<'_> {
    /// The context of a tool that this one calls.
    ///
    /// # Errors
    /// Tools have called each other too often in a row.
    fn deeper(self) -> Result<Self, String> {
        if self.depth >= DEEPEST {
            return Err(format!(
                "tools called each other {DEEPEST} times in a row, which is as often as they may"
            ));
        }
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }
}

/// How much a line of a log matters.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// For whoever looks for a fault.
    Debug,
    /// What happens.
    Info,
    /// Something is not as it should be.
    Warning,
    /// Something failed.
    Error,
}

/// How far a call has come.
#[derive(Debug, Clone, Default)]
pub struct Step {
    /// What it does now.
    pub message: String,
    /// How much is done, if the call counts.
    pub done: Option<f64>,
    /// How much there is to do, if that is known.
    pub total: Option<f64>,
}

/// The client that waits for a call's answer, to be told how it goes meanwhile.
pub trait Listener: Send + Sync {
    /// Whether it wants to be told.
    fn listens(&self) -> bool;

    /// Tells it how far its call has come, once what it was told before is on its way.
    fn tell(&self, step: Step) -> BoxFuture<'_, ()>;

    /// Hands it a line of the call's log, if it wants such lines.
    fn log(&self, level: Level, logger: &str, text: String) -> BoxFuture<'_, ()>;
}

/// A result that is one text.
fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// A failure that the model can read and act on.
pub fn failure(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// All text of a result.
pub fn text_of(result: &CallToolResult) -> String {
    let texts: Vec<_> = result
        .content
        .iter()
        .filter_map(|block| block.as_text())
        .map(|block| block.text.as_str())
        .collect();
    texts.join("\n")
}

/// A result for a program: its structured content, or its text.
fn value_of(result: CallToolResult) -> Result<Value, String> {
    if result.is_error == Some(true) {
        return Err(text_of(&result));
    }
    match result.structured_content {
        Some(value) => Ok(value),
        None => Ok(Value::String(text_of(&result))),
    }
}

/// The four annotations, all of them said: clients take what is left out for the worst.
fn annotations(
    read_only: bool,
    destructive: bool,
    idempotent: bool,
    open_world: bool,
) -> ToolAnnotations {
    ToolAnnotations::from_raw(
        None,
        Some(read_only),
        Some(destructive),
        Some(idempotent),
        Some(open_world),
    )
}
