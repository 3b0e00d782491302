//! What a computer told of itself, and when it was last heard.

use std::{
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use tokio::time::Instant;

use super::{holder::KeyMark, key::ComputerKey};
use crate::wire::{
    hello::{AgentPolicy, AgentProgram, Hello, Machine},
    names::Boot,
};

/// What a computer told of itself when it last linked.
#[derive(Debug)]
pub struct Facts {
    /// Which computer.
    pub key: ComputerKey,
    /// Its label.
    pub label: Option<String>,
    /// The agent program, if it told (version 2).
    pub agent: Option<AgentProgram>,
    /// The machine, if it told (version 2).
    pub machine: Option<Machine>,
    /// This start of the agent program (version 2).
    pub boot: Option<Boot>,
    /// What is kept of the key that it showed; none: the bridge that holds the link port is of version 1.0.0, which
    /// doesn't tell.
    pub key_mark: Option<KeyMark>,
    /// What the agent can do beyond what each of its version does; none: the bridge that holds the link port is of
    /// version 1.0.0, which doesn't tell.
    pub capabilities: Option<Vec<String>>,
    /// What the agent lets bridges do.
    pub policy: AgentPolicy,
    /// Whether the player lets nothing new begin on it, as far as the agent tells.
    pub paused: bool,
    /// Where the link came from.
    pub address: SocketAddr,
    /// When the link was made.
    pub linked_since: SystemTime,
    /// When the last frame came.
    pub last_seen: LastSeen,
}

/// A moment that many tasks read and one writes, without a lock.
#[derive(Debug)]
pub struct LastSeen {
    start: Instant,
    /// Milliseconds after `start`.
    elapsed: AtomicU64,
}

impl Default for LastSeen {
    /// Now.
    fn default() -> Self {
        Self::after(Duration::ZERO)
    }
}

impl LastSeen {
    /// So long after the link was made, which is now unless another bridge tells of it.
    fn after(time: Duration) -> Self {
        Self {
            start: Instant::now(),
            elapsed: AtomicU64::new(milliseconds(time)),
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Facts {
    /// What this hello tells.
    pub fn new(hello: &Hello, address: SocketAddr) -> Self {
        Self {
            key: hello.computer.into(),
            label: hello.label.clone(),
            agent: hello.agent.clone(),
            machine: hello.machine.clone(),
            boot: hello.dialect().boot().cloned(),
            key_mark: Some(KeyMark::of(hello.key.as_deref())),
            capabilities: Some(hello.capabilities.clone()),
            policy: hello.policy,
            paused: hello.paused,
            address,
            linked_since: SystemTime::now(),
            last_seen: LastSeen::default(),
        }
    }

    /// Whether its agent is known to tell this capability.
    pub fn can(&self, capability: &str) -> bool {
        let names = self.capabilities.iter().flatten();
        names.into_iter().any(|name| name == capability)
    }

    /// Whether both tell of one start of an agent. One that tells no start can't be known again.
    pub fn is_same_start(&self, other: &Self) -> bool {
        let start = self.boot.as_ref().filter(|boot| !boot.as_str().is_empty());
        start.is_some() && self.boot == other.boot && self.key_mark == other.key_mark
    }

    /// The same computer with another label, or with none.
    pub fn with_label(&self, label: Option<String>) -> Self {
        Self {
            label,
            ..self.copied()
        }
    }

    /// The same computer, on which a player lets nothing new begin, or does again.
    pub fn with_pause(&self, paused: bool) -> Self {
        Self {
            paused,
            ..self.copied()
        }
    }

    fn copied(&self) -> Self {
        Self {
            key: self.key,
            label: self.label.clone(),
            agent: self.agent.clone(),
            machine: self.machine.clone(),
            boot: self.boot.clone(),
            key_mark: self.key_mark.clone(),
            capabilities: self.capabilities.clone(),
            policy: self.policy,
            paused: self.paused,
            address: self.address,
            linked_since: self.linked_since,
            last_seen: LastSeen {
                start: self.last_seen.start,
                elapsed: AtomicU64::new(self.last_seen.elapsed.load(Ordering::Relaxed)),
            },
        }
    }

    /// Notes that a frame came just now.
    pub fn seen_now(&self) {
        let elapsed = milliseconds(self.last_seen.start.elapsed());
        self.last_seen.elapsed.store(elapsed, Ordering::Relaxed);
    }

    /// Notes when another bridge heard from it last.
    pub fn seen_at(mut self, moment: SystemTime) -> Self {
        let elapsed = moment.duration_since(self.linked_since);
        self.last_seen = LastSeen::after(elapsed.unwrap_or_default());
        self
    }

    /// Notes that another bridge heard from it, and how long ago.
    pub fn seen_before(&self, age: Duration) {
        let since = SystemTime::now() - age;
        let elapsed = since.duration_since(self.linked_since).unwrap_or_default();
        let elapsed = milliseconds(elapsed);
        self.last_seen.elapsed.store(elapsed, Ordering::Relaxed);
    }

    /// When the last frame came.
    pub fn last_seen(&self) -> SystemTime {
        self.linked_since + Duration::from_millis(self.last_seen.elapsed.load(Ordering::Relaxed))
    }
}
