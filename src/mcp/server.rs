//! The bridge as one MCP client has it.

use std::sync::Arc;

use rmcp::{RoleServer, ServerHandler, model::ServerConfig, service::RequestContext};
use tokio::sync::watch;

use super::{
    hearing::Ear,
    instructions,
    listener::{Waiting, level_from},
    questions::Line,
    seat::{Seat, Seats, is_stateless},
};
use crate::{
    computers::Fleet,
    tools::{
        Beside, Catalogue, Context, Notes, Others,
        calls::{Call, Caller, Calls},
    },
};

/// One client's view of the bridge. Cheap to clone: all clients share what stands behind it.
#[derive(Clone)]
pub struct Server {
    pub(super) fleet: Arc<Fleet>,
    pub(super) seats: Arc<Seats>,
    /// Whether the client of a session has said that it is ready.
    pub(super) is_open: Arc<watch::Sender<bool>>,
    /// What the client hears of what is logged, in the era with `initialize`.
    pub(super) ear: Arc<Ear>,
    /// The calls of all clients.
    pub(super) calls: Arc<Calls>,
    /// Whether the client is one over HTTP.
    over_http: bool,
}

impl Server {
    /// A server of these tools over these computers, for one client.
    pub fn new(fleet: Arc<Fleet>, catalogue: Arc<Catalogue>) -> Self {
        Self {
            seats: Arc::new(Seats::new(catalogue)),
            is_open: Arc::new(watch::Sender::new(false)),
            ear: Arc::default(),
            fleet,
            calls: Arc::default(),
            over_http: false,
        }
    }

    /// The same, which notes its calls there.
    pub fn noting(self, calls: Arc<Calls>) -> Self {
        Self { calls, ..self }
    }

    /// The same for another client, over HTTP, which has seen and asked for nothing yet.
    pub fn for_another(&self) -> Self {
        Self {
            over_http: true,
            ..Self::new(self.fleet.clone(), self.seats.shared().clone()).noting(self.calls.clone())
        }
    }

    /// Where whoever sent a request sits.
    pub(super) async fn seat(&self, context: &RequestContext<RoleServer>) -> Arc<Seat> {
        self.seats.of(context, !self.over_http).await
    }

    /// What is said of this server as a whole to a client for which there is this beside the tools in its list.
    pub(super) fn info_for(&self, beside: Beside) -> ServerConfig {
        let mut info = self.get_info();
        info.instructions = Some(instructions::with(beside.tools));
        // A list that is always empty is asked for in vain, again and again by some. What is not said now can't be
        // said later in the same session; the lists are there all the same, and their changes are told.
        if !beside.prompts {
            info.capabilities.prompts = None;
        }
        if !beside.resources {
            info.capabilities.resources = None;
        }
        if !beside.prompts && !beside.resources {
            info.capabilities.completions = None;
        }
        info
    }

    /// Whoever sent a request.
    pub(super) fn waiting(&self, context: &RequestContext<RoleServer>, line: Arc<Line>) -> Waiting {
        if is_stateless(context) {
            // Nothing may be sent to whoever did not ask with this very request.
            let asked_for = context.meta.log_level();
            return Waiting::new(context, line, asked_for.map(level_from), asked_for);
        }
        Waiting::new(context, line, Some(self.ear.level()), None)
    }

    /// Who sent a request.
    pub(super) fn caller(&self, context: &RequestContext<RoleServer>) -> Caller {
        let client = context.client_info();
        let (name, version) =
            client.map_or_else(Default::default, |client| (client.name, client.version));
        Caller {
            name,
            version,
            over_http: self.over_http,
        }
    }

    pub(super) fn at_hand<'a>(
        &'a self,
        others: &'a dyn Others,
        listener: &'a Waiting,
        notes: &'a Notes,
        call: Option<&'a Call>,
    ) -> Context<'a> {
        Context {
            fleet: &self.fleet,
            others,
            listener,
            notes,
            call,
            stand_in: None,
            depth: 0,
        }
    }
}

/// What the client calls itself.
pub(super) fn name_of_client(context: &RequestContext<RoleServer>) -> String {
    let client = context.client_info();
    client.map(|client| client.name).unwrap_or_default()
}
