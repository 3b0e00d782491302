//! Frames of the link protocol that come in parts.

use std::collections::{BTreeMap, VecDeque};

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use mcp_bridge::{
    base::budget::Budget,
    wire::{
        frame::{self, AgentFrame},
        limits::MAX_ID,
        parts::{Incoming, MAX_FRAME, Room, Taken, text_of},
        text::TextMode,
    },
};
use tokio::time::Instant;

/// How many frames a peer may have under way in parts.
const UNDER_WAY: usize = 2;

/// The most parts that a frame may have.
const MAX_PARTS: usize = MAX_FRAME / 1024;

/// How many whole frames are remembered, so that their parts may come again.
const REMEMBERED: usize = 8;

/// The parts of one frame that came so far.
struct Begun {
    count: usize,
    parts: BTreeMap<usize, Vec<u8>>,
}

/// Takes each line that is a part, and returns the frames that got whole. What is kept stays within its bounds, a frame
/// is what its parts say, in their order and each as it came first, and nothing is refused without a reason.
pub fn put_together(lines: &str, mode: TextMode) -> Vec<String> {
    let mut incoming = Incoming::default();
    let mut begun = BTreeMap::<String, Begun>::new();
    let mut remembered = VecDeque::new();
    let mut whole = Vec::new();
    let (budget, now) = (Budget::new(usize::MAX), Instant::now());
    for line in lines.lines() {
        let Ok(AgentFrame::Part(part)) = frame::read(line, mode) else {
            continue;
        };
        let (of, n, count) = (part.of.clone(), part.n, part.count);
        let bytes = BASE64.decode(&part.data).ok();
        let bytes = bytes.filter(|_| n < count && of.len() <= MAX_ID);
        let room = Room {
            budget: &budget,
            largest: MAX_FRAME,
        };
        let taken = incoming.take(&part, room, now);
        if let Taken::Refused(why) = taken {
            let too_large = |length: usize| length == 0 || length.saturating_mul(count) > MAX_FRAME;
            let reason = match (bytes, begun.get(&of)) {
                (None, _) => "malformed",
                (Some(bytes), _) if too_large(bytes.len()) => "too-large",
                (_, Some(frame)) if frame.count != count => "malformed",
                (_, None) if count > MAX_PARTS || begun.len() == UNDER_WAY => "too-large",
                _ => panic!("refused without a reason: {line}"),
            };
            assert_eq!(why, reason, "{line}");
            continue;
        }
        let bytes = bytes.expect("a part that is taken can be read");
        if taken == Taken::Kept && remembered.contains(&of) {
            continue;
        }
        let frame = begun.entry(of.clone()).or_insert(Begun {
            count,
            parts: BTreeMap::new(),
        });
        assert_eq!(frame.count, count, "{line}");
        frame.parts.entry(n).or_insert(bytes);
        assert_eq!(
            frame.parts.len() == count,
            matches!(taken, Taken::Whole(_)),
            "{line}"
        );
        assert!(begun.len() <= UNDER_WAY && count <= MAX_PARTS, "{line}");
        if let Taken::Whole(frame) = taken {
            let text = text_of(frame);
            let parts = begun.remove(&of).map(|frame| frame.parts);
            let said: String = parts
                .into_iter()
                .flat_map(BTreeMap::into_values)
                .flatten()
                .map(char::from)
                .collect();
            assert_eq!(text, said);
            remembered.truncate(REMEMBERED - 1);
            remembered.push_front(of);
            whole.push(text);
        }
    }
    whole
}
