//! Pings of a roll call, as the computers that they are under way to hold them. No I/O.
//!
//! A ping begins nothing: to lose one, or to send it twice, changes nothing on a computer. So it needs no job, with a
//! channel of its own and a task that waits for it: it is an entry in a list, and its answer goes into a slot.

use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::Value;
use tokio::sync::Notify;

use super::link::Link;
use crate::wire::{
    frame::{Answer, Response},
    names::RequestId,
};

/// What a computer says to a ping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pong {
    /// Its word.
    Text(String),
    /// That something is wrong, and what.
    Error(String),
    /// Nothing in time.
    None,
}

impl Pong {
    /// What an answer says.
    pub(super) fn of(answer: &Answer) -> Self {
        match &answer.error {
            Some(error) => Self::Error(error.message.clone()),
            None => {
                let word = answer.result.as_ref().and_then(Value::as_str);
                Self::Text(word.unwrap_or_default().to_owned())
            }
        }
    }
}

/// What has come of a roll call so far.
#[derive(Debug)]
pub(super) struct Roll {
    /// What each computer said.
    pongs: Box<[OnceLock<Pong>]>,
    /// How many have said nothing yet.
    open: AtomicUsize,
    /// Those whose links ended meanwhile, and who may be asked again.
    missed: Mutex<Vec<usize>>,
    /// Told when none is open any more, or one is missed.
    news: Notify,
}

impl Roll {
    /// One of so many computers.
    pub fn of(count: usize) -> Arc<Self> {
        Arc::new(Self {
            pongs: (0..count).map(|_| OnceLock::new()).collect(),
            open: AtomicUsize::new(count),
            missed: Mutex::default(),
            news: Notify::new(),
        })
    }

    /// Notes what a computer said. The first word counts.
    pub fn settle(&self, at: usize, pong: Pong) {
        if self.pongs[at].set(pong).is_ok() && self.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.news.notify_one();
        }
    }

    /// Whether this computer's word is known.
    pub fn is_settled(&self, at: usize) -> bool {
        self.pongs[at].get().is_some()
    }

    /// Whether all are.
    pub fn is_over(&self) -> bool {
        self.open.load(Ordering::Acquire) == 0
    }

    /// Waits until all are, or one was missed.
    pub async fn news(&self) {
        self.news.notified().await;
    }

    /// Those that were missed since this was asked last.
    pub fn take_missed(&self) -> Vec<usize> {
        std::mem::take(&mut *self.missed())
    }

    /// What each computer said, in their order.
    pub fn pongs(&self) -> Vec<Pong> {
        let pongs = self.pongs.iter();
        pongs
            .map(|pong| pong.get().cloned().unwrap_or(Pong::None))
            .collect()
    }

    fn miss(&self, at: usize) {
        self.missed().push(at);
        self.news.notify_one();
    }

    fn missed(&self) -> MutexGuard<'_, Vec<usize>> {
        // Nothing that holds the lock can panic.
        self.missed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The pings under way to one computer.
#[derive(Debug, Default)]
pub(super) struct Pings(Mutex<Vec<Ping>>);

/// One of them.
#[derive(Debug)]
pub(super) struct Ping {
    /// The request's id.
    pub id: RequestId,
    /// The link that it was sent over, where a place was taken for it.
    pub link: Arc<Link>,
    /// The roll call that it is one of.
    pub roll: Arc<Roll>,
    /// Which computer this is there.
    pub at: usize,
    /// Whether the computer said that it has it, and the place is free again.
    pub is_taken: bool,
}

impl Drop for Ping {
    fn drop(&mut self) {
        if !self.is_taken {
            self.link.free_place();
        }
    }
}

impl Pings {
    /// Takes one in.
    pub fn enter(&self, ping: Ping) {
        self.lock().push(ping);
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// The computer has this one; tells whether it is one of these.
    pub fn accepted(&self, id: &RequestId) -> bool {
        let mut pings = self.lock();
        let Some(ping) = pings.iter_mut().find(|ping| ping.id == *id) else {
            return false;
        };
        if !std::mem::replace(&mut ping.is_taken, true) {
            ping.link.free_place();
        }
        true
    }

    /// Takes an answer to one of these; tells whether it is one.
    pub fn answered(&self, response: &Response) -> bool {
        let ping = {
            let mut pings = self.lock();
            let found = pings.iter().position(|ping| ping.id == response.id);
            found.map(|at| pings.swap_remove(at))
        };
        if let Some(ping) = &ping {
            ping.roll.settle(ping.at, Pong::of(&response.answer));
        }
        ping.is_some()
    }

    /// Forgets those that went over a link that has ended. An agent of version 1 is asked nothing twice.
    pub fn link_ended(&self, link: &Arc<Link>) {
        let ended: Vec<_> = self
            .lock()
            .extract_if(.., |ping| Arc::ptr_eq(&ping.link, link))
            .collect();
        for ping in ended {
            match link.dialect().is_v2() {
                true => ping.roll.miss(ping.at),
                false => ping.roll.settle(ping.at, Pong::None),
            }
        }
    }

    /// The id of the one of this roll call, if the computer did not say that it has it.
    pub fn untaken(&self, roll: &Arc<Roll>) -> Option<RequestId> {
        let pings = self.lock();
        let mut untaken = pings.iter().filter(|ping| !ping.is_taken);
        let ping = untaken.find(|ping| Arc::ptr_eq(&ping.roll, roll))?;
        Some(ping.id.clone())
    }

    /// Forgets the one of this roll call; tells whether there was one.
    pub fn withdraw(&self, roll: &Arc<Roll>) -> bool {
        let mut pings = self.lock();
        let found = pings.iter().position(|ping| Arc::ptr_eq(&ping.roll, roll));
        let ping = found.map(|at| pings.swap_remove(at));
        drop(pings);
        ping.is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Ping>> {
        // Nothing that holds the lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
