//! The ids of requests: which bridge made one, and none twice.

use std::{
    hash::{BuildHasher, RandomState},
    sync::atomic::{AtomicU64, Ordering},
    time::SystemTime,
};

use crate::wire::names::{DRAWN_DIGITS, RequestId};

/// Makes request ids that no other bridge, and no earlier run of this one, makes.
#[derive(Debug)]
pub struct RequestIds {
    /// Drawn at the start: the beginning of all of this bridge's ids.
    prefix: String,
    next: AtomicU64,
}

impl Default for RequestIds {
    fn default() -> Self {
        // The standard library keys each RandomState from the system's random source.
        let bridge = RandomState::new().hash_one((std::process::id(), SystemTime::now()));
        Self {
            prefix: format!("{:0DRAWN_DIGITS$x}-", bridge >> (64 - 4 * DRAWN_DIGITS)),
            next: AtomicU64::new(1),
        }
    }
}

impl RequestIds {
    /// A new id.
    pub fn next(&self) -> RequestId {
        let n = self.next.fetch_add(1, Ordering::Relaxed);
        RequestId::from(format!("{}{n}", self.prefix))
    }

    /// What all ids of this bridge begin with.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Whether this bridge, in this run, made the id.
    pub fn made(&self, id: &RequestId) -> bool {
        id.has_prefix(&self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_bridges_never_make_the_same_request_id() {
        let (one, other) = (RequestIds::default(), RequestIds::default());
        let id = one.next();
        assert_ne!(id, other.next());
        assert_ne!(id, one.next());
        assert!(one.made(&id) && !other.made(&id));
    }
}
