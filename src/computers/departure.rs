//! How a bridge leaves: each of its lines says farewell before the process ends, in a bounded time.

use std::{future::Future, sync::OnceLock, time::Duration};

use tokio::time::{Instant, timeout_at};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

/// How long a farewell may take. With the quarter of a second that a client's last answers have before, a process is gone
/// within half a second, which the most hurried of clients wait before they kill it.
const FAREWELL: Duration = Duration::from_millis(170);

/// The end of a bridge, as its lines to computers and to other bridges learn of it.
#[derive(Debug, Default)]
pub struct Departure {
    begun: CancellationToken,
    lines: TaskTracker,
    /// Until when farewells are waited for.
    until: OnceLock<Instant>,
}

impl Departure {
    /// Counts a line that says farewell when the bridge leaves, for as long as the token lives.
    pub fn line(&self) -> TaskTrackerToken {
        self.lines.token()
    }

    /// Waits until the bridge leaves: then a line says what its other end has to know, and closes.
    pub fn begun(&self) -> impl Future<Output = ()> + '_ {
        self.begun.cancelled()
    }

    /// Whether the bridge leaves.
    pub fn has_begun(&self) -> bool {
        self.until.get().is_some()
    }

    /// Lets all lines say farewell, within a time that begins at the first time. Who takes nothing until then goes
    /// without. `call` has those look whether it has begun that don't wait for it.
    pub(super) async fn leave(&self, call: impl FnOnce()) {
        let until = *self.until.get_or_init(|| Instant::now() + FAREWELL);
        self.begun.cancel();
        call();
        self.lines.close();
        if timeout_at(until, self.lines.wait()).await.is_err() {
            tracing::warn!(lines = self.lines.len(), "left without a farewell");
        }
    }
}
