//! Who follows which resources of one server. The server itself is subscribed to each of them once, whoever follows it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::tools::updates::Updates;

/// The followers of one server's resources.
#[derive(Debug)]
pub struct Following {
    /// What stands before its URIs in public ones; see `names::scheme`.
    scheme: String,
    followers: Mutex<Followers>,
}

#[derive(Debug, Default)]
struct Followers {
    /// The number of the next one.
    next: u64,
    all: BTreeMap<u64, Follower>,
}

#[derive(Debug)]
struct Follower {
    /// The resource, by the server's own URI.
    uri: String,
    updates: Updates,
}

impl Following {
    /// Nobody yet, of a server whose public URIs begin so.
    pub fn new(scheme: String) -> Self {
        Self {
            scheme,
            followers: Mutex::default(),
        }
    }

    /// Adds a follower of this URI of the server's own, and returns its number.
    pub fn add(&self, uri: &str, updates: Updates) -> u64 {
        let mut followers = self.lock();
        let number = followers.next;
        followers.next += 1;
        let uri = uri.to_owned();
        followers.all.insert(number, Follower { uri, updates });
        number
    }

    /// Takes a follower away, and returns the URI that nobody follows any more, if so.
    pub fn remove(&self, number: u64) -> Option<String> {
        let mut followers = self.lock();
        let gone = followers.all.remove(&number)?;
        let is_followed = followers.all.values().any(|other| other.uri == gone.uri);
        (!is_followed).then_some(gone.uri)
    }

    /// What is followed, by the server's own URIs.
    pub fn uris(&self) -> BTreeSet<String> {
        let followers = self.lock();
        followers.all.values().map(|one| one.uri.clone()).collect()
    }

    /// Whether nobody follows anything.
    pub fn is_empty(&self) -> bool {
        self.lock().all.is_empty()
    }

    /// Tells those who follow a resource that it changed, and those who follow what it is a part of.
    pub fn changed(&self, uri: &str) {
        let public = |uri: &str| format!("{}{uri}", self.scheme);
        for follower in self.lock().all.values() {
            if is_within(uri, &follower.uri) {
                follower.updates.add(&public(&follower.uri), public(uri));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Followers> {
        // Nothing that holds the lock can panic.
        self.followers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a URI is `whole` or, by a path below it, a part of it.
fn is_within(uri: &str, whole: &str) -> bool {
    uri.strip_prefix(whole).is_some_and(|rest| {
        rest.is_empty() || whole.ends_with('/') || rest.starts_with(['/', '#', '?'])
    })
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn each_follower_is_told_of_its_own_and_the_last_to_go_is_known() {
        let following = Following::new("s+".to_owned());
        let [first, second] = [Updates::default(), Updates::default()];
        let numbers = [
            following.add("a://x", first.clone()),
            following.add("a://x", second.clone()),
            following.add("a://y", second.clone()),
        ];
        for uri in ["a://x/part", "a://xy", "a://y"] {
            following.changed(uri);
        }
        let told = |updates: &Updates| updates.next().now_or_never();
        assert_eq!(told(&first).as_deref(), Some("s+a://x/part"));
        assert_eq!(told(&first), None);
        assert_eq!(told(&second).as_deref(), Some("s+a://x/part"));
        assert_eq!(told(&second).as_deref(), Some("s+a://y"));
        assert_eq!(following.remove(numbers[0]), None);
        assert_eq!(following.remove(numbers[1]).as_deref(), Some("a://x"));
        assert_eq!(following.uris(), ["a://y".to_owned()].into());
        assert_eq!(following.remove(numbers[1]), None);
        assert_eq!(following.remove(numbers[2]).as_deref(), Some("a://y"));
        assert!(following.is_empty());
    }
}
