//! One stream of messages: those that are kept, where its reader is, and when it can go. No I/O, no clock.

use std::{collections::VecDeque, sync::Arc};

use rmcp::model::{ProgressToken, ServerJsonRpcMessage};

use crate::base::budget::Share;

/// How many messages of one stream are kept for a client that does not read, or may ask again.
const MAX_KEPT: usize = 64;

/// How many bytes of them. What is dropped is progress: the last message of a stream is always kept, and it is the
/// one that answers.
pub const MAX_KEPT_BYTES: usize = 1024 * 1024;

/// The messages of one request, or those that belong to none.
#[derive(Debug, Default)]
pub struct Stream {
    token: Option<ProgressToken>,
    /// Messages from number `first` on; one without content says how to resume.
    kept: VecDeque<Kept>,
    first: u64,
    bytes: usize,
    /// The number of the message that is handed out next.
    cursor: u64,
    /// Whether no message follows.
    ended: bool,
    /// How many readers there were; of a request's stream only the newest gets anything.
    readers_ever: u64,
    /// How many readers there are.
    readers: usize,
    /// Whether it is forgotten as soon as no reader waits for its messages.
    leaving: bool,
    /// What it has of the room for the streams of all sessions.
    room: Option<Share>,
}

#[derive(Debug)]
struct Kept {
    message: Option<Arc<ServerJsonRpcMessage>>,
    bytes: usize,
}

/// What comes next in a stream.
#[derive(Debug)]
pub enum Next {
    /// A message and its number; one without content says how to resume.
    Message(u64, Option<Arc<ServerJsonRpcMessage>>),
    /// Nothing yet.
    Nothing,
    /// Nothing any more.
    Over,
}

impl Stream {
    /// A stream that has room among those of all sessions.
    pub fn in_room(room: Share) -> Self {
        Self {
            room: Some(room),
            ..Self::default()
        }
    }

    /// The same, of a request whose progress has this token.
    pub fn of_request(token: Option<ProgressToken>, room: Share) -> Self {
        Self {
            token,
            ..Self::in_room(room)
        }
    }

    /// A stream that holds one answer and nothing else, and goes with its reader.
    pub fn of_answer(answer: ServerJsonRpcMessage) -> Self {
        let mut stream = Self {
            ended: true,
            leaving: true,
            ..Self::default()
        };
        stream.push(Some(answer), 0);
        stream
    }

    /// Whether progress with this token belongs here.
    pub fn takes(&self, token: &ProgressToken) -> bool {
        self.token.as_ref() == Some(token)
    }

    /// Adds a message of `bytes` bytes, in whose room older ones give way.
    pub fn push(&mut self, message: Option<ServerJsonRpcMessage>, bytes: usize) {
        self.kept.push_back(Kept {
            message: message.map(Arc::new),
            bytes,
        });
        self.bytes += bytes;
        while self.kept.len() > MAX_KEPT || self.has_no_room() && self.kept.len() > 1 {
            let Some(oldest) = self.kept.pop_front() else {
                break;
            };
            self.bytes -= oldest.bytes;
            self.first += 1;
        }
        self.cursor = self.cursor.max(self.first);
    }

    /// Takes room for what it keeps, and tells whether there is too little.
    fn has_no_room(&mut self) -> bool {
        let is_full = self.room.as_mut().is_some_and(|room| {
            room.hold(self.bytes);
            room.is_exceeded()
        });
        is_full || self.bytes > MAX_KEPT_BYTES
    }

    /// No message follows.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether no message follows.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// It may go as soon as nobody reads it.
    pub fn let_go(&mut self) {
        self.leaving = true;
    }

    /// Whether it may go now.
    pub fn may_go(&self) -> bool {
        self.leaving && self.readers == 0
    }

    /// Whether it is there to be read from after this message.
    pub fn can_resume(&self, after: u64) -> bool {
        after < self.first + self.kept.len() as u64
    }

    /// Takes a reader in, from after this message on or from where the one before left, and gives its number.
    pub fn attach(&mut self, after: Option<u64>) -> u64 {
        if let Some(after) = after {
            self.cursor = (after + 1).max(self.first);
        }
        self.readers += 1;
        self.readers_ever += 1;
        self.readers_ever
    }

    /// A reader has left.
    pub fn detach(&mut self) {
        self.readers = self.readers.saturating_sub(1);
    }

    /// Whether it has a reader.
    pub fn is_read(&self) -> bool {
        self.readers > 0
    }

    /// Whether another reader came after this one.
    pub fn has_newer(&self, reader: u64) -> bool {
        reader != self.readers_ever
    }

    /// Hands the next message out.
    pub fn take(&mut self) -> Next {
        let at = (self.cursor - self.first) as usize;
        let Some(kept) = self.kept.get(at) else {
            return if self.ended {
                Next::Over
            } else {
                Next::Nothing
            };
        };
        let number = self.cursor;
        self.cursor += 1;
        Next::Message(number, kept.message.clone())
    }

    /// Whether it keeps no more than it may.
    #[cfg(test)]
    pub fn is_in_bounds(&self) -> bool {
        let rest = self.bytes - self.kept.back().map_or(0, |kept| kept.bytes);
        self.kept.len() <= MAX_KEPT && rest <= MAX_KEPT_BYTES
    }
}

#[cfg(test)]
mod tests {
    use rmcp::{ErrorData, model::ServerJsonRpcMessage};

    use super::*;
    use crate::base::budget::Budget;

    #[test]
    fn streams_share_their_room_and_each_keeps_its_newest_message() {
        let room = Budget::new(1_000);
        let message = || {
            let error = ErrorData::internal_error("x", None);
            Some(ServerJsonRpcMessage::error(error, None))
        };
        let mut streams: Vec<_> = (0..5).map(|_| Stream::in_room(room.share())).collect();
        for _ in 0..10 {
            for stream in &mut streams {
                stream.push(message(), 100);
            }
        }
        let kept: Vec<_> = streams.iter().map(|stream| stream.kept.len()).collect();
        assert!(kept.iter().all(|kept| *kept >= 1), "{kept:?}");
        assert!(kept.iter().sum::<usize>() <= 10, "{kept:?}");
        // What one that goes had is there for the others.
        streams.truncate(1);
        for _ in 0..20 {
            streams[0].push(message(), 100);
        }
        assert_eq!(streams[0].kept.len(), 10);
        // The last message is kept, whatever its size.
        streams[0].push(message(), 5_000);
        assert_eq!(streams[0].kept.len(), 1);
    }
}
