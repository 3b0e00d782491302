//! A link in doubt: another computer of its number has come, so whoever serves it asks for a sign of life.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};

/// How long whoever came waits for a sign, or for the end of the link: most that live, and most connections whose other
/// end is gone, show it by then.
const MOMENT: Duration = Duration::from_millis(500);

/// Where one who doubts that a link still stands, and the one who serves it, meet.
#[derive(Debug, Default)]
pub struct Doubt {
    /// Whether a sign is to be asked for.
    raised: AtomicBool,
    sign: Notify,
    /// When the link ends if there is no sign, while one is waited for.
    until: Mutex<Option<Instant>>,
}

impl Doubt {
    /// Has a sign of life asked for, by a `call` to whoever serves the link, and waits a moment for it. Returns within
    /// what time it will be known that the link is dead; none if it lives, or nothing but its connection can tell.
    pub(super) async fn raise(&self, call: impl FnOnce()) -> Option<Duration> {
        let sign = self.sign.notified();
        self.raised.store(true, Ordering::Release);
        call();
        if timeout(MOMENT, sign).await.is_ok() {
            return None;
        }
        let until = *self.lock();
        until.map(|until| until.saturating_duration_since(Instant::now()))
    }

    /// Whether somebody doubts since this was asked last.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed) && self.raised.swap(false, Ordering::Acquire)
    }

    /// Notes when the link ends if there is no sign.
    pub fn lasts_until(&self, moment: Instant) {
        *self.lock() = Some(moment);
    }

    /// Notes a sign of life.
    pub fn settle(&self) {
        *self.lock() = None;
        self.sign.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        // Nothing that holds the lock can panic.
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
