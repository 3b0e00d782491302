//! Frames that are larger than one message: cut into parts, and put together again. No I/O.

use std::collections::VecDeque;

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use tokio::time::{Duration, Instant};

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
    touched: Instant,
}

/// What became of a part.
#[derive(Debug, PartialEq)]
pub enum Taken {
    /// It is kept; more have to come.
    Kept,
    /// It was the last one: the frame's text, each byte as one code point.
    Whole(String),
    /// The frame is refused, and why.
    Refused(&'static str),
}

impl Incoming {
    /// Takes a part. One that came before is kept only once.
    pub fn take(&mut self, of: &str, n: usize, count: usize, data: &str, now: Instant) -> Taken {
        self.frames.retain(|frame| now < frame.touched + IDLE);
        if count == 0 || n >= count {
            return Taken::Refused("malformed");
        }
        let Ok(bytes) = BASE64.decode(data) else {
            return Taken::Refused("malformed");
        };
        // All parts but the last are of one size, so the first one tells how large the frame will be.
        if bytes.is_empty() || n + 1 < count && bytes.len().saturating_mul(count - 1) > MAX_FRAME {
            return Taken::Refused("too-large");
        }
        let at = match self.frames.iter().position(|frame| frame.of == of) {
            Some(at) if self.frames[at].parts.len() != count => return Taken::Refused("malformed"),
            Some(at) => at,
            None if self.done.iter().any(|done| done == of) => return Taken::Kept,
            None if count > MAX_PARTS || self.frames.len() >= ASSEMBLIES => {
                return Taken::Refused("too-large");
            }
            None => {
                self.frames.push(Assembly {
                    of: of.to_owned(),
                    parts: vec![None; count],
                    size: 0,
                    touched: now,
                });
                self.frames.len() - 1
            }
        };
        let frame = &mut self.frames[at];
        frame.touched = now;
        if frame.parts[n].is_none() {
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
        Taken::Whole(
            frame
                .parts
                .into_iter()
                .flatten()
                .flatten()
                .map(char::from)
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_bytes(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 7) as u8).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_frame_comes_through_whole_whatever_is_lost_or_doubled() {
        let frame = all_bytes(1_000_000);
        let mut outgoing = Outgoing::new("f".into(), frame.clone());
        let mut incoming = Incoming::default();
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
            match incoming.take(&part.of, part.n, part.count, &part.data, Instant::now()) {
                Taken::Whole(text) => {
                    // Its acknowledgement is lost, and the part comes again.
                    assert_eq!(
                        incoming.take(&part.of, part.n, part.count, &part.data, Instant::now()),
                        Taken::Kept
                    );
                    break text;
                }
                Taken::Kept if sent % 3 == 1 => {}
                Taken::Kept => assert!(!outgoing.acknowledge(part.n)),
                Taken::Refused(why) => panic!("{why}"),
            }
        };
        assert_eq!(
            whole.chars().map(|c| c as u32 as u8).collect::<Vec<_>>(),
            frame
        );
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
        let now = Instant::now();
        let data = BASE64.encode(all_bytes(90_000));
        assert_eq!(
            incoming.take("a", 0, 1_000, &data, now),
            Taken::Refused("too-large")
        );
        assert_eq!(
            incoming.take("a", 0, usize::MAX, "AA==", now),
            Taken::Refused("too-large")
        );
        assert_eq!(
            incoming.take("a", 0, 1_000_000, "AA==", now),
            Taken::Refused("too-large")
        );
        assert_eq!(
            incoming.take("a", 0, 0, "AA==", now),
            Taken::Refused("malformed")
        );
        assert_eq!(
            incoming.take("a", 0, 2, "not base64!", now),
            Taken::Refused("malformed")
        );
        assert_eq!(incoming.take("a", 0, 2, "AA==", now), Taken::Kept);
        assert_eq!(incoming.take("b", 0, 2, "AA==", now), Taken::Kept);
        assert_eq!(
            incoming.take("c", 0, 2, "AA==", now),
            Taken::Refused("too-large")
        );
        tokio::time::advance(IDLE).await;
        assert_eq!(
            incoming.take("c", 0, 2, "AA==", Instant::now()),
            Taken::Kept
        );
    }
}
