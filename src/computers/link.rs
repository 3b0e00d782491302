//! A link to a computer, whoever holds its other end: what the rest of the program sends frames through.

use std::{
    fmt::Debug,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{
    sync::{Mutex, Notify, Semaphore, SemaphorePermit},
    time::Instant,
};

use super::{
    agent_clock::AgentClock,
    doubt::Doubt,
    job::{About, Job},
};
use crate::wire::{
    ending::{Ending, LinkEnded},
    names::{Dialect, RequestId},
};

/// How many requests may be on their way to one computer. The game queues 256 events and drops what comes after, so
/// neither side lets more than 32 frames wait for the other.
pub const WINDOW: usize = 32;

/// Where a link's frames go. One for each way by which computers are reached.
pub trait Outlet: Debug + Send + Sync {
    /// Hands over a request as one message, once there is room for it. It is gone when the link breaks before it is
    /// sent.
    ///
    /// # Errors
    /// The link has ended.
    fn request<'a>(&'a self, request: Outbound<'a>) -> BoxFuture<'a, Result<(), LinkEnded>>;

    /// The same without waiting; tells whether there was room for it.
    fn request_now(&self, request: Outbound<'_>) -> bool;

    /// Sends a request that is too long for one message, or not ASCII, and waits until all of it has arrived.
    ///
    /// # Errors
    /// The link ended first, or the agent refused the frame.
    fn long_request<'a>(&'a self, request: Outbound<'a>) -> BoxFuture<'a, Result<(), LinkEnded>>;

    /// Hands over a small frame that answers one. It is gone when the link breaks before it is sent.
    ///
    /// # Errors
    /// The link has ended.
    fn note(&self, frame: String) -> BoxFuture<'_, Result<(), LinkEnded>>;

    /// Has whoever serves the link look at it: it is to end, or is in doubt.
    fn call(&self);
}

/// A request on its way out.
#[derive(Debug)]
pub struct Outbound<'a> {
    /// Its id.
    pub id: &'a RequestId,
    /// What it is about.
    pub about: About<'a>,
    /// Whether a call waits for it.
    pub attached: bool,
    /// The request as JSON.
    pub frame: String,
    /// Until when it is worth sending.
    pub deadline: Instant,
}

/// What both ends of a link agreed on.
#[derive(Debug)]
pub struct Terms {
    /// Which link this is, by the count of the bridge that holds the link port.
    pub serial: u64,
    /// What is spoken.
    pub dialect: Dialect,
    /// The largest message the agent takes, in bytes.
    pub max_message: usize,
    /// Whether the agent stops a job that is attached to a call once no bridge claims it any more, and can be told, over
    /// this link, that it goes on by itself.
    pub knows_detach: bool,
    /// The clock of an agent that begins no request after the moment that the request names.
    pub clock: Option<AgentClock>,
}

/// A link, through which a linked computer is sent frames.
#[derive(Debug)]
pub struct Link {
    /// What both ends agreed on.
    pub terms: Terms,
    /// Whether it still stands, once somebody else comes by its computer's number.
    pub doubt: Doubt,
    outlet: Box<dyn Outlet>,
    /// A permit for each request that the computer has not yet taken from its event queue. Closed when the link has
    /// ended.
    window: Semaphore,
    /// Told of that.
    ended: Notify,
    /// Why it was made to end, or ended.
    ending: OnceLock<Ending>,
}

/// One bridge's turn at a computer. Of each bridge's requests only one at a time stands in the queue for the computer's
/// places, so bridges get them in turn, however many requests one of them has.
#[derive(Debug, Default)]
pub struct Turn(Mutex<()>);

impl<'a> Outbound<'a> {
    /// That of a job.
    pub fn of(job: &'a Job, frame: String, deadline: Instant) -> Self {
        Self {
            id: &job.id,
            about: job.about(),
            attached: job.is_attached(),
            frame,
            deadline,
        }
    }
}

impl Link {
    /// A link on these terms, whose frames go there.
    pub fn new(terms: Terms, outlet: Box<dyn Outlet>) -> Arc<Self> {
        Arc::new(Self {
            terms,
            doubt: Doubt::default(),
            outlet,
            window: Semaphore::new(WINDOW),
            ended: Notify::new(),
            ending: OnceLock::new(),
        })
    }

    /// What is spoken.
    pub fn dialect(&self) -> &Dialect {
        &self.terms.dialect
    }

    /// Waits for a place in the computer's event queue, in this bridge's turn; none if the link ended.
    pub async fn place(&self, turn: &Turn) -> Option<SemaphorePermit<'_>> {
        let _turn = turn.0.lock().await;
        self.window.acquire().await.ok()
    }

    /// The same if there is one now: until [`Link::free_place`] it is taken.
    pub(super) fn place_now(&self, turn: &Turn) -> bool {
        let Ok(_turn) = turn.0.try_lock() else {
            return false;
        };
        self.window
            .try_acquire()
            .map(SemaphorePermit::forget)
            .is_ok()
    }

    /// Gives back a place that was taken by [`Link::place_now`].
    pub(super) fn free_place(&self) {
        self.window.add_permits(1);
    }

    /// As [`Outlet::request_now`].
    pub fn request_now(&self, request: Outbound<'_>) -> bool {
        self.outlet.request_now(request)
    }

    /// As [`Outlet::request`].
    ///
    /// # Errors
    /// The link has ended.
    pub async fn request(&self, request: Outbound<'_>) -> Result<(), LinkEnded> {
        self.outlet.request(request).await
    }

    /// As [`Outlet::long_request`].
    ///
    /// # Errors
    /// The link ended first, or the agent refused the frame.
    pub async fn long_request(&self, request: Outbound<'_>) -> Result<(), LinkEnded> {
        self.outlet.long_request(request).await
    }

    /// As [`Outlet::note`].
    ///
    /// # Errors
    /// The link has ended.
    pub async fn note(&self, frame: String) -> Result<(), LinkEnded> {
        self.outlet.note(frame).await
    }

    /// Waits until the link has ended.
    pub async fn ended(&self) {
        // It is told of all ends from here on.
        let told = self.ended.notified();
        if !self.has_ended() {
            told.await;
        }
    }

    /// Whether the link has ended.
    pub fn has_ended(&self) -> bool {
        self.window.is_closed()
    }

    /// Why it did.
    pub fn why_ended(&self) -> String {
        self.ending
            .get()
            .map_or_else(|| "the link ended".to_owned(), Ending::why)
    }

    /// Notes that the link has ended: whoever waits for it, or for a place at its computer, learns so. Why, and that
    /// the computer is gone, has to be noted before.
    pub(super) fn note_end(&self) {
        self.window.close();
        self.ended.notify_waiters();
    }

    /// Why the link is to end, if it was made to.
    pub fn told_to_end(&self) -> Option<&Ending> {
        self.ending.get()
    }

    /// Makes whatever serves the link end it for this reason; the first reason counts.
    pub fn end(&self, ending: Ending) {
        let _ = self.ending.set(ending);
        self.call();
    }

    /// Has whoever serves the link look at it.
    pub fn call(&self) {
        self.outlet.call();
    }

    /// Has a sign of life asked for, and waits a moment for it. Returns within what time it will be known that the link is
    /// dead; none if it lives, or nothing but its connection can tell.
    pub async fn raise_doubt(&self) -> Option<Duration> {
        self.doubt.raise(|| self.call()).await
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use futures_util::FutureExt;

    use super::*;

    /// Loses whatever it is handed.
    #[derive(Debug)]
    pub(crate) struct Nowhere;

    impl Outlet for Nowhere {
        fn request<'a>(&'a self, _: Outbound<'a>) -> BoxFuture<'a, Result<(), LinkEnded>> {
            async { Err(LinkEnded) }.boxed()
        }

        fn request_now(&self, _: Outbound<'_>) -> bool {
            false
        }

        fn long_request<'a>(&'a self, _: Outbound<'a>) -> BoxFuture<'a, Result<(), LinkEnded>> {
            async { Err(LinkEnded) }.boxed()
        }

        fn note(&self, _: String) -> BoxFuture<'_, Result<(), LinkEnded>> {
            async { Err(LinkEnded) }.boxed()
        }

        fn call(&self) {}
    }
}
