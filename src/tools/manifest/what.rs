//! What an entry of a manifest is.

use std::time::Duration;

use super::{
    example::Example,
    handler::Handler,
    prompt::PromptSpec,
    resource::{ResourceSpec, Text},
    tool::{RunsOn, ToolSpec},
};

/// How long the handler of a prompt or a resource has.
pub const TIME: Duration = Duration::from_secs(20);

/// What an entry is.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A tool.
    Tool(ToolSpec),
    /// A prompt, or a template that prompts extend.
    Prompt(PromptSpec),
    /// A resource, or a template of resources.
    Resource(ResourceSpec),
}

impl What {
    /// Its examples.
    pub fn examples(&self) -> &[Example] {
        match self {
            Self::Tool(tool) => &tool.examples,
            Self::Prompt(prompt) => &prompt.examples,
            Self::Resource(resource) => &resource.examples,
        }
    }

    /// The namespace of its handler, if that runs on the host and has one.
    pub fn namespace(&self) -> Option<&str> {
        let namespace = self.handler_on_host()?.namespace.as_ref()?;
        namespace.spec.name.as_deref()
    }

    /// Whether its handler deals with computers, as far as that is to be seen.
    pub fn needs_computers(&self) -> bool {
        let on_host = self.handler_on_host();
        let names_them = on_host
            .and_then(|handler| handler.source.as_deref())
            .is_some_and(|source| source.contains("computers"));
        names_them
            || self.runs_on_computer()
            || (self.examples().iter()).any(|example| !example.computers.is_empty())
    }

    /// Whether its handler runs on a computer.
    pub fn runs_on_computer(&self) -> bool {
        matches!(self, Self::Tool(tool) if matches!(tool.runs_on, RunsOn::Computer(_)))
    }

    /// How long it may take.
    pub fn time(&self) -> Duration {
        match self {
            Self::Tool(tool) => tool.time,
            Self::Prompt(_) | Self::Resource(_) => TIME,
        }
    }

    /// Gives it examples.
    pub fn set_examples(&mut self, examples: Vec<Example>) {
        match self {
            Self::Tool(tool) => tool.examples = examples,
            Self::Prompt(prompt) => prompt.examples = examples,
            Self::Resource(resource) => resource.examples = examples,
        }
    }

    /// The Lua behind it, if that runs on the host.
    pub fn handler_on_host(&self) -> Option<&Handler> {
        match self {
            Self::Tool(tool) => match &tool.runs_on {
                RunsOn::Host(handler) => Some(handler),
                RunsOn::Computer(_) | RunsOn::Bridge(_) => None,
            },
            Self::Prompt(prompt) => prompt.handler.as_ref(),
            Self::Resource(resource) => match &resource.text {
                Text::Handler(handler) => Some(handler),
                Text::Fixed(_) | Text::Bytes(_) => None,
            },
        }
    }

    /// The Lua behind it, whose source the manifest does not have; none if there is no Lua.
    pub fn handler_mut(&mut self) -> Option<&mut Handler> {
        match self {
            Self::Tool(tool) => match &mut tool.runs_on {
                RunsOn::Host(handler) | RunsOn::Computer(handler) => Some(handler),
                RunsOn::Bridge(_) => None,
            },
            Self::Prompt(prompt) => prompt.handler.as_mut(),
            Self::Resource(resource) => match &mut resource.text {
                Text::Handler(handler) => Some(handler),
                Text::Fixed(_) | Text::Bytes(_) => None,
            },
        }
    }
}
