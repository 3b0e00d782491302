//! Each computer's own random numbers. C's are one sequence for the whole process, and the same at each start.

use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};

use super::section::{Problem, Section};

/// The state of a SplitMix64 generator, which is enough for programs that roll dice.
struct Random(Cell<u64>);

impl Random {
    fn next(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0, to 1 without it.
    fn fraction(&self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

pub(super) fn add(section: &Section<'_>) -> mlua::Result<()> {
    let random = std::rc::Rc::new(Random(Cell::new(
        RandomState::new().build_hasher().finish(),
    )));
    let seeded = std::rc::Rc::clone(&random);
    section.add("randomseed", move |_, args| {
        seeded.0.set(args.number(1)?.to_bits());
        Ok(())
    })?;
    section.add("random", move |_, args| {
        let fraction = random.fraction();
        if args.0.is_empty() {
            return Ok(fraction);
        }
        let (low, high, last) = if args.is_nil(2) {
            (1.0, args.finite(1)?.floor(), 1)
        } else {
            (args.finite(1)?.floor(), args.finite(2)?.floor(), 2)
        };
        if low > high {
            return Err(Problem::Thrown(format!(
                "bad argument #{last} (interval is empty)"
            )));
        }
        Ok((fraction * (high - low + 1.0)).floor() + low)
    })
}
