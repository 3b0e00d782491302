//! Which computers exist: those linked now, and those that left.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use super::{
    frame::{AgentProgram, ComputerId, Hello, Machine},
    session::Link,
};

/// How many computers that left are remembered; the longest gone are forgotten first.
const REMEMBERED: usize = 1_000;

/// All computers this bridge has seen, by number.
#[derive(Debug, Default)]
pub struct Registry {
    computers: Mutex<BTreeMap<ComputerId, Entry>>,
    /// How many of them are linked, kept beside the map so that `/health` costs nothing.
    linked: AtomicU64,
}

#[derive(Debug)]
struct Entry {
    facts: Arc<Facts>,
    presence: Presence,
}

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
    fn new(hello: Hello, address: SocketAddr) -> Self {
        Self {
            id: hello.computer,
            label: hello.label,
            agent: hello.agent,
            machine: hello.machine,
            address,
            linked_since: SystemTime::now(),
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

    /// When the last frame came.
    pub fn last_seen(&self) -> SystemTime {
        self.linked_since + Duration::from_millis(self.last_seen.elapsed.load(Ordering::Relaxed))
    }
}

/// Whether a computer can be asked now.
#[derive(Debug, Clone)]
pub enum Presence {
    /// Over this link.
    Linked(Arc<Link>),
    /// It is gone.
    Left {
        /// Since when.
        since: SystemTime,
        /// Why, as a sentence's end: "the connection broke".
        why: String,
    },
}

/// A computer as the registry knows it at one moment.
#[derive(Debug, Clone)]
pub struct Computer {
    /// What it told of itself.
    pub facts: Arc<Facts>,
    /// Whether it is here.
    pub presence: Presence,
}

impl Computer {
    /// The link, if it is linked.
    pub fn link(&self) -> Option<&Arc<Link>> {
        match &self.presence {
            Presence::Linked(link) => Some(link),
            Presence::Left { .. } => None,
        }
    }
}

impl Registry {
    /// Enters a computer that has just linked, and returns the older link of the same number that it replaces.
    pub fn register(
        &self,
        hello: Hello,
        address: SocketAddr,
        link: Arc<Link>,
    ) -> (Arc<Facts>, Option<Arc<Link>>) {
        let facts = Arc::new(Facts::new(hello, address));
        let entry = Entry {
            facts: facts.clone(),
            presence: Presence::Linked(link),
        };
        let older = match self.lock().insert(facts.id, entry) {
            Some(Entry {
                presence: Presence::Linked(older),
                ..
            }) => Some(older),
            _ => None,
        };
        if older.is_none() {
            self.linked.fetch_add(1, Ordering::Relaxed);
        }
        (facts, older)
    }

    /// Notes that `link` ended, unless a newer one of the same computer has taken its place.
    pub fn leave(&self, id: ComputerId, link: &Arc<Link>, why: String) {
        let mut computers = self.lock();
        let Some(entry) = computers.get_mut(&id) else {
            return;
        };
        if !matches!(&entry.presence, Presence::Linked(current) if Arc::ptr_eq(current, link)) {
            return;
        }
        entry.presence = Presence::Left {
            since: SystemTime::now(),
            why,
        };
        let linked = self.linked.fetch_sub(1, Ordering::Relaxed) - 1;
        if computers.len()
            > usize::try_from(linked)
                .unwrap_or(usize::MAX)
                .saturating_add(REMEMBERED)
        {
            forget_longest_gone(&mut computers);
        }
    }

    /// One computer.
    pub fn get(&self, id: ComputerId) -> Option<Computer> {
        self.lock().get(&id).map(Entry::snapshot)
    }

    /// All computers, in order of their numbers.
    pub fn all(&self) -> Vec<Computer> {
        self.lock().values().map(Entry::snapshot).collect()
    }

    /// How many are linked now.
    pub fn linked(&self) -> u64 {
        self.linked.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ComputerId, Entry>> {
        // No code that holds the lock can leave the map half changed.
        self.computers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    fn snapshot(&self) -> Computer {
        Computer {
            facts: self.facts.clone(),
            presence: self.presence.clone(),
        }
    }
}

fn forget_longest_gone(computers: &mut BTreeMap<ComputerId, Entry>) {
    let gone = computers
        .iter()
        .filter_map(|(id, entry)| match entry.presence {
            Presence::Left { since, .. } => Some((since, *id)),
            Presence::Linked(_) => None,
        });
    if let Some((_, id)) = gone.min() {
        computers.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello(id: u64) -> Hello {
        Hello {
            computer: ComputerId(id),
            label: None,
            protocol: 1,
            agent: None,
            machine: None,
            max_message: 131_072,
            token: None,
        }
    }

    fn link(registry: &Registry, id: u64) -> (Arc<Link>, Option<Arc<Link>>) {
        let link = Link::new(&hello(id)).0;
        let (_, older) = registry.register(hello(id), "127.0.0.1:1".parse().unwrap(), link.clone());
        (link, older)
    }

    #[test]
    fn a_newer_link_for_the_same_computer_replaces_the_older() {
        let registry = Registry::default();
        let (first, none) = link(&registry, 7);
        let (second, older) = link(&registry, 7);
        assert!(none.is_none() && Arc::ptr_eq(&older.unwrap(), &first));
        registry.leave(ComputerId(7), &first, "replaced".into());
        assert!(Arc::ptr_eq(
            registry.get(ComputerId(7)).unwrap().link().unwrap(),
            &second
        ));
        assert_eq!(registry.linked(), 1);
    }

    #[test]
    fn a_computer_that_left_is_remembered_with_the_reason() {
        let registry = Registry::default();
        let (only, _) = link(&registry, 7);
        registry.leave(ComputerId(7), &only, "the connection broke".into());
        registry.leave(ComputerId(7), &only, "again".into());
        let computer = registry.get(ComputerId(7)).unwrap();
        assert!(
            matches!(&computer.presence, Presence::Left { why, .. } if why == "the connection broke")
        );
        assert_eq!(registry.linked(), 0);
    }

    #[test]
    fn computers_are_listed_in_order_of_their_numbers() {
        let registry = Registry::default();
        for id in [10, 2, 33] {
            link(&registry, id);
        }
        let ids: Vec<_> = registry
            .all()
            .iter()
            .map(|computer| computer.facts.id.0)
            .collect();
        assert_eq!(ids, [2, 10, 33]);
    }

    #[test]
    fn the_longest_gone_are_forgotten_past_the_bound() {
        let registry = Registry::default();
        let (stays, _) = link(&registry, 1_000_000);
        for id in 0..=REMEMBERED as u64 {
            let (link, _) = link(&registry, id);
            registry.leave(ComputerId(id), &link, "gone".into());
        }
        assert_eq!(registry.all().len(), REMEMBERED + 1);
        assert!(registry.get(ComputerId(0)).is_none());
        assert!(Arc::ptr_eq(
            registry.get(ComputerId(1_000_000)).unwrap().link().unwrap(),
            &stays
        ));
    }
}
