//! The world's clock: ticks of 50 ms, and the time of day they add up to.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A tick of the game, in seconds.
pub(super) const TICK_SECONDS: f64 = 0.05;

/// Ticks in a day of the world.
const DAY_TICKS: u64 = 24_000;

/// A new world begins at six in the morning.
const FIRST_HOUR: f64 = 6.0;

/// Counts ticks from the moment the computer was switched on.
///
/// A clock that runs `speed` times faster shortens its ticks, and nothing else. A paused clock stands still, as
/// a paused single-player world does: no timer fires, while events from sockets still arrive.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    /// How many times faster than the game it runs.
    speed: f64,
    /// What had passed, in game time, when `since` was taken.
    passed: Duration,
    /// When it was last started; `None` while it is paused.
    since: Option<Instant>,
}

impl Clock {
    pub(super) fn new(speed: f64) -> Self {
        Clock {
            speed: if speed.is_finite() && speed > 0.0 {
                speed
            } else {
                1.0
            },
            passed: Duration::ZERO,
            since: Some(Instant::now()),
        }
    }

    /// Makes it run so many times faster than the game from now on.
    pub(super) fn set_speed(&mut self, speed: f64) {
        self.passed = self.elapsed();
        self.since = self.since.map(|_| Instant::now());
        self.speed = Clock::new(speed).speed;
    }

    /// Game time since the start.
    pub(super) fn elapsed(&self) -> Duration {
        self.passed
            + self
                .since
                .map_or(Duration::ZERO, |since| since.elapsed().mul_f64(self.speed))
    }

    /// Whole ticks since the start.
    pub(super) fn tick(&self) -> u64 {
        (self.elapsed().as_secs_f64() / TICK_SECONDS) as u64
    }

    /// How long in real time until that tick; `None` if the clock is paused.
    pub(super) fn until(&self, tick: u64) -> Option<Duration> {
        self.since?;
        // A microsecond more than needed, so that rounding never wakes us just before the tick.
        let due = Duration::from_secs_f64(tick as f64 * TICK_SECONDS) + Duration::from_micros(1);
        Some(due.saturating_sub(self.elapsed()).div_f64(self.speed))
    }

    pub(super) fn pause(&mut self) {
        self.passed = self.elapsed();
        self.since = None;
    }

    pub(super) fn resume(&mut self) {
        self.since.get_or_insert_with(Instant::now);
    }

    /// The day of the world, from 1.
    pub(super) fn day(&self) -> u64 {
        (self.tick() + (FIRST_HOUR * 1000.0) as u64) / DAY_TICKS + 1
    }

    /// The hour of the world, from 0 to 24.
    pub(super) fn hour(&self) -> f64 {
        ((self.tick() + (FIRST_HOUR * 1000.0) as u64) % DAY_TICKS) as f64 / 1000.0
    }

    /// Ticks until it is next that hour.
    pub(super) fn ticks_until_hour(&self, hour: f64) -> u64 {
        let hours = (hour - self.hour()).rem_euclid(24.0);
        ((hours * 1000.0).round() as u64).max(1)
    }

    /// Milliseconds since 1970. The game asks the machine that it runs on: neither its ticks nor its pauses change that.
    pub(super) fn epoch_ms(&self) -> f64 {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        (now.as_secs_f64() * 1000.0).floor()
    }
}
