//! Output of jobs whose bridge is not here yet, held back for a moment. No I/O.
//!
//! After a takeover a computer may link to the new owner before the guest that made its requests does. What the owner
//! acknowledges the computer forgets, so nothing is acknowledged, and nothing lost, until that guest had time to come.

use std::collections::VecDeque;

use tokio::time::{Duration, Instant};

use crate::{base::budget::Share, wire::names::RequestId};

/// How long, after its computer linked, a guest has to come.
const GUEST_TIME: Duration = Duration::from_secs(3);

/// How often it is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How many pieces are held for one computer; its agent sends no more without an acknowledgement.
const MOST: usize = 64;

/// The pieces of one computer, in the order in which they came.
#[derive(Debug)]
pub struct Unclaimed {
    /// When the guests have had time enough.
    until: Instant,
    pieces: VecDeque<Piece>,
    look_at: Option<Instant>,
    /// Room for the pieces.
    room: Share,
}

/// A piece of output.
#[derive(Debug, PartialEq, Eq)]
pub struct Piece {
    /// The job's id.
    pub job: RequestId,
    /// The piece's place among the job's.
    pub seq: u64,
    /// The frame as it came.
    pub text: String,
}

impl Unclaimed {
    /// Those of a computer that links now. They take of `room`.
    pub fn new(now: Instant, room: Share) -> Self {
        Self {
            until: now + GUEST_TIME,
            pieces: VecDeque::new(),
            look_at: None,
            room,
        }
    }

    /// Whether guests may still come.
    pub fn waits(&self, now: Instant) -> bool {
        now < self.until
    }

    /// Holds a piece back, if there is room for it.
    pub fn hold(&mut self, job: &RequestId, seq: u64, text: &str, now: Instant) -> bool {
        let room = self.room.take(text.len());
        if room {
            let (job, text) = (job.clone(), text.to_owned());
            self.pieces.push_back(Piece { job, seq, text });
            self.look_at.get_or_insert(now + LOOK_EVERY);
        }
        room
    }

    /// Whether pieces of this job are held: those that follow have to wait behind them.
    pub fn holds(&self, job: &RequestId) -> bool {
        self.pieces.iter().any(|piece| piece.job == *job)
    }

    /// When to look for guests.
    pub fn due(&self) -> Option<Instant> {
        self.look_at
    }

    /// Takes out what is to be passed on, as `is_here` says of a job's guest, and everything once guests have had time
    /// enough.
    pub fn release(&mut self, now: Instant, is_here: impl Fn(&RequestId) -> bool) -> Vec<Piece> {
        let over = self.pieces.len().saturating_sub(MOST);
        let mut released = Vec::new();
        let mut kept = VecDeque::new();
        for (at, piece) in std::mem::take(&mut self.pieces).into_iter().enumerate() {
            if at < over || now >= self.until || is_here(&piece.job) {
                self.room.give_back(piece.text.len());
                released.push(piece);
            } else {
                kept.push_back(piece);
            }
        }
        self.pieces = kept;
        self.look_at = (!self.pieces.is_empty()).then(|| now + LOOK_EVERY);
        released
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::budget::Budget;

    /// Those of a computer that links now, with room for so many bytes.
    fn unclaimed(now: Instant, room: usize) -> Unclaimed {
        Unclaimed::new(now, Budget::new(room).share())
    }

    fn seqs(pieces: &[Piece]) -> Vec<(&str, u64)> {
        pieces
            .iter()
            .map(|piece| (piece.job.as_str(), piece.seq))
            .collect()
    }

    #[test]
    fn pieces_wait_for_their_guest_in_order_but_not_for_ever() {
        let start = Instant::now();
        let mut unclaimed = unclaimed(start, 100);
        assert!(unclaimed.due().is_none());
        for (job, seq) in [("a-1", 1), ("b-1", 1), ("a-1", 2)] {
            assert!(unclaimed.hold(&job.into(), seq, "", start));
        }
        assert!(unclaimed.holds(&"a-1".into()) && !unclaimed.holds(&"c-1".into()));
        assert_eq!(unclaimed.due(), Some(start + LOOK_EVERY));
        let released = unclaimed.release(start + LOOK_EVERY, |job| job.as_str() == "a-1");
        assert_eq!(seqs(&released), [("a-1", 1), ("a-1", 2)]);
        assert!(unclaimed.release(start + LOOK_EVERY, |_| false).is_empty());
        let released = unclaimed.release(start + GUEST_TIME, |_| false);
        assert_eq!(seqs(&released), [("b-1", 1)]);
        assert!(unclaimed.due().is_none());
    }

    #[test]
    fn no_more_are_held_than_an_agent_sends() {
        let start = Instant::now();
        let mut unclaimed = unclaimed(start, 100);
        for seq in 0..MOST as u64 + 3 {
            assert!(unclaimed.hold(&"a-1".into(), seq, "", start));
        }
        let released = unclaimed.release(start, |_| false);
        assert_eq!(seqs(&released), [("a-1", 0), ("a-1", 1), ("a-1", 2)]);
    }

    #[test]
    fn none_is_held_without_room_which_comes_back_with_those_that_are_released() {
        let start = Instant::now();
        let mut unclaimed = unclaimed(start, 100);
        let text = "x".repeat(60);
        assert!(unclaimed.hold(&"a-1".into(), 1, &text, start));
        assert!(!unclaimed.hold(&"a-1".into(), 2, &text, start));
        assert_eq!(seqs(&unclaimed.release(start, |_| true)), [("a-1", 1)]);
        assert!(unclaimed.hold(&"a-1".into(), 3, &text, start));
    }
}
