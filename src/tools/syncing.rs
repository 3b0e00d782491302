//! Computers as a sync asks them: by Lua of ours, which is brought there like any handler's.

use std::{future::ready, path::PathBuf, sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use serde_json::Value;

use super::{
    Context, Found, Hold, Level, Listener, Notes, Others, Step, choosing::choose,
    couriers::Couriers, legible, manifest::PromptSpec, plain_chunk::Piece, policy::Policy,
    search::Searched, wording::name_of,
};
use crate::{
    computers::{AgentPolicy, Computer, ComputerKey, Fleet},
    sync::{Errand, Peer, READING, WRITING},
};

/// What a sync's jobs are called.
const NAME: &str = "sync-folder";

/// How long a computer has for one errand.
const TIME: Duration = Duration::from_secs(20);

/// How long, where its player is asked: a minute, and some.
pub const TIME_WITH_PLAYER: Duration = Duration::from_secs(75);

/// What `sync-folder` may reach, and where it remembers.
#[derive(Debug, Clone, Default)]
pub struct SyncPlace {
    /// The folders from which files may be sent.
    pub push: Vec<PathBuf>,
    /// Those where files may be written too.
    pub pull: Vec<PathBuf>,
    /// The folder that the bridges of a user share; none: nothing is remembered, so nothing is synced.
    pub state: Option<PathBuf>,
    /// The configuration file, for whoever is to add to it.
    pub settings: Option<PathBuf>,
}

/// What brings a sync's Lua to computers.
#[derive(Debug, Default)]
pub struct Errands(Couriers);

impl Errands {
    /// Has a computer do an errand, and gives what came back.
    ///
    /// # Errors
    /// Why nothing did, in whole sentences.
    pub async fn run(
        &self,
        context: Context<'_>,
        computer: &Arc<Computer>,
        errand: Errand,
    ) -> Result<Value, String> {
        let (source, method) = match errand.changes {
            true => (&*WRITING, "write"),
            false => (&*READING, "read"),
        };
        let arguments = [errand.request];
        let piece = Piece {
            name: NAME,
            source,
            method: Some(method),
            arguments: &arguments,
            exclusive: false,
            is_kept: true,
            is_listed: true,
            pauses: errand.changes,
        };
        let time = match computer.facts().policy {
            AgentPolicy::Ask if errand.changes => TIME_WITH_PLAYER,
            _ => TIME,
        };
        match self.0.run(context, computer, piece, time).await.end {
            Ok(mut values) => match values.first() {
                Some(Value::Null) | None => Err(values.get(1).and_then(Value::as_str).map_or_else(
                    || "The computer answered nothing.".to_owned(),
                    legible::told,
                )),
                Some(_) => Ok(values.swap_remove(0)),
            },
            Err(problem) => {
                let problem = legible::told(&problem.to_string());
                Err(match problem.ends_with('.') {
                    true => problem,
                    false => format!("{problem}."),
                })
            }
        }
    }

    /// The same for a person, who asks no tool: what their pause or `--read-only` forbids is not done for them either.
    ///
    /// # Errors
    /// As of [`Errands::run`].
    pub async fn run_for_person(
        &self,
        fleet: &Fleet,
        policy: &Policy,
        computer: ComputerKey,
        errand: Errand,
    ) -> Result<Value, String> {
        if errand.changes && policy.read_only {
            // One that may is asked first.
            return Err(format!(
                "The only mcp-bridge of this version that reaches this computer, process {}, was started with --read-only \
                 and changes nothing there. Start one without: your MCP client, or `mcp-bridge serve`.",
                std::process::id()
            ));
        }
        let computer = choose(Some(computer), fleet).await;
        let computer = computer.map_err(|problem| problem.to_string())?;
        let context = Context {
            fleet,
            others: &Person(policy),
            listener: &Nobody,
            notes: &Notes::default(),
            call: None,
            stand_in: None,
            depth: 0,
        };
        self.run(context, &computer, errand).await
    }
}

/// A computer, as a call asks it.
pub struct OnComputer<'a> {
    /// What brings the Lua there.
    pub errands: &'a Errands,
    /// The call.
    pub context: Context<'a>,
    /// The computer.
    pub computer: Arc<Computer>,
}

impl Peer for OnComputer<'_> {
    fn key(&self) -> String {
        self.computer.key.to_string()
    }

    fn name(&self) -> String {
        name_of(&self.computer.facts())
    }

    fn ask(&self, errand: Errand) -> BoxFuture<'_, Result<Value, String>> {
        async move {
            // What is gone for longer is not waited for.
            let linked = choose(Some(self.computer.key), self.context.fleet).await;
            let computer = linked.map_err(|problem| problem.to_string())?;
            self.errands.run(self.context, &computer, errand).await
        }
        .boxed()
    }
}

/// Nobody who waits to be told.
struct Nobody;

impl Listener for Nobody {
    fn listens(&self) -> bool {
        false
    }

    fn tell(&self, _: Step) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }

    fn log(&self, _: Level, _: &str, _: String) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }
}

/// What there is for a person who asks no tool: none, but what they forbade.
struct Person<'a>(&'a Policy);

impl Others for Person<'_> {
    fn wait(&self) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }

    fn wait_for<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), String>> {
        ready(Ok(())).boxed()
    }

    fn find<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Found> {
        ready(Found::Nothing).boxed()
    }

    fn reachable(&self) -> Vec<String> {
        Vec::new()
    }

    fn search<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Searched> {
        ready(Searched::default()).boxed()
    }

    fn extended(&self, _: &str) -> Option<PromptSpec> {
        None
    }

    fn is_read_only(&self) -> bool {
        self.0.read_only
    }

    fn paused(&self) -> BoxFuture<'_, Option<Hold>> {
        self.0.pause.now().boxed()
    }
}
