//! Screens are put into words and drawn beside all else: a large one takes milliseconds, and they may be a hundred.

use tokio::{
    sync::Semaphore,
    task::{JoinError, spawn_blocking},
};

/// How many are worked on at once.
const AT_ONCE: usize = 2;

/// Where that is done.
pub struct Beside {
    places: Semaphore,
}

impl Default for Beside {
    fn default() -> Self {
        Self {
            places: Semaphore::new(AT_ONCE),
        }
    }
}

impl Beside {
    /// Does something with a screen, and waits for it.
    ///
    /// # Errors
    /// It was not done.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        // They are never closed.
        let _place = self.places.acquire().await;
        spawn_blocking(work).await
    }
}
