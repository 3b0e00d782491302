//! What the servers offer, offered onward: they are one source of the catalogue.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::{FutureExt, TryFutureExt, future::BoxFuture};
use rmcp::{
    ErrorData,
    model::{
        CallToolResult, CompleteResult, GetPromptResult, JsonObject, Prompt as PromptDefinition,
        ReadResourceResult, Tool as Definition,
    },
};
use tokio::sync::{mpsc, watch};

use super::{
    Upstream, Waits,
    connection::PROGRESS_QUEUE,
    listing::Listing,
    names,
    status_tool::{SET, StatusTool},
};
use crate::tools::{
    Client, Context, Hearer, Listener, Offer, Source, Tool,
    asked::Asked,
    completion::Begun,
    failure,
    manifest::Shown,
    policy::may_change,
    prompt::{self, Prompt},
    resource::{self, Resource},
    source::Withheld,
    updates::{Followed, Updates},
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

    fn heard_by(&self, hearer: Weak<dyn Hearer>) {
        self.servers.heard_by(hearer);
    }

    fn heed(&self) -> BoxFuture<'_, ()> {
        self.servers.heed().boxed()
    }

    fn for_asked(&self, asked: Arc<dyn Asked>) -> BoxFuture<'_, Option<Box<dyn Source>>> {
        async move {
            let own = Own(self.own(asked).await?);
            Some(Box::new(own) as Box<dyn Source>)
        }
        .boxed()
    }

    fn brings<'a>(&'a self, client: Client, tool: &'a str) -> BoxFuture<'a, Result<bool, String>> {
        self.bring(client, tool)
            .map_err(|why| why.to_string())
            .boxed()
    }
}

/// A client's own servers as a source. They leave with it.
struct Own(Upstream);

impl Drop for Own {
    fn drop(&mut self) {
        self.0.servers.leave();
    }
}

impl Source for Own {
    fn follow(&self) -> watch::Receiver<Arc<Offer>> {
        Source::follow(&self.0)
    }

    fn wanted(&self, client: Client) {
        self.0.wanted(client);
    }

    fn may_bring_more(&self) -> bool {
        self.0.may_bring_more()
    }

    fn brings<'a>(&'a self, client: Client, tool: &'a str) -> BoxFuture<'a, Result<bool, String>> {
        self.0.brings(client, tool)
    }

    fn patience(&self) -> Duration {
        self.0.patience()
    }

    fn heard_by(&self, hearer: Weak<dyn Hearer>) {
        self.0.heard_by(hearer);
    }

    fn heed(&self) -> BoxFuture<'_, ()> {
        self.0.heed()
    }

    fn has_other_roots(&self) -> BoxFuture<'_, ()> {
        self.0.servers.tell_of_roots().boxed()
    }
}

fn offer(upstream: &Upstream, listing: &Listing) -> Offer {
    let mut offer = Offer {
        is_ready: true,
        ..Offer::default()
    };
    let servers = upstream.servers.all();
    let sets: HashMap<_, Arc<[String]>> = servers
        .iter()
        .map(|server| (&server.id, names::sets(&server.entry.name).into()))
        .collect();
    offer.sets = sets
        .values()
        .flat_map(|sets| sets.iter().cloned())
        .collect();
    offer.sets.push(SET.to_owned());
    if upstream.is_used() {
        let status = StatusTool::new(upstream, offer.sets.clone());
        offer.tools.push(Arc::new(status));
    }
    for (name, listed) in &listing.tools {
        let owner = listed.origin.owner();
        match &listed.shown {
            Ok(definition) => offer.tools.push(Arc::new(ServerTool {
                definition: definition.clone(),
                server: listed.server.clone(),
                sets: sets.get(&listed.server).cloned().unwrap_or_default(),
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
    /// Those that are its server's; see [`names::sets`].
    sets: Arc<[String]>,
    is_listed: bool,
    owner: Option<Client>,
    upstream: Upstream,
}

impl Tool for ServerTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn set(&self) -> &str {
        self.sets.first().map_or(SET, String::as_str)
    }

    fn is_of(&self, set: &str) -> bool {
        set == SET || self.sets.iter().any(|own| own == set)
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
            let changing = may_change(&self.definition).then_some(context);
            let called = while_told(context.listener, changing, async |waits| {
                self.upstream.call(name, arguments, waits).await
            });
            let Some(called) = called.await else {
                return failure(format!(
                    "The server that had the tool {name} is no longer configured."
                ));
            };
            // Whoever calls it by another tool goes by the words.
            if let (Some(refusal), 0) = (called.refusal, context.depth) {
                context.notes.refuse(refusal);
            }
            called.result
        }
        .boxed()
    }
}

/// Asks a server something, and tells the client that waits for it meanwhile how that goes and what the server logs.
/// `changing` is its call, if that could change something.
async fn while_told<T>(
    listener: &dyn Listener,
    changing: Option<Context<'_>>,
    ask: impl AsyncFnOnce(&Waits<'_>) -> T,
) -> T {
    let (told, mut news) = mpsc::channel(PROGRESS_QUEUE);
    let (heard, mut logged) = mpsc::channel(PROGRESS_QUEUE);
    let waits = Waits {
        progress: listener.listens().then_some(&told),
        heard: listener.hears().map(|severity| (severity, &heard)),
        attached: listener.attached(),
        changing,
    };
    let answer = {
        let asked = ask(&waits);
        tokio::pin!(asked);
        loop {
            tokio::select! {
                biased;
                Some(step) = news.recv() => listener.tell(step).await,
                Some(logged) = logged.recv() => listener.hear(logged).await,
                answer = &mut asked => break answer,
            }
        }
    };
    // What came before the answer is told before it.
    while let Ok(step) = news.try_recv() {
        listener.tell(step).await;
    }
    while let Ok(logged) = logged.try_recv() {
        listener.hear(logged).await;
    }
    answer
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
        context: Context<'a>,
        arguments: Option<JsonObject>,
    ) -> BoxFuture<'a, Result<GetPromptResult, ErrorData>> {
        async move {
            let name = &self.definition.name;
            let filled = while_told(context.listener, None, async |waits| {
                self.upstream.prompt(name, arguments, waits).await
            });
            filled.await.unwrap_or_else(|| Err(prompt::unknown(name)))
        }
        .boxed()
    }

    fn complete<'a>(
        &'a self,
        _: Context<'a>,
        begun: &'a Begun,
    ) -> BoxFuture<'a, Result<CompleteResult, ErrorData>> {
        async move {
            let name = &self.definition.name;
            let completed = self.upstream.complete_prompt(name, begun).await;
            completed.unwrap_or_else(|| Err(prompt::unknown(name)))
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
        context: Context<'a>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<ReadResourceResult, ErrorData>> {
        read(&self.upstream, context.listener, uri).boxed()
    }

    fn complete<'a>(
        &'a self,
        _: Context<'a>,
        begun: &'a Begun,
    ) -> BoxFuture<'a, Result<CompleteResult, ErrorData>> {
        async move {
            let completed = self.upstream.complete_template(self.uri(), begun).await;
            completed.unwrap_or_else(|| Err(resource::unknown(self.uri())))
        }
        .boxed()
    }

    fn follow<'a>(
        &'a self,
        uri: &'a str,
        updates: Updates,
    ) -> BoxFuture<'a, Result<Option<Followed>, ErrorData>> {
        follow(&self.upstream, uri, updates).boxed()
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
        context: Context<'a>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<ReadResourceResult, ErrorData>> {
        read(&self.upstream, context.listener, uri).boxed()
    }

    fn follow<'a>(
        &'a self,
        uri: &'a str,
        updates: Updates,
    ) -> BoxFuture<'a, Result<Option<Followed>, ErrorData>> {
        follow(&self.upstream, uri, updates).boxed()
    }
}

async fn read(
    upstream: &Upstream,
    listener: &dyn Listener,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let read = while_told(listener, None, async |waits| {
        upstream.resource(uri, waits).await
    });
    read.await.unwrap_or_else(|| Err(resource::unknown(uri)))
}

async fn follow(
    upstream: &Upstream,
    uri: &str,
    updates: Updates,
) -> Result<Option<Followed>, ErrorData> {
    let followed = upstream.follow(uri, updates).await;
    let followed = followed.unwrap_or_else(|| Err(resource::unknown(uri)));
    followed.map(Some)
}
