//! MCP servers that this bridge is a client of: it starts them when they are needed, and offers what they offer onward,
//! under one name space.
//!
//! [`sources`] says which servers are configured (pure, with the rest of `config`), [`trust`] which of them may run, [`server`] runs one of them,
//! over a [`connection`], and [`listing`] gives all that they offer its public names. [`Upstream`] is all of it to the
//! rest of the crate: a source of the catalogue (see `onward`).

mod answers;
pub mod by_hand;
pub mod by_name;
mod config;
pub mod configured;
pub mod connection;
mod environment;
mod following;
mod hearing;
mod http;
mod kept;
mod lines;
mod lint;
pub mod listing;
#[cfg(feature = "upstream-http")]
pub mod login;
pub mod manager;
mod mending;
pub mod names;
pub mod offers;
mod onward;
mod process;
mod reading;
pub mod requests;
pub mod server;
pub mod servers;
mod settings;
pub mod status;
pub mod status_tool;
pub mod tail;
mod tap;
pub mod trouble;
pub mod trust;

use std::{sync::Arc, time::Duration};

use rmcp::{
    ErrorData,
    model::{
        ClientRequest, CompleteRequest, CompleteRequestParams, CompleteResult, GetMeta,
        GetPromptRequest, GetPromptRequestParams, GetPromptResult, JsonObject, PromptReference,
        ReadResourceRequest, ReadResourceRequestParams, ReadResourceResult, Reference,
        ServerCapabilities, ServerResult,
    },
};
use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};

use crate::tools::{
    Client, Context, Step,
    asked::Asked,
    completion::{Begun, of_values},
    failure,
    hearer::{Logged, Severity},
    updates::{Followed, Updates},
};
use answers::Called;
use listing::Listing;
use manager::Manager;
use server::Server;
use servers::Servers;
use status::Report;
use trouble::{NotReached, Trouble};

pub use config::{document::Home, entry, foreign, itself, sources};
pub use settings::Settings;

/// Whoever waits for a server's answer.
struct Waits<'a> {
    /// Where it is told how that goes, if it wants to know.
    progress: Option<&'a mpsc::Sender<Step>>,
    /// From which severity on it wants to hear meanwhile what the server logs, if it does, and where.
    heard: Option<(Severity, &'a mpsc::Sender<Logged>)>,
    /// What it attached to its request.
    attached: Option<&'a JsonObject>,
    /// Its call, if that could change something.
    changing: Option<Context<'a>>,
}

impl Waits<'_> {
    async fn ask(
        &self,
        server: &Server,
        mut request: ClientRequest,
    ) -> Result<ServerResult, Trouble> {
        attach(&mut request, self.attached);
        let _heard = match self.heard {
            Some((severity, heard)) => {
                let during = server.hearing.during(severity, heard.clone());
                server.heed().await;
                Some(during)
            }
            None => None,
        };
        server.ask(request, self.progress, self.changing).await
    }
}

/// Attaches to a request what its client did.
fn attach(request: &mut ClientRequest, attached: Option<&JsonObject>) {
    if let Some(attached) = attached {
        request.get_meta_mut().extend(attached.clone().into());
    }
}

async fn complete(
    server: &Server,
    reference: Reference,
    begun: &Begun,
) -> Result<CompleteResult, ErrorData> {
    let mut params = CompleteRequestParams::new(reference, begun.argument.clone());
    params.context = begun.context.clone();
    let mut request = ClientRequest::CompleteRequest(CompleteRequest::new(params));
    attach(&mut request, begun.attached.as_ref());
    let can = |server: &ServerCapabilities| server.completions.is_some();
    match server.ask_beside(request, can).await.transpose() {
        Some(answer) => answers::completion(answer),
        None => Ok(of_values(Vec::new())),
    }
}

/// How long servers have to leave with the bridge. What they leave behind by then is ended all the same.
const TO_LEAVE: Duration = Duration::from_millis(700);

/// How long it may take to know whether any servers are configured, where a client waits to be greeted.
const TO_KNOW: Duration = Duration::from_millis(200);

/// The managed servers, as the rest of the bridge sees them. Cheap to clone.
#[derive(Clone)]
pub struct Upstream {
    /// The servers that are used: those that clients share, or a client's own.
    servers: Arc<Servers>,
    manager: Arc<Manager>,
}

impl Upstream {
    /// The servers that are configured; none if this bridge must not have any. Nothing is read or started before a
    /// client wants to know what there is.
    pub fn new(settings: Settings) -> Option<Self> {
        // Two bridges could start each other without end.
        if std::env::var_os(process::INSIDE).is_some() {
            tracing::info!("started by an mcp-bridge, so without servers of others");
            return None;
        }
        let manager = Arc::new(Manager::new(settings));
        Some(Self {
            servers: manager.shared().clone(),
            manager,
        })
    }

    /// Says that a client stays, so that servers which were never listed are worth a start. Must be called in a tokio
    /// runtime; any number of times.
    fn begin(&self, client: Client) {
        self.manager.begin();
        self.servers.want(client);
    }

    /// The same servers once more, for this client alone, which they may ask things of; none if there are none, or if too
    /// many clients have their own.
    async fn own(&self, asked: Arc<dyn Asked>) -> Option<Self> {
        self.manager.begin();
        let _ = timeout(TO_KNOW, self.read()).await;
        if self.servers.are_own() || self.manager.is_known_to_be_unused() {
            return None;
        }
        Some(Self {
            servers: self.manager.own(asked)?,
            manager: self.manager.clone(),
        })
    }

    /// Whether anything is configured at all.
    fn is_used(&self) -> bool {
        self.manager.is_used()
    }

    /// Whether there is a server of which is not known yet what it offers.
    fn has_unknown(&self) -> bool {
        self.servers.has_unknown()
    }

    /// Waits until the configuration was read.
    async fn read(&self) {
        self.manager.ready().await;
    }

    /// What the servers offer, to be followed.
    fn listings(&self) -> watch::Receiver<Arc<Listing>> {
        self.servers.watch()
    }

    /// Whether a tool of this public name comes of a server of which is not known yet what it offers, to be seen by this
    /// client. Such a server is started, and waited for.
    async fn bring(&self, client: Client, tool: &str) -> Result<bool, NotReached> {
        self.read().await;
        if let Some(server) = self.servers.that_may_have(client, tool) {
            server.start().await?;
        }
        // It may have been listed a moment ago, and be on its way to the catalogue.
        let listing = self.servers.renewed();
        let listed = listing.tools.get(tool);
        Ok(listed.is_some_and(|listed| client.may_see(listed.origin.owner())))
    }

    /// Calls a tool by its public name; none if no server has it. How it goes is told to whoever waits for it. Dropping the
    /// future cancels the call at the server.
    async fn call(&self, name: &str, arguments: JsonObject, waits: &Waits<'_>) -> Option<Called> {
        let listing = self.servers.listing();
        let listed = listing.tools.get(name)?;
        // The catalogue may not know it yet.
        if let Err(reason) = &listed.shown {
            return Some(failure(format!("The tool {name} is withheld: {reason}.")).into());
        }
        let server = self.servers.server(&listed.server)?;
        let answer = waits.ask(&server, listed.call(arguments)).await;
        Some(answers::call(&server.id, answer))
    }

    /// Fills a prompt in, by its public name; none if no server has it.
    async fn prompt(
        &self,
        name: &str,
        arguments: Option<JsonObject>,
        waits: &Waits<'_>,
    ) -> Option<Result<GetPromptResult, ErrorData>> {
        let listing = self.servers.listing();
        let listed = listing.prompts.get(name)?;
        let server = self.servers.server(&listed.server)?;
        let mut params = GetPromptRequestParams::new(listed.own_name.clone());
        params.arguments = arguments;
        let request = ClientRequest::GetPromptRequest(GetPromptRequest::new(params));
        let answer = waits.ask(&server, request).await;
        Some(answers::prompt(&server.id, answer))
    }

    /// Reads a resource by its public URI; none if that is of no server.
    async fn resource(
        &self,
        uri: &str,
        waits: &Waits<'_>,
    ) -> Option<Result<ReadResourceResult, ErrorData>> {
        let (server, own_uri) = self.resource_of(uri)?;
        let params = ReadResourceRequestParams::new(own_uri);
        let request = ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params));
        let answer = waits.ask(&server, request).await;
        Some(answers::resource(&server.id, answer))
    }

    /// Has a server tell `updates` of changes of a resource, by its public URI; none if that is of no server.
    async fn follow(&self, uri: &str, updates: Updates) -> Option<Result<Followed, ErrorData>> {
        let (server, own_uri) = self.resource_of(uri)?;
        let followed = server.follow(own_uri, updates).await;
        Some(followed.map_err(answers::told))
    }

    /// What an argument of a prompt, by its public name, can be that was begun; none if no server has it.
    async fn complete_prompt(
        &self,
        name: &str,
        begun: &Begun,
    ) -> Option<Result<CompleteResult, ErrorData>> {
        let listing = self.servers.listing();
        let listed = listing.prompts.get(name)?;
        let server = self.servers.server(&listed.server)?;
        let mut prompt = PromptReference::new(listed.own_name.clone());
        prompt.title = listed.shown.title.clone();
        Some(complete(&server, Reference::Prompt(prompt), begun).await)
    }

    /// The same of a name in the template of this public URI.
    async fn complete_template(
        &self,
        uri: &str,
        begun: &Begun,
    ) -> Option<Result<CompleteResult, ErrorData>> {
        let (server, own_uri) = self.resource_of(uri)?;
        Some(complete(&server, Reference::for_resource(own_uri), begun).await)
    }

    /// The server that a public URI is of, and its own URI for it.
    fn resource_of<'a>(&self, uri: &'a str) -> Option<(Arc<Server>, &'a str)> {
        let listing = self.servers.listing();
        let (server, own_uri) = listing.resource(uri)?;
        Some((self.servers.server(server)?, own_uri))
    }

    /// How the servers are.
    pub fn report(&self) -> Report {
        match self.servers.are_own() {
            true => self.manager.report_of(&self.servers, &[]),
            false => self.manager.report(),
        }
    }

    /// Stops all servers. Returns when they are gone, and after less than a second in any case.
    pub async fn leave(&self) {
        let _ = timeout(TO_LEAVE, self.manager.leave()).await;
    }
}
