//! A tool, and what a call of it has at hand.

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::model::{CallToolResult, JsonObject, Tool as Definition};
use serde_json::Value;
use thiserror::Error;

use super::{
    calls::Call,
    client::Client,
    hold::Hold,
    listener::Listener,
    manifest::{Example, PromptSpec},
    namespace::StandIn,
    notes::Notes,
    refusal::Refusal,
    result::{ToolFailed, value_of},
    search::Searched,
};
use crate::{
    base::byte_text,
    computers::{Fleet, Gatekeeper},
};

/// A tool: what a client is shown of it, and what it does.
pub trait Tool: Send + Sync {
    /// Its name, texts, schemas and annotations.
    fn definition(&self) -> &Definition;

    /// The set it belongs to, by which it can be switched on and off.
    fn set(&self) -> &str;

    /// Whether it belongs to the set of this name; it may belong to others beside [`Tool::set`].
    fn is_of(&self, set: &str) -> bool {
        self.set() == set
    }

    /// Whether it is in the list when no sets were chosen. If not, it can still be found.
    fn is_listed(&self) -> bool {
        true
    }

    /// Whether it reaches nothing but what it asks the bridge for, as Lua on the host does, which has no files and no
    /// network of its own. Where nothing may be changed, the bridge refuses what it asks to change, and not the tool.
    fn is_confined(&self) -> bool {
        false
    }

    /// The client that has it without us too, if there is one.
    fn owner(&self) -> Option<Client> {
        None
    }

    /// Where it is defined, in the user's words: a file and line, or a server.
    fn origin(&self) -> String;

    /// Examples of its use, by whoever wrote it.
    fn examples(&self) -> &[Example] {
        &[]
    }

    /// Does it. What goes wrong is a result too, one the model can act on.
    fn call<'a>(
        &'a self,
        context: Context<'a>,
        arguments: JsonObject,
    ) -> BoxFuture<'a, CallToolResult>;

    /// Does it for a program, which wants the value, not how a model is shown it. A program's strings are bytes (see
    /// [`byte_text`]), which only handlers in Lua take.
    ///
    /// # Errors
    /// What the model would be told.
    fn value<'a>(
        &'a self,
        context: Context<'a>,
        arguments: JsonObject,
    ) -> BoxFuture<'a, Result<Value, ToolFailed>> {
        async move {
            let name = &self.definition().name;
            if arguments.values().any(byte_text::any_holds_bytes) {
                return Err(ToolFailed(format!(
                    "{name} takes text only, and an argument holds bytes that are no UTF-8"
                )));
            }
            value_of(self.call(context, arguments).await)
        }
        .boxed()
    }
}

/// What a call has at hand besides its arguments.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The computers.
    pub fleet: &'a Fleet,
    /// What else there is, for the client that began it.
    pub others: &'a dyn Others,
    /// Whoever waits for the answer.
    pub listener: &'a dyn Listener,
    /// What the answer has to say besides.
    pub notes: &'a Notes,
    /// The client's call that this is, or is part of; none if no client made one.
    pub call: Option<&'a Call>,
    /// What stands in for the user's own store, secrets and hosts; none but in a test of a tool.
    pub stand_in: Option<&'a StandIn>,
    /// How many tools stand between the client and this call: tools can call tools.
    pub depth: u8,
}

/// How many tools may call each other in a row. For each there are workers (`host/pool.rs`).
const DEEPEST: u8 = 4;

/// Tools have called each other too often in a row.
#[derive(Debug, Error)]
#[error("tools called each other {DEEPEST} times in a row, which is as often as they may")]
pub struct TooDeep;

impl Context<'_> {
    /// Why what could change something must not begin at this moment, if so: a sentence without its full stop. It is noted
    /// as refused.
    pub async fn held(&self) -> Option<String> {
        let hold = self.others.paused().await?;
        self.note_refused();
        Some(hold.told())
    }

    /// Notes that something is refused for which the client's call asks.
    pub(super) fn note_refused(&self) {
        if let Some(call) = self.call {
            call.note_refused();
        }
    }

    /// Whether the answer leaves out what was printed: whoever reads it has that already. A program that called a tool
    /// has not.
    pub(super) fn shows_output(&self) -> bool {
        self.depth == 0 && self.listener.shows_output()
    }

    /// The context of a tool that this one calls.
    ///
    /// # Errors
    /// Tools have called each other too often in a row.
    pub(super) fn deeper(self) -> Result<Self, TooDeep> {
        if self.depth >= DEEPEST {
            return Err(TooDeep);
        }
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }
}

/// What could change something begins while no person has paused that.
impl Gatekeeper for Context<'_> {
    fn may_begin(&self) -> BoxFuture<'_, bool> {
        async { self.others.paused().await.is_none() }.boxed()
    }
}

/// What else there is for the client that began a call: all that tools and prompts reach others by. It is asked anew
/// each time, so a long call meets what has come meanwhile.
pub trait Others: Send + Sync {
    /// Waits until every source has looked for the first time, or has taken too long to.
    fn wait(&self) -> BoxFuture<'_, ()>;

    /// Waits for whatever may yet bring a tool of this name.
    ///
    /// # Errors
    /// Why it is unknown whether there is such a tool, in a sentence.
    fn wait_for<'a>(&'a self, tool: &'a str) -> BoxFuture<'a, Result<(), String>>;

    /// The tool of this name.
    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Found>;

    /// The names of all tools that may be called, in order, those that are not listed included.
    fn reachable(&self) -> Vec<String>;

    /// The tools that fit a query and that the client does not know from its list; all, if the query has no words.
    fn search<'a>(&'a self, query: &'a str) -> BoxFuture<'a, Searched>;

    /// What a prompt that others may extend is made of, by its name.
    fn extended(&self, name: &str) -> Option<PromptSpec>;

    /// Whether only what promises to change nothing may be called.
    fn is_read_only(&self) -> bool;

    /// Why nothing may begin at this moment that could change something, if so: a person has paused it.
    fn paused(&self) -> BoxFuture<'_, Option<Hold>>;
}

/// What there is of a tool of some name.
pub enum Found {
    /// It may be called.
    Tool(Arc<dyn Tool>),
    /// It exists, but must not be called.
    Refused(Refusal),
    /// There is none.
    Nothing,
}
