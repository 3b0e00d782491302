//! Which computers exist: those linked now, and those that left.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::SystemTime,
};

use tokio::{sync::watch, time::Instant};

use super::{
    agent_clock::{AgentClock, Reading},
    computer::Computer,
    departure::Departure,
    facts::Facts,
    follower::Follower,
    job::Job,
    key::ComputerKey,
    link::{Link, Outlet, Terms},
    presence::Presence,
    request_ids::RequestIds,
    room::Room,
};
use crate::wire::{ending::Ending, hello::Hello, limits::DEFAULT_MAX_MESSAGE, names::RequestId};

/// How many computers that left are remembered. The longest gone are forgotten first, those on which code was to run
/// after all others: anybody may make computers up, but who makes code run there is a client.
const REMEMBERED: usize = 1_000;

/// All computers this bridge has seen, by number: those linked to it, or to the bridge that holds the link port.
#[derive(Debug, Default)]
pub struct Registry {
    computers: Mutex<Known>,
    /// How many of them are linked, kept beside the map so that `/health` costs nothing.
    linked: AtomicU64,
    /// Counts the links.
    links: AtomicU64,
    /// Makes the ids of this bridge's requests.
    pub ids: RequestIds,
    /// Tells every line when this bridge leaves.
    pub departure: Departure,
    /// What the jobs of all computers share.
    room: Arc<Room>,
    /// Whoever passes the computers on to others.
    followers: Vec<Arc<dyn Follower>>,
    /// Counts what happens to computers.
    changes: watch::Sender<u64>,
}

/// The computers, and of those that are gone the order in which they are forgotten.
#[derive(Debug, Default)]
struct Known {
    all: BTreeMap<ComputerKey, Arc<Computer>>,
    /// Whether code was to run on it, and since when it is gone.
    gone: BTreeSet<(bool, SystemTime, ComputerKey)>,
}

impl Known {
    /// Notes that a computer is gone.
    fn note_gone(&mut self, computer: &Computer) {
        if let Some(since) = computer.gone_since() {
            let entry = (computer.was_used(), since, computer.key);
            self.gone.insert(entry);
        }
    }

    /// Notes that a computer is about to be here again, or gone since another moment.
    fn note_change(&mut self, computer: &Computer) {
        if let Some(since) = computer.gone_since() {
            for used in [false, true] {
                self.gone.remove(&(used, since, computer.key));
            }
        }
    }

    /// Forgets one that is gone; tells whether there was one.
    fn forget_one(&mut self) -> bool {
        while let Some((used, since, key)) = self.gone.pop_first() {
            // Code may be sent to one that is gone too.
            let is_used_now = self.all.get(&key).is_some_and(|one| one.was_used());
            if used || !is_used_now {
                self.all.remove(&key);
                return true;
            }
            self.gone.insert((true, since, key));
        }
        false
    }
}

impl Registry {
    /// One without computers, whose changes they follow.
    pub fn followed_by(followers: Vec<Arc<dyn Follower>>) -> Self {
        Self {
            followers,
            ..Self::default()
        }
    }

    /// A number that is another whenever a computer has linked, left or got another label.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn note_event(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Makes a link to the agent that said `hello`, whose frames go to `outlet`, and enters its computer.
    ///
    /// # Errors
    /// Another start of an agent has the number, and its link has not ended.
    pub fn link(
        &self,
        hello: &mut Hello,
        address: SocketAddr,
        outlet: Box<dyn Outlet>,
    ) -> Result<Registered, Taken> {
        let facts = Facts::new(hello, address);
        let mut computers = self.lock();
        if let Some(computer) = computers.all.get(&facts.key)
            && let Some(link) = computer.link()
            && !computer.facts().is_same_start(&facts)
        {
            return Err(Taken {
                link,
                facts: computer.facts(),
            });
        }
        let terms = Terms {
            serial: self.links.fetch_add(1, Ordering::Relaxed) + 1,
            dialect: hello.dialect(),
            max_message: hello.max_message.min(DEFAULT_MAX_MESSAGE),
            knows_detach: hello.knows_detach(),
            clock: hello.at.map(|at| {
                let came = Instant::now();
                AgentClock::new(Reading { at, came })
            }),
        };
        let link = Link::new(terms, outlet);
        let known = std::mem::take(&mut hello.jobs);
        let (computer, older) = self.enter(&mut computers, facts, known, link.clone());
        Ok(Registered {
            computer,
            link,
            older,
        })
    }

    /// Enters a computer that has linked to another bridge; `known` are the requests that its agent still knows. Returns
    /// the older link of the same number that it replaces: whether it may is that bridge's affair.
    pub fn register(
        &self,
        facts: Facts,
        known: Vec<RequestId>,
        link: Arc<Link>,
    ) -> (Arc<Computer>, Option<Arc<Link>>) {
        self.enter(&mut self.lock(), facts, known, link)
    }

    fn enter(
        &self,
        computers: &mut Known,
        facts: Facts,
        known: Vec<RequestId>,
        link: Arc<Link>,
    ) -> (Arc<Computer>, Option<Arc<Link>>) {
        let (computer, older) = match computers.all.get(&facts.key).cloned() {
            Some(computer) => {
                computers.note_change(&computer);
                let older = computer.linked(facts, known, link.clone());
                (computer, older)
            }
            None => {
                let presence = Presence::Linked(link.clone());
                let computer = Arc::new(Computer::new(facts, presence, self.room.clone()));
                computer.told_of(known);
                computers.all.insert(computer.key, computer.clone());
                (computer, None)
            }
        };
        if older.is_none() {
            self.linked.fetch_add(1, Ordering::Relaxed);
        }
        self.note_event();
        for follower in &self.followers {
            follower.linked(&computer, &link);
        }
        (computer, older)
    }

    /// Notes that a computer has another label, or none. Returns what is known of it now; none if `link` is no longer
    /// its link.
    pub fn relabel(
        &self,
        computer: &Computer,
        link: &Arc<Link>,
        label: Option<String>,
    ) -> Option<Arc<Facts>> {
        // Locked as for each change that followers are told of, so that they learn of all in their order.
        let _computers = self.lock();
        let facts = computer.changed(link, |facts| facts.with_label(label))?;
        self.note_event();
        for follower in &self.followers {
            follower.relabelled(computer.key, facts.label.as_deref());
        }
        Some(facts)
    }

    /// Notes that a player lets nothing new begin on a computer, or does again; as [`Registry::relabel`].
    pub fn pause(&self, computer: &Computer, link: &Arc<Link>, paused: bool) -> Option<Arc<Facts>> {
        let _computers = self.lock();
        let facts = computer.changed(link, |facts| facts.with_pause(paused))?;
        self.note_event();
        for follower in &self.followers {
            follower.paused(computer.key, paused);
        }
        Some(facts)
    }

    /// Enters a computer that another bridge says is gone; one that is linked here stays so.
    pub fn enter_gone(&self, facts: Facts, since: SystemTime, why: String) {
        let mut computers = self.lock();
        match computers.all.get(&facts.key).cloned() {
            Some(computer) if computer.link().is_some() => {}
            Some(computer) => {
                computers.note_change(&computer);
                computer.gone(facts, since, why);
                computers.note_gone(&computer);
            }
            None => {
                let key = facts.key;
                let presence = Presence::Left { since, why };
                let computer = Computer::new(facts, presence, self.room.clone());
                computers.note_gone(&computer);
                computers.all.insert(key, Arc::new(computer));
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
        self.note_event();
        computers.note_gone(computer);
        let now = SystemTime::now();
        for follower in &self.followers {
            follower.left(computer.key, now, why);
        }
        self.forget_some(&mut computers);
    }

    /// Ends a link for everyone: its computer is gone, unless a newer link has taken its place.
    pub fn end(&self, computer: &Computer, link: &Arc<Link>, ending: Ending) {
        let why = ending.why();
        // Whoever waits learns of the end last, and then asks why: so the reason is set first.
        link.end(ending);
        self.leave(computer, link, &why);
        computer.note_link_end(link);
    }

    /// Lets all lines say farewell as this bridge leaves, in a bounded time.
    pub async fn depart(&self) {
        // A link that is made from now on sees by itself that it is to end.
        let call = || {
            for link in self.all().iter().filter_map(|computer| computer.link()) {
                link.call();
            }
        };
        self.departure.leave(call).await;
    }

    /// Looks at all computers while nothing changes; followers are told of what changes only after that.
    pub fn while_still<T>(
        &self,
        look: impl FnOnce(&mut dyn Iterator<Item = &Arc<Computer>>) -> T,
    ) -> T {
        look(&mut self.lock().all.values())
    }

    /// Whether one of those who follow can hand on what a computer says about this request.
    pub fn has_asker(&self, request: &RequestId) -> bool {
        self.followers
            .iter()
            .any(|follower| follower.has_asked(request))
    }

    /// Hands what a computer says about a request to whoever made it, if it came from one of those who follow.
    pub fn hand_on(
        &self,
        computer: ComputerKey,
        link: &Link,
        request: &RequestId,
        frame: &str,
    ) -> bool {
        let serial = link.terms.serial;
        self.followers
            .iter()
            .any(|follower| follower.hand(computer, serial, request, frame))
    }

    /// One computer.
    pub fn get(&self, key: ComputerKey) -> Option<Arc<Computer>> {
        self.lock().all.get(&key).cloned()
    }

    /// All computers, in order of their numbers.
    pub fn all(&self) -> Vec<Arc<Computer>> {
        self.lock().all.values().cloned().collect()
    }

    /// A job by its id, with its computer.
    pub fn job(&self, id: &RequestId) -> Option<(Arc<Computer>, Arc<Job>)> {
        self.all()
            .into_iter()
            .find_map(|computer| computer.job(id).map(|job| (computer, job)))
    }

    /// How many are linked now.
    pub fn linked(&self) -> u64 {
        self.linked.load(Ordering::Relaxed)
    }

    fn forget_some(&self, computers: &mut Known) {
        let linked = usize::try_from(self.linked()).unwrap_or(usize::MAX);
        while computers.all.len() > linked.saturating_add(REMEMBERED) && computers.forget_one() {}
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
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
    /// The older link of the same start of the agent that this one replaces.
    pub older: Option<Arc<Link>>,
}

/// Another start of an agent has a number.
#[derive(Debug)]
pub struct Taken {
    /// Its link.
    pub link: Arc<Link>,
    /// What it told of itself.
    pub facts: Arc<Facts>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        computers::{job::About, link::tests::Nowhere},
        wire::{
            frame::{self, AgentFrame},
            names::ComputerId,
            text::TextMode,
        },
    };

    fn hello(id: u64, boot: &str, key: &str) -> Hello {
        match frame::read(
            &format!(
                r#"{{"type":"hello","computerId":{id},"protocol":2,"boot":"{boot}","key":"{key}"}}"#
            ),
            TextMode::Plain,
        ) {
            Ok(AgentFrame::Hello(hello)) => *hello,
            other => panic!("{other:?}"),
        }
    }

    fn link_as(registry: &Registry, mut hello: Hello) -> Result<Registered, Taken> {
        registry.link(
            &mut hello,
            "127.0.0.1:1".parse().unwrap(),
            Box::new(Nowhere),
        )
    }

    fn link(registry: &Registry, id: u64) -> (Arc<Computer>, Arc<Link>, Option<Arc<Link>>) {
        let registered = link_as(registry, hello(id, "k3v9", "")).unwrap();
        (registered.computer, registered.link, registered.older)
    }

    #[test]
    fn another_start_gets_a_number_only_when_the_link_of_the_former_has_ended() {
        let registry = Registry::default();
        let first = link_as(&registry, hello(7, "k3v9", "a")).unwrap();
        for (boot, key) in [("q2m0", "a"), ("k3v9", "b"), ("k3v9", ""), ("", "a")] {
            let taken = link_as(&registry, hello(7, boot, key)).unwrap_err();
            assert!(Arc::ptr_eq(&taken.link, &first.link), "{boot} {key}");
        }
        registry.leave(&first.computer, &first.link, "gone");
        let second = link_as(&registry, hello(7, "", "a")).unwrap();
        assert!(second.older.is_none() && second.computer.change_of_hands().is_none());
        // One that tells no start can't be known again.
        assert!(link_as(&registry, hello(7, "", "a")).is_err());
        registry.leave(&second.computer, &second.link, "gone");
        let third = link_as(&registry, hello(7, "q2m0", "b")).unwrap();
        assert!(third.computer.change_of_hands().is_some());
    }

    #[test]
    fn a_newer_link_of_the_same_start_replaces_the_older() {
        let registry = Registry::default();
        let (computer, first, none) = link(&registry, 7);
        let (_, second, older) = link(&registry, 7);
        assert!(none.is_none() && Arc::ptr_eq(&older.unwrap(), &first));
        registry.leave(&computer, &first, "replaced");
        assert!(Arc::ptr_eq(
            &registry.get(ComputerId(7).into()).unwrap().link().unwrap(),
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
            .map(|computer| computer.key.number.0)
            .collect();
        assert_eq!(ids, [2, 10, 33]);
    }

    #[test]
    fn computers_that_were_used_are_forgotten_last() {
        let registry = Registry::default();
        let gone = |id| {
            let (computer, link, _) = link(&registry, id);
            if id == 0 {
                let about = About::listed("return 1", false);
                computer.begin(registry.ids.next(), about).unwrap();
            }
            registry.leave(&computer, &link, "gone");
        };
        (0..=2 * REMEMBERED as u64).for_each(gone);
        assert_eq!(registry.all().len(), REMEMBERED);
        assert!(registry.get(ComputerId(0).into()).is_some());
        assert!(registry.get(ComputerId(1).into()).is_none());
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
        assert!(registry.get(ComputerId(0).into()).is_none());
        assert!(Arc::ptr_eq(
            &registry
                .get(ComputerId(1_000_000).into())
                .unwrap()
                .link()
                .unwrap(),
            &stays
        ));
    }
}
