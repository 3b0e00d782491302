//! One server, started for a person at a terminal, outside of all bridges.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use rmcp::model::{CallToolResult, JsonObject};
use thiserror::Error;
use tokio::{sync::mpsc, task::JoinHandle, time::timeout};

use super::{
    answers,
    config::variables,
    configured::{Configured, those},
    entry::Entry,
    listing::Listing,
    names,
    server::{Known, Server, ServerFolders, keeper::keep},
    settings::Settings,
    trouble::{NotReached, Trouble},
};
use crate::tools::{Step, failure};

/// How long the server has to leave. What it leaves behind by then ends with this process.
const TO_LEAVE: Duration = Duration::from_secs(2);

/// A server that runs for one person.
pub struct ByHand {
    server: Arc<Server>,
    keeper: JoinHandle<()>,
}

/// Why a server can't be asked.
#[derive(Debug, Error)]
pub enum CantAsk {
    /// There is none of this name.
    #[error("There is no {wanted}. {}", those(.others))]
    Unknown {
        /// What was looked for, such as "server `files`".
        wanted: String,
        /// Those there are.
        others: Vec<String>,
    },
    /// It does not come up.
    #[error(transparent)]
    NotReached(NotReached),
}

impl ByHand {
    /// Starts the server of which `is_it` is true. Must be called in a tokio runtime.
    ///
    /// # Errors
    /// There is none, of which `wanted` says what it would be, or it does not come up.
    pub async fn start(
        settings: &Settings,
        wanted: &str,
        is_it: impl Fn(&Entry) -> bool,
    ) -> Result<Self, CantAsk> {
        let configured = Configured::read(settings);
        let servers = configured.servers();
        let Some(entry) = servers.iter().find(|entry| is_it(entry)) else {
            let others = servers.iter().map(|entry| entry.name.clone()).collect();
            return Err(CantAsk::Unknown {
                wanted: wanted.to_owned(),
                others,
            });
        };
        let folders = ServerFolders {
            working: settings.folder.clone(),
            state: settings.state.clone(),
        };
        let disabled = configured.why_disabled(entry);
        // A person at a terminal is asked nothing, and waits for the disk.
        let known = Known::load(entry, &folders, None);
        let (server, orders) = Server::new(
            (*entry).clone(),
            known,
            disabled,
            folders,
            Arc::default(),
            Arc::default(),
            None,
        );
        let read = |entry: &Entry| variables::read_by(entry, &settings.folder);
        let own = read(entry);
        let others = servers.iter().filter(|other| other.name != entry.name);
        let of_others: BTreeSet<_> = others.flat_map(|other| read(other)).collect();
        server.keep_from(of_others.difference(&own).cloned().collect());
        let keeper = tokio::spawn(keep(server.clone(), orders));
        let started = Self { server, keeper };
        if let Err(problem) = started.server.start().await {
            started.leave().await;
            return Err(CantAsk::NotReached(only_once(problem)));
        }
        Ok(started)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.server.entry.name
    }

    /// What it offers, as clients of a bridge are shown it.
    pub fn listing(&self) -> Listing {
        Listing::of(&[self.server.view()])
    }

    /// What public names of its things begin with.
    pub fn id(&self) -> &str {
        &self.server.id
    }

    /// Those of its tools that its entry switches off, by its own names.
    pub fn switched_off(&self) -> Vec<String> {
        let view = self.server.view();
        let names = view.offers.tools.iter().map(|tool| tool.name.to_string());
        names.filter(|name| !view.selection.has(name)).collect()
    }

    /// Whether the tool with this public name is one of those.
    pub fn switches_off(&self, name: &str) -> bool {
        let off = self.switched_off();
        off.iter()
            .any(|own| names::public(&self.server.id, own) == name)
    }

    /// What is odd about what it offers, each in words that follow its name.
    pub fn remarks(&self) -> Vec<String> {
        self.server.view().offers.remarks.clone()
    }

    /// Calls the tool with this public name. How it goes is told to `progress`.
    pub async fn call(
        &self,
        name: &str,
        arguments: JsonObject,
        progress: &mpsc::Sender<Step>,
    ) -> CallToolResult {
        let listing = self.listing();
        let Some(listed) = listing.tools.get(name) else {
            return failure(format!("The server `{}` has no tool {name}.", self.name()));
        };
        if let Err(reason) = &listed.shown {
            return failure(format!("The tool {name} is withheld: {reason}."));
        }
        let request = listed.call(arguments);
        let answer = self.server.ask(request, Some(progress), None).await;
        match answer {
            // Nobody starts it again.
            Err(Trouble::Gone {
                server,
                how,
                last_words,
            }) => failure(format!(
                "The server `{server}` {how} before it answered this call. Whether it did what was asked is \
                 unknown.{last_words}"
            )),
            Err(Trouble::NotReached(problem)) => failure(only_once(problem).to_string()),
            answer => answers::call(&self.server.id, answer).result,
        }
    }

    /// Stops it. Returns when it is gone, and after two seconds in any case.
    pub async fn leave(self) {
        self.server.leave("it was asked");
        let _ = timeout(TO_LEAVE, self.keeper).await;
    }
}

/// The same, of a server that nobody tries again.
fn only_once(problem: NotReached) -> NotReached {
    match problem {
        NotReached::Failed {
            server,
            why,
            lacked,
            printed,
            last_words,
            ..
        } => NotReached::Failed {
            server,
            why,
            seconds: None,
            lacked,
            printed,
            last_words,
        },
        other => other,
    }
}
