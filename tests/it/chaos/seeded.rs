//! Numbers that look random, and come again with the same seed.

use std::ops::Range;

/// A source of them (xorshift64*).
pub struct Seeded(u64);

impl Seeded {
    /// One whose numbers are those of this seed.
    pub fn new(seed: u64) -> Self {
        // Seeds that differ by little are to have nothing in common, and none may be 0.
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        // The high bits are the better ones.
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16) % bound
    }

    pub fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.below(range.end - range.start)
    }

    /// True so many times in a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
