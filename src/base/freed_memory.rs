//! Gives freed memory back to the system also when nothing happens any more.
//!
//! The allocator (mimalloc 3) puts such work off to later allocations. A page that was freed is kept for a second, should
//! it be needed again, and is given back when another one is freed. A page that one thread filled and another one emptied
//! is looked at by the first after ten thousand allocations of more than a kibibyte. A process that has gone quiet makes
//! none, and would keep what it had at its busiest until something happens again: of 15,000 links that are gone, 85 MB.

use std::{hint::black_box, time::Duration};

use tokio::time::{MissedTickBehavior, interval};

/// How often memory is given back: the process wakes up for that, for a millisecond at most.
const EVERY: Duration = Duration::from_secs(5);

/// So much is a page of its own, and freed at once. It is never written to, so it takes no memory.
const PAGE: usize = 1024 * 1024;

/// After so many allocations of more than a kibibyte a thread looks through its pages.
const TO_LOOK: usize = 10_000;

/// The size of those.
const MORE_THAN_SMALL: usize = 2 * 1024;

/// How many tasks see to that at once: each thread of the runtime is to have one of them, now or the next time.
const AT_ONCE: usize = 4;

/// Sees to it for as long as the present runtime lives.
pub fn give_back() {
    tokio::spawn(async {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            for _ in 0..AT_ONCE {
                tokio::spawn(async { look_through_pages() });
            }
        }
    });
}

fn look_through_pages() {
    for _ in 0..TO_LOOK {
        drop(black_box(Vec::<u8>::with_capacity(MORE_THAN_SMALL)));
    }
    drop(black_box(Vec::<u8>::with_capacity(PAGE)));
}
