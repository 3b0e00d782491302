//! What is known of an agent's clock: so that a request can name the moment after which it is not to begin any more.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// For how long a reading counts at least. It counts for twice as long at most: then a clock that was set back is seen.
const COUNTS_FOR: Duration = Duration::from_secs(30);

/// An agent's clock, known by what the agent said of it now and then.
///
/// How long a word of the agent was under way is not known. So what the clock shows at some moment is only known to be
/// no earlier than the last word says; of several words the one counts that was under way for the shortest time.
#[derive(Debug)]
pub struct AgentClock(Mutex<Readings>);

/// What an agent's clock showed, and when that was learned.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    /// In milliseconds since 1970.
    pub at: u64,
    /// When it came, or an earlier moment after it was said.
    pub came: Instant,
}

#[derive(Debug)]
struct Readings {
    latest: Reading,
    /// The best since `began`, and the best of the time before.
    best: Reading,
    before: Reading,
    began: Instant,
}

impl Reading {
    /// What the clock shows at `moment`, at least.
    fn at(self, moment: Instant) -> u64 {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        match moment.checked_duration_since(self.came) {
            Some(since) => self.at.saturating_add(millis(since)),
            // A fraction of a millisecond before it counts as a whole one.
            None => self.at.saturating_sub(millis(self.came - moment) + 1),
        }
    }
}

impl AgentClock {
    /// A clock of which one reading is known.
    pub fn new(first: Reading) -> Self {
        Self(Mutex::new(Readings {
            latest: first,
            best: first,
            before: first,
            began: first.came,
        }))
    }

    /// Takes a further reading.
    pub fn read(&self, reading: Reading) {
        let mut readings = self.lock();
        readings.latest = reading;
        if reading.came.duration_since(readings.began) >= COUNTS_FOR {
            readings.before = readings.best;
            readings.best = reading;
            readings.began = reading.came;
        } else if reading.at(reading.came) >= readings.best.at(reading.came) {
            readings.best = reading;
        }
    }

    /// What the clock shows at `moment`, in milliseconds since 1970: that, or later.
    pub fn at(&self, moment: Instant) -> u64 {
        let readings = self.lock();
        readings.best.at(moment).max(readings.before.at(moment))
    }

    /// The latest reading.
    pub fn latest(&self) -> Reading {
        self.lock().latest
    }

    fn lock(&self) -> MutexGuard<'_, Readings> {
        // It is never left half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn the_word_that_was_fastest_counts_whichever_came_last() {
        let start = Instant::now();
        let said_at = |second: u64, delay: Duration| Reading {
            at: 1_000_000 + second * 1000,
            came: start + SECOND * u32::try_from(second).unwrap() + delay,
        };
        // Each word tells 1,000,000 at the start, less what it was under way for.
        let clock = AgentClock::new(said_at(0, SECOND * 3));
        assert_eq!(clock.at(start + SECOND * 10), 1_007_000);
        clock.read(said_at(5, SECOND / 10));
        assert_eq!(clock.at(start + SECOND * 10), 1_009_900);
        clock.read(said_at(10, SECOND * 2));
        assert_eq!(clock.at(start + SECOND * 10), 1_009_900);
        assert_eq!(clock.at(start), 999_899);
        assert_eq!(clock.latest().at, 1_010_000);
    }

    #[tokio::test]
    async fn a_clock_that_was_set_back_is_seen_within_a_minute() {
        let start = Instant::now();
        let clock = AgentClock::new(Reading {
            at: 1_000_000,
            came: start,
        });
        for second in (5..=65).step_by(5) {
            clock.read(Reading {
                at: 500_000 + second * 1000,
                came: start + SECOND * u32::try_from(second).unwrap(),
            });
        }
        assert_eq!(clock.at(start + SECOND * 65), 565_000);
    }
}
