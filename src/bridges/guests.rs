//! The guests of this bridge while it owns the link port, and what each is still to be sent.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::SystemTime,
};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::message::{self, FromOwner, Introduction};
use crate::{
    computers::{Computer, ComputerKey, follower::Follower, link::Link},
    wire::names::RequestId,
};

/// How much may wait for a guest to read it, in bytes: two of the largest frames. A guest that falls further behind is
/// frozen; it is let go, and gets everything again when it comes back.
const MOST_WAITING: usize = 48 * 1024 * 1024;

/// What a guest told of itself when it came.
#[derive(Debug)]
pub struct Greeted {
    /// Its process id.
    pub pid: u32,
    /// What the ids of its requests begin with.
    pub prefix: String,
    /// Whether it knows the word of a new label.
    pub knows_label: bool,
    /// Whether it knows the word of a pause.
    pub knows_paused: bool,
}

/// A guest, as the rest of the program sends it something. Nothing here waits: no guest keeps a computer waiting.
#[derive(Debug)]
pub struct Guest {
    /// Its process id.
    pub pid: u32,
    /// What the ids of its requests begin with.
    pub prefix: String,
    /// Whether it is told of new labels.
    knows_label: bool,
    /// Whether it is told of pauses.
    knows_paused: bool,
    messages: mpsc::UnboundedSender<String>,
    /// Bytes of messages that were not sent yet.
    waiting: AtomicUsize,
    /// Cancelled to let it go.
    pub(super) end: CancellationToken,
}

impl Guest {
    /// A guest, and the receiver that its session sends messages from.
    pub fn new(greeted: Greeted) -> (Arc<Self>, mpsc::UnboundedReceiver<String>) {
        let (messages, receiver) = mpsc::unbounded_channel();
        let guest = Self {
            pid: greeted.pid,
            prefix: greeted.prefix,
            knows_label: greeted.knows_label,
            knows_paused: greeted.knows_paused,
            messages,
            waiting: AtomicUsize::new(0),
            end: CancellationToken::new(),
        };
        (Arc::new(guest), receiver)
    }

    /// Sends it a message as soon as it has read what came before.
    pub fn push(&self, message: String) {
        let waiting = self.waiting.fetch_add(message.len(), Ordering::AcqRel) + message.len();
        if waiting > MOST_WAITING || self.messages.send(message).is_err() {
            self.end.cancel();
        }
    }

    /// Sends it a control message.
    pub fn tell(&self, message: &FromOwner) {
        self.push(message::write(message));
    }

    /// Notes that a message of this many bytes was sent.
    pub(super) fn sent(&self, bytes: usize) {
        self.waiting.fetch_sub(bytes, Ordering::AcqRel);
    }
}

/// All guests, by what the ids of their requests begin with.
#[derive(Debug, Default)]
pub struct Guests {
    guests: Mutex<HashMap<String, Arc<Guest>>>,
    /// How many there are: without any, nothing of this costs more than a look at it.
    count: AtomicUsize,
}

impl Guests {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// The guest that made this request.
    pub fn of(&self, request: &RequestId) -> Option<Arc<Guest>> {
        if self.count() == 0 {
            return None;
        }
        self.lock().get(request.prefix()?).cloned()
    }

    /// Whether one is here whose requests' ids begin so.
    pub fn has(&self, prefix: &str) -> bool {
        self.lock().contains_key(prefix)
    }

    /// Tells all of them.
    pub fn tell_all(&self, message: impl FnOnce() -> FromOwner) {
        self.tell_those(|_| true, message);
    }

    /// Tells those of them who are `meant`.
    fn tell_those(&self, meant: impl Fn(&Guest) -> bool, message: impl FnOnce() -> FromOwner) {
        if self.count() == 0 {
            return;
        }
        let text = message::write(&message());
        for guest in self.lock().values().filter(|guest| meant(guest)) {
            guest.push(text.clone());
        }
    }

    /// Takes one in. An older session of the same guest ends.
    pub fn enter(&self, guest: &Arc<Guest>) {
        let mut guests = self.lock();
        if let Some(older) = guests.insert(guest.prefix.clone(), guest.clone()) {
            older.end.cancel();
        }
        self.count.store(guests.len(), Ordering::Release);
    }

    /// Lets one go, unless a newer session of it has taken its place.
    pub fn leave(&self, guest: &Arc<Guest>) {
        let mut guests = self.lock();
        if guests
            .get(&guest.prefix)
            .is_some_and(|present| Arc::ptr_eq(present, guest))
        {
            guests.remove(&guest.prefix);
        }
        self.count.store(guests.len(), Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Guest>>> {
        // The map is never left half changed.
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Follower for Guests {
    fn linked(&self, computer: &Computer, link: &Link) {
        self.tell_all(|| FromOwner::Linked(Introduction::of(computer, Some(link))));
    }

    fn relabelled(&self, computer: ComputerKey, label: Option<&str>) {
        let message = || FromOwner::Label {
            computer_id: computer,
            label: label.map(str::to_owned),
        };
        self.tell_those(|guest| guest.knows_label, message);
    }

    fn paused(&self, computer: ComputerKey, paused: bool) {
        let message = || FromOwner::Paused {
            computer_id: computer,
            paused,
        };
        self.tell_those(|guest| guest.knows_paused, message);
    }

    fn left(&self, computer: ComputerKey, since: SystemTime, why: &str) {
        self.tell_all(|| FromOwner::Left {
            introduction: None,
            computer_id: computer,
            since,
            why: why.to_owned(),
        });
    }

    fn has_asked(&self, request: &RequestId) -> bool {
        self.of(request).is_some()
    }

    fn hand(&self, computer: ComputerKey, link: u64, request: &RequestId, frame: &str) -> bool {
        let guest = self.of(request);
        if let Some(guest) = &guest {
            guest.push(message::envelope(computer, link, None, frame));
        }
        guest.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest_aaaa() -> (Arc<Guest>, mpsc::UnboundedReceiver<String>) {
        Guest::new(Greeted {
            pid: 1,
            prefix: "aaaa-".into(),
            knows_label: true,
            knows_paused: true,
        })
    }

    #[tokio::test]
    async fn a_request_is_known_by_its_id_to_be_a_guests() {
        let guests = Guests::default();
        assert!(guests.of(&"aaaa-1".into()).is_none());
        let (guest, mut messages) = guest_aaaa();
        guests.enter(&guest);
        assert!(
            guests
                .of(&"aaaa-1".into())
                .is_some_and(|of| Arc::ptr_eq(&of, &guest))
        );
        assert!(guests.of(&"bbbb-1".into()).is_none() && guests.of(&"aaaa".into()).is_none());
        guests.tell_all(|| FromOwner::Bridges { count: 2 });
        assert_eq!(
            messages.recv().await.unwrap(),
            r#"{"type":"bridges","count":2}"#
        );
        guests.leave(&guest);
        assert!(guests.of(&"aaaa-1".into()).is_none() && guests.count() == 0);
    }

    #[tokio::test]
    async fn the_same_guest_come_back_takes_the_place_of_its_older_session() {
        let guests = Guests::default();
        let (older, _messages) = guest_aaaa();
        let (newer, _messages) = guest_aaaa();
        guests.enter(&older);
        guests.enter(&newer);
        assert!(older.end.is_cancelled() && !newer.end.is_cancelled());
        guests.leave(&older);
        assert!(
            guests
                .of(&"aaaa-1".into())
                .is_some_and(|of| Arc::ptr_eq(&of, &newer))
        );
    }

    #[tokio::test]
    async fn one_that_does_not_read_is_let_go() {
        let (guest, _messages) = guest_aaaa();
        for _ in 0..48 {
            guest.push("x".repeat(1024 * 1024));
        }
        assert!(!guest.end.is_cancelled());
        guest.push("x".into());
        assert!(guest.end.is_cancelled());
    }
}
