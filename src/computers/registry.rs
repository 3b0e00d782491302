//! Which computers exist: those linked now, and those that left.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use tokio::sync::mpsc;

use super::{
    computer::{Computer, Facts, Presence},
    job::{Job, RequestIds},
    link::{Link, Outgoing},
};
use crate::{
    bridges::{
        guests::{Guest, Guests},
        message::{FromOwner, Introduction},
    },
    wire::{
        ending::Ending,
        frame::{ComputerId, Hello},
    },
};

/// How many computers that left are remembered; the longest gone are forgotten first.
const REMEMBERED: usize = 1_000;

/// All computers this bridge has seen, by number: those linked to it, or to the bridge that holds the link port.
#[derive(Debug, Default)]
pub struct Registry {
    computers: Mutex<BTreeMap<ComputerId, Arc<Computer>>>,
    /// How many of them are linked, kept beside the map so that `/health` costs nothing.
    linked: AtomicU64,
    /// Counts the links.
    links: AtomicU64,
    /// Makes the ids of this bridge's requests.
    pub ids: RequestIds,
    /// The bridges that share the computers while this one holds the link port. They are told of every change in the
    /// order in which it happened.
    pub guests: Guests,
}

impl Registry {
    /// Makes a link to the agent that said `hello`, and enters its computer. Returns the computer, the link, what its
    /// session is to send, and the older link of the same number that it replaces.
    pub fn link(&self, mut hello: Hello, address: SocketAddr) -> Registered {
        let serial = self.links.fetch_add(1, Ordering::Relaxed) + 1;
        let facts = Facts::new(&hello, address);
        let (link, frames) = Link::new(&mut hello, serial);
        let (computer, older) = self.register(facts, &link.known, link.clone());
        Registered {
            computer,
            link,
            frames,
            older,
        }
    }

    /// Enters a computer that has just linked; `known` are the requests that its agent still knows. Returns the older
    /// link of the same number that it replaces.
    pub fn register(
        &self,
        facts: Facts,
        known: &[String],
        link: Arc<Link>,
    ) -> (Arc<Computer>, Option<Arc<Link>>) {
        let mut computers = self.lock();
        let (computer, older) = match computers.get(&facts.id) {
            Some(computer) => (
                computer.clone(),
                computer.linked(facts, known, link.clone()),
            ),
            None => {
                let computer = Arc::new(Computer::new(facts, Presence::Linked(link.clone())));
                computers.insert(computer.id, computer.clone());
                (computer, None)
            }
        };
        if older.is_none() {
            self.linked.fetch_add(1, Ordering::Relaxed);
        }
        self.guests
            .tell_all(|| FromOwner::Linked(computer.introduction(&computer.facts(), Some(&link))));
        (computer, older)
    }

    /// Enters a computer that another bridge says is gone; one that is linked here stays so.
    pub fn enter_gone(&self, facts: Facts, since: SystemTime, why: String) {
        let mut computers = self.lock();
        match computers.get(&facts.id) {
            Some(computer) if computer.link().is_some() => {}
            Some(computer) => computer.gone(facts, since, why),
            None => {
                let id = facts.id;
                let computer = Computer::new(facts, Presence::Left { since, why });
                computers.insert(id, Arc::new(computer));
            }
        }
        self.forget_some(&mut computers);
    }

    /// Notes that `link` ended, unless a newer one of the same computer has taken its place.
    pub fn leave(&self, computer: &Computer, link: &Arc<Link>, why: &str) {
        let mut computers = self.lock();
        if !computer.left(link, why) {
            return;
        }
        self.linked.fetch_sub(1, Ordering::Relaxed);
        self.guests.tell_all(|| FromOwner::Left {
            introduction: None,
            computer_id: computer.id,
            since: SystemTime::now(),
            why: why.to_owned(),
        });
        self.forget_some(&mut computers);
    }

    /// Ends a link for everyone: its computer is gone, unless a newer link has taken its place.
    pub fn end(&self, computer: &Computer, link: &Arc<Link>, ending: Ending) {
        let why = ending.why();
        // Whoever waits learns of the end last, and then asks why: so the reason is set first.
        link.end(ending);
        self.leave(computer, link, &why);
        link.has_just_ended();
    }

    /// Takes a guest in, and tells it of all computers before anything that changes from now on.
    pub fn enter_guest(&self, guest: &Arc<Guest>) {
        let computers = self.lock();
        for computer in computers.values() {
            let facts = computer.facts();
            guest.tell(&match computer.presence() {
                Presence::Linked(link) => {
                    FromOwner::Linked(computer.introduction(&facts, Some(&link)))
                }
                Presence::Left { since, why } => FromOwner::Left {
                    introduction: Some(Introduction {
                        known: Vec::new(),
                        ..computer.introduction(&facts, None)
                    }),
                    computer_id: computer.id,
                    since,
                    why,
                },
            });
        }
        self.guests.enter(guest);
    }

    /// One computer.
    pub fn get(&self, id: ComputerId) -> Option<Arc<Computer>> {
        self.lock().get(&id).cloned()
    }

    /// All computers, in order of their numbers.
    pub fn all(&self) -> Vec<Arc<Computer>> {
        self.lock().values().cloned().collect()
    }

    /// A job by its id, with its computer.
    pub fn job(&self, id: &str) -> Option<(Arc<Computer>, Arc<Job>)> {
        self.all()
            .into_iter()
            .find_map(|computer| computer.job(id).map(|job| (computer, job)))
    }

    /// How many are linked now.
    pub fn linked(&self) -> u64 {
        self.linked.load(Ordering::Relaxed)
    }

    fn forget_some(&self, computers: &mut BTreeMap<ComputerId, Arc<Computer>>) {
        let linked = usize::try_from(self.linked()).unwrap_or(usize::MAX);
        if computers.len() > linked.saturating_add(REMEMBERED) {
            forget_longest_gone(computers);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ComputerId, Arc<Computer>>> {
        // No code that holds the lock can leave the map half changed.
        self.computers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A computer that has just linked.
#[derive(Debug)]
pub struct Registered {
    /// The computer.
    pub computer: Arc<Computer>,
    /// Its link.
    pub link: Arc<Link>,
    /// What the link's session is to send.
    pub frames: mpsc::Receiver<Box<Outgoing>>,
    /// The older link of the same number that this one replaces.
    pub older: Option<Arc<Link>>,
}

fn forget_longest_gone(computers: &mut BTreeMap<ComputerId, Arc<Computer>>) {
    let gone = computers
        .values()
        .filter_map(|computer| match computer.presence() {
            Presence::Left { since, .. } => Some((since, computer.id)),
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
        match crate::wire::frame::read(
            &format!(r#"{{"type":"hello","computerId":{id}}}"#),
            crate::wire::text::TextMode::Plain,
        ) {
            Ok(crate::wire::frame::AgentFrame::Hello(hello)) => *hello,
            other => panic!("{other:?}"),
        }
    }

    fn link(registry: &Registry, id: u64) -> (Arc<Computer>, Arc<Link>, Option<Arc<Link>>) {
        let registered = registry.link(hello(id), "127.0.0.1:1".parse().unwrap());
        (registered.computer, registered.link, registered.older)
    }

    #[test]
    fn a_newer_link_for_the_same_computer_replaces_the_older() {
        let registry = Registry::default();
        let (computer, first, none) = link(&registry, 7);
        let (_, second, older) = link(&registry, 7);
        assert!(none.is_none() && Arc::ptr_eq(&older.unwrap(), &first));
        registry.leave(&computer, &first, "replaced");
        assert!(Arc::ptr_eq(
            &registry.get(ComputerId(7)).unwrap().link().unwrap(),
            &second
        ));
        assert_eq!(registry.linked(), 1);
    }

    #[test]
    fn a_computer_that_left_is_remembered_with_the_reason() {
        let registry = Registry::default();
        let (computer, only, _) = link(&registry, 7);
        registry.leave(&computer, &only, "the connection broke");
        registry.leave(&computer, &only, "again");
        assert!(
            matches!(computer.presence(), Presence::Left { why, .. } if why == "the connection broke")
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
            .map(|computer| computer.id.0)
            .collect();
        assert_eq!(ids, [2, 10, 33]);
    }

    #[test]
    fn the_longest_gone_are_forgotten_past_the_bound() {
        let registry = Registry::default();
        let (_, stays, _) = link(&registry, 1_000_000);
        for id in 0..=REMEMBERED as u64 {
            let (computer, link, _) = link(&registry, id);
            registry.leave(&computer, &link, "gone");
        }
        assert_eq!(registry.all().len(), REMEMBERED + 1);
        assert!(registry.get(ComputerId(0)).is_none());
        assert!(Arc::ptr_eq(
            &registry.get(ComputerId(1_000_000)).unwrap().link().unwrap(),
            &stays
        ));
    }
}
