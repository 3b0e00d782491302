//! One guest's link, at the owner: the challenge, then its frames to computers and theirs to it.

use std::{
    collections::{HashMap, HashSet},
    fmt::Display,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::{FutureExt, SinkExt, StreamExt};
use thiserror::Error;
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::{Instant, interval, sleep, sleep_until, timeout},
};

use super::{
    DEAD_AFTER, GREETING_TIME, PING_EVERY, PROTOCOL,
    channel::{Channel, ChannelBroken, MessageSink, MessageStream},
    guests::{Greeted, Guest, Guests},
    message::{
        self, AboutRequest, ClockReading, Envelope, FromGuest, FromOwner, Introduction, Message,
        Outline, Question, Reply,
    },
    secret::{self, Nonces, Secret, Side},
    snapshot::JobSnapshot,
};
use crate::{
    computers::{
        About, Cancelled, Computer, ComputerKey, Job, Owner, Presence, Progress, Relayed,
        link::{Link, Turn},
        reach::Reach,
        registry::Registry,
    },
    wire::{ending::SEND_TIME, names::RequestId, outgoing},
};

/// How long a guest whose line broke has to come back, before what it waited for is stopped. If it lives, it is back
/// within moments.
const BACK_WITHIN: Duration = Duration::from_secs(3);

/// The same for a guest that only says nothing: it may be suspended, and is waited for as long as agents wait for a
/// bridge, and until its calls are over.
const RESUMED_WITHIN: Duration = Duration::from_secs(60);

/// How many requests and questions of one guest may be under way. A guest itself has no more than 32 at one computer.
const MOST_UNDER_WAY: usize = 16_384;

/// An owner's end of the lines to its guests.
#[derive(Debug)]
pub struct OwnerEnd {
    /// Who it is.
    owner: Owner,
    /// What its guests have to know.
    secret: Secret,
    registry: Arc<Registry>,
    guests: Arc<Guests>,
    /// Where it is told how many bridges there are.
    reach: Arc<watch::Sender<Reach>>,
}

/// Why a guest's link ends.
#[derive(Debug, Error)]
enum Ending {
    #[error("it has ended")]
    Left,
    #[error("this bridge leaves")]
    Leaving,
    #[error("{0}")]
    Broken(ChannelBroken),
    #[error("nothing came from it for {} s", DEAD_AFTER.as_secs())]
    Silent,
    #[error("it does not read what it is sent")]
    NotReading,
    #[error("it did not answer the challenge in time")]
    Late,
    #[error("the system has no random numbers: {0}")]
    NoNonce(std::io::Error),
    #[error("{0}")]
    Refused(String),
    #[error("it sent what is no message between bridges: {0}")]
    Malformed(serde_json::Error),
}

impl OwnerEnd {
    /// The end of this owner, whose guests know `secret` and follow `registry`.
    pub fn new(
        owner: Owner,
        secret: Secret,
        registry: Arc<Registry>,
        guests: Arc<Guests>,
        reach: Arc<watch::Sender<Reach>>,
    ) -> Self {
        Self {
            owner,
            secret,
            registry,
            guests,
            reach,
        }
    }

    /// Serves whoever is at the other end, `peer`, from its greeting to its end.
    pub async fn serve(&self, channel: Channel, peer: impl Display) {
        let Channel {
            mut sender,
            mut receiver,
            intake,
        } = channel;
        let greeting = greet(&mut sender, &mut receiver, &self.secret);
        let greeted = match timeout(GREETING_TIME, greeting)
            .await
            .unwrap_or(Err(Ending::Late))
        {
            Ok(guest) => guest,
            Err(why) => {
                tracing::warn!(%peer, %why, "a guest was refused");
                if let Ending::Refused(error) = why {
                    let refused = message::write(&FromOwner::Refused { error });
                    // It may be gone already.
                    let _ = timeout(SEND_TIME, sender.send(refused)).await;
                }
                return;
            }
        };
        if let Some(intake) = intake {
            intake.trust();
        }
        let departure = &self.registry.departure;
        let _line = departure.line();
        let pid = greeted.pid;
        let (guest, mut messages) = Guest::new(greeted);
        guest.tell(&FromOwner::Welcome {
            owner: self.owner.clone(),
        });
        self.enter(&guest);
        let present = Present {
            end: self,
            guest: &guest,
        };
        self.tell_count();
        tracing::info!(
            pid,
            bridges = self.guests.count() + 1,
            "a guest shares the link port"
        );

        let mut service = Service {
            guest: guest.clone(),
            registry: self.registry.clone(),
            under_way: JoinSet::new(),
            notes: JoinSet::new(),
            requests: HashSet::new(),
            turns: HashMap::new(),
            heard: Instant::now(),
        };
        let why = tokio::select! {
            why = write(&mut sender, &mut messages, &guest) => why,
            why = service.read(&mut receiver) => why,
            () = guest.end.cancelled() => Ending::NotReading,
            () = departure.begun() => Ending::Leaving,
        };
        drop(present);
        if matches!(why, Ending::Leaving) {
            // It may be gone already.
            let _ = sender.close().await;
            // To close with unread data would reset the connection, and the farewell would be lost with it.
            while let Some(Ok(_)) = receiver.next().await {}
            return;
        }
        tracing::info!(pid, %why, "a guest has gone");
        // What it said last still counts.
        while service.notes.join_next().await.is_some() {}
        drop(service);
        let gone = stop_what_it_waited_for(self.registry.clone(), self.guests.clone(), guest, why);
        tokio::spawn(gone);
    }

    /// Takes a guest in, and tells it of all computers before anything that changes from now on.
    fn enter(&self, guest: &Arc<Guest>) {
        self.registry.while_still(|computers| {
            for computer in computers {
                guest.tell(&match computer.presence() {
                    Presence::Linked(link) => {
                        FromOwner::Linked(Introduction::of(computer, Some(&link)))
                    }
                    Presence::Left { since, why } => FromOwner::Left {
                        introduction: Some(Introduction {
                            known: Vec::new(),
                            ..Introduction::of(computer, None)
                        }),
                        computer_id: computer.key,
                        since,
                        why,
                    },
                });
            }
            self.guests.enter(guest);
        });
    }

    /// Tells everyone how many bridges share the port.
    fn tell_count(&self) {
        let bridges = self.guests.count() + 1;
        self.reach.send_replace(Reach::Here {
            owner: self.owner.clone(),
            bridges,
        });
        self.guests
            .tell_all(|| FromOwner::Bridges { count: bridges });
    }
}

/// A guest while it is served. Whatever ends that, even a panic, the guest is no longer counted.
struct Present<'a> {
    end: &'a OwnerEnd,
    guest: &'a Arc<Guest>,
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.end.guests.leave(self.guest);
        self.end.tell_count();
    }
}

/// Both sides prove that they know the secret, the owner first. Returns what the guest told of itself.
async fn greet(
    sender: &mut MessageSink,
    receiver: &mut MessageStream,
    secret: &Secret,
) -> Result<Greeted, Ending> {
    let text = next_text(receiver).await?;
    let Message::Control(FromGuest::Guest {
        protocol,
        version,
        nonce: guest_nonce,
    }) = message::read(&text).map_err(Ending::Malformed)?
    else {
        return Err(Ending::Refused("a guest introduces itself first".into()));
    };
    let owner_nonce = secret::nonce().map_err(Ending::NoNonce)?;
    let nonces = Nonces {
        guest: &guest_nonce,
        owner: &owner_nonce,
    };
    let challenge = FromOwner::Challenge {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        nonce: owner_nonce.clone(),
        proof: secret.prove(Side::Owner, nonces),
    };
    sender
        .send(message::write(&challenge))
        .await
        .map_err(Ending::Broken)?;
    if protocol != PROTOCOL {
        return Err(Ending::Refused(format!(
            "mcp-bridge {version} can't share a port with mcp-bridge {}",
            env!("CARGO_PKG_VERSION")
        )));
    }
    let text = next_text(receiver).await?;
    match message::read(&text).map_err(Ending::Malformed)? {
        Message::Control(FromGuest::Proof {
            proof,
            pid,
            prefix,
            knows_label,
            knows_paused,
        }) if secret.verify(Side::Guest, nonces, &proof) => Ok(Greeted {
            pid,
            prefix,
            knows_label,
            knows_paused,
        }),
        _ => Err(Ending::Refused(
            "the guest does not know this bridge's secret".into(),
        )),
    }
}

/// Sees to the jobs of a guest that has gone, as far as it is known whether a call of it waits for them: those stop,
/// unless it comes back. All others go on.
async fn stop_what_it_waited_for(
    registry: Arc<Registry>,
    guests: Arc<Guests>,
    guest: Arc<Guest>,
    why: Ending,
) {
    acknowledge_output(&registry, &guest).await;
    let may_be_suspended = matches!(why, Ending::Silent | Ending::NotReading);
    sleep(match why {
        Ending::Left => Duration::ZERO,
        _ if may_be_suspended => RESUMED_WITHIN,
        _ => BACK_WITHIN,
    })
    .await;
    for computer in registry.all() {
        for job in computer.open_jobs_of(&guest.prefix) {
            let (computer, guests, guest) = (computer.clone(), guests.clone(), guest.clone());
            let until = job.waited_for_until().filter(|_| may_be_suspended);
            tokio::spawn(async move {
                if let Some(until) = until {
                    sleep_until(until).await;
                }
                if job.is_attached() && !guests.has(&guest.prefix) {
                    let stopped = computer.abandon(&job).await;
                    tracing::info!(computer = %computer.key, request = %job.id, guest = guest.pid, ?stopped, "nobody waits for a job any more");
                }
            });
        }
    }
}

/// A guest that is gone says no more what output of its jobs has arrived. The owner has it all, so that they go on.
async fn acknowledge_output(registry: &Registry, guest: &Guest) {
    for computer in registry.all() {
        let Some(link) = computer.link().filter(|link| link.dialect().is_v2()) else {
            continue;
        };
        for job in computer.open_jobs_of(&guest.prefix) {
            let seq = job.look(Progress::last_seq);
            if seq > 0 {
                let ack = outgoing::output_ack(&job.id, seq);
                // A link that takes nothing for so long has an end of its own coming.
                let _ = timeout(SEND_TIME, link.note(ack)).await;
            }
        }
    }
}

/// Sends what there is to send, as fast as the guest reads it.
async fn write(
    sender: &mut MessageSink,
    messages: &mut mpsc::UnboundedReceiver<String>,
    guest: &Guest,
) -> Ending {
    // The guest holds the sender, so this never ends by itself.
    while let Some(message) = messages.recv().await {
        // What else is there goes out with it in one piece.
        let mut next = Some(message);
        let batch = async {
            while let Some(message) = next.take() {
                let length = message.len();
                sender.feed(message).await?;
                guest.sent(length);
                next = messages.try_recv().ok();
            }
            sender.flush().await
        };
        match timeout(SEND_TIME, batch).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Ending::Broken(error),
            Err(_) => return Ending::NotReading,
        }
    }
    Ending::Left
}

async fn next_text(receiver: &mut MessageStream) -> Result<String, Ending> {
    match receiver.next().await {
        Some(text) => text.map_err(Ending::Broken),
        None => Err(Ending::Left),
    }
}

/// What serving one guest holds.
struct Service {
    guest: Arc<Guest>,
    registry: Arc<Registry>,
    /// Requests and questions under way; they end with the link.
    under_way: JoinSet<Option<RequestId>>,
    /// Small frames that are handed over, which its end must not undo.
    notes: JoinSet<()>,
    /// The requests among them, by id. One that is sent again while it waits for its turn waits once.
    requests: HashSet<RequestId>,
    /// The guest's turn at each computer.
    turns: HashMap<ComputerKey, Arc<Turn>>,
    /// When it was last heard from.
    heard: Instant,
}

impl Service {
    async fn read(&mut self, receiver: &mut MessageStream) -> Ending {
        let mut ticks = interval(PING_EVERY);
        let mut n = 0;
        loop {
            tokio::select! {
                text = next_text(receiver) => {
                    self.heard = Instant::now();
                    let taken = text.and_then(|text| self.take(&text));
                    if let Err(why) = taken {
                        return why;
                    }
                }
                Some(done) = self.under_way.join_next() => self.done(done.ok().flatten()),
                Some(_) = self.notes.join_next() => {}
                _ = ticks.tick() => {
                    if self.heard.elapsed() > DEAD_AFTER {
                        return Ending::Silent;
                    }
                    n += 1;
                    self.guest.tell(&FromOwner::Ping { n });
                    self.guest.tell(&FromOwner::Seen {
                        ages: self.ages(),
                        clocks: self.clocks(),
                    });
                }
            }
        }
    }

    /// When each linked computer was last heard from, in seconds before now.
    fn ages(&self) -> Vec<(ComputerKey, u64)> {
        let now = SystemTime::now();
        let age = |computer: &Arc<Computer>| {
            let seen = computer.facts().last_seen();
            let age = now.duration_since(seen).unwrap_or_default().as_secs();
            computer.link().map(|_| (computer.key, age))
        };
        self.registry.all().iter().filter_map(age).collect()
    }

    /// What clocks of agents showed since the guest was told last.
    fn clocks(&self) -> Vec<(ComputerKey, ClockReading)> {
        let reading = |computer: &Arc<Computer>| {
            let link = computer.link()?;
            let latest = link.terms.clock.as_ref()?.latest();
            // Twice that, so that none is left out between two rounds.
            (latest.came.elapsed() < PING_EVERY * 2).then(|| (computer.key, latest.into()))
        };
        self.registry.all().iter().filter_map(reading).collect()
    }

    fn done(&mut self, request: Option<RequestId>) {
        if let Some(request) = request {
            self.requests.remove(&request);
        }
    }

    fn take(&mut self, text: &str) -> Result<(), Ending> {
        match message::read(text).map_err(Ending::Malformed)? {
            Message::Frame(envelope) => self.pass_on(&envelope)?,
            Message::Control(FromGuest::Ask { n, question }) => {
                if self.under_way.len() < MOST_UNDER_WAY {
                    let (guest, registry) = (self.guest.clone(), self.registry.clone());
                    self.under_way.spawn(async move {
                        let answer = answer(&registry, question).await;
                        guest.tell(&FromOwner::Reply { n, answer });
                        None
                    });
                }
            }
            Message::Control(_) => {}
        }
        Ok(())
    }

    /// Passes a frame on to its computer. What is meant for an older link is dropped: the guest is about to learn of
    /// the newer one.
    fn pass_on(&mut self, envelope: &Envelope<'_>) -> Result<(), Ending> {
        let outline: Outline<'_> =
            serde_json::from_str(envelope.frame.get()).map_err(Ending::Malformed)?;
        let Some(computer) = self.registry.get(envelope.computer_id) else {
            return Ok(());
        };
        let Some(link) = computer
            .link()
            .filter(|link| link.terms.serial == envelope.link)
        else {
            return Ok(());
        };
        if self.under_way.len() + self.notes.len() >= MOST_UNDER_WAY {
            return Ok(());
        }
        match (outline.kind.as_ref(), &envelope.about) {
            ("request", Some(about)) if outline.id.has_prefix(&self.guest.prefix) => {
                if self.requests.insert(outline.id.clone()) {
                    self.relay(computer, link, outline.id, about, envelope.frame.get());
                }
            }
            (kind @ ("cancel" | "detach" | "ack" | "output-ack"), None) => {
                if kind == "detach"
                    && let Some(job) = computer.job(&outline.id)
                {
                    job.detach();
                }
                let frame = envelope.frame.get().to_owned();
                self.notes.spawn(async move {
                    // A link that takes nothing for so long has an end of its own coming.
                    let _ = timeout(SEND_TIME, link.note(frame)).await;
                });
            }
            (kind, _) => {
                tracing::warn!(
                    guest = self.guest.pid,
                    kind,
                    "passed over a frame of a guest"
                );
            }
        }
        Ok(())
    }

    fn relay(
        &mut self,
        computer: Arc<Computer>,
        link: Arc<Link>,
        id: RequestId,
        about: &AboutRequest<'_>,
        frame: &str,
    ) {
        let turn = self.turns.entry(computer.key).or_default().clone();
        let guest = self.guest.clone();
        let (exclusive, listed, of_script) = (about.exclusive, about.listed, about.of_script);
        let code = about.code.clone().into_owned();
        let frame = frame.to_owned();
        let deadline = Instant::now() + Duration::from_millis(about.deadline_ms);
        let attached = about.attached;
        tracing::debug!(computer = %computer.key, request = %id, guest = guest.pid, "passed on");
        let mut relaying = Box::pin(async move {
            let relayed = Relayed {
                id: id.clone(),
                about: About {
                    code: &code,
                    exclusive,
                    listed,
                    of_script,
                },
                frame,
                deadline,
                attached,
            };
            let arrived = || guest.tell(&FromOwner::Arrived { id: id.clone() });
            computer.relay(&link, relayed, &turn, arrived).await;
            Some(id)
        });
        // Most are on their way at once: only to wait for the computer's word takes a task, and what that costs comes after.
        match (&mut relaying).now_or_never() {
            Some(done) => self.done(done),
            None => drop(self.under_way.spawn(relaying)),
        }
    }
}

/// Answers what only the owner knows.
async fn answer(registry: &Registry, question: Question) -> Reply {
    let told = |computer: &Computer, job: &Job, cursor| {
        Some(Box::new(JobSnapshot::whole(computer.key, job, cursor)))
    };
    match question {
        Question::Jobs => {
            let computers = registry.all();
            let jobs = computers.iter().flat_map(|computer| {
                let jobs = computer.jobs().into_iter();
                jobs.map(|job| JobSnapshot::outline(computer.key, &job))
            });
            Reply::Jobs {
                jobs: jobs.collect(),
            }
        }
        Question::Job {
            id,
            cursor,
            wait_ms,
        } => {
            let Some((computer, job)) = registry.job(&id) else {
                return Reply::Job { job: None };
            };
            let mut progress = job.follow();
            let news = progress.wait_for(|progress| progress.has_news(cursor));
            // Without news in time, what is known is the answer.
            let _ = timeout(Duration::from_millis(wait_ms), news).await;
            Reply::Job {
                job: told(&computer, &job, cursor),
            }
        }
        Question::Cancel { id, time_ms } => match registry.job(&id) {
            Some((computer, job)) => Reply::Cancelled {
                how: computer.stop(&job, Duration::from_millis(time_ms)).await,
                job: told(&computer, &job, u64::MAX),
            },
            None => Reply::Cancelled {
                how: Cancelled::Unreachable,
                job: None,
            },
        },
    }
}
