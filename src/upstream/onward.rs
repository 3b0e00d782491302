//! What the servers offer, offered onward: they are one source of the catalogue.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, TryFutureExt, future::BoxFuture};
use rmcp::{
    ErrorData,
    model::{
        CallToolResult, GetPromptResult, JsonObject, Prompt as PromptDefinition,
        ReadResourceResult, Tool as Definition,
    },
};
use tokio::sync::{mpsc, watch};

use super::{
    Upstream,
    connection::PROGRESS_QUEUE,
    listing::Listing,
    names,
    status_tool::{SET, StatusTool},
};
use crate::tools::{
    Client, Context, Offer, Source, Tool, failure,
    manifest::Shown,
    prompt::{self, Prompt},
    resource::{self, Resource},
    source::Withheld,
};

/// How long a client's question waits for the configuration to be read, which takes moments.
const TO_READ: Duration = Duration::from_secs(1);

impl Source for Upstream {
    fn follow(&self) -> watch::Receiver<Arc<Offer>> {
        let (offers, source) = watch::channel(Arc::default());
        let upstream = self.clone();
        // Ends with the catalogue or the servers.
        tokio::spawn(async move {
            upstream.read().await;
            let mut follow = upstream.listings();
            loop {
                let listing = follow.borrow_and_update().clone();
                offers.send_replace(Arc::new(offer(&upstream, &listing)));
                tokio::select! {
                    changed = follow.changed() => match changed {
                        Ok(()) => {}
                        Err(_) => return,
                    },
                    () = offers.closed() => return,
                }
            }
        });
        source
    }

    fn wanted(&self, client: Client) {
        self.begin(client);
    }

    fn may_bring_more(&self) -> bool {
        self.has_unknown()
    }

    fn patience(&self) -> Duration {
        TO_READ
    }

    fn brings<'a>(&'a self, client: Client, tool: &'a str) -> BoxFuture<'a, Result<bool, String>> {
        self.bring(client, tool)
            .map_err(|why| why.to_string())
            .boxed()
    }
}

fn offer(upstream: &Upstream, listing: &Listing) -> Offer {
    let mut offer = Offer {
        is_ready: true,
        ..Offer::default()
    };
    if upstream.is_used() {
        offer.tools.push(Arc::new(StatusTool::new(upstream)));
    }
    for (name, listed) in &listing.tools {
        let owner = listed.origin.owner();
        match &listed.shown {
            Ok(definition) => offer.tools.push(Arc::new(ServerTool {
                definition: definition.clone(),
                server: listed.server.clone(),
                is_listed: listed.listed,
                owner,
                upstream: upstream.clone(),
            })),
            Err(reason) => offer.withheld.push(Withheld {
                name: name.clone(),
                reason: reason.to_string(),
                owner,
            }),
        }
    }
    for listed in listing.prompts.values() {
        offer.prompts.push(Arc::new(ServerPrompt {
            definition: listed.shown.clone(),
            is_listed: listed.listed,
            owner: listed.origin.owner(),
            upstream: upstream.clone(),
        }));
    }
    let mut add = |shown: Shown, owner| {
        offer.resources.push(Arc::new(ServerResource {
            shown,
            owner,
            upstream: upstream.clone(),
        }));
    };
    // What is not shown can be read like any other URI of its server.
    for listed in listing.resources.values().filter(|listed| listed.listed) {
        add(Shown::One(listed.shown.clone()), listed.origin.owner());
    }
    for listed in listing.templates.values().filter(|listed| listed.listed) {
        add(Shown::Template(listed.shown.clone()), listed.origin.owner());
    }
    for (scheme, (_, origin)) in &listing.schemes {
        offer.resources.push(Arc::new(ServerUris {
            scheme: scheme.clone(),
            owner: origin.owner(),
            upstream: upstream.clone(),
        }));
    }
    offer
}

/// A tool of a server.
struct ServerTool {
    definition: Definition,
    server: String,
    is_listed: bool,
    owner: Option<Client>,
    upstream: Upstream,
}

impl Tool for ServerTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn set(&self) -> &str {
        SET
    }

    fn is_listed(&self) -> bool {
        self.is_listed
    }

    fn owner(&self) -> Option<Client> {
        self.owner
    }

    fn origin(&self) -> String {
        format!("the MCP server {}", self.server)
    }

    fn call<'a>(
        &'a self,
        context: Context<'a>,
        arguments: JsonObject,
    ) -> BoxFuture<'a, CallToolResult> {
        async move {
            let name = self.definition.name.as_ref();
            if let Some(call) = context.call {
                call.asks_server(&self.server);
            }
            let (sender, mut news) = mpsc::channel(PROGRESS_QUEUE);
            let progress = context.listener.listens().then_some(&sender);
            let call = self.upstream.call(name, Some(arguments), progress);
            tokio::pin!(call);
            let result = loop {
                tokio::select! {
                    biased;
                    Some(step) = news.recv() => context.listener.tell(step).await,
                    result = &mut call => break result,
                }
            };
            // What came before the answer is told before it.
            while let Ok(step) = news.try_recv() {
                context.listener.tell(step).await;
            }
            result.unwrap_or_else(|| {
                failure(format!(
                    "The server that had the tool {name} is no longer configured."
                ))
            })
        }
        .boxed()
    }
}

/// A prompt of a server.
struct ServerPrompt {
    definition: PromptDefinition,
    is_listed: bool,
    owner: Option<Client>,
    upstream: Upstream,
}

impl Prompt for ServerPrompt {
    fn definition(&self) -> &PromptDefinition {
        &self.definition
    }

    fn is_listed(&self) -> bool {
        self.is_listed
    }

    fn owner(&self) -> Option<Client> {
        self.owner
    }

    fn get<'a>(
        &'a self,
        _: Context<'a>,
        arguments: Option<JsonObject>,
    ) -> BoxFuture<'a, Result<GetPromptResult, ErrorData>> {
        async move {
            let name = &self.definition.name;
            let filled = self.upstream.prompt(name, arguments).await;
            filled.unwrap_or_else(|| Err(prompt::unknown(name)))
        }
        .boxed()
    }
}

/// A resource or a template of a server, as it is listed.
struct ServerResource {
    shown: Shown,
    owner: Option<Client>,
    upstream: Upstream,
}

impl Resource for ServerResource {
    fn uri(&self) -> &str {
        self.shown.uri()
    }

    fn shown(&self) -> Option<&Shown> {
        Some(&self.shown)
    }

    fn owner(&self) -> Option<Client> {
        self.owner
    }

    fn matches(&self, uri: &str) -> bool {
        // What fits a template is among all URIs of its server.
        self.uri() == uri
    }

    fn read<'a>(
        &'a self,
        _: Context<'a>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<ReadResourceResult, ErrorData>> {
        read(&self.upstream, uri).boxed()
    }
}

/// All URIs of a server, listed or not: most come of templates, or of links in answers.
struct ServerUris {
    /// What its public URIs begin with; see [`names::scheme`].
    scheme: String,
    owner: Option<Client>,
    upstream: Upstream,
}

impl Resource for ServerUris {
    fn uri(&self) -> &str {
        &self.scheme
    }

    fn shown(&self) -> Option<&Shown> {
        None
    }

    fn owner(&self) -> Option<Client> {
        self.owner
    }

    fn matches(&self, uri: &str) -> bool {
        names::scheme_of(uri) == Some(&self.scheme)
    }

    fn read<'a>(
        &'a self,
        _: Context<'a>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<ReadResourceResult, ErrorData>> {
        read(&self.upstream, uri).boxed()
    }
}

async fn read(upstream: &Upstream, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let read = upstream.resource(uri).await;
    read.unwrap_or_else(|| Err(resource::unknown(uri)))
}
