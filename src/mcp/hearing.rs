//! A client with a session, as far as it hears what servers log.

// Clients of today still read log messages.
#![allow(deprecated)]

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use rmcp::{RoleServer, service::Peer};
use tokio::{
    sync::{Notify, watch},
    time::timeout,
};
use tokio_util::task::AbortOnDropHandle;

use super::listener::level_from;
use crate::tools::{
    Catalogue, Client, Hearer, Level,
    hearer::{Logged, Severity, rank},
};

/// The least that clients hear who never said.
const DEFAULT: Severity = Severity::Info;

/// How much may wait for a client to read it.
const MOST: usize = 256;

/// How long a client may take to read one; one that takes longer is told nothing any more.
const TELL_TIME: Duration = Duration::from_secs(5);

/// How long an answer waits for what was logged before it to be on its way.
const BEFORE_AN_ANSWER: Duration = Duration::from_secs(1);

/// A client's ear.
pub struct Ear {
    state: Mutex<State>,
    /// There is something to tell.
    news: Arc<Notify>,
    /// Whether all there was to tell is on its way.
    is_quiet: watch::Sender<bool>,
    /// What tells the client. It ends with this.
    telling: Mutex<Option<AbortOnDropHandle<()>>>,
}

struct State {
    client: Client,
    asked_for: Option<Severity>,
    waiting: VecDeque<Logged>,
    /// How much was left out since the client was told so.
    left_out: u64,
}

impl Default for Ear {
    fn default() -> Self {
        Self {
            state: Mutex::new(State {
                client: Client::Anyone,
                asked_for: None,
                waiting: VecDeque::new(),
                left_out: 0,
            }),
            news: Arc::default(),
            is_quiet: watch::Sender::new(true),
            telling: Mutex::default(),
        }
    }
}

impl Ear {
    /// Lets it hear all that this client may hear of, from now on.
    pub fn open(self: &Arc<Self>, client: Client, catalogue: &Catalogue) {
        self.lock().client = client;
        let ear: Weak<Self> = Arc::downgrade(self);
        let hearer: Weak<dyn Hearer> = ear;
        catalogue.heard_by(&hearer);
    }

    /// Tells the client what it hears, until it can't be told or this is gone.
    pub fn tell(self: &Arc<Self>, peer: Peer<RoleServer>) {
        let telling = tokio::spawn(tell(Arc::downgrade(self), self.news.clone(), peer));
        let telling = AbortOnDropHandle::new(telling);
        *self.telling.lock().unwrap_or_else(PoisonError::into_inner) = Some(telling);
    }

    /// Notes what the client asked for.
    pub fn ask_for(&self, severity: Severity) {
        self.lock().asked_for = Some(severity);
    }

    /// The least of our own levels that it hears.
    pub fn level(&self) -> Level {
        level_from(self.lock().asked_for.unwrap_or(DEFAULT))
    }

    /// Waits until what it has heard so far is on its way, but not long.
    pub async fn quiet(&self) {
        let mut is_quiet = self.is_quiet.subscribe();
        let _ = timeout(BEFORE_AN_ANSWER, is_quiet.wait_for(|quiet| *quiet)).await;
    }

    /// What to tell next.
    fn next(&self) -> Option<Logged> {
        let mut state = self.lock();
        if state.left_out > 0 {
            let count = std::mem::take(&mut state.left_out);
            let text = format!(
                "{count} log messages of servers were left out: they came faster than this client reads them."
            );
            return Some(Logged::new(Severity::Warning, text.into()).with_logger("mcp-bridge"));
        }
        let next = state.waiting.pop_front();
        if next.is_none() {
            self.is_quiet.send_replace(true);
        }
        next
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that holds the lock can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hearer for Ear {
    fn client(&self) -> Client {
        self.lock().client
    }

    fn asked_for(&self) -> Option<Severity> {
        self.lock().asked_for
    }

    fn hear(&self, logged: &Logged) {
        let mut state = self.lock();
        if rank(logged.level) < rank(state.asked_for.unwrap_or(DEFAULT)) {
            return;
        }
        if state.waiting.len() >= MOST {
            state.waiting.pop_front();
            state.left_out += 1;
        }
        state.waiting.push_back(logged.clone());
        self.is_quiet.send_replace(false);
        drop(state);
        self.news.notify_one();
    }
}

async fn tell(ear: Weak<Ear>, news: Arc<Notify>, peer: Peer<RoleServer>) {
    loop {
        let Some(next) = ear.upgrade().map(|ear| ear.next()) else {
            return;
        };
        let Some(logged) = next else {
            news.notified().await;
            continue;
        };
        let told = peer.notify_logging_message(logged);
        if !matches!(timeout(TELL_TIME, told).await, Ok(Ok(()))) {
            tracing::debug!("a client can't be told any more what servers log");
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_client_hears_what_it_asked_for_and_how_much_it_missed() {
        let ear = Ear::default();
        let log = |severity, number: usize| ear.hear(&Logged::new(severity, json!(number)));
        log(Severity::Debug, 0);
        log(Severity::Info, 1);
        assert_eq!(ear.next().unwrap().data, json!(1));
        ear.ask_for(Severity::Critical);
        log(Severity::Error, 2);
        assert!(ear.next().is_none() && *ear.is_quiet.borrow());
        for number in 0..MOST + 10 {
            log(Severity::Alert, number);
        }
        assert!(!*ear.is_quiet.borrow());
        let missed = ear.next().unwrap();
        assert!(missed.data.as_str().unwrap().starts_with("10 log messages"));
        assert_eq!(ear.next().unwrap().data, json!(10));
        assert_eq!(ear.level(), Level::Error);
    }
}
