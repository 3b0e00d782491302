//! What tools, prompts and resources are made with: a manifest's entry on one side, where its Lua runs on the other.

use std::sync::Arc;

use super::{
    Tool,
    computer::Couriers,
    entry::{EntryTool, Handler},
    handlers::{OnComputer, OnHost},
    host::{Code, HostHandler, Workers},
    manifest::{self, Place, PromptSpec, ResourceSpec, Text, ToolSpec},
    prompt::Prompt,
    resource::Resource,
};

/// Where Lua runs.
#[derive(Clone)]
pub struct Kit {
    /// On the host.
    pub host: Arc<HostHandler>,
    /// On computers.
    pub couriers: Arc<Couriers>,
}

/// Whose tool it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// Part of the product.
    Product,
    /// A user's own.
    User,
}

impl From {
    /// The set of a tool whose entry names none.
    fn set(self) -> &'static str {
        match self {
            Self::Product => "core",
            Self::User => "custom",
        }
    }
}

impl Default for Kit {
    fn default() -> Self {
        Self::new(Workers::new())
    }
}

impl Kit {
    /// Lua that runs on the host runs in these workers.
    pub fn new(workers: Arc<Workers>) -> Self {
        let couriers = Arc::<Couriers>::default();
        Self {
            host: Arc::new(HostHandler::new(workers, couriers.clone())),
            couriers,
        }
    }

    /// A tool from `origin`. `native` stands behind an entry that names what is written in Rust.
    ///
    /// # Errors
    /// There is nothing behind the entry.
    pub fn tool(
        &self,
        spec: ToolSpec,
        from: From,
        origin: String,
        native: impl FnOnce(&str) -> Option<Arc<dyn Handler>>,
    ) -> Result<Arc<dyn Tool>, String> {
        let handler: Arc<dyn Handler> = match &spec.place {
            Place::Host(handler) => Arc::new(OnHost {
                code: code_of(handler)?,
                time: spec.time,
                host: self.host.clone(),
            }),
            Place::Computer(handler) => Arc::new(OnComputer {
                code: code_of(handler)?,
                time: spec.time,
                couriers: self.couriers.clone(),
            }),
            Place::Native(name) => {
                native(name).ok_or_else(|| format!("there is no native handler `{name}`"))?
            }
        };
        let set = spec.set.clone().unwrap_or_else(|| from.set().to_owned());
        // A person who adds a tool wants it; the product's own sets are more than a client should pay for.
        let is_listed = from == From::User || set == From::Product.set();
        Ok(Arc::new(EntryTool::new(
            spec, set, is_listed, origin, handler,
        )))
    }

    /// A prompt.
    ///
    /// # Errors
    /// Its handler was not read.
    pub fn prompt(&self, spec: PromptSpec) -> Result<Arc<Prompt>, String> {
        let handler = match &spec.handler {
            Some(handler) => Some((code_of(handler)?, self.host.clone())),
            None => None,
        };
        Ok(Arc::new(Prompt::new(spec, handler)))
    }

    /// A resource.
    ///
    /// # Errors
    /// Its handler was not read.
    pub fn resource(&self, spec: ResourceSpec) -> Result<Arc<Resource>, String> {
        let handler = match &spec.text {
            Text::Handler(handler) => Some((code_of(handler)?, self.host.clone())),
            Text::Fixed(_) | Text::Bytes(_) => None,
        };
        Ok(Arc::new(Resource::new(spec, handler)))
    }
}

fn code_of(handler: &manifest::Handler) -> Result<Code, String> {
    let source = handler
        .source
        .clone()
        .ok_or_else(|| format!("{} was not read", handler.file))?;
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
    })
}
