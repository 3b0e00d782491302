//! Resources that change: who follows one is told so.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// The resources that have changed and of which a client was not told yet. Each is told of once, however often it changes
/// meanwhile, so that no more can wait than the client follows. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Updates(Arc<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    uris: Mutex<BTreeSet<String>>,
    news: Notify,
    only_followed: bool,
}

impl Updates {
    /// The same for a client that may only be told of the URIs that it named: of a change of a part of one, that one has
    /// changed.
    pub fn only_of_followed() -> Self {
        Self(Arc::new(Waiting {
            only_followed: true,
            ..Waiting::default()
        }))
    }

    /// Says that what stands behind the URI `changed` is another now, which is the one that is `followed` or a part of it.
    pub fn add(&self, followed: &str, changed: String) {
        let uri = match self.0.only_followed {
            true => followed.to_owned(),
            false => changed,
        };
        self.lock().insert(uri);
        self.0.news.notify_one();
    }

    /// The next resource to tell of. Dropping the future loses none.
    pub async fn next(&self) -> String {
        loop {
            if let Some(uri) = self.lock().pop_first() {
                return uri;
            }
            self.0.news.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        // Nothing that holds the lock can panic.
        self.0.uris.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// That a client follows a resource, until it is dropped.
pub struct Followed(Option<Box<dyn FnOnce() + Send + Sync>>);

impl Followed {
    /// One whose end is told by a call of `end`.
    pub fn until(end: impl FnOnce() + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(end)))
    }
}

impl fmt::Debug for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Followed")
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn what_changes_again_before_it_was_told_of_is_told_of_once() {
        let updates = Updates::default();
        for uri in ["b", "a", "b"] {
            updates.add(uri, uri.to_owned());
        }
        assert_eq!(updates.next().await, "a");
        assert_eq!(updates.next().await, "b");
        assert!(updates.next().now_or_never().is_none());
        updates.add("b", "b".to_owned());
        assert_eq!(updates.next().await, "b");
    }

    #[tokio::test]
    async fn a_change_of_a_part_is_told_by_the_name_that_the_client_takes() {
        for (updates, told) in [
            (Updates::default(), "a/1"),
            (Updates::only_of_followed(), "a"),
        ] {
            updates.add("a", "a/1".to_owned());
            assert_eq!(updates.next().await, told);
        }
    }
}
