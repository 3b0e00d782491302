//! From a connection to the end of its link: the hello, who gets in, and what is noted when it leaves.

use std::{future::pending, net::SocketAddr, pin::Pin, sync::Arc};

use axum::extract::ws::WebSocket;
use tokio::time::timeout;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::Instrument;

use super::{
    super::{
        allowance::Allowance,
        outlet::{Frames, ToSession},
    },
    patience::Patience,
    shared::Shared,
    socket::{close, next_text},
    state::Session,
};
use crate::{
    base::http::{intake::Intake, room::Place},
    computers::{
        Computer,
        link::Link,
        registry::{Registered, Registry, Taken},
    },
    wire::{
        ending::{Ending, HELLO_TIME},
        frame::{self, AgentFrame, FrameError},
        hello::{self, Hello},
        names::ComputerId,
        text::TextMode,
    },
};

/// The most bytes that are taken until a hello is read, with those of frames before it. The longest hello of an agent of ours
/// knows of 384 jobs of ours, and has less than half of that; of anybody else's, a bound keeps the time short that it takes
/// to read them.
const LARGEST_HELLO: usize = 32 * 1024;

/// How many other frames are taken before it.
const MOST_BEFORE_HELLO: usize = 16;

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
    let greeted = tokio::select! {
        greeted = timeout(HELLO_TIME, greet(&mut socket, &intake)) => greeted,
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
            // Whoever comes again and again with what is no hello keeps others waiting. Nothing is read of it meanwhile.
            if ending.close_code().is_some() && !matches!(ending, Ending::NoHello) {
                shared.late.wait().await;
            }
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
        Allowance::new(),
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

/// Waits for the hello; a few other frames before it are passed over.
async fn greet(socket: &mut WebSocket, intake: &Intake) -> Result<Box<Hello>, Ending> {
    intake.limit(LARGEST_HELLO);
    let mut bytes = 0;
    // One more than may be others.
    for _ in 0..=MOST_BEFORE_HELLO {
        let text = match next_text(socket, intake).await {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(_) if intake.is_over_limit() => return Err(Ending::LongHello(LARGEST_HELLO)),
            Err(ending) => return Err(ending),
        };
        bytes += text.len();
        if bytes > LARGEST_HELLO {
            return Err(Ending::LongHello(LARGEST_HELLO));
        }
        match frame::read(&text, TextMode::Plain) {
            Ok(AgentFrame::Hello(hello)) => {
                intake.end_limit();
                return Ok(hello);
            }
            Err(error) if hello::claims_hello(&text) => {
                return Err(Ending::BadHello(hello_problem(&error)));
            }
            Ok(_) | Err(_) => {}
        }
    }
    Err(Ending::Flood)
}

fn hello_problem(error: &FrameError) -> String {
    match error {
        FrameError::Malformed(error) => format!("malformed hello: {error}"),
        FrameError::Hello(error) => error.to_string(),
        FrameError::LongId => error.to_string(),
    }
}
