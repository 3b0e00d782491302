//! What a computer told of itself, and when it was last heard.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use tokio::time::Instant;

use crate::{
    bridges::message::Introduction,
    wire::frame::{AgentProgram, ComputerId, Hello, Machine},
};

/// What a computer told of itself when it last linked.
#[derive(Debug)]
pub struct Facts {
    /// Its number.
    pub id: ComputerId,
    /// Its label.
    pub label: Option<String>,
    /// The agent program, if it told (version 2).
    pub agent: Option<AgentProgram>,
    /// The machine, if it told (version 2).
    pub machine: Option<Machine>,
    /// This start of the agent program (version 2).
    pub boot: Option<String>,
    /// Where the link came from.
    pub address: SocketAddr,
    /// When the link was made.
    pub linked_since: SystemTime,
    /// When the last frame came.
    last_seen: LastSeen,
}

/// A moment that many tasks read and one writes, without a lock.
#[derive(Debug)]
struct LastSeen {
    start: Instant,
    /// Milliseconds after `start`.
    elapsed: AtomicU64,
}

impl Facts {
    /// What this hello tells.
    pub fn new(hello: &Hello, address: SocketAddr) -> Self {
        Self {
            id: hello.computer,
            label: hello.label.clone(),
            agent: hello.agent.clone(),
            machine: hello.machine.clone(),
            boot: hello.boot_name(),
            address,
            linked_since: SystemTime::now(),
            last_seen: LastSeen {
                start: Instant::now(),
                elapsed: AtomicU64::new(0),
            },
        }
    }

    /// What another bridge tells of a computer that is, or was, linked to it.
    pub fn introduced(introduction: &Introduction) -> Self {
        Self {
            id: introduction.computer_id,
            label: introduction.label.clone(),
            agent: introduction.agent.clone(),
            machine: introduction.machine.clone(),
            boot: introduction.boot.clone(),
            address: introduction.address,
            linked_since: introduction.linked_since,
            last_seen: LastSeen {
                start: Instant::now(),
                elapsed: AtomicU64::new(0),
            },
        }
    }

    /// Notes that a frame came just now.
    pub fn seen_now(&self) {
        let elapsed = self.last_seen.start.elapsed().as_millis();
        self.last_seen.elapsed.store(
            u64::try_from(elapsed).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
    }

    /// Notes that another bridge heard from it, and how long ago.
    pub fn seen_before(&self, age: Duration) {
        let since = SystemTime::now() - age;
        let elapsed = since.duration_since(self.linked_since).unwrap_or_default();
        self.last_seen.elapsed.store(
            u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
    }

    /// When the last frame came.
    pub fn last_seen(&self) -> SystemTime {
        self.linked_since + Duration::from_millis(self.last_seen.elapsed.load(Ordering::Relaxed))
    }
}
