//! Where the frames go of a link that ends in this process: to its session.
//!
//! There are thousands of links, and most wait for nothing most of the time. So this is no channel of a library's, which
//! holds a kibibyte for each: it is a queue, and one waker for all that a session may be woken for beside its socket.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use futures_util::{FutureExt, future::BoxFuture, task::AtomicWaker};
use tokio::sync::{Semaphore, oneshot};

use crate::{
    computers::link::{Outbound, Outlet, WINDOW},
    wire::ending::LinkEnded,
};

/// What a session is given to send.
#[derive(Debug)]
pub enum Outgoing {
    /// One message.
    Message(String),
    /// A frame that is too long for one message.
    Parts(Box<InParts>),
}

/// A frame that goes out in parts.
#[derive(Debug)]
pub struct InParts {
    /// Its name.
    pub of: String,
    /// Its JSON, where strings may hold bytes over 127.
    pub frame: Vec<u8>,
    /// Told when all of it has arrived.
    pub arrived: oneshot::Sender<()>,
}

/// The way to a session.
#[derive(Debug)]
pub struct ToSession(Arc<Queue>);

/// What a session sends. Once it is dropped, nothing can be handed over any more, and what was is gone.
#[derive(Debug)]
pub struct Frames(Arc<Queue>);

#[derive(Debug)]
struct Queue {
    /// A permit for each frame that there is room for. Closed when no more are taken.
    room: Semaphore,
    frames: Mutex<VecDeque<Outgoing>>,
    /// Whether there is something for the session to look at.
    called: AtomicBool,
    session: AtomicWaker,
}

impl ToSession {
    /// A way to a session, and where that takes from.
    pub fn new() -> (Self, Frames) {
        let queue = Arc::new(Queue {
            room: Semaphore::new(WINDOW),
            frames: Mutex::default(),
            // The bridge may leave just now.
            called: AtomicBool::new(true),
            session: AtomicWaker::new(),
        });
        (Self(queue.clone()), Frames(queue))
    }

    async fn hand(&self, frame: Outgoing) -> Result<(), LinkEnded> {
        let room = self.0.room.acquire().await.map_err(|_| LinkEnded)?;
        if !self.0.push(frame) {
            return Err(LinkEnded);
        }
        room.forget();
        Ok(())
    }
}

impl Frames {
    /// Waits until the session is called. It then looks at the link, and takes a frame.
    pub fn poll_called(&self, context: &Context<'_>) -> Poll<()> {
        let called = || self.0.called.swap(false, Ordering::AcqRel);
        if called() {
            return Poll::Ready(());
        }
        self.0.session.register(context.waker());
        // A call between the look and the registration woke nobody.
        match called() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    /// The next frame, if there is one. While there are more, the session stays called.
    pub fn take(&self) -> Option<Outgoing> {
        let mut frames = self.0.lock();
        let frame = frames.pop_front()?;
        if !frames.is_empty() {
            self.0.called.store(true, Ordering::Release);
        }
        drop(frames);
        self.0.room.add_permits(1);
        Some(frame)
    }

    /// Takes no more from those who hand over.
    pub fn close(&self) {
        // Locked, so that whoever just hands over has done so before, or fails.
        let _frames = self.0.lock();
        self.0.room.close();
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        self.close();
        // Whoever waits for one to arrive learns of it.
        drop(std::mem::take(&mut *self.0.lock()));
    }
}

impl Queue {
    /// Tells whether the frame was taken.
    fn push(&self, frame: Outgoing) -> bool {
        let mut frames = self.lock();
        let open = !self.room.is_closed();
        if open {
            frames.push_back(frame);
            drop(frames);
            self.call();
        }
        open
    }

    fn call(&self) {
        self.called.store(true, Ordering::Release);
        self.session.wake();
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Outgoing>> {
        // Nothing that holds the lock can panic.
        self.frames.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outlet for ToSession {
    fn request<'a>(&'a self, request: Outbound<'a>) -> BoxFuture<'a, Result<(), LinkEnded>> {
        self.note(request.frame)
    }

    fn request_now(&self, request: Outbound<'_>) -> bool {
        let Ok(room) = self.0.room.try_acquire() else {
            return false;
        };
        let taken = self.0.push(Outgoing::Message(request.frame));
        if taken {
            room.forget();
        }
        taken
    }

    fn long_request<'a>(&'a self, request: Outbound<'a>) -> BoxFuture<'a, Result<(), LinkEnded>> {
        async move {
            let (arrived, waiting) = oneshot::channel();
            let frame = InParts {
                of: request.id.as_str().to_owned(),
                frame: request.frame.into_bytes(),
                arrived,
            };
            self.hand(Outgoing::Parts(Box::new(frame))).await?;
            waiting.await.map_err(|_| LinkEnded)
        }
        .boxed()
    }

    fn note(&self, frame: String) -> BoxFuture<'_, Result<(), LinkEnded>> {
        self.hand(Outgoing::Message(frame)).boxed()
    }

    fn call(&self) {
        self.0.call();
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    async fn next(frames: &Frames) -> Option<String> {
        poll_fn(|context| frames.poll_called(context)).await;
        match frames.take()? {
            Outgoing::Message(text) => Some(text),
            Outgoing::Parts(_) => None,
        }
    }

    #[tokio::test]
    async fn frames_come_in_order_and_no_more_wait_than_there_is_room_for() {
        let (outlet, frames) = ToSession::new();
        for n in 0..WINDOW {
            outlet.note(n.to_string()).await.unwrap();
        }
        let mut one_more = outlet.note("more".into());
        assert!((&mut one_more).now_or_never().is_none());
        for n in 0..WINDOW {
            assert_eq!(next(&frames).await, Some(n.to_string()));
        }
        one_more.await.unwrap();
        assert_eq!(next(&frames).await, Some("more".into()));
        assert!(frames.take().is_none());
    }

    #[tokio::test]
    async fn a_call_without_a_frame_wakes_the_session_once() {
        let (outlet, frames) = ToSession::new();
        // At first it looks in any case.
        poll_fn(|context| frames.poll_called(context)).await;
        let mut called = Box::pin(poll_fn(|context| frames.poll_called(context)));
        assert!((&mut called).now_or_never().is_none());
        outlet.call();
        called.await;
        let mut called = Box::pin(poll_fn(|context| frames.poll_called(context)));
        assert!((&mut called).now_or_never().is_none());
    }

    #[tokio::test]
    async fn nothing_is_taken_once_it_is_closed_and_what_was_taken_before_still_comes() {
        let (outlet, frames) = ToSession::new();
        outlet.note("before".into()).await.unwrap();
        frames.close();
        assert!(outlet.note("after".into()).await.is_err());
        assert_eq!(next(&frames).await, Some("before".into()));
        drop(frames);
        assert!(outlet.note("after".into()).await.is_err());
    }

    #[tokio::test]
    async fn who_waits_for_room_learns_that_the_session_has_ended() {
        let (outlet, frames) = ToSession::new();
        for _ in 0..WINDOW {
            outlet.note(String::new()).await.unwrap();
        }
        let mut waits = outlet.note(String::new());
        assert!((&mut waits).now_or_never().is_none());
        drop(frames);
        assert!(waits.await.is_err());
    }
}
