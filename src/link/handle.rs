//! The bridge's end of a link: what the rest of the program holds of a session, to send a computer frames.

use std::{
    future::Future,
    sync::{Arc, OnceLock},
};

use thiserror::Error;
use tokio::sync::{Semaphore, SemaphorePermit, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::{
    ending::Ending,
    frame::{self, Hello},
    text::TextMode,
};

/// How many requests may be on their way to one computer. The game queues 256 events and drops what comes after, so
/// neither side lets more than 32 frames wait for the other.
const WINDOW: usize = 32;

/// The bridge's end of a link, through which a linked computer is sent frames.
#[derive(Debug)]
pub struct Link {
    text_mode: TextMode,
    /// The start of the agent program; none with an agent of version 1.
    boot: Option<String>,
    /// The largest message the agent takes, in bytes.
    max_message: usize,
    frames: mpsc::Sender<Outgoing>,
    /// A permit for each request that the computer has not yet taken from its event queue.
    pub(super) window: Semaphore,
    /// Cancelled to make the session end.
    pub(super) end: CancellationToken,
    /// Cancelled when the session has ended.
    pub(super) ended: CancellationToken,
    /// Why the session was made to end, or ended.
    pub(super) ending: OnceLock<Ending>,
}

/// What a session is given to send.
#[derive(Debug)]
pub enum Outgoing {
    /// One message.
    Message(String),
    /// A frame that is too long for one message. Boxed, since each link holds room for many of these, and most are
    /// messages.
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

/// The link has ended.
#[derive(Debug, Error)]
#[error("the link has ended")]
pub struct LinkEnded;

impl Link {
    /// A link to the agent that said `hello`, and the receiver that its session reads frames from.
    pub fn new(hello: &Hello) -> (Arc<Self>, mpsc::Receiver<Outgoing>) {
        let (frames, receiver) = mpsc::channel(WINDOW);
        let link = Self {
            text_mode: hello.text_mode(),
            boot: hello.boot_name(),
            max_message: hello.max_message.min(frame::DEFAULT_MAX_MESSAGE),
            frames,
            window: Semaphore::new(WINDOW),
            end: CancellationToken::new(),
            ended: CancellationToken::new(),
            ending: OnceLock::new(),
        };
        (Arc::new(link), receiver)
    }

    /// How strings travel.
    pub fn text_mode(&self) -> TextMode {
        self.text_mode
    }

    /// The start of the agent program; none with an agent of version 1.
    pub fn boot(&self) -> Option<&str> {
        self.boot.as_deref()
    }

    /// The largest message the agent takes, in bytes.
    pub fn max_message(&self) -> usize {
        self.max_message
    }

    /// Waits for a place in the computer's event queue; none if the link ended.
    pub async fn place(&self) -> Option<SemaphorePermit<'_>> {
        self.window.acquire().await.ok()
    }

    /// Hands a message to the session. It is gone when the link breaks before it is sent.
    ///
    /// # Errors
    /// The link has ended.
    pub async fn send(&self, message: String) -> Result<(), LinkEnded> {
        self.frames
            .send(Outgoing::Message(message))
            .await
            .map_err(|_| LinkEnded)
    }

    /// Sends a frame in parts, and waits until all of it has arrived.
    ///
    /// # Errors
    /// The link ended first, or the agent refused the frame.
    pub async fn send_in_parts(&self, of: &str, frame: Vec<u8>) -> Result<(), LinkEnded> {
        let (arrived, waiting) = oneshot::channel();
        let frame = Outgoing::Parts(Box::new(InParts {
            of: of.to_owned(),
            frame,
            arrived,
        }));
        self.frames.send(frame).await.map_err(|_| LinkEnded)?;
        waiting.await.map_err(|_| LinkEnded)
    }

    /// Waits until the session has ended.
    pub fn ended(&self) -> impl Future<Output = ()> + '_ {
        self.ended.cancelled()
    }

    /// Whether the session has ended.
    pub fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Why it did.
    pub fn why_ended(&self) -> String {
        self.ending
            .get()
            .map_or_else(|| "the link ended".to_owned(), Ending::why)
    }

    /// Makes the session end for this reason; the first reason counts.
    pub(super) fn end(&self, ending: Ending) {
        let _ = self.ending.set(ending);
        self.end.cancel();
    }
}
