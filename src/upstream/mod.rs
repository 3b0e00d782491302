//! MCP servers that this bridge is a client of: it starts them when they are needed, and offers what they offer onward,
//! under one name space.
//!
//! [`sources`] says which servers are configured (pure), [`trust`] which of them may run, [`server`] runs one of them,
//! over a [`connection`], and [`listing`] gives all that they offer its public names. [`Upstream`] is all of it to the
//! rest of the crate.

mod answers;
mod audience;
pub mod connection;
pub mod entry;
mod http;
pub mod itself;
mod kept;
mod lines;
mod lint;
pub mod listing;
pub mod manager;
pub mod names;
pub mod offers;
mod process;
pub mod requests;
pub mod server;
mod settings;
pub mod sources;
pub mod status;
pub mod tail;
mod tap;
pub mod trust;
mod variables;

use std::{sync::Arc, time::Duration};

use rmcp::{
    ErrorData,
    model::{
        CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ContentBlock,
        GetPromptRequest, GetPromptRequestParams, GetPromptResult, JsonObject, Prompt,
        ReadResourceRequest, ReadResourceRequestParams, ReadResourceResult, Resource,
        ResourceTemplate, Tool,
    },
};
use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};

use audience::{is_for, is_opencode};
use connection::Progress;
use listing::{Listed, Listing};
use manager::Manager;
use server::Server;
use status::Report;

pub use settings::Settings;

/// How long a client's question waits for the configuration to be read, which takes moments.
const TO_READ: Duration = Duration::from_secs(1);

/// How long servers have to leave with the bridge. What they leave behind by then is ended all the same.
const TO_LEAVE: Duration = Duration::from_millis(700);

/// The managed servers, as the rest of the bridge sees them. Cheap to clone.
///
/// `client` is everywhere the name that an MCP client gives itself: a client is never handed back its own servers.
#[derive(Clone)]
pub struct Upstream(Option<Arc<Manager>>);

impl Upstream {
    /// No servers, whatever is configured.
    pub fn off() -> Self {
        Self(None)
    }

    /// The servers that are configured. Nothing is read or started before [`Upstream::begin`].
    pub fn new(settings: Settings) -> Self {
        // Two bridges could start each other without end.
        if std::env::var_os(process::INSIDE).is_some() {
            tracing::info!("started by an mcp-bridge, so without servers of others");
            return Self::off();
        }
        Self(Some(Arc::new(Manager::new(settings))))
    }

    /// Says that a client stays, so that servers which were never listed are worth a start. Must be called in a tokio
    /// runtime; any number of times.
    pub fn begin(&self, client: &str) {
        if let Some(manager) = &self.0 {
            manager.begin(client);
        }
    }

    /// Waits until the configuration was read, but not long.
    pub async fn ready(&self) {
        if let Some(manager) = &self.0 {
            let _ = timeout(TO_READ, manager.ready()).await;
        }
    }

    /// Whether anything is configured at all.
    pub fn is_used(&self) -> bool {
        self.0.as_ref().is_some_and(|manager| manager.is_used())
    }

    /// Waits until the configuration was read, however long that takes.
    pub async fn read(&self) {
        if let Some(manager) = &self.0 {
            manager.ready().await;
        }
    }

    /// Whether there are no servers, whatever is configured.
    pub fn is_off(&self) -> bool {
        self.0.is_none()
    }

    /// The tools, under their public names, in their order, with the name of the server of each, and whether it is to
    /// be shown: what a server offers that keeps failing can be called, but is not.
    pub fn tools(&self) -> Vec<(Tool, String, bool)> {
        let Some(manager) = &self.0 else {
            return Vec::new();
        };
        manager
            .listing()
            .tools
            .values()
            .filter_map(|listed| {
                let tool = listed.shown.as_ref().ok()?.clone();
                Some((tool, listed.server.clone(), listed.listed))
            })
            .collect()
    }

    /// Whether the tool of this name is one that this client has of its own.
    pub fn hides(&self, client: &str, name: &str) -> bool {
        self.0.as_ref().is_some_and(|manager| {
            manager
                .listing()
                .tools
                .get(name)
                .is_some_and(|listed| !is_for(is_opencode(client), listed.origin))
        })
    }

    /// Why the tool of this name is withheld, if it is.
    pub fn withheld(&self, name: &str) -> Option<String> {
        let listing = self.0.as_ref()?.listing();
        let reason = listing.tools.get(name)?.shown.as_ref().err()?;
        Some(format!("The tool {name} is withheld: {reason}."))
    }

    /// The prompts, under their public names.
    pub fn prompts(&self, client: &str) -> Vec<Prompt> {
        self.shown(client, |listing| listing.prompts.values().collect())
    }

    /// The resources, under their public URIs.
    pub fn resources(&self, client: &str) -> Vec<Resource> {
        self.shown(client, |listing| listing.resources.values().collect())
    }

    /// The resource templates, under their public URIs.
    pub fn templates(&self, client: &str) -> Vec<ResourceTemplate> {
        self.shown(client, |listing| listing.templates.values().collect())
    }

    fn shown<T: Clone>(
        &self,
        client: &str,
        all: impl FnOnce(&Listing) -> Vec<&Listed<T>>,
    ) -> Vec<T> {
        let Some(manager) = &self.0 else {
            return Vec::new();
        };
        all(&manager.listing())
            .into_iter()
            .filter(|listed| listed.listed && is_for(is_opencode(client), listed.origin))
            .filter_map(|listed| listed.shown.as_ref().ok().cloned())
            .collect()
    }

    /// Calls a tool by its public name; none if no server has it. How it goes is told to `progress`. Dropping the future
    /// cancels the call at the server.
    pub async fn call(
        &self,
        name: &str,
        arguments: Option<JsonObject>,
        progress: Option<&mpsc::Sender<Progress>>,
    ) -> Option<CallToolResult> {
        let manager = self.0.as_ref()?;
        if let Some(reason) = self.withheld(name) {
            return Some(CallToolResult::error(vec![ContentBlock::text(reason)]));
        }
        let listing = manager.listing();
        let listed = listing.tools.get(name)?;
        let server = manager.server(&listed.server)?;
        let mut params = CallToolRequestParams::new(listed.own_name.clone());
        params.arguments = arguments;
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let answer = server.ask(request, progress).await;
        Some(answers::call(&server.id, answer))
    }

    /// Fills a prompt in, by its public name; none if no server has it.
    pub async fn prompt(
        &self,
        client: &str,
        name: &str,
        arguments: Option<JsonObject>,
    ) -> Option<Result<GetPromptResult, ErrorData>> {
        let manager = self.0.as_ref()?;
        let listing = manager.listing();
        let listed = listing
            .prompts
            .get(name)
            .filter(|listed| is_for(is_opencode(client), listed.origin))?;
        let server = manager.server(&listed.server)?;
        let mut params = GetPromptRequestParams::new(listed.own_name.clone());
        params.arguments = arguments;
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        Some(answers::prompt(server.ask(request, None).await))
    }

    /// Reads a resource by its public URI; none if that is of no server.
    pub async fn resource(
        &self,
        client: &str,
        uri: &str,
    ) -> Option<Result<ReadResourceResult, ErrorData>> {
        let manager = self.0.as_ref()?;
        let listing = manager.listing();
        let (server, origin, own_uri) = listing.resource(uri)?;
        if !is_for(is_opencode(client), origin) {
            return None;
        }
        let server: Arc<Server> = manager.server(server)?;
        let params = ReadResourceRequestParams::new(own_uri);
        let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
        Some(answers::resource(
            &server.id,
            server.ask(request, None).await,
        ))
    }

    /// What is offered, to be followed.
    pub fn follow(&self) -> watch::Receiver<Arc<Listing>> {
        match &self.0 {
            Some(manager) => manager.watch(),
            None => watch::channel(Arc::default()).1,
        }
    }

    /// How the servers are.
    pub fn report(&self) -> Option<Report> {
        self.0.as_ref().map(|manager| manager.report())
    }

    /// Stops all servers. Returns when they are gone, and after less than a second in any case.
    pub async fn leave(&self) {
        if let Some(manager) = &self.0 {
            let _ = timeout(TO_LEAVE, manager.leave()).await;
        }
    }
}
