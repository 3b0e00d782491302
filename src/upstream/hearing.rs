//! Who hears what servers log. A server is asked for as much as the one wants who wants most of it, and each is handed what
//! it wants itself.

// Servers of today still log.
#![allow(deprecated)]

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tokio::sync::mpsc;

use crate::tools::{
    Client, Hearer,
    hearer::{Logged, Severity, rank},
};

/// The clients with sessions, which hear all servers that they may see.
#[derive(Default)]
pub struct Hearers(Mutex<Vec<Weak<dyn Hearer>>>);

/// Who hears one server.
pub struct Hearing {
    /// The server's id, by which clients know whose words they are.
    id: String,
    /// The client that has the server without us too, if there is one.
    owner: Option<Client>,
    hearers: Arc<Hearers>,
    /// Calls whose clients want to hear it as long as they go on.
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    /// The number of the next one.
    next: u64,
    all: BTreeMap<u64, (Severity, mpsc::Sender<Logged>)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that holds a lock here can panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hearers {
    /// Adds one, for as long as it is there; once, however often.
    pub fn add(&self, hearer: Weak<dyn Hearer>) {
        let mut hearers = lock(&self.0);
        hearers.retain(|other| other.strong_count() > 0 && !other.ptr_eq(&hearer));
        hearers.push(hearer);
    }

    fn now(&self) -> Vec<Arc<dyn Hearer>> {
        lock(&self.0).iter().filter_map(Weak::upgrade).collect()
    }
}

impl Hearing {
    /// Who hears the server with this id.
    pub fn new(id: String, owner: Option<Client>, hearers: Arc<Hearers>) -> Self {
        Self {
            id,
            owner,
            hearers,
            calls: Mutex::default(),
        }
    }

    fn with_sessions(&self) -> impl Iterator<Item = Arc<dyn Hearer>> {
        let hearers = self.hearers.now().into_iter();
        hearers.filter(|hearer| hearer.client().may_see(self.owner))
    }

    /// From which severity on somebody asked for what it logs; none: nobody did, and the server logs as it sees fit.
    pub fn wanted(&self) -> Option<Severity> {
        let sessions = self.with_sessions().filter_map(|hearer| hearer.asked_for());
        let calls: Vec<_> = lock(&self.calls)
            .all
            .values()
            .map(|(severity, _)| *severity)
            .collect();
        sessions.chain(calls).min_by_key(|severity| rank(*severity))
    }

    /// Hands what it logs from this severity on to `heard`, too, until what is returned is dropped. What does not fit is
    /// left out.
    pub fn during(self: &Arc<Self>, severity: Severity, heard: mpsc::Sender<Logged>) -> DuringCall {
        let mut calls = lock(&self.calls);
        let number = calls.next;
        calls.next += 1;
        calls.all.insert(number, (severity, heard));
        DuringCall {
            hearing: self.clone(),
            number,
        }
    }

    /// Hands out what the server logged.
    pub fn logged(&self, mut logged: Logged) {
        tracing::debug!(server = self.id, level = ?logged.level, data = %logged.data, "a server logs");
        logged.logger = Some(match logged.logger {
            Some(logger) => format!("{}/{logger}", self.id),
            None => self.id.clone(),
        });
        for hearer in self.with_sessions() {
            hearer.hear(&logged);
        }
        for (severity, heard) in lock(&self.calls).all.values() {
            if rank(*severity) <= rank(logged.level) {
                let _ = heard.try_send(logged.clone());
            }
        }
    }
}

/// See [`Hearing::during`].
pub struct DuringCall {
    hearing: Arc<Hearing>,
    number: u64,
}

impl Drop for DuringCall {
    fn drop(&mut self) {
        lock(&self.hearing.calls).all.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct One(Client, Option<Severity>, Mutex<Vec<Logged>>);

    impl Hearer for One {
        fn client(&self) -> Client {
            self.0
        }

        fn asked_for(&self) -> Option<Severity> {
            self.1
        }

        fn hear(&self, logged: &Logged) {
            lock(&self.2).push(logged.clone());
        }
    }

    #[tokio::test]
    async fn the_one_who_wants_most_decides_and_each_hears_what_is_for_it() {
        let hearers = Arc::<Hearers>::default();
        let one = |client, asked_for| Arc::new(One(client, asked_for, Mutex::default()));
        let anyone = one(Client::Anyone, Some(Severity::Warning));
        let opencode = one(Client::Opencode, Some(Severity::Debug));
        for hearer in [&anyone, &opencode] {
            let hearer: Arc<dyn Hearer> = hearer.clone();
            hearers.add(Arc::downgrade(&hearer));
        }
        // Opencode runs this server by itself.
        let owner = Some(Client::Opencode);
        let hearing = Arc::new(Hearing::new("s".to_owned(), owner, hearers));
        assert_eq!(hearing.wanted(), Some(Severity::Warning));
        let (sender, mut heard) = mpsc::channel(4);
        let during = hearing.during(Severity::Info, sender);
        assert_eq!(hearing.wanted(), Some(Severity::Info));
        for severity in [Severity::Debug, Severity::Notice] {
            hearing.logged(Logged::new(severity, json!("x")).with_logger("l"));
        }
        let told = heard.try_recv().unwrap();
        assert_eq!(told.logger.as_deref(), Some("s/l"));
        assert!(told.level == Severity::Notice && heard.try_recv().is_err());
        drop(during);
        hearing.logged(Logged::new(Severity::Error, json!("x")));
        assert!(heard.try_recv().is_err());
        // What is handed to a session is chosen by the session.
        assert_eq!(lock(&anyone.2).len(), 3);
        assert!(lock(&opencode.2).is_empty());
        assert_eq!(lock(&anyone.2)[2].logger.as_deref(), Some("s"));
        drop(anyone);
        assert_eq!(hearing.wanted(), None);
    }
}
