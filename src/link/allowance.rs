//! How much a peer may send that nobody asked for. No I/O.

use tokio::time::Instant;

use crate::wire::ending::Ending;

/// How many frames that nobody asked for are taken at once, and how many more each second.
const UNASKED_BURST: f64 = 200.0;
const UNASKED_PER_SECOND: f64 = 20.0;

/// How many frames that nobody asked for a link may still send; fills up again with time.
#[derive(Debug)]
pub struct Allowance {
    left: f64,
    counted: Instant,
}

impl Allowance {
    /// A full one.
    pub fn new() -> Self {
        Self {
            left: UNASKED_BURST,
            counted: Instant::now(),
        }
    }

    /// Takes one frame.
    ///
    /// # Errors
    /// There were more than anyone asked for.
    pub fn take(&mut self) -> Result<(), Ending> {
        let now = Instant::now();
        let refill = now.duration_since(self.counted).as_secs_f64() * UNASKED_PER_SECOND;
        self.left = (self.left + refill).min(UNASKED_BURST) - 1.0;
        self.counted = now;
        if self.left < 0.0 {
            Err(Ending::Flood)
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn unasked_frames_run_out_and_come_back_with_time() {
        let mut allowance = Allowance::new();
        for _ in 0..200 {
            allowance.take().unwrap();
        }
        assert!(matches!(allowance.take(), Err(Ending::Flood)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(allowance.take().is_ok());
    }
}
