//! This bridge as a guest: the computers of another bridge, over one WebSocket to its link port.
//!
//! To the rest of the program they are computers like those linked to this process: each has a [`Link`], whose frames
//! go to the owner, and what the owner passes on comes to the same [`Computer`]s and jobs. So a call lives through any
//! change of owner as it lives through a broken link.

use std::{
    collections::HashMap,
    io,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use thiserror::Error;
use tokio::{
    net::TcpStream,
    time::{Instant, timeout, timeout_at},
};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        self, Message as Frame, client::IntoClientRequest, http::header::SEC_WEBSOCKET_PROTOCOL,
        protocol::WebSocketConfig,
    },
};

use super::{
    DEAD_AFTER, GREETING_TIME, MAX_MESSAGE, PROTOCOL, SUBPROTOCOL,
    holder::{self, Unknown},
    message::{self, Envelope, FromGuest, FromOwner, Introduction, Message, Owner},
    owner_line::{OwnerLine, ToSend},
    secret::{self, Nonces, Secret, Side},
};
use crate::{
    computers::{
        computer::{Computer, Facts},
        link::Link,
        registry::Registry,
    },
    settings::LinkConfig,
    wire::{
        ending::{Ending, SEND_TIME},
        frame::{self, AgentFrame, ComputerId},
        outgoing,
    },
};

type Socket = WebSocketStream<TcpStream>;

/// Why this bridge is not the holder's guest. Each says what holds the port, and what to do.
#[derive(Debug, Error)]
pub enum NotJoined {
    /// The holder is gone: the port may be free.
    #[error("the program that held it has just ended")]
    Gone,
    /// It takes connections, but says nothing.
    #[error("{}", holder::frozen(.0.as_ref()))]
    Silent(Option<Owner>),
    /// It is no mcp-bridge.
    #[error(
        "another program, no mcp-bridge, listens there. Stop that program, or set CC_LINK_PORT to another port and give \
         the agents the new one"
    )]
    Stranger,
    /// It is an mcp-bridge that can't share.
    #[error(
        "mcp-bridge {theirs} holds it, which can't share it with this version, {ours}. Update the older of the two, and \
         start their clients again",
        ours = env!("CARGO_PKG_VERSION")
    )]
    Incompatible {
        /// Its version.
        theirs: String,
    },
    /// It is an mcp-bridge that keeps another secret.
    #[error(
        "an mcp-bridge of another user holds it, or one with another state folder. Bridges share a port only with those \
         of the same user: set CC_LINK_PORT to a port of your own and give your agents that one, or stop the other bridge"
    )]
    OtherUser,
    /// The connection broke in the middle, or the holder said something unexpected.
    #[error("an mcp-bridge holds it, but the link to it failed: {0}")]
    Broken(String),
}

/// Why a guest's link ended.
#[derive(Debug)]
pub enum Ended {
    /// The owner is gone, or has let this guest go.
    Gone(String),
    /// The owner is there, but says nothing any more.
    Frozen,
}

/// A guest's link that stands.
pub struct Joined {
    /// The owner.
    pub owner: Owner,
    /// The line to it.
    pub line: Arc<OwnerLine>,
    socket: Socket,
    to_send: ToSend,
}

impl Joined {
    /// Becomes a guest of the bridge that holds the port of this configuration. Takes ten seconds at most.
    ///
    /// # Errors
    /// There is none, or it is none that shares the port with this one.
    pub async fn join(
        config: &LinkConfig,
        secret: &Secret,
        prefix: &str,
        last_owner: impl FnOnce() -> Option<Owner>,
    ) -> Result<Self, NotJoined> {
        let (stream, address) = match holder::connect(config).await {
            Ok(connected) => connected,
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                return Err(NotJoined::Silent(last_owner()));
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return Err(NotJoined::Gone);
            }
            Err(error) => return Err(NotJoined::Broken(error.to_string())),
        };
        let broken = |error: tungstenite::Error| NotJoined::Broken(error.to_string());
        let mut request = format!("ws://{address}/")
            .into_client_request()
            .map_err(broken)?;
        let protocol = tungstenite::http::HeaderValue::from_static(SUBPROTOCOL);
        request
            .headers_mut()
            .insert(SEC_WEBSOCKET_PROTOCOL, protocol);
        let limits = WebSocketConfig::default()
            .max_message_size(Some(MAX_MESSAGE))
            .max_frame_size(Some(MAX_MESSAGE));
        let upgrade = client_async_with_config(request, stream, Some(limits));
        let socket = match timeout(GREETING_TIME, upgrade).await {
            Ok(Ok((socket, _))) => socket,
            Ok(Err(_)) => return Err(who_else(config, last_owner).await),
            Err(_) => return Err(NotJoined::Silent(last_owner())),
        };
        match timeout(GREETING_TIME, greet(socket, secret, prefix)).await {
            Ok(joined) => joined,
            Err(_) => Err(NotJoined::Silent(last_owner())),
        }
    }

    /// Serves the computers of the owner until the link to it ends; `bridges` is told how many bridges share the port.
    pub async fn serve(self, registry: &Registry, bridges: impl Fn(usize)) -> Ended {
        let (sender, receiver) = self.socket.split();
        let mut computers = Computers {
            registry,
            line: self.line.clone(),
            links: HashMap::new(),
        };
        let ended = tokio::select! {
            ended = write(sender, self.to_send) => ended,
            ended = computers.read(receiver, bridges) => ended,
        };
        self.line.down();
        computers.lose_all(match &ended {
            Ended::Gone(_) => "the mcp-bridge that held the link port has ended",
            Ended::Frozen => "the mcp-bridge that holds the link port does not answer",
        });
        ended
    }
}

/// Who holds the port, if it makes no guest of this bridge.
async fn who_else(config: &LinkConfig, last_owner: impl FnOnce() -> Option<Owner>) -> NotJoined {
    match holder::health(config).await {
        Ok(health) => NotJoined::Incompatible {
            theirs: health.version,
        },
        Err(Unknown::Free) => NotJoined::Gone,
        Err(Unknown::Silent) => NotJoined::Silent(last_owner()),
        Err(Unknown::Stranger) => NotJoined::Stranger,
        Err(Unknown::Unreachable(error)) => NotJoined::Broken(error.to_string()),
    }
}

/// Both sides prove that they know the secret, the owner first.
async fn greet(mut socket: Socket, secret: &Secret, prefix: &str) -> Result<Joined, NotJoined> {
    let broken = |error: tungstenite::Error| NotJoined::Broken(error.to_string());
    let no_nonce = |error: io::Error| NotJoined::Broken(error.to_string());
    let guest_nonce = secret::nonce().map_err(no_nonce)?;
    let hello = FromGuest::Guest {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        nonce: guest_nonce.clone(),
    };
    let text = message::write(&hello);
    socket
        .send(Frame::Text(text.into()))
        .await
        .map_err(broken)?;
    let (owner_nonce, proof) = match control(&mut socket).await? {
        FromOwner::Challenge {
            protocol: PROTOCOL,
            nonce,
            proof,
            ..
        } => (nonce, proof),
        FromOwner::Challenge { version, .. } => {
            return Err(NotJoined::Incompatible { theirs: version });
        }
        other => return Err(unexpected(&other)),
    };
    let nonces = Nonces {
        guest: &guest_nonce,
        owner: &owner_nonce,
    };
    if !secret.verify(Side::Owner, nonces, &proof) {
        return Err(NotJoined::OtherUser);
    }
    let proof = FromGuest::Proof {
        proof: secret.prove(Side::Guest, nonces),
        pid: std::process::id(),
        prefix: prefix.to_owned(),
    };
    let text = message::write(&proof);
    socket
        .send(Frame::Text(text.into()))
        .await
        .map_err(broken)?;
    match control(&mut socket).await? {
        FromOwner::Welcome { owner } => {
            let (line, to_send) = OwnerLine::new();
            Ok(Joined {
                owner,
                line: Arc::new(line),
                socket,
                to_send,
            })
        }
        other => Err(unexpected(&other)),
    }
}

async fn control(socket: &mut Socket) -> Result<FromOwner, NotJoined> {
    let text = next_text(socket)
        .await
        .map_err(|why| NotJoined::Broken(why.to_string()))?;
    match message::read(&text) {
        Ok(Message::Control(message)) => Ok(message),
        Ok(Message::Frame(_)) => Err(NotJoined::Broken("it sent a frame too early".to_owned())),
        Err(error) => Err(NotJoined::Broken(error.to_string())),
    }
}

fn unexpected(message: &FromOwner) -> NotJoined {
    match message {
        FromOwner::Refused { error } => NotJoined::Broken(format!("it says: {error}")),
        _ => NotJoined::Broken("it skipped the challenge".to_owned()),
    }
}

async fn next_text(
    socket: &mut (impl futures_util::Stream<Item = Result<Frame, tungstenite::Error>> + Unpin),
) -> Result<tungstenite::Utf8Bytes, tungstenite::Error> {
    loop {
        match socket.next().await {
            Some(Ok(Frame::Text(text))) => return Ok(text),
            Some(Ok(Frame::Close(_))) | None => return Err(tungstenite::Error::ConnectionClosed),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(error),
        }
    }
}

/// Sends what there is to send; notes go before requests.
async fn write(mut sender: SplitSink<Socket, Frame>, mut to_send: ToSend) -> Ended {
    loop {
        let first = tokio::select! {
            biased;
            Some(note) = to_send.notes.recv() => note,
            Some(request) = to_send.requests.recv() => request,
            else => return Ended::Gone("nothing is left to send".to_owned()),
        };
        // What else is there goes out with it in one piece.
        let batch = async {
            let mut next = Some(first);
            while let Some(message) = next.take() {
                sender.feed(Frame::Text(message.into())).await?;
                let note = to_send.notes.try_recv().ok();
                next = note.or_else(|| to_send.requests.try_recv().ok());
            }
            sender.flush().await
        };
        match timeout(SEND_TIME, batch).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Ended::Gone(error.to_string()),
            Err(_) => return Ended::Frozen,
        }
    }
}

/// The computers that are linked to the owner.
struct Computers<'a> {
    registry: &'a Registry,
    line: Arc<OwnerLine>,
    links: HashMap<ComputerId, (Arc<Computer>, Arc<Link>)>,
}

impl Computers<'_> {
    async fn read(&mut self, mut receiver: SplitStream<Socket>, bridges: impl Fn(usize)) -> Ended {
        loop {
            let silent_at = Instant::now() + DEAD_AFTER;
            let text = match timeout_at(silent_at, next_text(&mut receiver)).await {
                Ok(Ok(text)) => text,
                Ok(Err(error)) => return Ended::Gone(error.to_string()),
                Err(_) => return Ended::Frozen,
            };
            match message::read(&text) {
                Ok(Message::Frame(envelope)) => self.take_frame(&envelope),
                Ok(Message::Control(FromOwner::Bridges { count })) => bridges(count),
                Ok(Message::Control(message)) => self.take(message),
                Err(error) => {
                    tracing::warn!(%error, "passed over a message of the link port's owner");
                }
            }
        }
    }

    fn take(&mut self, message: FromOwner) {
        match message {
            FromOwner::Linked(introduction) => self.linked(&introduction),
            FromOwner::Left {
                introduction,
                computer_id,
                since,
                why,
            } => self.left(introduction, computer_id, since, why),
            FromOwner::Arrived { id } => self.line.arrived(&id),
            FromOwner::Seen { ages } => {
                for (id, seconds) in ages {
                    if let Some((computer, _)) = self.links.get(&id) {
                        let age = Duration::from_secs(seconds);
                        computer.facts().seen_before(age);
                    }
                }
            }
            FromOwner::Reply { n, answer } => self.line.replied(n, answer),
            FromOwner::Ping { n } => self.line.note(message::write(&FromGuest::Pong { n })),
            FromOwner::Bridges { .. }
            | FromOwner::Challenge { .. }
            | FromOwner::Welcome { .. }
            | FromOwner::Refused { .. } => {}
        }
    }

    fn linked(&mut self, introduction: &Introduction) {
        let id = introduction.computer_id;
        if let Some((_, link)) = self.links.get(&id)
            && link.serial == introduction.link
        {
            return;
        }
        let link = Link::through_owner(introduction, self.line.clone());
        let facts = Facts::introduced(introduction);
        let (computer, older) = self
            .registry
            .register(facts, &introduction.known, link.clone());
        tracing::info!(computer = %id, label = ?introduction.label, "linked to the link port's owner");
        if let Some(older) = older {
            older.end(Ending::Elsewhere("it has linked anew".to_owned()));
            older.has_just_ended();
        }
        self.links.insert(id, (computer, link));
    }

    fn left(
        &mut self,
        introduction: Option<Introduction>,
        id: ComputerId,
        since: SystemTime,
        why: String,
    ) {
        match (self.links.remove(&id), introduction) {
            (Some((computer, link)), _) => {
                self.registry.end(&computer, &link, Ending::Elsewhere(why));
            }
            (None, Some(introduction)) => {
                let facts = Facts::introduced(&introduction);
                self.registry.enter_gone(facts, since, why);
            }
            (None, None) => {}
        }
    }

    /// A frame of a computer about a request of this bridge.
    fn take_frame(&self, envelope: &Envelope<'_>) {
        let Some((computer, link)) = self
            .links
            .get(&envelope.computer_id)
            .filter(|(_, link)| link.serial == envelope.link)
        else {
            return;
        };
        let acknowledge = |frame: String| {
            let (id, serial) = (envelope.computer_id, envelope.link);
            self.line.note(message::envelope(id, serial, None, &frame));
        };
        match frame::read(envelope.frame.get(), link.text_mode()) {
            Ok(AgentFrame::Response(response)) => {
                let id = response.id.clone();
                computer.answered(response);
                // Only the bridge that asked, this one, may say that the answer is no longer needed.
                if link.boot().is_some() {
                    acknowledge(outgoing::ack(&id));
                }
            }
            Ok(AgentFrame::Accepted { id }) => {
                computer.accepted(&id);
            }
            Ok(AgentFrame::Output(piece)) => {
                let arrived = outgoing::output_ack(&piece.id, piece.seq);
                computer.printed(piece);
                acknowledge(arrived);
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(computer = %computer.id, %error, "passed over a frame");
            }
        }
    }

    fn lose_all(&mut self, why: &str) {
        for (computer, link) in self.links.drain().map(|(_, link)| link) {
            let ending = Ending::Elsewhere(why.to_owned());
            self.registry.end(&computer, &link, ending);
        }
    }
}

impl Drop for Computers<'_> {
    /// Whatever ended it, nobody waits for these links any more.
    fn drop(&mut self) {
        self.lose_all("the link to the mcp-bridge that holds the link port has ended");
    }
}
