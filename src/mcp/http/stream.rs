//! One stream of messages: those that are kept, where its reader is, and when it can go. No I/O, no clock.

use std::{collections::VecDeque, sync::Arc};

use rmcp::model::{ProgressToken, ServerJsonRpcMessage};

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
    /// The stream of a request whose progress has this token.
    pub fn of_request(token: Option<ProgressToken>) -> Self {
        Self {
            token,
            ..Self::default()
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
        while self.kept.len() > MAX_KEPT || self.bytes > MAX_KEPT_BYTES && self.kept.len() > 1 {
            let Some(oldest) = self.kept.pop_front() else {
                break;
            };
            self.bytes -= oldest.bytes;
            self.first += 1;
        }
        self.cursor = self.cursor.max(self.first);
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
