//! Answers to wrong tokens, which come late: guessing takes time, and whoever only mistyped hardly notices. No address
//! is locked out for what came from it: a whole game server may stand behind one.

use std::{sync::Arc, time::Duration};

use tokio::{sync::Semaphore, time::sleep};

/// How late.
pub const AFTER: Duration = Duration::from_secs(1);

/// How many wait at once. Beyond that many the answer comes at once: what is to keep guessers out is the token's length.
const WAITING: usize = 256;

/// All those at one port that wait for such an answer.
#[derive(Debug, Clone)]
pub struct LateAnswers(Arc<Semaphore>);

impl Default for LateAnswers {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(WAITING)))
    }
}

impl LateAnswers {
    /// Waits until it is late enough.
    pub async fn wait(&self) {
        if let Ok(_place) = self.0.try_acquire() {
            sleep(AFTER).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use tokio::time;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn so_many_wait_and_no_more() {
        let late = LateAnswers::default();
        let start = time::Instant::now();
        let answered = join_all((0..WAITING + 100).map(|_| async {
            late.wait().await;
            start.elapsed() >= AFTER
        }));
        let answered = answered.await;
        assert_eq!(answered.iter().filter(|late| **late).count(), WAITING);
        // Their places are free again.
        let start = time::Instant::now();
        late.wait().await;
        assert_eq!(start.elapsed(), AFTER);
    }
}
