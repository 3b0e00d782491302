//! This bridge as a guest: the computers of another bridge, over one line to it.
//!
//! To the rest of the program they are computers like those linked to this process: each has a [`Link`], whose frames
//! go to the owner, and what the owner passes on comes to the same [`Computer`]s and jobs. So a call lives through any
//! change of owner as it lives through a broken link.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::{SinkExt, StreamExt};
use tokio::{
    task::yield_now,
    time::{Instant, timeout, timeout_at},
};

use super::{
    DEAD_AFTER, PROTOCOL,
    carrier::NotJoined,
    channel::{Channel, ChannelBroken, MessageSink, MessageStream},
    message::{self, Envelope, FromGuest, FromOwner, Introduction, Message},
    owner_line::{OwnerLine, ToOwner, ToSend},
    secret::{self, Nonces, Secret, Side},
};
use crate::{
    computers::{
        Computer, ComputerKey, Owner, departure::Departure, link::Link, registry::Registry,
    },
    wire::{
        ending::{Ending, SEND_TIME},
        frame::{self, AgentFrame},
        outgoing,
    },
};

/// Why a guest's link ended.
#[derive(Debug)]
pub enum Ended {
    /// The owner is gone, or has let this guest go.
    Gone(String),
    /// The owner is there, but says nothing any more.
    Frozen,
    /// This bridge leaves, and has said so.
    Left,
}

/// A guest's link that stands.
pub struct GuestEnd {
    /// The owner.
    pub owner: Owner,
    /// The line to it.
    pub line: Arc<OwnerLine>,
    channel: Channel,
    to_send: ToSend,
}

impl GuestEnd {
    /// Serves the computers of the owner until the link to it ends, or this bridge leaves; `bridges` is told how many
    /// bridges share the port.
    pub async fn serve(mut self, registry: &Registry, bridges: impl Fn(usize)) -> Ended {
        let _line = registry.departure.line();
        let Channel {
            intake: _,
            mut sender,
            mut receiver,
        } = self.channel;
        let mut computers = Computers {
            registry,
            line: self.line.clone(),
            links: HashMap::new(),
        };
        let ended = tokio::select! {
            ended = write(&mut sender, &mut self.to_send, &registry.departure) => ended,
            ended = computers.read(&mut receiver, bridges) => ended,
        };
        if matches!(ended, Ended::Left) {
            let told = computers.farewell(&mut sender, &mut self.to_send).await;
            if let Err(why) = told {
                tracing::info!(%why, "left the link port's owner without a farewell");
            }
            // To close with unread data would reset the connection, and the farewell would be lost with it.
            while let Some(Ok(_)) = receiver.next().await {}
        }
        self.line.down();
        computers.lose_all(match &ended {
            Ended::Left => "this mcp-bridge leaves",
            Ended::Gone(_) => "the mcp-bridge that held the link port has ended",
            Ended::Frozen => "the mcp-bridge that holds the link port does not answer",
        });
        ended
    }
}

/// Becomes the guest of the bridge at the other end. Both sides prove that they know the secret, the owner first.
///
/// # Errors
/// The other end is no bridge that shares with this one.
pub async fn greet(
    mut channel: Channel,
    secret: &Secret,
    prefix: &str,
) -> Result<GuestEnd, NotJoined> {
    let guest_nonce = secret::nonce().map_err(|error| NotJoined::Broken(error.to_string()))?;
    let hello = FromGuest::Guest {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        nonce: guest_nonce.clone(),
    };
    say(&mut channel, &hello).await?;
    let (owner_nonce, proof) = match hear(&mut channel).await? {
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
        knows_label: true,
        knows_paused: true,
    };
    say(&mut channel, &proof).await?;
    match hear(&mut channel).await? {
        FromOwner::Welcome { owner } => {
            let (line, to_send) = OwnerLine::new();
            Ok(GuestEnd {
                owner,
                line: Arc::new(line),
                channel,
                to_send,
            })
        }
        other => Err(unexpected(&other)),
    }
}

async fn say(channel: &mut Channel, message: &FromGuest) -> Result<(), NotJoined> {
    let sent = channel.sender.send(message::write(message)).await;
    sent.map_err(|broken| NotJoined::Broken(broken.to_string()))
}

async fn hear(channel: &mut Channel) -> Result<FromOwner, NotJoined> {
    let text = next_text(&mut channel.receiver)
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

async fn next_text(receiver: &mut MessageStream) -> Result<String, ChannelBroken> {
    match receiver.next().await {
        Some(text) => text,
        None => Err(ChannelBroken("it closed the link".to_owned())),
    }
}

/// Sends what there is to send until this bridge leaves; notes go before requests.
async fn write(sender: &mut MessageSink, to_send: &mut ToSend, departure: &Departure) -> Ended {
    loop {
        let first = tokio::select! {
            biased;
            () = departure.begun() => return Ended::Left,
            Some(note) = to_send.notes.recv() => {
                // Most say that an answer has come: who waited for that gets it first.
                yield_now().await;
                note
            }
            Some(request) = to_send.requests.recv() => request,
            else => return Ended::Gone("nothing is left to send".to_owned()),
        };
        // What else is there goes out with it in one piece.
        let batch = async {
            let mut next = Some(first);
            while let Some(message) = next.take() {
                sender.feed(message).await?;
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
    links: HashMap<ComputerKey, (Arc<Computer>, Arc<Link>)>,
}

impl Computers<'_> {
    async fn read(&mut self, receiver: &mut MessageStream, bridges: impl Fn(usize)) -> Ended {
        loop {
            let silent_at = Instant::now() + DEAD_AFTER;
            let text = match timeout_at(silent_at, next_text(receiver)).await {
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
            FromOwner::Label { computer_id, label } => {
                if let Some((computer, link)) = self.links.get(&computer_id) {
                    self.registry.relabel(computer, link, label);
                }
            }
            FromOwner::Paused {
                computer_id,
                paused,
            } => {
                if let Some((computer, link)) = self.links.get(&computer_id) {
                    self.registry.pause(computer, link, paused);
                }
            }
            FromOwner::Left {
                introduction,
                computer_id,
                since,
                why,
            } => self.left(introduction, computer_id, since, why),
            FromOwner::Arrived { id } => self.line.arrived(&id),
            FromOwner::Seen { ages, clocks } => {
                for (id, reading) in clocks {
                    if let Some((_, link)) = self.links.get(&id)
                        && let Some(clock) = &link.terms.clock
                    {
                        clock.read(reading.into());
                    }
                }
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
            && link.terms.serial == introduction.link
        {
            return;
        }
        let outlet = ToOwner {
            line: self.line.clone(),
            computer: id,
            link: introduction.link,
        };
        let link = Link::new(introduction.terms(), Box::new(outlet));
        let facts = introduction.facts();
        let (computer, older) =
            self.registry
                .register(facts, introduction.known.clone(), link.clone());
        tracing::info!(computer = %id, label = ?introduction.label, "linked to the link port's owner");
        if let Some(change) = &introduction.changed_hands {
            computer.changed_hands(change.clone());
        }
        if let Some(older) = older {
            older.end(Ending::Elsewhere("it has linked anew".to_owned()));
            computer.note_link_end(&older);
        }
        self.links.insert(id, (computer, link));
    }

    fn left(
        &mut self,
        introduction: Option<Introduction>,
        id: ComputerKey,
        since: SystemTime,
        why: String,
    ) {
        match (self.links.remove(&id), introduction) {
            (Some((computer, link)), _) => {
                self.registry.end(&computer, &link, Ending::Elsewhere(why));
            }
            (None, Some(introduction)) => {
                let facts = introduction.facts();
                self.registry.enter_gone(facts, since, why);
                if let Some(change) = introduction.changed_hands
                    && let Some(computer) = self.registry.get(id)
                {
                    computer.changed_hands(change);
                }
            }
            (None, None) => {}
        }
    }

    /// A frame of a computer about a request of this bridge.
    fn take_frame(&self, envelope: &Envelope<'_>) {
        let Some((computer, link)) = self
            .links
            .get(&envelope.computer_id)
            .filter(|(_, link)| link.terms.serial == envelope.link)
        else {
            return;
        };
        let acknowledge = |frame: String| {
            let (id, serial) = (envelope.computer_id, envelope.link);
            self.line.note(message::envelope(id, serial, None, &frame));
        };
        match frame::read(envelope.frame.get(), link.dialect().text_mode()) {
            Ok(AgentFrame::Response(response)) => {
                let id = response.id.clone();
                if response.halts {
                    // As at the owner: before its caller learns of it, and asks on.
                    self.registry.end(computer, link, Ending::Halted);
                }
                computer.answered(response);
                // Only the bridge that asked, this one, may say that the answer is no longer needed.
                if link.dialect().is_v2() {
                    acknowledge(outgoing::ack(&id));
                }
            }
            Ok(AgentFrame::Accepted {
                id,
                detached,
                asking,
            }) => {
                computer.accepted(&id, detached, asking);
            }
            Ok(AgentFrame::Output(piece)) => {
                let arrived = outgoing::output_ack(&piece.id, piece.seq);
                computer.printed(piece);
                acknowledge(arrived);
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(computer = %computer.key, %error, "passed over a frame");
            }
        }
    }

    /// Tells the owner what to stop, now that nobody will wait for it any more, and that this bridge leaves.
    async fn farewell(
        &self,
        sender: &mut MessageSink,
        to_send: &mut ToSend,
    ) -> Result<(), ChannelBroken> {
        // What waits there was not asked, and is not asked any more.
        to_send.requests.close();
        for (id, (computer, link)) in &self.links {
            if link.dialect().is_v2() {
                for job in computer.attached_jobs() {
                    let cancel = outgoing::cancel(&job.id);
                    let note = message::envelope(*id, link.terms.serial, None, &cancel);
                    sender.feed(note).await?;
                }
            }
        }
        while let Ok(note) = to_send.notes.try_recv() {
            sender.feed(note).await?;
        }
        sender.close().await
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
