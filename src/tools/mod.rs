//! What a tool is, and the tools there are.

mod arguments;
mod cancel_job;
mod exec_lua;
mod get_job;
mod list_computers;
mod list_jobs;
mod outcome;
mod probe_computers;
pub mod upstream_status;
mod wording;

use std::{collections::BTreeMap, sync::Arc};

use futures_util::future::BoxFuture;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool as Definition, ToolAnnotations};
use serde_json::Value;

use crate::{config::Config, fabric::Fabric};

/// A tool: what a client is shown of it, and what it does.
pub trait Tool: Send + Sync {
    /// Its name, texts, schemas and annotations.
    fn definition(&self) -> &Definition;

    /// Does it. What goes wrong is a result too, one the model can act on.
    fn call<'a>(
        &'a self,
        context: Context<'a>,
        arguments: JsonObject,
    ) -> BoxFuture<'a, CallToolResult>;
}

/// What a call has at hand besides its arguments.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The computers.
    pub fabric: &'a Fabric,
    /// Whoever waits for the answer.
    pub listener: &'a dyn Listener,
}

/// The client that waits for a call's answer, to be told how it goes meanwhile.
pub trait Listener: Send + Sync {
    /// Whether it wants to be told.
    fn listens(&self) -> bool;

    /// Tells it something, once what it was told before is on its way.
    fn tell(&self, message: String) -> BoxFuture<'_, ()>;
}

/// All tools by name, in a stable order.
#[derive(Clone, Default)]
pub struct Catalogue {
    tools: BTreeMap<String, Arc<dyn Tool>>,
}

impl Catalogue {
    /// The tools of the product itself.
    pub fn built_in(config: &Config) -> Self {
        let mut catalogue = Self::default();
        catalogue.add(Arc::new(probe_computers::ProbeComputers::new(
            config.probe_timeout,
        )));
        catalogue.add(Arc::new(list_computers::ListComputers::new()));
        catalogue.add(Arc::new(exec_lua::ExecLua::new()));
        catalogue.add(Arc::new(list_jobs::ListJobs::new()));
        catalogue.add(Arc::new(get_job::GetJob::new()));
        catalogue.add(Arc::new(cancel_job::CancelJob::new()));
        catalogue
    }

    /// Adds a tool; a later one of the same name takes its place.
    pub fn add(&mut self, tool: Arc<dyn Tool>) {
        self.tools.insert(tool.definition().name.to_string(), tool);
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// What a client is shown, in order of name.
    pub fn definitions(&self) -> Vec<Definition> {
        self.tools
            .values()
            .map(|tool| tool.definition().clone())
            .collect()
    }
}

/// A result that is one text.
fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// A failure that the model can read and act on.
pub fn failure(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// The object that a JSON literal in this crate is.
fn object(value: Value) -> Arc<JsonObject> {
    match value {
        Value::Object(fields) => Arc::new(fields),
        _ => Arc::default(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue() -> Catalogue {
        let nothing = |_: &str| None;
        Catalogue::built_in(
            &Config::resolve(&Default::default(), nothing, "config.toml".as_ref(), "").unwrap(),
        )
    }

    #[test]
    fn every_tool_has_what_clients_ask_for() {
        for tool in catalogue().definitions() {
            let name = tool.name.as_ref();
            assert!(
                name.len() <= 47 && name.chars().all(|c| c.is_ascii_lowercase() || c == '-'),
                "{name}"
            );
            assert!(
                tool.title.as_deref().is_some_and(|title| !title.is_empty()),
                "{name}: title"
            );
            assert!(
                tool.description
                    .as_deref()
                    .is_some_and(|text| text.ends_with('.')),
                "{name}: description"
            );
            assert_eq!(
                tool.input_schema.get("type"),
                Some(&"object".into()),
                "{name}: schema"
            );
            assert_eq!(
                tool.input_schema.get("additionalProperties"),
                Some(&false.into()),
                "{name}: schema"
            );
            for word in ["oneOf", "anyOf", "allOf", "$schema"] {
                assert!(
                    !tool.input_schema.contains_key(word),
                    "{name}: some clients refuse a top-level {word}"
                );
            }
            let hints = tool.annotations.unwrap();
            assert!(
                hints.read_only_hint.is_some() && hints.destructive_hint.is_some(),
                "{name}: annotations"
            );
            assert!(
                hints.idempotent_hint.is_some() && hints.open_world_hint.is_some(),
                "{name}: annotations"
            );
        }
    }

    #[test]
    fn tools_are_listed_in_order_of_name() {
        let names: Vec<_> = catalogue()
            .definitions()
            .iter()
            .map(|tool| tool.name.to_string())
            .collect();
        assert_eq!(
            names,
            [
                "cancel-job",
                "exec-lua",
                "get-job",
                "list-computers",
                "list-jobs",
                "probe-computers"
            ]
        );
    }
}
