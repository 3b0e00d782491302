//! Where a client sits: what it is served from, and how it is told of changes of that. Most share one catalogue; a client
//! that can be asked things may have one with servers of its own in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::{
    RoleServer,
    model::{ClientCapabilities, ProtocolVersion},
    service::RequestContext,
};

use super::{changes::Subscriber, questions::Questions};
use crate::tools::{
    Catalogue, Client, ClientCatalogue,
    asked::{Asked, askable},
};

/// How many seats a connection of the stateless era may have: each request may say anew what its client can be asked.
const MOST: usize = 4;

/// Where a client sits.
pub struct Seat {
    /// What there is for it.
    pub catalogue: Arc<Catalogue>,
    /// How it is told of changes.
    pub subscriber: Arc<Subscriber>,
    /// What it is asked by the answers to its calls, in the era in which that is how it is done.
    pub questions: Option<Arc<Questions>>,
}

impl Seat {
    fn new(catalogue: Arc<Catalogue>, questions: Option<Arc<Questions>>) -> Arc<Self> {
        Arc::new(Self {
            subscriber: Arc::new(Subscriber::new(&catalogue)),
            catalogue,
            questions,
        })
    }

    /// What there is for whoever sent a request.
    pub fn catalogue_for(&self, context: &RequestContext<RoleServer>) -> ClientCatalogue<'_> {
        // Requests of the stateless era are nobody's: over HTTP each may be another client's.
        let sent = (!is_stateless(context))
            .then(|| self.subscriber.sent())
            .flatten();
        self.catalogue
            .open_for(client_of(context))
            .having_sent(sent)
    }
}

/// The seats of one connection.
pub struct Seats {
    /// Of those that share.
    shared: Arc<Seat>,
    /// Of the client of a session, since its `initialize`, if it has its own.
    of_session: Mutex<Option<Arc<Seat>>>,
    /// Of a client of the stateless era, by what it says it can be asked.
    stateless: tokio::sync::Mutex<Vec<(ClientCapabilities, Arc<Seat>)>>,
}

impl Seats {
    /// Seats at this catalogue.
    pub fn new(catalogue: Arc<Catalogue>) -> Self {
        Self {
            shared: Seat::new(catalogue, None),
            of_session: Mutex::default(),
            stateless: tokio::sync::Mutex::default(),
        }
    }

    /// The catalogue that most clients share.
    pub fn shared(&self) -> &Arc<Catalogue> {
        &self.shared.catalogue
    }

    /// Seats the client of a session, which can be asked things if there is `asked`.
    pub async fn seat(&self, asked: Option<Arc<dyn Asked>>) -> Arc<Seat> {
        // Whoever begins anew leaves what was its own.
        *self.lock() = None;
        let own = match &asked {
            Some(asked) => self.shared().for_asked(asked).await,
            None => None,
        };
        let own = own.map(|catalogue| Seat::new(catalogue, None));
        self.lock().clone_from(&own);
        own.unwrap_or_else(|| self.shared.clone())
    }

    /// Where the client of the session sits.
    pub fn of_session(&self) -> Arc<Seat> {
        self.lock().clone().unwrap_or_else(|| self.shared.clone())
    }

    /// Where whoever sent a request sits. Only where `one_client` sends all requests may they be told apart by what they
    /// can be asked.
    pub async fn of(&self, context: &RequestContext<RoleServer>, one_client: bool) -> Arc<Seat> {
        if !is_stateless(context) {
            return self.of_session();
        }
        let capabilities = context.client_capabilities();
        let Some(askable) = capabilities
            .as_ref()
            .and_then(askable)
            .filter(|_| one_client)
        else {
            return self.shared.clone();
        };
        // Held, so that of two requests at once only one makes the seat.
        let mut seats = self.stateless.lock().await;
        if let Some((_, seat)) = seats
            .iter()
            .find(|(capabilities, _)| *capabilities == askable)
        {
            return seat.clone();
        }
        let questions = Arc::new(Questions::new(askable.clone()));
        let asked: Arc<dyn Asked> = questions.clone();
        let Some(own) = self.shared().for_asked(&asked).await else {
            return self.shared.clone();
        };
        if seats.len() >= MOST {
            seats.remove(0);
        }
        let seat = Seat::new(own, Some(questions));
        seats.push((askable, seat.clone()));
        seat
    }

    /// A subscription of the stateless era is about to be granted, it is not said whose.
    pub fn grant(&self) {
        self.shared.subscriber.grant();
        // One that is being made has nothing yet that could change.
        if let Ok(seats) = self.stateless.try_lock() {
            for (_, seat) in seats.iter() {
                seat.subscriber.grant();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Seat>>> {
        // Nothing that holds the lock can panic.
        self.of_session
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The client that sent a request.
pub fn client_of(context: &RequestContext<RoleServer>) -> Client {
    let client = context.client_info();
    Client::named(client.as_ref().map_or("", |client| &client.name))
}

/// Whether a request is of the era without `initialize`.
pub fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}
