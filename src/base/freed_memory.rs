//! Gives freed memory back to the system also when nothing happens any more.
//!
//! The allocator (mimalloc) keeps a page that was freed for a second, should it be needed again, and gives such pages
//! back whenever another one is freed. A process that has gone quiet frees none, and would keep what it had at its
//! busiest until something happens again.

use std::{hint::black_box, time::Duration};

use tokio::time::{MissedTickBehavior, interval};

/// How often memory is given back: the process wakes up for that.
const EVERY: Duration = Duration::from_secs(5);

/// So much is a page of its own, and freed at once. It is never written to, so it takes no memory.
const PAGE: usize = 1024 * 1024;

/// Sees to it for as long as the present runtime lives.
pub fn give_back() {
    tokio::spawn(async {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            drop(black_box(Vec::<u8>::with_capacity(PAGE)));
        }
    });
}
