//! What tools, prompts and resources are made with: a manifest's entry on one side, where its Lua runs on the other.

use std::sync::Arc;

use thiserror::Error;

use super::{
    Offer, Tool,
    couriers::Couriers,
    entry::{EntryTool, Handler, Natives},
    handlers::{OnComputer, OnHost},
    host::{Code, HostHandler, Workers},
    manifest::{self, PromptSpec, ResourceSpec, RunsOn, Text, ToolSpec, What},
    namespace::{Home, Keeper},
    policy::may_change,
    prompt::{EntryPrompt, Prompt},
    resource::{EntryResource, Resource},
    syncing::SyncPlace,
};

/// Where Lua runs.
#[derive(Clone)]
pub struct Kit {
    /// On the host.
    pub host: Arc<HostHandler>,
    /// On computers.
    pub couriers: Arc<Couriers>,
    /// What `sync-folder` may reach.
    pub sync: Arc<SyncPlace>,
}

/// The only one of the product's own sets that is listed as a whole when no sets were chosen: all of them are more than a
/// client should pay for. Of the others, entries say it themselves.
const LISTED_SET: &str = "core";

/// The set of a user's tools whose entries name none.
const USERS_SET: &str = "custom";

/// Whose an entry is.
#[derive(Clone, Copy)]
pub enum Author<'a> {
    /// The product's own.
    Product {
        /// The set of a tool whose entry names none.
        set: &'a str,
        /// The handlers that it may name.
        natives: &'a Natives,
    },
    /// A user's.
    User,
}

/// What an entry was made into.
#[derive(Clone)]
pub enum Item {
    /// A tool.
    Tool(Arc<dyn Tool>),
    /// A prompt.
    Prompt(Arc<dyn Prompt>),
    /// A resource.
    Resource(Arc<dyn Resource>),
}

impl Item {
    /// What a person calls it: a tool's or a prompt's name, a resource's URI.
    pub fn name(&self) -> String {
        match self {
            Self::Tool(tool) => tool.definition().name.to_string(),
            Self::Prompt(prompt) => prompt.definition().name.clone(),
            Self::Resource(resource) => resource.uri().to_owned(),
        }
    }

    /// What it is, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Tool(_) => "tool",
            Self::Prompt(_) => "prompt",
            Self::Resource(_) => "resource",
        }
    }

    /// Adds it to what a source offers.
    pub fn add_to(self, offer: &mut Offer) {
        match self {
            Self::Tool(tool) => offer.tools.push(tool),
            Self::Prompt(prompt) => offer.prompts.push(prompt),
            Self::Resource(resource) => offer.resources.push(resource),
        }
    }
}

/// Why nothing stands behind an entry.
#[derive(Debug, Error)]
pub enum KitError {
    /// Its handler's file.
    #[error("{0} was not read")]
    NotRead(String),
    /// The name that it calls a handler in Rust by.
    #[error("there is no native handler `{0}`")]
    NoNative(String),
}

impl Default for Kit {
    fn default() -> Self {
        Self::new(Workers::new())
    }
}

impl Kit {
    /// Lua that runs on the host runs in these workers.
    pub fn new(workers: Arc<Workers>) -> Self {
        Self::with(workers, Keeper::default())
    }

    /// The same, where what namespaces have is kept.
    pub fn keeping(keeper: Keeper) -> Self {
        Self::with(Workers::new(), keeper)
    }

    fn with(workers: Arc<Workers>, keeper: Keeper) -> Self {
        let couriers = Arc::<Couriers>::default();
        Self {
            host: Arc::new(HostHandler::new(
                workers,
                couriers.clone(),
                Arc::new(keeper),
            )),
            couriers,
            sync: Arc::default(),
        }
    }

    /// The same, whose `sync-folder` may reach this.
    pub fn syncing(self, place: SyncPlace) -> Self {
        Self {
            sync: Arc::new(place),
            ..self
        }
    }

    /// Makes an entry of `origin`, whose Lua was read, into what it is.
    ///
    /// # Errors
    /// There is nothing behind the entry.
    pub fn make(&self, what: &What, author: Author<'_>, origin: String) -> Result<Item, KitError> {
        Ok(match what {
            What::Tool(spec) => Item::Tool(self.tool(spec.clone(), author, origin)?),
            What::Prompt(spec) => Item::Prompt(self.prompt(spec.clone())?),
            What::Resource(spec) => Item::Resource(self.resource(spec.clone())?),
        })
    }

    fn tool(
        &self,
        spec: ToolSpec,
        author: Author<'_>,
        origin: String,
    ) -> Result<Arc<dyn Tool>, KitError> {
        let handler: Arc<dyn Handler> = match &spec.runs_on {
            RunsOn::Host(handler) => Arc::new(OnHost {
                code: code_of(handler)?,
                time: spec.time,
                host: self.host.clone(),
            }),
            RunsOn::Computer(handler) => Arc::new(OnComputer {
                code: code_of(handler)?,
                time: spec.time,
                couriers: self.couriers.clone(),
                exclusive: spec.is_exclusive,
                pauses: may_change(&spec.definition),
            }),
            RunsOn::Bridge(name) => match author {
                Author::Product { natives, .. } => natives.get(name.as_str()).cloned(),
                Author::User => None,
            }
            .ok_or_else(|| KitError::NoNative(name.clone()))?,
        };
        let set = spec.set.clone().unwrap_or_else(|| match author {
            Author::Product { set, .. } => set.to_owned(),
            Author::User => USERS_SET.to_owned(),
        });
        // A person who adds a tool wants it.
        let is_listed = spec
            .is_listed
            .unwrap_or(matches!(author, Author::User) || set == LISTED_SET);
        Ok(Arc::new(EntryTool::new(
            spec, set, is_listed, origin, handler,
        )))
    }

    fn prompt(&self, spec: PromptSpec) -> Result<Arc<dyn Prompt>, KitError> {
        let handler = match &spec.handler {
            Some(handler) => Some((code_of(handler)?, self.host.clone())),
            None => None,
        };
        Ok(Arc::new(EntryPrompt::new(
            spec,
            handler,
            self.couriers.clone(),
        )))
    }

    fn resource(&self, spec: ResourceSpec) -> Result<Arc<dyn Resource>, KitError> {
        let code = match &spec.text {
            Text::Handler(handler) => Some(code_of(handler)?),
            Text::Fixed(_) | Text::Bytes(_) => None,
        };
        Ok(Arc::new(EntryResource::new(spec, code, self.host.clone())))
    }
}

/// A handler's Lua, as it runs.
///
/// # Errors
/// Its file was not read.
pub fn code_of(handler: &manifest::Handler) -> Result<Code, KitError> {
    let source = handler
        .source
        .clone()
        .ok_or_else(|| KitError::NotRead(handler.file.clone()))?;
    Ok(Code {
        source,
        // A folder's name says little in an error, and Lua cuts what is long.
        chunk: handler
            .file
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or(&handler.file)
            .to_owned(),
        method: Some(handler.method.clone()),
        home: handler.namespace.as_ref().map(|namespace| Home {
            namespace: namespace.clone(),
            file: handler.path_from(namespace.folder()),
            modules: handler.modules.clone(),
        }),
    })
}
