//! One computer's link: its hello, then requests out and answers in, until either side ends it.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use serde_json::Value;
use thiserror::Error;
use tokio::{
    sync::{Semaphore, mpsc, oneshot},
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    frame::{self, AgentFrame, Answer, FrameError, Hello},
    registry::{Facts, Registry},
    text::TextMode,
};
use crate::config::LinkToken;

/// How many requests may wait for one computer's answer. The game queues 256 events and drops what comes after, so
/// neither side lets more than 32 frames wait for the other.
const WINDOW: usize = 32;

/// How long a new connection has to say hello.
const HELLO_TIME: Duration = Duration::from_secs(10);

/// How long a frame may take to go out before the computer counts as no longer reading.
const SEND_TIME: Duration = Duration::from_secs(10);

/// How long the bridge waits for the other side to take notice of a close.
const CLOSE_TIME: Duration = Duration::from_millis(500);

/// How many frames that nobody asked for are taken at once, and how many more each second.
const UNASKED_BURST: f64 = 200.0;
const UNASKED_PER_SECOND: f64 = 20.0;

/// The bridge's end of a link, through which a linked computer is asked.
#[derive(Debug)]
pub struct Link {
    text_mode: TextMode,
    /// The largest message the agent takes, in bytes.
    max_message: usize,
    requests: mpsc::Sender<Asked>,
    /// A permit for each request that waits for an answer.
    window: Semaphore,
    /// Cancelled to make the session end.
    end: CancellationToken,
    /// Why the session was made to end, or ended.
    ending: OnceLock<Ending>,
}

/// A request on its way to the session.
#[derive(Debug)]
pub struct Asked {
    id: String,
    frame: String,
    answer: oneshot::Sender<Answer>,
}

/// Why a computer gave no answer.
#[derive(Debug, Error)]
pub enum AskError {
    /// The deadline came first.
    #[error("no answer within {} ms", .0.as_millis())]
    Timeout(Duration),
    /// The request is larger than what the agent takes in one message.
    #[error(
        "the request is {size} bytes long; the computer takes at most {limit} bytes in one message"
    )]
    TooLarge {
        /// The frame's length in bytes.
        size: usize,
        /// The agent's limit in bytes.
        limit: usize,
    },
    /// The link ended first.
    #[error("the computer left before it answered: {0}")]
    LinkLost(String),
}

impl Link {
    /// A link to the agent that said `hello`, and the receiver that its session reads requests from.
    pub fn new(hello: &Hello) -> (Arc<Self>, mpsc::Receiver<Asked>) {
        let (requests, receiver) = mpsc::channel(WINDOW);
        let link = Self {
            text_mode: hello.text_mode(),
            max_message: hello.max_message.min(frame::DEFAULT_MAX_MESSAGE),
            requests,
            window: Semaphore::new(WINDOW),
            end: CancellationToken::new(),
            ending: OnceLock::new(),
        };
        (Arc::new(link), receiver)
    }

    /// Sends a request with this id and waits for its answer, `time` at most.
    ///
    /// Dropping the future gives up the wait; what the computer already received goes on there.
    ///
    /// # Errors
    /// There is no answer, and why.
    pub async fn ask(
        &self,
        id: String,
        method: &str,
        params: Option<&Value>,
        time: Duration,
    ) -> Result<Answer, AskError> {
        let deadline = Instant::now() + time;
        let frame = frame::request(&id, method, params, self.text_mode).map_err(|error| {
            AskError::LinkLost(format!("the request can't be written: {error}"))
        })?;
        if frame.len() > self.max_message {
            return Err(AskError::TooLarge {
                size: frame.len(),
                limit: self.max_message,
            });
        }
        let wait = async {
            let lost = || AskError::LinkLost(self.why_ended());
            let _permit = self.window.acquire().await.map_err(|_| lost())?;
            let (answer, receiver) = oneshot::channel();
            self.requests
                .send(Asked { id, frame, answer })
                .await
                .map_err(|_| lost())?;
            receiver.await.map_err(|_| lost())
        };
        timeout_at(deadline, wait)
            .await
            .unwrap_or(Err(AskError::Timeout(time)))
    }

    /// Makes the session end for this reason; the first reason counts.
    fn end(&self, ending: Ending) {
        let _ = self.ending.set(ending);
        self.end.cancel();
    }

    fn why_ended(&self) -> String {
        self.ending
            .get()
            .map_or_else(|| "the link ended".to_owned(), Ending::why)
    }
}

/// Why a session ends.
#[derive(Debug, Clone)]
enum Ending {
    /// The agent closed, with its code and reason if it gave any.
    ClosedByAgent(Option<(u16, String)>),
    /// The connection broke.
    Broken(String),
    /// No hello came in time.
    NoHello,
    /// The hello can't be read.
    BadHello(String),
    /// The hello's token is missing or wrong.
    BadToken,
    /// Another computer linked under the same number.
    Replaced(SocketAddr),
    /// A message over the limit came.
    TooLarge,
    /// A binary message came.
    Binary,
    /// More frames came than anyone asked for.
    Flood,
    /// The agent no longer reads.
    NotReading,
}

impl Ending {
    /// As the end of the sentence "it left: …".
    fn why(&self) -> String {
        match self {
            Self::ClosedByAgent(None) => "its agent closed the link".to_owned(),
            Self::ClosedByAgent(Some((code, reason))) if reason.is_empty() => {
                format!("its agent closed the link (code {code})")
            }
            Self::ClosedByAgent(Some((code, reason))) => {
                format!("its agent closed the link: {reason} (code {code})")
            }
            Self::Broken(reason) => format!("the connection broke: {reason}"),
            Self::NoHello => format!("no hello came within {} s", HELLO_TIME.as_secs()),
            Self::BadHello(reason) => reason.clone(),
            Self::BadToken => "the link token is missing or wrong".to_owned(),
            Self::Replaced(by) => format!("another computer of the same number linked from {by}"),
            Self::TooLarge => format!(
                "it sent a message over {} bytes",
                frame::DEFAULT_MAX_MESSAGE
            ),
            Self::Binary => {
                "it sent a binary message, which the link protocol does not use".to_owned()
            }
            Self::Flood => "it sent more frames than anyone asked for".to_owned(),
            Self::NotReading => format!("it took nothing for {} s", SEND_TIME.as_secs()),
        }
    }

    /// The WebSocket close code, if the bridge is the one who closes. 4400 and up follow HTTP's status codes.
    fn close_code(&self) -> Option<u16> {
        match self {
            Self::ClosedByAgent(_) | Self::Broken(_) | Self::NotReading => None,
            Self::Binary => Some(1003),
            Self::TooLarge => Some(1009),
            Self::BadHello(_) => Some(4400),
            Self::BadToken => Some(4401),
            Self::NoHello => Some(4408),
            Self::Replaced(_) => Some(4409),
            Self::Flood => Some(4429),
        }
    }

    /// The hello-error that tells the agent: what, what to do, and whether trying again can help.
    fn hello_error(&self) -> Option<(String, bool)> {
        match self {
            Self::BadHello(reason) => Some((format!("{reason}. Update the agent from this bridge: /mcp-computer.lua"), false)),
            Self::BadToken => Some((
                "the link token is missing or wrong. Give the agent the token that the bridge has in CC_LINK_TOKEN: \
                 mcp-computer <url> --token TOKEN"
                    .to_owned(),
                false,
            )),
            Self::Replaced(by) => Some((
                format!(
                    "another computer of the same number linked from {by}. Only one can be linked: stop its agent, then \
                     start this one again"
                ),
                false,
            )),
            _ => None,
        }
    }
}

/// What all sessions share.
#[derive(Debug)]
pub struct Shared {
    /// Where computers are entered.
    pub registry: Registry,
    /// What each hello must show.
    pub token: Option<LinkToken>,
}

/// Serves one connection from its hello to its end.
pub async fn run(mut socket: WebSocket, address: SocketAddr, shared: Arc<Shared>) {
    let mut unasked = Allowance::new();
    let hello = match timeout(HELLO_TIME, greet(&mut socket, &mut unasked))
        .await
        .unwrap_or(Err(Ending::NoHello))
    {
        Ok(hello)
            if shared
                .token
                .as_ref()
                .is_none_or(|token| token.matches(hello.token.as_deref().unwrap_or_default())) =>
        {
            hello
        }
        Ok(_) => return refuse(socket, address, Ending::BadToken).await,
        Err(ending) => return refuse(socket, address, ending).await,
    };

    let id = hello.computer;
    let protocol = hello.protocol;
    let (link, requests) = Link::new(&hello);
    let (facts, older) = shared.registry.register(*hello, address, link.clone());
    if let Some(older) = older {
        older.end(Ending::Replaced(address));
    }
    tracing::info!(computer = %id, label = ?facts.label, %address, protocol, "linked");

    let mut session = Session {
        socket,
        link: &link,
        facts: &facts,
        waiting: HashMap::new(),
        unasked,
    };
    let ending = match session.send(frame::hello_ok()).await {
        Ok(()) => session.serve(requests).await,
        Err(ending) => ending,
    };
    let Session {
        socket, waiting, ..
    } = session;
    // Whoever waits learns of the end through these, and then asks why: so the reason is set first.
    link.end(ending.clone());
    link.window.close();
    drop(waiting);
    shared.registry.leave(id, &link, ending.why());
    tracing::info!(computer = %id, %address, why = ending.why(), "left");
    // A version-1 agent knows no hello-error once it is linked.
    let tell = ending.hello_error().filter(|_| protocol >= 2);
    close(socket, &ending, tell).await;
}

async fn refuse(socket: WebSocket, address: SocketAddr, ending: Ending) {
    tracing::warn!(%address, why = ending.why(), "link refused");
    let tell = ending.hello_error();
    close(socket, &ending, tell).await;
}

/// Waits for the hello; other frames before it are passed over.
async fn greet(socket: &mut WebSocket, unasked: &mut Allowance) -> Result<Box<Hello>, Ending> {
    loop {
        let Some(text) = next_text(socket).await? else {
            continue;
        };
        match frame::read(&text, TextMode::Plain) {
            Ok(AgentFrame::Hello(hello)) => return Ok(hello),
            Err(error) if frame::claims_hello(&text) => {
                return Err(Ending::BadHello(hello_problem(&error)));
            }
            Ok(_) | Err(_) => unasked.take()?,
        }
    }
}

fn hello_problem(error: &FrameError) -> String {
    match error {
        FrameError::Malformed(error) => format!("malformed hello: {error}"),
        FrameError::ComputerId(_) => error.to_string(),
    }
}

/// The next text message; none for a control frame.
async fn next_text(socket: &mut WebSocket) -> Result<Option<axum::extract::ws::Utf8Bytes>, Ending> {
    match socket.recv().await {
        Some(Ok(Message::Text(text))) => Ok(Some(text)),
        Some(Ok(Message::Binary(_))) => Err(Ending::Binary),
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(None),
        Some(Ok(Message::Close(close))) => {
            Err(Ending::ClosedByAgent(close.map(|close| {
                (close.code, close.reason.as_str().to_owned())
            })))
        }
        Some(Err(error)) => Err(read_error(error)),
        None => Err(Ending::Broken("it ended without a close".to_owned())),
    }
}

fn read_error(error: axum::Error) -> Ending {
    use tokio_tungstenite::tungstenite::Error;
    match error.into_inner().downcast::<Error>().map(|error| *error) {
        Ok(Error::Capacity(_)) => Ending::TooLarge,
        Ok(other) => Ending::Broken(other.to_string()),
        Err(other) => Ending::Broken(other.to_string()),
    }
}

/// A linked computer's session.
struct Session<'a> {
    socket: WebSocket,
    link: &'a Link,
    facts: &'a Facts,
    /// Requests that wait for their answer, by id.
    waiting: HashMap<String, oneshot::Sender<Answer>>,
    unasked: Allowance,
}

impl Session<'_> {
    async fn serve(&mut self, mut requests: mpsc::Receiver<Asked>) -> Ending {
        loop {
            let step = tokio::select! {
                message = next_text(&mut self.socket) => match message {
                    Ok(Some(text)) => self.receive(&text).await,
                    Ok(None) => self.unasked.take(),
                    Err(ending) => Err(ending),
                },
                // The link holds the sender, so this never ends by itself.
                Some(asked) = requests.recv() => self.forward(asked).await,
                () = self.link.end.cancelled() => {
                    return self.link.ending.get().cloned().unwrap_or(Ending::ClosedByAgent(None));
                }
            };
            if let Err(ending) = step {
                return ending;
            }
        }
    }

    async fn receive(&mut self, text: &str) -> Result<(), Ending> {
        self.facts.seen_now();
        match frame::read(text, self.link.text_mode) {
            Ok(AgentFrame::Response(response)) => match self.waiting.remove(&response.id) {
                // Whoever asked may have given up meanwhile.
                Some(waiting) => drop(waiting.send(response.answer)),
                None => {
                    tracing::debug!(computer = %self.facts.id, request = response.id, "nobody waits for this answer");
                    self.unasked.take()?;
                }
            },
            Ok(AgentFrame::Ping(n)) => {
                self.unasked.take()?;
                // Version 1 has no pings.
                if self.link.text_mode == TextMode::Bytes {
                    self.send(frame::pong(n)).await?;
                }
            }
            Ok(AgentFrame::Hello(_)) => self.unasked.take()?,
            Ok(AgentFrame::Unknown(kind)) => {
                tracing::debug!(computer = %self.facts.id, kind, "passed over a frame of unknown type");
                self.unasked.take()?;
            }
            Err(error) => {
                tracing::warn!(computer = %self.facts.id, %error, "passed over a frame");
                self.unasked.take()?;
            }
        }
        Ok(())
    }

    async fn forward(&mut self, asked: Asked) -> Result<(), Ending> {
        let Asked { id, frame, answer } = asked;
        if answer.is_closed() {
            return Ok(());
        }
        if self.waiting.len() >= WINDOW {
            self.waiting.retain(|_, waiting| !waiting.is_closed());
        }
        self.waiting.insert(id, answer);
        self.send(frame).await
    }

    async fn send(&mut self, frame: String) -> Result<(), Ending> {
        match timeout(SEND_TIME, self.socket.send(Message::Text(frame.into()))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(Ending::Broken(error.to_string())),
            Err(_) => Err(Ending::NotReading),
        }
    }
}

/// Tells the agent why, closes, and gives it a moment to read that.
async fn close(mut socket: WebSocket, ending: &Ending, hello_error: Option<(String, bool)>) {
    let Some(code) = ending.close_code() else {
        return;
    };
    let farewell = async {
        if let Some((error, retry)) = hello_error {
            socket
                .send(Message::Text(frame::hello_error(&error, retry).into()))
                .await
                .ok()?;
        }
        let reason = clip_reason(&ending.why());
        socket
            .send(Message::Close(Some(CloseFrame {
                code,
                reason: reason.into(),
            })))
            .await
            .ok()?;
        // Closing with unread data would reset the connection, and the farewell would be lost with it.
        while let Some(Ok(_)) = socket.recv().await {}
        Some(())
    };
    let _ = timeout(CLOSE_TIME, farewell).await;
}

/// A close frame's reason has at most 123 bytes (RFC 6455, section 5.5).
fn clip_reason(why: &str) -> String {
    const MOST: usize = 123;
    why.char_indices()
        .take_while(|(at, c)| at + c.len_utf8() <= MOST)
        .map(|(_, c)| c)
        .collect()
}

/// How many frames that nobody asked for a link may still send; fills up again with time.
struct Allowance {
    left: f64,
    counted: Instant,
}

impl Allowance {
    fn new() -> Self {
        Self {
            left: UNASKED_BURST,
            counted: Instant::now(),
        }
    }

    fn take(&mut self) -> Result<(), Ending> {
        let now = Instant::now();
        let refill = now.duration_since(self.counted).as_secs_f64() * UNASKED_PER_SECOND;
        self.left = (self.left + refill).min(UNASKED_BURST) - 1.0;
        self.counted = now;
        if self.left < 0.0 {
            Err(Ending::Flood)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_reason_is_cut_between_characters() {
        let long = "é".repeat(100);
        let reason = clip_reason(&long);
        assert_eq!(reason.len(), 122);
        assert!(long.starts_with(&reason));
    }

    #[tokio::test(start_paused = true)]
    async fn unasked_frames_run_out_and_come_back_with_time() {
        let mut allowance = Allowance::new();
        for _ in 0..200 {
            allowance.take().unwrap();
        }
        assert!(matches!(allowance.take(), Err(Ending::Flood)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(allowance.take().is_ok());
    }
}
