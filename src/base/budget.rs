//! A bound that many share: what a holder takes of it returns when the holder is dropped.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// So many bytes, for all who hold a [`Share`] of them together.
#[derive(Debug)]
pub struct Budget {
    most: usize,
    used: AtomicUsize,
    /// The larger one that this is a part of.
    whole: Option<Arc<Budget>>,
}

/// What one holder has of a [`Budget`].
#[derive(Debug)]
pub struct Share {
    of: Arc<Budget>,
    bytes: usize,
}

impl Budget {
    /// A bound of this many bytes.
    pub fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            used: AtomicUsize::new(0),
            whole: None,
        })
    }

    /// A bound for some of those who share this one.
    pub fn part(self: &Arc<Self>, most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            used: AtomicUsize::new(0),
            whole: Some(self.clone()),
        })
    }

    /// A share of it that holds nothing yet.
    pub fn share(self: &Arc<Self>) -> Share {
        Share {
            of: self.clone(),
            bytes: 0,
        }
    }

    /// How many bytes could be taken now.
    pub fn left(&self) -> usize {
        let left = self.most.saturating_sub(self.used.load(Ordering::Relaxed));
        self.whole
            .as_ref()
            .map_or(left, |whole| left.min(whole.left()))
    }

    /// Whether less than half of it is left.
    fn is_tight(&self) -> bool {
        self.left() < self.most / 2
    }

    fn take(&self, bytes: usize) -> bool {
        let more = |used: usize| {
            used.checked_add(bytes)
                .filter(|together| *together <= self.most)
        };
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok();
        if taken && self.whole.as_ref().is_some_and(|whole| !whole.take(bytes)) {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            return false;
        }
        taken
    }

    fn take_anyway(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.take_anyway(bytes);
        }
    }

    fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.give_back(bytes);
        }
    }
}

impl Share {
    /// How many bytes it holds.
    pub fn held(&self) -> usize {
        self.bytes
    }

    /// Whether less than half is left of what it is a share of.
    pub fn is_tight(&self) -> bool {
        self.of.is_tight()
    }

    /// Whether more is held of what it is a share of than that is.
    pub fn is_exceeded(&self) -> bool {
        self.of.used.load(Ordering::Relaxed) > self.of.most
    }

    /// Takes this many bytes more; tells whether there was room for them.
    pub fn take(&mut self, bytes: usize) -> bool {
        let taken = self.of.take(bytes);
        if taken {
            self.bytes += bytes;
        }
        taken
    }

    /// Holds this many bytes from now on, though the bound be exceeded by that: for what is there anyway, and will be
    /// made room for by others.
    pub fn hold(&mut self, bytes: usize) {
        match bytes.checked_sub(self.bytes) {
            Some(more) => self.of.take_anyway(more),
            None => self.of.give_back(self.bytes - bytes),
        }
        self.bytes = bytes;
    }

    /// Gives this many bytes back, or all that it holds.
    pub fn give_back(&mut self, bytes: usize) {
        let bytes = bytes.min(self.bytes);
        self.of.give_back(bytes);
        self.bytes -= bytes;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.of.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_returns_with_its_holder() {
        let budget = Budget::new(10);
        let (mut one, mut other) = (budget.share(), budget.share());
        assert!(one.take(6) && !other.take(5) && other.take(4));
        assert_eq!((budget.left(), one.held(), other.held()), (0, 6, 4));
        other.give_back(100);
        assert!(other.take(3));
        drop(one);
        assert_eq!(budget.left(), 7);
        other.hold(12);
        assert!(budget.left() == 0 && !budget.share().take(1));
        other.hold(1);
        assert_eq!(budget.left(), 9);
        assert!(!other.take(usize::MAX));
    }

    #[test]
    fn a_part_takes_of_the_whole() {
        let whole = Budget::new(10);
        let (few, many) = (whole.part(3), whole.part(100));
        let (mut one, mut other) = (few.share(), many.share());
        assert!(!one.take(4) && one.take(3) && !other.take(8) && other.take(7));
        assert_eq!((few.left(), many.left(), whole.left()), (0, 0, 0));
        drop(other);
        assert_eq!((few.left(), many.left()), (0, 7));
    }
}
