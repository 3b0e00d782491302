//! Whether a computer is here, and who waits for a change of that. No I/O.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use tokio::sync::Notify;

use super::link::Link;

/// Whether a computer can be asked now.
#[derive(Debug, Clone)]
pub enum Presence {
    /// Over this link.
    Linked(Arc<Link>),
    /// It is gone.
    Left {
        /// Since when.
        since: SystemTime,
        /// Why, as a sentence's end: "its agent closed the link".
        why: String,
    },
}

/// The presence of a computer, which many may follow. There are thousands, and hardly one is followed: a channel of
/// tokio's would hold room for eight crowds of followers for each.
#[derive(Debug)]
pub(super) struct Whereabouts {
    now: Mutex<(Seen, Presence)>,
    changed: Notify,
}

/// Up to which change somebody has seen a computer's presence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen(u64);

impl Whereabouts {
    /// At first this.
    pub fn new(presence: Presence) -> Self {
        Self {
            now: Mutex::new((Seen(1), presence)),
            changed: Notify::new(),
        }
    }

    /// Looks at what it is now.
    pub fn look<T>(&self, look: impl FnOnce(&Presence) -> T) -> T {
        look(&self.lock().1)
    }

    /// Looks at what it is now, and notes that this was seen.
    pub fn see<T>(&self, seen: &mut Seen, look: impl FnOnce(&Presence) -> T) -> T {
        let now = self.lock();
        *seen = now.0;
        look(&now.1)
    }

    /// Waits until it is another one than was seen.
    pub async fn changed(&self, seen: Seen) {
        loop {
            // It is told of all changes from here on.
            let changed = self.changed.notified();
            if self.lock().0 != seen {
                return;
            }
            changed.await;
        }
    }

    /// Becomes what `next` makes of it, unless that is nothing; what it was before.
    pub fn change(&self, next: impl FnOnce(&Presence) -> Option<Presence>) -> Option<Presence> {
        let former = {
            let mut now = self.lock();
            let next = next(&now.1)?;
            now.0.0 += 1;
            std::mem::replace(&mut now.1, next)
        };
        self.changed.notify_waiters();
        Some(former)
    }

    fn lock(&self) -> MutexGuard<'_, (Seen, Presence)> {
        // It is never left half changed.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn gone(why: &str) -> Presence {
        Presence::Left {
            since: SystemTime::UNIX_EPOCH,
            why: why.to_owned(),
        }
    }

    #[tokio::test]
    async fn who_follows_learns_of_each_change_that_it_has_not_seen() {
        let whereabouts = Whereabouts::new(gone("one"));
        let mut seen = Seen::default();
        // Nothing was seen yet.
        whereabouts.changed(seen).await;
        whereabouts.see(&mut seen, |_| ());
        let mut changed = Box::pin(whereabouts.changed(seen));
        assert!((&mut changed).now_or_never().is_none());
        assert!(whereabouts.change(|_| None).is_none());
        assert!((&mut changed).now_or_never().is_none());
        let former = whereabouts.change(|_| Some(gone("other")));
        assert!(matches!(former, Some(Presence::Left { why, .. }) if why == "one"));
        changed.await;
        let why = whereabouts.look(|now| format!("{now:?}"));
        assert!(why.contains("other"), "{why}");
    }
}
