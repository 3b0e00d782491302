//! What a session holds.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use axum::extract::ws::WebSocket;
use tokio::{sync::oneshot, time::Instant};

use super::{
    super::{allowance::Allowance, unclaimed::Unclaimed},
    patience::{PING_SECONDS, Patience},
    shared::Shared,
};
use crate::{
    base::http::intake::Intake,
    computers::{Computer, Facts, link::Link},
    wire::{outgoing, parts},
};

/// A linked computer's session.
pub struct Session {
    pub socket: Box<WebSocket>,
    /// What the agent has sent of a message that is not whole.
    pub intake: Arc<Intake>,
    pub link: Arc<Link>,
    pub computer: Arc<Computer>,
    pub facts: Arc<Facts>,
    pub shared: Arc<Shared>,
    pub unasked: Allowance,
    /// What is to be sent next.
    pub to_say: VecDeque<String>,
    /// Frames that go out in parts, one after the other, with whom to tell of their arrival.
    pub parts_out: VecDeque<(parts::Outgoing, oneshot::Sender<()>)>,
    pub parts_in: parts::Incoming,
    /// A frame that came in parts and is whole now: it is to be acted on before anything else is heard.
    pub whole: Option<Vec<u8>>,
    /// Output whose bridge may still come.
    pub unclaimed: Unclaimed,
    /// When the last frame came.
    pub heard: Instant,
    /// How long the agent may be silent.
    pub patience: Patience,
    /// When it is given up without a sign of life, while another computer of its number waits.
    pub doubted_until: Option<Instant>,
    /// When it was last asked for one.
    pub asked: Option<Instant>,
    /// When the next ping is due, and its number.
    pub ping_at: Instant,
    pub pings: u64,
}

impl Session {
    /// One that begins.
    pub fn new(
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
            whole: None,
            unclaimed: Unclaimed::new(now, unclaimed),
            heard: now,
            patience,
            doubted_until: None,
            asked: None,
            ping_at,
            pings: 0,
        }
    }
}
