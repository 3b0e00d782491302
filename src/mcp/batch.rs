//! A batch on standard input: its answers, gathered until they are all there. No I/O.
//!
//! Revisions up to 2025-03-26 let a client send several messages as one array, whose answers go back as one.

use std::{
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// From how many bytes on answers don't wait for the others: what is gathered is sent as an array of its own. A client
/// finds each answer by its id all the same.
const MOST_GATHERED: usize = 4 * 1024 * 1024;

/// One batch.
#[derive(Debug, Default)]
pub struct Batch(Mutex<Gathered>);

#[derive(Debug, Default)]
struct Gathered {
    answers: Vec<Vec<u8>>,
    bytes: usize,
    /// How many requests have no answer yet.
    awaited: usize,
    /// Whether all of its messages were read.
    is_read: bool,
}

/// Answers that are sent together.
#[derive(Debug, PartialEq)]
pub struct Answers {
    /// An array of them, as one line without its line feed.
    pub line: Vec<u8>,
    /// How many bytes they had when they came.
    pub bytes: usize,
}

impl Batch {
    /// A request of it is about to be answered by others.
    pub fn expect(&self) {
        self.lock().awaited += 1;
    }

    /// The answer to such a request; none if it gets none. Gives what is to be sent now.
    pub fn came(&self, answer: Option<Vec<u8>>) -> Option<Answers> {
        let mut gathered = self.lock();
        gathered.awaited = gathered.awaited.saturating_sub(1);
        gathered.take_in(answer)
    }

    /// The answer to a message that nobody else answers. Gives what is to be sent now.
    pub fn add(&self, answer: Vec<u8>) -> Option<Answers> {
        self.lock().take_in(Some(answer))
    }

    /// All of its messages were read. Gives what is to be sent now.
    pub fn all_read(&self) -> Option<Answers> {
        let mut gathered = self.lock();
        gathered.is_read = true;
        gathered.take_in(None)
    }

    /// What there is, though not all of it: nothing follows.
    pub fn so_far(&self) -> Option<Answers> {
        self.lock().all()
    }

    fn lock(&self) -> MutexGuard<'_, Gathered> {
        // Nothing that holds the lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gathered {
    fn take_in(&mut self, answer: Option<Vec<u8>>) -> Option<Answers> {
        if let Some(answer) = answer {
            self.bytes += answer.len();
            self.answers.push(answer);
        }
        let is_whole = self.is_read && self.awaited == 0;
        (is_whole || self.bytes >= MOST_GATHERED)
            .then(|| self.all())
            .flatten()
    }

    fn all(&mut self) -> Option<Answers> {
        let answers = mem::take(&mut self.answers);
        let bytes = mem::take(&mut self.bytes);
        (!answers.is_empty()).then(|| Answers {
            line: [b"[".as_slice(), &answers.join(&b','), b"]"].concat(),
            bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(answers: Option<Answers>) -> Option<String> {
        answers.map(|answers| String::from_utf8(answers.line).unwrap())
    }

    #[test]
    fn answers_go_together_once_all_are_there() {
        let batch = Batch::default();
        batch.expect();
        assert_eq!(batch.add(b"1".to_vec()), None);
        batch.expect();
        batch.expect();
        assert_eq!(batch.came(Some(b"22".to_vec())), None);
        assert_eq!(batch.all_read(), None);
        assert_eq!(batch.came(None), None);
        let all = batch.came(Some(b"333".to_vec())).unwrap();
        assert_eq!(all.bytes, 6);
        assert_eq!(line(Some(all)), Some("[1,22,333]".to_owned()));
        assert_eq!(batch.so_far(), None);
    }

    #[test]
    fn where_nothing_is_answered_nothing_is_sent() {
        let batch = Batch::default();
        assert_eq!(batch.all_read(), None);
        let given_up = Batch::default();
        given_up.expect();
        given_up.all_read();
        assert_eq!(given_up.came(None), None);
    }

    #[test]
    fn much_does_not_wait_for_the_rest() {
        let batch = Batch::default();
        batch.expect();
        let much = vec![b'1'; MOST_GATHERED];
        assert_eq!(
            batch.add(much).map(|answers| answers.bytes),
            Some(MOST_GATHERED)
        );
        assert_eq!(batch.all_read(), None);
        assert_eq!(
            line(batch.came(Some(b"2".to_vec()))),
            Some("[2]".to_owned())
        );
    }

    #[test]
    fn what_there_is_can_be_sent_at_the_end() {
        let batch = Batch::default();
        batch.expect();
        batch.expect();
        batch.all_read();
        batch.came(Some(b"1".to_vec()));
        assert_eq!(line(batch.so_far()), Some("[1]".to_owned()));
    }
}
