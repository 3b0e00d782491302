//! Frames that are larger than one message: cut into parts, and put together again. No I/O.

use std::{collections::VecDeque, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use tokio::time::{Duration, Instant};

use super::limits::MAX_ID;
use crate::base::budget::{Budget, Share};

/// The largest frame that is sent or taken in parts, in bytes: 16 MiB.
pub const MAX_FRAME: usize = 16 * 1024 * 1024;

/// Bytes of a frame in one part. In base64, with the rest of the part's own frame, they stay under the message limit.
const PART: usize = 90_000;

/// How many parts of a frame may wait for their acknowledgement.
const WINDOW: usize = 4;

/// How long a part waits for its acknowledgement before it is sent again.
const AGAIN_AFTER: Duration = Duration::from_secs(5);

/// How long an unfinished frame waits for its next part.
const IDLE: Duration = Duration::from_secs(60);

/// How many frames a peer may have under way in parts.
const ASSEMBLIES: usize = 2;

/// The most parts a frame may have: a peer must not make us reserve more than that.
const MAX_PARTS: usize = MAX_FRAME / 1024;

/// About how many bytes a part takes beside its own.
const PART_SIZE: usize = 64;

/// How many whole frames are remembered by name.
const REMEMBERED: usize = 8;

/// A frame on its way out in parts.
#[derive(Debug)]
pub struct Outgoing {
    /// The frame's name, for the parts to refer to.
    of: String,
    frame: Vec<u8>,
    /// The next part that was never sent.
    next: usize,
    /// Parts that were sent and not acknowledged, with when.
    waiting: Vec<(usize, Instant)>,
}

/// A part as it is written.
#[derive(Debug, PartialEq)]
pub struct Part {
    /// The frame's name.
    pub of: String,
    /// Which part.
    pub n: usize,
    /// Of how many.
    pub count: usize,
    /// Its bytes, in base64.
    pub data: String,
}

impl Outgoing {
    /// A frame to send under this name.
    pub fn new(of: String, frame: Vec<u8>) -> Self {
        Self {
            of,
            frame,
            next: 0,
            waiting: Vec::new(),
        }
    }

    /// The frame's name.
    pub fn name(&self) -> &str {
        &self.of
    }

    /// The next part to send now, if one may be.
    pub fn take(&mut self, now: Instant) -> Option<Part> {
        let n = if let Some((n, sent)) = self
            .waiting
            .iter_mut()
            .find(|(_, sent)| now >= *sent + AGAIN_AFTER)
        {
            *sent = now;
            *n
        } else if self.waiting.len() < WINDOW && self.next < self.count() {
            self.waiting.push((self.next, now));
            self.next += 1;
            self.next - 1
        } else {
            return None;
        };
        let bytes = &self.frame[n * PART..self.frame.len().min((n + 1) * PART)];
        Some(Part {
            of: self.of.clone(),
            n,
            count: self.count(),
            data: BASE64.encode(bytes),
        })
    }

    /// Notes that a part arrived; true when all have.
    pub fn acknowledge(&mut self, n: usize) -> bool {
        self.waiting.retain(|(waiting, _)| *waiting != n);
        self.next == self.count() && self.waiting.is_empty()
    }

    /// When a part has to be sent again at the latest.
    pub fn due(&self) -> Option<Instant> {
        self.waiting
            .iter()
            .map(|(_, sent)| *sent + AGAIN_AFTER)
            .min()
    }

    fn count(&self) -> usize {
        self.frame.len().div_ceil(PART)
    }
}

/// Frames that come in in parts.
#[derive(Debug, Default)]
pub struct Incoming {
    frames: Vec<Assembly>,
    /// The last frames that were whole: a part of theirs that comes again begins no new frame.
    done: VecDeque<String>,
}

#[derive(Debug)]
struct Assembly {
    of: String,
    parts: Vec<Option<Vec<u8>>>,
    size: usize,
    /// The size of the largest part so far, in bytes: as there is room for each of them.
    part: usize,
    /// When its last new part came.
    touched: Instant,
    /// What it has of what all frames in parts may hold together: room for the whole from the first part on, so that
    /// several frames don't wait for each other for ever.
    room: Share,
}

/// How much an unfinished frame may hold.
#[derive(Debug, Clone, Copy)]
pub struct Room<'a> {
    /// What all those share that are bound alike.
    pub budget: &'a Arc<Budget>,
    /// How large a frame may be, in bytes.
    pub largest: usize,
}

/// What became of a part.
#[derive(Debug, PartialEq)]
pub enum Taken {
    /// It is kept; more have to come.
    Kept,
    /// It was the last one: the frame's bytes.
    Whole(Vec<u8>),
    /// There is no room for it now: it is to come again.
    NoRoom,
    /// The frame is refused, and why.
    Refused(&'static str),
}

impl Incoming {
    /// Takes a part. One that came before is kept only once. A frame that begins with it takes of `room`.
    pub fn take(&mut self, part: &Part, room: Room<'_>, now: Instant) -> Taken {
        let Part { of, n, count, data } = part;
        let (n, count) = (*n, *count);
        self.frames.retain(|frame| now < frame.touched + IDLE);
        if count == 0 || n >= count || of.len() > MAX_ID {
            return Taken::Refused("malformed");
        }
        let Ok(bytes) = BASE64.decode(data) else {
            return Taken::Refused("malformed");
        };
        // All parts but the last are of one size, so the first one tells how large the frame will be.
        if bytes.is_empty() || n + 1 < count && bytes.len().saturating_mul(count - 1) > MAX_FRAME {
            return Taken::Refused("too-large");
        }
        let at = match self.frames.iter().position(|frame| frame.of == *of) {
            Some(at) if self.frames[at].parts.len() != count => return Taken::Refused("malformed"),
            Some(at) => at,
            None if self.done.iter().any(|done| *done == *of) => return Taken::Kept,
            None if count > MAX_PARTS || self.frames.len() >= ASSEMBLIES => {
                return Taken::Refused("too-large");
            }
            None => {
                let mut share = room.budget.share();
                if !share.take(count * PART_SIZE) {
                    return Taken::NoRoom;
                }
                self.frames.push(Assembly {
                    of: of.to_owned(),
                    parts: vec![None; count],
                    size: 0,
                    part: 0,
                    touched: now,
                    room: share,
                });
                self.frames.len() - 1
            }
        };
        let frame = &mut self.frames[at];
        if frame.parts[n].is_none() {
            if let Some(more) = bytes.len().checked_sub(frame.part + 1) {
                // The last part may be a small one.
                let least = bytes.len() * (count - 1);
                let taken = match least <= room.largest {
                    true if frame.room.take((more + 1) * count) => None,
                    true => Some(Taken::NoRoom),
                    false => Some(Taken::Refused("too-large")),
                };
                if let Some(taken) = taken {
                    if frame.size == 0 {
                        self.frames.swap_remove(at);
                    }
                    return taken;
                }
                frame.part = bytes.len();
            }
            frame.touched = now;
            frame.size += bytes.len();
            frame.parts[n] = Some(bytes);
        }
        if frame.size > MAX_FRAME {
            self.frames.swap_remove(at);
            return Taken::Refused("too-large");
        }
        if frame.parts.iter().any(Option::is_none) {
            return Taken::Kept;
        }
        let frame = self.frames.swap_remove(at);
        self.done.truncate(REMEMBERED - 1);
        self.done.push_front(frame.of);
        let parts: Vec<_> = frame.parts.into_iter().flatten().collect();
        Taken::Whole(parts.concat())
    }
}

/// The text of a frame that came in parts: each byte is one code point.
pub fn text_of(frame: Vec<u8>) -> String {
    // Most are ASCII, which it costs nothing to take as it is.
    match String::from_utf8(frame) {
        Ok(text) if text.is_ascii() => text,
        Ok(text) => text.bytes().map(char::from).collect(),
        Err(error) => error.into_bytes().into_iter().map(char::from).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(of: &str, n: usize, count: usize, data: &str) -> Part {
        Part {
            of: of.to_owned(),
            n,
            count,
            data: data.to_owned(),
        }
    }

    /// Room for any frame.
    fn room(budget: &Arc<Budget>) -> Room<'_> {
        Room {
            budget,
            largest: MAX_FRAME,
        }
    }

    fn all_bytes(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 7) as u8).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_frame_comes_through_whole_whatever_is_lost_or_doubled() {
        let frame = all_bytes(1_000_000);
        let mut outgoing = Outgoing::new("f".into(), frame.clone());
        let mut incoming = Incoming::default();
        let budget = Budget::new(2 * MAX_FRAME);
        let mut sent = 0;
        let whole = loop {
            let Some(part) = outgoing.take(Instant::now()) else {
                tokio::time::advance(AGAIN_AFTER).await;
                continue;
            };
            sent += 1;
            assert!(part.data.len() < 121_000);
            // Every third part is lost, every third acknowledgement too.
            if sent % 3 == 0 {
                continue;
            }
            match incoming.take(&part, room(&budget), Instant::now()) {
                Taken::Whole(whole) => {
                    // Its acknowledgement is lost, and the part comes again.
                    assert_eq!(
                        incoming.take(&part, room(&budget), Instant::now()),
                        Taken::Kept
                    );
                    break whole;
                }
                Taken::Kept if sent % 3 == 1 => {}
                Taken::Kept => assert!(!outgoing.acknowledge(part.n)),
                Taken::NoRoom => panic!("no room"),
                Taken::Refused(why) => panic!("{why}"),
            }
        };
        assert_eq!(whole, frame);
    }

    #[test]
    fn each_byte_of_a_frame_is_one_code_point_of_its_text() {
        for frame in [all_bytes(1_000), b"ascii".to_vec(), "é".into()] {
            let text = text_of(frame.clone());
            let bytes: Vec<_> = text.chars().map(|c| u8::try_from(c).unwrap()).collect();
            assert_eq!(bytes, frame);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn at_most_four_parts_wait_for_their_acknowledgement() {
        let mut outgoing = Outgoing::new("f".into(), all_bytes(900_000));
        let now = Instant::now();
        let taken: Vec<_> = std::iter::from_fn(|| outgoing.take(now))
            .map(|part| part.n)
            .collect();
        assert_eq!(taken, [0, 1, 2, 3]);
        assert!(!outgoing.acknowledge(2));
        assert_eq!(outgoing.take(now).map(|part| part.n), Some(4));
        assert_eq!(outgoing.take(now), None);
        assert_eq!(outgoing.due(), Some(now + AGAIN_AFTER));
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_announces_too_much_is_refused_at_once() {
        let mut incoming = Incoming::default();
        let budget = Budget::new(2 * MAX_FRAME);
        let now = Instant::now();
        let data = BASE64.encode(all_bytes(90_000));
        assert_eq!(
            incoming.take(&part("a", 0, 1_000, &data), room(&budget), now),
            Taken::Refused("too-large")
        );
        assert_eq!(
            incoming.take(&part("a", 0, usize::MAX, "AA=="), room(&budget), now),
            Taken::Refused("too-large")
        );
        assert_eq!(
            incoming.take(&part("a", 0, 1_000_000, "AA=="), room(&budget), now),
            Taken::Refused("too-large")
        );
        assert_eq!(
            incoming.take(&part("a", 0, 0, "AA=="), room(&budget), now),
            Taken::Refused("malformed")
        );
        assert_eq!(
            incoming.take(&part("a", 0, 2, "not base64!"), room(&budget), now),
            Taken::Refused("malformed")
        );
        assert_eq!(
            incoming.take(&part("a", 0, 2, "AA=="), room(&budget), now),
            Taken::Kept
        );
        assert_eq!(
            incoming.take(&part("b", 0, 2, "AA=="), room(&budget), now),
            Taken::Kept
        );
        assert_eq!(
            incoming.take(&part("c", 0, 2, "AA=="), room(&budget), now),
            Taken::Refused("too-large")
        );
        tokio::time::advance(IDLE).await;
        assert_eq!(
            incoming.take(&part("c", 0, 2, "AA=="), room(&budget), Instant::now()),
            Taken::Kept
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_frame_begins_only_with_room_for_all_of_it_and_gives_it_back() {
        let budget = Budget::new(100_000);
        let small = Room {
            budget: &budget,
            largest: 80_000,
        };
        let (mut one, mut other) = (Incoming::default(), Incoming::default());
        let now = Instant::now();
        let data = BASE64.encode(all_bytes(10_000));
        let refused = Taken::Refused("too-large");
        assert_eq!(one.take(&part("a", 0, 10, &data), small, now), refused);
        assert_eq!(one.take(&part("a", 1, 8, &data), small, now), Taken::Kept);
        assert_eq!(
            other.take(&part("b", 0, 2, &data), small, now),
            Taken::NoRoom
        );
        assert_eq!(
            other.take(&part("b", 0, 1, &data), small, now),
            whole(10_000)
        );
        // Of the last part nobody knows that it is the largest.
        let large = BASE64.encode(all_bytes(12_000));
        assert_eq!(one.take(&part("a", 2, 8, &large), small, now), refused);
        assert_eq!(
            other.take(&part("c", 1, 2, "AA=="), small, now),
            Taken::Kept
        );
        assert_eq!(
            other.take(&part("c", 0, 2, &data), small, now),
            Taken::NoRoom
        );
        // What comes again keeps nothing alive.
        tokio::time::advance(IDLE / 2).await;
        let later = Instant::now();
        assert_eq!(one.take(&part("a", 1, 8, &data), small, later), Taken::Kept);
        tokio::time::advance(IDLE / 2).await;
        let later = Instant::now();
        assert_eq!(
            other.take(&part("b", 0, 7, &data), small, later),
            Taken::Kept
        );
        drop((one, other));
        assert_eq!(budget.left(), 100_000);
    }

    /// So many of these bytes as a frame.
    fn whole(length: usize) -> Taken {
        Taken::Whole(all_bytes(length))
    }
}
