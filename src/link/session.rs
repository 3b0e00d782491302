//! One computer's link: its hello, then frames out and frames in, until either side ends it.

use std::{
    collections::VecDeque,
    future::{pending, poll_fn},
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use futures_util::SinkExt;
use tokio::{
    sync::oneshot,
    task::yield_now,
    time::{Instant, Sleep, sleep_until, timeout},
};
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::Instrument;

use super::{
    allowance::Allowance,
    outlet::{Frames, InParts, Outgoing, ToSession},
    unclaimed::Unclaimed,
};
use crate::{
    base::{
        budget::Budget,
        http::{intake::Intake, room::Place},
        late::LateAnswers,
        token::Token,
        websocket::Failure,
    },
    computers::{
        Computer, Facts,
        agent_clock::Reading,
        link::Link,
        registry::{Registered, Registry, Taken},
    },
    wire::{
        ending::{Ending, HELLO_TIME, HelloError, SEND_TIME, clip_reason},
        error::{AgentError, ErrorKind},
        frame::{self, AgentFrame, Answer, FrameError, Response},
        hello::{self, Hello},
        names::{ComputerId, RequestId},
        outgoing, parts,
        text::TextMode,
    },
};

/// How long the bridge waits for the other side to take notice of a close.
const CLOSE_TIME: Duration = Duration::from_millis(500);

/// How often each side pings the other, in seconds.
const PING_SECONDS: u64 = 5;

/// How long a silent peer counts as alive, in seconds: longer than the game lets code run without yielding.
const DEAD_SECONDS: u64 = 15;

/// The same for CraftOS-PC, which lets code run for 17 s.
const DEAD_SECONDS_CRAFTOS_PC: u64 = 30;

/// How long a link in doubt may be silent, in seconds: longer than the game lets code run without yielding.
const DOUBTED_SECONDS: u64 = 10;

/// The same for CraftOS-PC.
const DOUBTED_SECONDS_CRAFTOS_PC: u64 = 20;

/// How often a link in doubt is asked for a sign of life at most, however many doubt it.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// The largest frame in parts of a computer of which nobody waits for anything, in bytes.
const LARGEST_UNASKED: usize = 512 * 1024;

/// How many bytes the longest message of each link may hold, of all links together: while more than half of that is
/// taken, links that take some of it for nobody end.
const MESSAGES: usize = 48 * 1024 * 1024;

/// What a peer sends before the payload of a control frame, in bytes (RFC 6455, section 5.2).
const CONTROL_HEADER: usize = 6;

/// What all sessions share.
#[derive(Debug)]
pub struct Shared {
    /// Where computers are entered.
    pub registry: Arc<Registry>,
    /// What each hello must show.
    pub token: Option<Token>,
    /// Those who showed another.
    pub late: LateAnswers,
    /// How much the frames may hold that come in parts.
    pub parts: PartsRoom,
    /// How much the longest messages may hold.
    pub messages: Arc<Budget>,
}

impl Shared {
    /// What sessions share that enter computers in `registry`, once their hello shows this token.
    pub fn new(registry: Arc<Registry>, token: Option<Token>) -> Self {
        Self {
            registry,
            token,
            late: LateAnswers::default(),
            parts: PartsRoom::default(),
            messages: Budget::new(MESSAGES),
        }
    }
}

/// How much the unfinished frames of all links may hold together.
#[derive(Debug)]
pub struct PartsRoom {
    /// Those of computers of which a bridge that is here waits for something.
    asked: Arc<Budget>,
    /// Those of all others.
    unasked: Arc<Budget>,
}

impl Default for PartsRoom {
    fn default() -> Self {
        Self {
            asked: Budget::new(3 * parts::MAX_FRAME),
            unasked: Budget::new(parts::MAX_FRAME / 2),
        }
    }
}

/// Serves one connection from its hello to its end. Until the hello it keeps its `place`, if it has one, which may be
/// needed for another.
///
/// Each of thousands of links holds room for all that this function may ever hold. So the socket is boxed, and so is what a
/// link does only at its beginning or its end.
pub fn run(
    socket: Box<WebSocket>,
    address: SocketAddr,
    from: (Arc<Intake>, Option<Arc<Place>>),
    shared: Arc<Shared>,
) -> impl Future<Output = ()> + Send {
    let entered = Box::pin(enter_or_refuse(socket, address, from, shared));
    async {
        let Some(mut entered) = entered.await else {
            return;
        };
        let ending = entered.serve().await;
        entered.end(ending).await;
    }
}

/// A computer whose link begins.
struct Entered {
    session: Session,
    frames: Frames,
    leaving: Leaving,
    /// The bridge waits for it when it leaves.
    line: TaskTrackerToken,
    protocol: u32,
}

/// Hears who it is, and enters them, or says why not.
async fn enter_or_refuse(
    mut socket: Box<WebSocket>,
    address: SocketAddr,
    (intake, place): (Arc<Intake>, Option<Arc<Place>>),
    shared: Arc<Shared>,
) -> Option<Entered> {
    let mut unasked = Allowance::new();
    let greeted = tokio::select! {
        greeted = timeout(HELLO_TIME, greet(&mut socket, &intake, &mut unasked)) => greeted,
        () = lost(place.as_deref()) => {
            tracing::debug!(%address, "a connection without a hello made way for another");
            return None;
        }
    };
    drop(place);
    let mut hello = match greeted.unwrap_or(Err(Ending::NoHello)) {
        Ok(hello)
            if shared
                .token
                .as_ref()
                .is_none_or(|token| token.matches(hello.token.as_deref().unwrap_or_default())) =>
        {
            hello
        }
        Ok(_) => {
            shared.late.wait().await;
            refuse(socket, address, &Ending::BadToken).await;
            return None;
        }
        Err(ending) => {
            refuse(socket, address, &ending).await;
            return None;
        }
    };

    let protocol = hello.protocol;
    let line = shared.registry.departure.line();
    let patience = Patience::for_agent(&hello);
    let (registered, frames) = match enter(&shared.registry, &mut hello, address).await {
        Ok(entered) => entered,
        Err(taken) => {
            turn_away(socket, address, hello.computer, &taken, protocol).await;
            return None;
        }
    };
    let Registered {
        computer,
        link,
        older,
    } = registered;
    if let Some(older) = older {
        older.end(Ending::Replaced(address));
    }
    let leaving = Leaving {
        shared: shared.clone(),
        computer: computer.clone(),
        link: link.clone(),
        ending: Ending::Broken(
            "the link failed by a fault inside mcp-bridge, which its log shows".to_owned(),
        ),
    };
    let facts = computer.facts();
    tracing::info!(computer = %computer.key, label = ?facts.label, %address, protocol, "linked");
    let session = Session::new(
        (socket, intake),
        link,
        computer,
        facts,
        shared,
        unasked,
        patience,
    );
    Some(Entered {
        session,
        frames,
        leaving,
        line,
        protocol,
    })
}

impl Entered {
    /// Serves it to its end.
    async fn serve(&mut self) -> Ending {
        if !self.session.computer.is_told_whole() {
            return Ending::Crowded;
        }
        // For whoever looks for a fault: at other times it costs a link nothing.
        let span = tracing::debug_span!("link", computer = %self.session.computer.key);
        self.session.serve(&self.frames).instrument(span).await
    }

    /// Notes its end, and tells the agent.
    fn end(self, ending: Ending) -> Pin<Box<impl Future<Output = ()> + Send>> {
        let Self {
            session,
            frames,
            mut leaving,
            line,
            protocol,
        } = self;
        drop(frames);
        leaving.ending = ending.clone();
        drop(leaving);
        Box::pin(async move {
            // A version-1 agent knows no hello-error once it is linked.
            let tell = ending.hello_error().filter(|_| protocol >= 2);
            close(session.socket, &ending, tell).await;
            drop(line);
        })
    }
}

/// Done when the place of a connection that has not said hello is needed for another.
async fn lost(place: Option<&Place>) {
    match place {
        Some(place) => {
            place.waits_for_greeting();
            place.lost().await;
        }
        None => pending().await,
    }
}

/// Notes the end of a link, whatever ends its session: even if that panics, nobody waits for the link any more.
struct Leaving {
    shared: Arc<Shared>,
    computer: Arc<Computer>,
    link: Arc<Link>,
    ending: Ending,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let (computer, ending) = (&self.computer, self.ending.clone());
        tracing::info!(computer = %computer.key, why = ending.why(), "left");
        self.shared.registry.end(computer, &self.link, ending);
    }
}

/// How long an agent may be silent.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// In seconds.
    dead: u64,
    /// While another computer of its number waits, in seconds.
    doubted: u64,
}

impl Patience {
    fn for_agent(hello: &Hello) -> Self {
        match &hello.machine {
            Some(machine) if machine.host.contains("CraftOS-PC") => Self {
                dead: DEAD_SECONDS_CRAFTOS_PC,
                doubted: DOUBTED_SECONDS_CRAFTOS_PC,
            },
            _ => Self {
                dead: DEAD_SECONDS,
                doubted: DOUBTED_SECONDS,
            },
        }
    }
}

/// Enters a computer. If another one has its number, that is asked for a sign of life, and makes room if its connection
/// turns out to be dead.
async fn enter(
    registry: &Registry,
    hello: &mut Hello,
    address: SocketAddr,
) -> Result<(Registered, Frames), Ending> {
    let mut try_now = || {
        let (outlet, frames) = ToSession::new();
        let registered = registry.link(hello, address, Box::new(outlet))?;
        Ok((registered, frames))
    };
    let mut taken: Taken = match try_now() {
        Ok(entered) => return Ok(entered),
        Err(taken) => taken,
    };
    let decided_in = tokio::select! {
        decided_in = taken.link.raise_doubt() => decided_in,
        () = taken.link.ended() => None,
        () = registry.departure.begun() => None,
    };
    if taken.link.has_ended() {
        // Whoever has taken its place since is not waited for.
        taken = match try_now() {
            Ok(entered) => return Ok(entered),
            Err(taken) => taken,
        };
    }
    Err(Ending::Taken {
        by: taken.facts.address,
        since: taken.facts.linked_since,
        decided_in,
    })
}

async fn refuse(socket: Box<WebSocket>, address: SocketAddr, ending: &Ending) {
    tracing::warn!(%address, why = ending.why(), "link refused");
    close(socket, ending, ending.hello_error()).await;
}

/// Refuses a computer whose number another one has.
async fn turn_away(
    socket: Box<WebSocket>,
    address: SocketAddr,
    computer: ComputerId,
    taken: &Ending,
    protocol: u32,
) {
    tracing::warn!(%computer, %address, why = taken.why(), "link refused");
    // An agent of version 1 reads no hello-error: it tries again after any end.
    close(socket, taken, taken.hello_error().filter(|_| protocol >= 2)).await;
}

/// Waits for the hello; other frames before it are passed over.
async fn greet(
    socket: &mut WebSocket,
    intake: &Intake,
    unasked: &mut Allowance,
) -> Result<Box<Hello>, Ending> {
    loop {
        let Some(text) = next_text(socket, intake).await? else {
            continue;
        };
        match frame::read(&text, TextMode::Plain) {
            Ok(AgentFrame::Hello(hello)) => return Ok(hello),
            Err(error) if hello::claims_hello(&text) => {
                return Err(Ending::BadHello(hello_problem(&error)));
            }
            Ok(_) | Err(_) => unasked.take()?,
        }
    }
}

fn hello_problem(error: &FrameError) -> String {
    match error {
        FrameError::Malformed(error) => format!("malformed hello: {error}"),
        FrameError::Hello(error) => error.to_string(),
        FrameError::LongId => error.to_string(),
    }
}

/// The next text message; none for a control frame.
async fn next_text(socket: &mut WebSocket, intake: &Intake) -> Result<Option<Utf8Bytes>, Ending> {
    match socket.recv().await {
        Some(Ok(Message::Text(text))) => {
            intake.whole();
            Ok(Some(text))
        }
        Some(Ok(Message::Binary(_))) => Err(Ending::Binary),
        Some(Ok(Message::Ping(payload) | Message::Pong(payload))) => {
            intake.beside(CONTROL_HEADER + payload.len());
            Ok(None)
        }
        Some(Ok(Message::Close(close))) => {
            Err(Ending::ClosedByAgent(close.map(|close| {
                (close.code, close.reason.as_str().to_owned())
            })))
        }
        Some(Err(error)) => Err(failed(&error)),
        None => Err(Ending::BrokeOff),
    }
}

fn failed(error: &axum::Error) -> Ending {
    match Failure::of(error) {
        Failure::BrokeOff => Ending::BrokeOff,
        Failure::TooLong => Ending::TooLarge,
        Failure::Other(why) => Ending::Broken(why),
    }
}

/// What a session goes on with.
enum Next {
    /// What came; none for a control frame.
    Message(Result<Option<Utf8Bytes>, Ending>),
    /// Somebody in this process has called it.
    Call,
    /// Something may be due.
    Due,
}

/// A linked computer's session.
struct Session {
    socket: Box<WebSocket>,
    /// What the agent has sent of a message that is not whole.
    intake: Arc<Intake>,
    link: Arc<Link>,
    computer: Arc<Computer>,
    facts: Arc<Facts>,
    shared: Arc<Shared>,
    unasked: Allowance,
    /// What is to be sent next.
    to_say: VecDeque<String>,
    /// Frames that go out in parts, one after the other, with whom to tell of their arrival.
    parts_out: VecDeque<(parts::Outgoing, oneshot::Sender<()>)>,
    parts_in: parts::Incoming,
    /// Output whose bridge may still come.
    unclaimed: Unclaimed,
    /// When the last frame came.
    heard: Instant,
    /// How long the agent may be silent.
    patience: Patience,
    /// When it is given up without a sign of life, while another computer of its number waits.
    doubted_until: Option<Instant>,
    /// When it was last asked for one.
    asked: Option<Instant>,
    /// When the next ping is due, and its number.
    ping_at: Instant,
    pings: u64,
}

impl Session {
    fn new(
        (socket, intake): (Box<WebSocket>, Arc<Intake>),
        link: Arc<Link>,
        computer: Arc<Computer>,
        facts: Arc<Facts>,
        shared: Arc<Shared>,
        unasked: Allowance,
        patience: Patience,
    ) -> Self {
        let now = Instant::now();
        let unclaimed = computer.announced_room().share();
        // Where the pong tells a clock: at once, as hello may have been long under way.
        let ping_at = match link.terms.clock {
            Some(_) => now,
            None => now + Duration::from_secs(PING_SECONDS),
        };
        Self {
            socket,
            intake,
            link,
            computer,
            facts,
            shared,
            unasked,
            to_say: VecDeque::from([outgoing::hello_ok(PING_SECONDS, patience.dead)]),
            parts_out: VecDeque::new(),
            parts_in: parts::Incoming::default(),
            unclaimed: Unclaimed::new(now, unclaimed),
            heard: now,
            patience,
            doubted_until: None,
            asked: None,
            ping_at,
            pings: 0,
        }
    }

    async fn serve(&mut self, frames: &Frames) -> Ending {
        // Most frames put off what is due next. So the timer is left as it is until that is sooner, or it has run out:
        // to set it costs more than to look at a frame.
        let mut timer = pin!(sleep_until(self.due()));
        let mut socket_first = false;
        let mut has_heard = false;
        loop {
            if has_heard && !self.to_say.is_empty() {
                // Who waited for what has come gets it before the computer is told that it has come.
                yield_now().await;
            }
            if let Err(ending) = self.say_all().await {
                return ending;
            }
            if self.intake.is_in_the_way() && !self.computer.is_asked() {
                return Ending::InTheWay;
            }
            let due = self.due();
            if due < timer.deadline() {
                timer.as_mut().reset(due);
            }
            // In turn, so that neither those who send much nor those who are sent much keep the other waiting.
            socket_first = !socket_first;
            let next = self.next(frames, timer.as_mut(), socket_first).await;
            has_heard = matches!(next, Next::Message(_));
            let step = match next {
                Next::Message(Err(ending)) => return ending,
                next => self.act_on(next, frames, timer.as_mut()),
            };
            if let Err(ending) = step {
                // What was to be said before that is said, as far as it can be.
                let said = self.say_all().await;
                return match (ending, said) {
                    (Ending::Leaving, Err(failed)) => failed,
                    (ending, _) => ending,
                };
            }
        }
    }

    fn act_on(
        &mut self,
        next: Next,
        frames: &Frames,
        timer: Pin<&mut Sleep>,
    ) -> Result<(), Ending> {
        match next {
            Next::Message(Ok(Some(text))) => self.receive(&text),
            Next::Message(Ok(None)) => self.unasked.take(),
            Next::Message(Err(ending)) => Err(ending),
            Next::Call if self.shared.registry.departure.has_begun() => {
                self.prepare_farewell(frames);
                Err(Ending::Leaving)
            }
            Next::Call => self.answer_call(frames),
            Next::Due => {
                let step = self.tick_if_due();
                timer.reset(self.due());
                step
            }
        }
    }

    /// Waits for what comes next.
    async fn next(
        &mut self,
        frames: &Frames,
        mut timer: Pin<&mut Sleep>,
        socket_first: bool,
    ) -> Next {
        let mut message = pin!(next_text(&mut self.socket, &self.intake));
        poll_fn(|context| {
            if socket_first && let Poll::Ready(message) = message.as_mut().poll(context) {
                return Poll::Ready(Next::Message(message));
            }
            if frames.poll_called(context).is_ready() {
                return Poll::Ready(Next::Call);
            }
            if !socket_first && let Poll::Ready(message) = message.as_mut().poll(context) {
                return Poll::Ready(Next::Message(message));
            }
            timer.as_mut().poll(context).map(|()| Next::Due)
        })
        .await
    }

    /// Does what somebody in this process has called it for.
    fn answer_call(&mut self, frames: &Frames) -> Result<(), Ending> {
        if let Some(ending) = self.link.told_to_end() {
            return Err(ending.clone());
        }
        if self.link.doubt.is_raised() {
            self.ask_for_a_sign();
        }
        match frames.take() {
            Some(Outgoing::Message(message)) => self.to_say.push_back(message),
            Some(Outgoing::Parts(parts)) => {
                let InParts { of, frame, arrived } = *parts;
                let frame = parts::Outgoing::new(of, frame);
                self.parts_out.push_back((frame, arrived));
            }
            None => {}
        }
        Ok(())
    }

    fn tick_if_due(&mut self) -> Result<(), Ending> {
        if Instant::now() < self.due() {
            return Ok(());
        }
        // WebSocket pings prove nothing, since the game's Java answers them, and version 1 has no others.
        match self.link.dialect().is_v2() {
            true => self.tick(),
            false => self.look_at_unfinished(),
        }
    }

    /// Tells the agent what to stop, now that nobody will wait for it any more.
    fn prepare_farewell(&mut self, frames: &Frames) {
        // What would be asked from now on is not.
        frames.close();
        self.parts_out.clear();
        if !self.link.dialect().is_v2() {
            return;
        }
        // Before the requests that wait here: those then don't even begin.
        for job in self.computer.attached_jobs() {
            self.to_say.push_back(outgoing::cancel(&job.id));
        }
        while let Some(frame) = frames.take() {
            if let Outgoing::Message(message) = frame {
                self.to_say.push_back(message);
            }
        }
    }

    /// Ends the link if a message began so long ago that it never gets whole.
    fn look_at_unfinished(&mut self) -> Result<(), Ending> {
        let now = Instant::now();
        self.ping_at = now + Duration::from_secs(self.patience.dead);
        match self.intake.is_unfinished()
            && now >= self.heard + Duration::from_secs(self.patience.dead)
        {
            true => Err(Ending::Silent(self.patience.dead)),
            false => Ok(()),
        }
    }

    /// Asks for a sign of life, since another computer of this number has come.
    fn ask_for_a_sign(&mut self) {
        // An agent of version 1 has no word for it: it is there while its connection stands.
        if !self.link.dialect().is_v2() {
            return;
        }
        let now = Instant::now();
        if let Some(asked) = self.asked.filter(|asked| now < *asked + ASK_EVERY) {
            if self.heard >= asked {
                self.link.doubt.settle();
            }
            return;
        }
        self.asked = Some(now);
        if self.doubted_until.is_none() {
            let until = now + Duration::from_secs(self.patience.doubted);
            self.doubted_until = Some(until);
            self.link.doubt.lasts_until(until);
        }
        self.ping(now);
    }

    fn gave_a_sign(&mut self) {
        if self.doubted_until.take().is_some() {
            self.link.doubt.settle();
        }
    }

    /// When there is something to do though nothing comes.
    fn due(&self) -> Instant {
        if !self.link.dialect().is_v2() {
            return self.ping_at;
        }
        let dead = self.heard + Duration::from_secs(self.patience.dead);
        let again = self.parts_out.front().and_then(|(frame, _)| frame.due());
        let unclaimed = self.unclaimed.due();
        let soonest = dead.min(self.ping_at);
        [again, unclaimed, self.doubted_until]
            .into_iter()
            .flatten()
            .fold(soonest, Instant::min)
    }

    fn tick(&mut self) -> Result<(), Ending> {
        let now = Instant::now();
        let Patience { dead, doubted } = self.patience;
        if self.doubted_until.is_some_and(|until| now >= until) {
            return Err(Ending::Silent(doubted));
        }
        if now >= self.heard + Duration::from_secs(dead) {
            return Err(Ending::Silent(dead));
        }
        if now >= self.ping_at {
            self.ping(now);
        }
        if self.unclaimed.due().is_some_and(|due| now >= due) {
            self.release_unclaimed();
        }
        Ok(())
    }

    fn ping(&mut self, now: Instant) {
        self.pings += 1;
        self.ping_at = now + Duration::from_secs(PING_SECONDS);
        self.to_say.push_back(outgoing::ping(self.pings));
    }

    fn receive(&mut self, text: &str) -> Result<(), Ending> {
        self.heard = Instant::now();
        self.facts.seen_now();
        self.gave_a_sign();
        match frame::read(text, self.link.dialect().text_mode()) {
            Ok(AgentFrame::Part(part)) if self.link.dialect().is_v2() => self.receive_part(&part),
            Ok(frame) => self.take(frame, text),
            Err(error) => {
                tracing::warn!(computer = %self.computer.key, %error, "passed over a frame");
                self.unasked.take()
            }
        }
    }

    /// Acts on a whole frame; `text` is what it was read from.
    fn take(&mut self, frame: AgentFrame, text: &str) -> Result<(), Ending> {
        let new_protocol = self.link.dialect().is_v2();
        match frame {
            AgentFrame::Response(response) => return self.take_response(response, text),
            AgentFrame::Accepted {
                id,
                detached,
                asking,
            } if new_protocol => {
                let guest = self.pass_on(&id, text);
                if !self.computer.accepted(&id, detached, asking) && !guest {
                    self.unasked.take()?;
                }
            }
            AgentFrame::Output(piece) if new_protocol => {
                self.release_unclaimed();
                let (id, seq) = (piece.id.clone(), piece.seq);
                let held = self.unclaimed.holds(&id);
                let guest = !held && self.pass_on(&id, text);
                let job = self.computer.printed(piece);
                if job.is_none() && !guest {
                    self.unasked.take()?;
                }
                let others = job.is_some_and(|job| job.adopted);
                let now = Instant::now();
                // A guest says itself what has arrived, so that nothing is lost on the way to it.
                let waits = held || !guest && others && self.unclaimed.waits(now);
                let holds = waits && self.unclaimed.hold(&id, seq, text, now);
                if !holds && !guest {
                    self.to_say.push_back(outgoing::output_ack(&id, seq));
                }
            }
            AgentFrame::Job(report) if new_protocol => {
                self.unasked.take()?;
                self.computer.reported(&report);
            }
            AgentFrame::Label(label) if new_protocol => {
                self.unasked.take()?;
                let registry = &self.shared.registry;
                if let Some(facts) = registry.relabel(&self.computer, &self.link, label) {
                    tracing::info!(computer = %self.computer.key, label = ?facts.label, "has another label");
                    self.facts = facts;
                }
            }
            AgentFrame::Paused(paused) if new_protocol => {
                self.unasked.take()?;
                let registry = &self.shared.registry;
                if let Some(facts) = registry.pause(&self.computer, &self.link, paused) {
                    tracing::info!(computer = %self.computer.key, paused, "is paused by its player, or no more");
                    self.facts = facts;
                }
            }
            AgentFrame::PartAck { of, n, error } if new_protocol => {
                self.take_part_ack(&of, n, error)?;
            }
            AgentFrame::Ping(n) => {
                self.unasked.take()?;
                if new_protocol {
                    self.to_say.push_back(outgoing::pong(n));
                }
            }
            AgentFrame::Pong { at } => {
                self.unasked.take()?;
                if let (Some(at), Some(clock)) = (at, &self.link.terms.clock) {
                    clock.read(Reading {
                        at,
                        came: self.heard,
                    });
                }
            }
            AgentFrame::Unknown(kind) => {
                tracing::debug!(computer = %self.computer.key, kind, "passed over a frame of unknown type");
                self.unasked.take()?;
            }
            // A hello is only said once, and version 1 has none of the others.
            _ => self.unasked.take()?,
        }
        Ok(())
    }

    fn take_response(&mut self, response: Response, text: &str) -> Result<(), Ending> {
        let (id, halts) = (response.id.clone(), response.halts);
        let guest = self.pass_on(&id, text);
        if halts {
            // Before its caller learns of it, and asks on: nothing more is to go to this start of the computer.
            let registry = &self.shared.registry;
            registry.end(&self.computer, &self.link, Ending::Halted);
        }
        if !self.computer.answered(response) && !guest {
            tracing::debug!(computer = %self.computer.key, request = %id, "nobody waits for this answer");
            self.unasked.take()?;
        }
        if halts {
            return Err(Ending::Halted);
        }
        // Only the bridge that asked may say that the answer is no longer needed.
        if self.shared.registry.ids.made(&id) && self.link.dialect().is_v2() {
            self.to_say.push_back(outgoing::ack(&id));
        }
        Ok(())
    }

    /// Passes output on to guests that have come meanwhile, and acknowledges what no guest came for.
    fn release_unclaimed(&mut self) {
        let registry = &self.shared.registry;
        let released = self
            .unclaimed
            .release(Instant::now(), |job| registry.has_asker(job));
        for piece in released {
            if !self.pass_on(&piece.job, &piece.text) {
                self.to_say
                    .push_back(outgoing::output_ack(&piece.job, piece.seq));
            }
        }
    }

    /// Passes a frame on to the bridge that made the request, if another one did.
    fn pass_on(&self, request: &RequestId, text: &str) -> bool {
        let registry = &self.shared.registry;
        registry.hand_on(self.computer.key, &self.link, request, text)
    }

    fn receive_part(&mut self, part: &parts::Part) -> Result<(), Ending> {
        let (of, n, now) = (&*part.of, part.n, Instant::now());
        let parts = &self.shared.parts;
        let room = if self.computer.is_asked() {
            parts::Room {
                budget: &parts.asked,
                largest: parts::MAX_FRAME,
            }
        } else {
            let may_be_asked = self.unclaimed.waits(now);
            parts::Room {
                budget: &parts.unasked,
                largest: if may_be_asked {
                    parts::MAX_FRAME
                } else {
                    LARGEST_UNASKED
                },
            }
        };
        match self.parts_in.take(part, room, now) {
            // It comes again.
            parts::Taken::NoRoom => self.unasked.take(),
            parts::Taken::Kept => {
                self.to_say.push_back(outgoing::part_ack(of, n, None));
                Ok(())
            }
            parts::Taken::Whole(text) => {
                self.to_say.push_back(outgoing::part_ack(of, n, None));
                match frame::read(&text, self.link.dialect().text_mode()) {
                    Ok(AgentFrame::Part(_)) => self.unasked.take(),
                    Ok(frame) => self.take(frame, &text),
                    Err(error) => {
                        tracing::warn!(computer = %self.computer.key, %error, "passed over a frame that came in parts");
                        self.unasked.take()
                    }
                }
            }
            parts::Taken::Refused(why) => {
                self.unasked.take()?;
                self.to_say.push_back(outgoing::part_ack(of, n, Some(why)));
                Ok(())
            }
        }
    }

    fn take_part_ack(&mut self, of: &str, n: usize, error: Option<String>) -> Result<(), Ending> {
        let Some((frame, _)) = self
            .parts_out
            .front_mut()
            .filter(|(frame, _)| frame.name() == of)
        else {
            return self.unasked.take();
        };
        if let Some(error) = error {
            self.parts_out.pop_front();
            let refused = refused_in_parts(RequestId::from(of), error);
            self.pass_on(&refused.id, &outgoing::response(&refused));
            self.computer.answered(refused);
        } else if frame.acknowledge(n)
            && let Some((_, arrived)) = self.parts_out.pop_front()
        {
            // Whoever sent it may have given up.
            let _ = arrived.send(());
        }
        Ok(())
    }

    /// Sends what is to be said, and the parts that may be sent now.
    async fn say_all(&mut self) -> Result<(), Ending> {
        while let Some(message) = self.to_say.pop_front().or_else(|| self.next_part()) {
            self.say(message).await?;
        }
        Ok(())
    }

    fn next_part(&mut self) -> Option<String> {
        // Once its sender gave up, at its deadline, a request must not arrive any more.
        while self.parts_out.front()?.1.is_closed() {
            self.parts_out.pop_front();
        }
        let (frame, _) = self.parts_out.front_mut()?;
        Some(outgoing::part(&frame.take(Instant::now())?))
    }

    async fn say(&mut self, message: String) -> Result<(), Ending> {
        let socket = &mut *self.socket;
        let message = Message::Text(message.into());
        // The socket is flushed after each message, so it is ready for the next.
        poll_fn(|context| socket.poll_ready_unpin(context))
            .await
            .and_then(|()| socket.start_send_unpin(message))
            .map_err(|error| failed(&error))?;
        // Most go out at once, without a timer.
        let at_once = poll_fn(|context| Poll::Ready(socket.poll_flush_unpin(context))).await;
        let sent = match at_once {
            Poll::Ready(sent) => Ok(sent),
            Poll::Pending => {
                let flushed = poll_fn(|context| socket.poll_flush_unpin(context));
                Box::pin(timeout(SEND_TIME, flushed)).await
            }
        };
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(failed(&error)),
            Err(_) => Err(Ending::NotReading),
        }
    }
}

/// The answer to a request whose frame the agent refused to take.
fn refused_in_parts(id: RequestId, error: String) -> Response {
    let error = AgentError::new(
        ErrorKind::from(error),
        "the computer refused to take a request of this size",
    );
    Response {
        id,
        answer: Answer {
            result: None,
            error: Some(error),
        },
        output_bytes: None,
        halts: false,
    }
}

/// Tells the agent why, closes, and gives it a moment to read that.
async fn close(mut socket: Box<WebSocket>, ending: &Ending, hello_error: Option<HelloError>) {
    let Some(code) = ending.close_code() else {
        return;
    };
    let farewell = async {
        if let Some(told) = &hello_error {
            socket
                .send(Message::Text(outgoing::hello_error(told).into()))
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
