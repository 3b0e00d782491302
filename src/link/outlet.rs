//! Where the frames go of a link that ends in this process: to its session.

use futures_util::{FutureExt, future::BoxFuture};
use tokio::sync::{mpsc, oneshot};

use crate::{
    computers::link::{Outbound, Outlet, WINDOW},
    wire::ending::LinkEnded,
};

/// What a session is given to send. It travels boxed, since each link holds room for many of these.
#[derive(Debug)]
pub enum Outgoing {
    /// One message.
    Message(String),
    /// A frame that is too long for one message.
    Parts(InParts),
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

/// What a session sends.
pub type Frames = mpsc::Receiver<Box<Outgoing>>;

/// The way to a session.
#[derive(Debug)]
pub struct ToSession(mpsc::Sender<Box<Outgoing>>);

impl ToSession {
    /// A way to a session, and where that reads from.
    pub fn new() -> (Self, Frames) {
        let (frames, receiver) = mpsc::channel(WINDOW);
        (Self(frames), receiver)
    }

    async fn hand(&self, frame: Outgoing) -> Result<(), LinkEnded> {
        self.0.send(Box::new(frame)).await.map_err(|_| LinkEnded)
    }
}

impl Outlet for ToSession {
    fn request<'a>(&'a self, request: Outbound<'a>) -> BoxFuture<'a, Result<(), LinkEnded>> {
        self.note(request.frame)
    }

    fn long_request<'a>(&'a self, request: Outbound<'a>) -> BoxFuture<'a, Result<(), LinkEnded>> {
        async move {
            let (arrived, waiting) = oneshot::channel();
            let frame = InParts {
                of: request.job.id.to_string(),
                frame: request.frame.into_bytes(),
                arrived,
            };
            self.hand(Outgoing::Parts(frame)).await?;
            waiting.await.map_err(|_| LinkEnded)
        }
        .boxed()
    }

    fn note(&self, frame: String) -> BoxFuture<'_, Result<(), LinkEnded>> {
        self.hand(Outgoing::Message(frame)).boxed()
    }
}
