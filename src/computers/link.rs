//! The bridge's end of a link: what the rest of the program holds of it, to send a computer frames.

use std::{
    future::Future,
    sync::{Arc, OnceLock},
};

use tokio::{
    sync::{Mutex, Semaphore, SemaphorePermit, mpsc, oneshot},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::job::Job;
use crate::{
    bridges::{
        message::{self, AboutRequest, Introduction},
        owner_line::OwnerLine,
    },
    wire::{
        ending::{Ending, LinkEnded},
        frame::{self, ComputerId, Hello},
        text::TextMode,
    },
};

/// How many requests may be on their way to one computer. The game queues 256 events and drops what comes after, so
/// neither side lets more than 32 frames wait for the other.
const WINDOW: usize = 32;

/// The bridge's end of a link, through which a linked computer is sent frames.
#[derive(Debug)]
pub struct Link {
    /// Which link this is, by the count of the bridge that holds the link port.
    pub serial: u64,
    text_mode: TextMode,
    /// The start of the agent program; none with an agent of version 1.
    boot: Option<String>,
    /// The largest message the agent takes, in bytes.
    max_message: usize,
    /// The requests that the agent knew when it linked.
    pub(super) known: Vec<String>,
    outlet: Outlet,
    /// A permit for each request that the computer has not yet taken from its event queue.
    window: Semaphore,
    /// Cancelled to make the session end.
    end: CancellationToken,
    /// Cancelled when the session has ended.
    ended: CancellationToken,
    /// Why the session was made to end, or ended.
    ending: OnceLock<Ending>,
}

/// Where a link's frames go.
#[derive(Debug)]
enum Outlet {
    /// To the session with the computer, in this process.
    Session(mpsc::Sender<Box<Outgoing>>),
    /// To the bridge that holds the link port, which passes them on.
    Owner {
        line: Arc<OwnerLine>,
        computer: ComputerId,
    },
}

/// One bridge's turn at a computer. Of each bridge's requests only one at a time stands in the queue for the computer's
/// places, so bridges get them in turn, however many requests one of them has.
#[derive(Debug, Default)]
pub struct Turn(Mutex<()>);

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

impl Link {
    /// A link to the agent that said `hello`, and the receiver that its session reads frames from.
    pub fn new(hello: &mut Hello, serial: u64) -> (Arc<Self>, mpsc::Receiver<Box<Outgoing>>) {
        let (frames, receiver) = mpsc::channel(WINDOW);
        let link = Self {
            serial,
            text_mode: hello.text_mode(),
            boot: hello.boot_name(),
            max_message: hello.max_message.min(frame::DEFAULT_MAX_MESSAGE),
            known: std::mem::take(&mut hello.jobs),
            outlet: Outlet::Session(frames),
            window: Semaphore::new(WINDOW),
            end: CancellationToken::new(),
            ended: CancellationToken::new(),
            ending: OnceLock::new(),
        };
        (Arc::new(link), receiver)
    }

    /// A link to a computer that is linked to another bridge, at the other end of this line.
    pub fn through_owner(introduction: &Introduction, line: Arc<OwnerLine>) -> Arc<Self> {
        Arc::new(Self {
            serial: introduction.link,
            text_mode: match introduction.boot {
                Some(_) => TextMode::Bytes,
                None => TextMode::Plain,
            },
            boot: introduction.boot.clone(),
            max_message: introduction.max_message.min(frame::DEFAULT_MAX_MESSAGE),
            known: Vec::new(),
            outlet: Outlet::Owner {
                line,
                computer: introduction.computer_id,
            },
            window: Semaphore::new(WINDOW),
            end: CancellationToken::new(),
            ended: CancellationToken::new(),
            ending: OnceLock::new(),
        })
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

    /// Waits for a place in the computer's event queue, in this bridge's turn; none if the link ended.
    pub async fn place(&self, turn: &Turn) -> Option<SemaphorePermit<'_>> {
        let _turn = turn.0.lock().await;
        self.window.acquire().await.ok()
    }

    /// Hands over a request that is worth sending until `deadline`, as one message. It is gone when the link breaks before it is sent.
    ///
    /// # Errors
    /// The link has ended.
    pub async fn send_request(
        &self,
        job: &Job,
        message: String,
        deadline: Instant,
    ) -> Result<(), LinkEnded> {
        match &self.outlet {
            Outlet::Session(frames) => hand(frames, Outgoing::Message(message)).await,
            Outlet::Owner { line, computer } => {
                let about = about(job, deadline);
                line.send(*computer, self.serial, Some(&about), &message)
                    .await
            }
        }
    }

    /// Sends such a request in parts, and waits until all of it has arrived.
    ///
    /// # Errors
    /// The link ended first, or the agent refused the frame.
    pub async fn send_request_in_parts(
        &self,
        job: &Job,
        frame: String,
        deadline: Instant,
    ) -> Result<(), LinkEnded> {
        match &self.outlet {
            Outlet::Session(frames) => {
                let (arrived, waiting) = oneshot::channel();
                let frame = Outgoing::Parts(InParts {
                    of: job.id.clone(),
                    frame: frame.into_bytes(),
                    arrived,
                });
                hand(frames, frame).await?;
                waiting.await.map_err(|_| LinkEnded)
            }
            Outlet::Owner { line, computer } => {
                let about = about(job, deadline);
                line.send_long(&job.id, *computer, self.serial, &about, &frame)
                    .await
            }
        }
    }

    /// Hands over a small frame. It is gone when the link breaks before it is sent.
    ///
    /// # Errors
    /// The link has ended.
    pub async fn send(&self, message: String) -> Result<(), LinkEnded> {
        match &self.outlet {
            Outlet::Session(frames) => hand(frames, Outgoing::Message(message)).await,
            Outlet::Owner { line, computer } => {
                line.note(message::envelope(*computer, self.serial, None, &message));
                Ok(())
            }
        }
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

    /// Whoever waits for the link, or for a place at its computer, learns that it has ended. Why, and that the computer
    /// is gone, has to be noted before.
    pub fn has_just_ended(&self) {
        self.window.close();
        self.ended.cancel();
    }

    /// Waits until the session is made to end, and tells why.
    pub async fn told_to_end(&self) -> Ending {
        self.end.cancelled().await;
        let ending = self.ending.get().cloned();
        ending.unwrap_or(Ending::ClosedByAgent(None))
    }

    /// Makes the session end for this reason; the first reason counts.
    pub fn end(&self, ending: Ending) {
        let _ = self.ending.set(ending);
        self.end.cancel();
    }
}

async fn hand(frames: &mpsc::Sender<Box<Outgoing>>, frame: Outgoing) -> Result<(), LinkEnded> {
    frames.send(Box::new(frame)).await.map_err(|_| LinkEnded)
}

fn about(job: &Job, deadline: Instant) -> AboutRequest<'_> {
    let left = deadline.saturating_duration_since(Instant::now());
    AboutRequest {
        code: job.code.as_str().into(),
        exclusive: job.exclusive,
        listed: job.listed,
        deadline_ms: u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
    }
}
