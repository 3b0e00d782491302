//! Resources of a user's own that change by themselves: with time, with the computers, or when a handler says so.

use std::{
    collections::BTreeMap,
    future::pending,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    time::sleep,
};

use crate::tools::{
    manifest::Watch,
    updates::{Followed, Updates},
};

/// How long after a client was told of a change of a resource it is told of the next.
const PAUSE: Duration = Duration::from_millis(500);

/// Who follows which resources.
#[derive(Default)]
pub struct Live {
    /// What is told that a resource has changed, by its URI.
    followers: Mutex<BTreeMap<String, Vec<Weak<Notify>>>>,
    /// Is another whenever a computer has linked, left or got another label.
    computers: Option<watch::Receiver<u64>>,
}

impl Live {
    /// One where `computers` is another whenever something has happened to the computers.
    pub fn new(computers: watch::Receiver<u64>) -> Self {
        Self {
            computers: Some(computers),
            ..Self::default()
        }
    }

    /// Tells `updates` whenever this resource is another, for as long as what is returned lives. To be called in the
    /// runtime.
    pub fn follow(&self, uri: &str, watch: Watch, updates: Updates) -> Followed {
        let changed = Arc::new(Notify::new());
        {
            let mut followers = self.lock();
            let of_uri = followers.entry(uri.to_owned()).or_default();
            of_uri.retain(|follower| follower.strong_count() > 0);
            of_uri.push(Arc::downgrade(&changed));
        }
        let mut computers = self.computers.clone().filter(|_| watch.computers);
        if let Some(computers) = &mut computers {
            computers.mark_unchanged();
        }
        let uri = uri.to_owned();
        let task = tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = changed.notified() => {}
                    () = next(watch.every) => {}
                    () = happened(&mut computers) => {}
                }
                updates.add(&uri, uri.clone());
                sleep(PAUSE).await;
            }
        });
        Followed::until(move || task.abort())
    }

    /// Says that a resource is another now.
    pub fn changed(&self, uri: &str) {
        let mut followers = self.lock();
        let Some(of_uri) = followers.get_mut(uri) else {
            return;
        };
        of_uri.retain(|follower| match follower.upgrade() {
            Some(follower) => {
                follower.notify_one();
                true
            }
            None => false,
        });
        if of_uri.is_empty() {
            followers.remove(uri);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Vec<Weak<Notify>>>> {
        // Nothing that holds the lock can panic.
        self.followers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

async fn next(every: Option<Duration>) {
    match every {
        Some(every) => sleep(every).await,
        None => pending().await,
    }
}

/// Waits until something has happened to the computers.
async fn happened(computers: &mut Option<watch::Receiver<u64>>) {
    if let Some(follow) = computers {
        if follow.changed().await.is_ok() {
            return;
        }
        *computers = None;
    }
    pending().await
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_follower_is_told_of_each_reason_and_not_too_often() {
        let (happens, computers) = watch::channel(0);
        let live = Live::new(computers);
        let updates = Updates::default();
        let nothing = Watch::default();
        let followed = live.follow("farm://a", nothing, updates.clone());
        let timed = Updates::default();
        let every = Watch {
            every: Some(Duration::from_secs(60)),
            computers: true,
        };
        let also = live.follow("farm://b", every, timed.clone());
        for _ in 0..1000 {
            live.changed("farm://a");
            live.changed("farm://none");
        }
        assert_eq!(updates.next().await, "farm://a");
        live.changed("farm://a");
        sleep(PAUSE / 2).await;
        assert!(updates.next().now_or_never().is_none());
        assert_eq!(updates.next().await, "farm://a");
        assert!(timed.next().now_or_never().is_none());
        sleep(Duration::from_secs(61)).await;
        assert!(timed.next().now_or_never().is_some());
        sleep(PAUSE * 2).await;
        happens.send_replace(1);
        sleep(PAUSE).await;
        assert!(timed.next().now_or_never().is_some());
        assert!(updates.next().now_or_never().is_none());
        drop((followed, also));
        sleep(PAUSE).await;
        live.changed("farm://a");
        sleep(Duration::from_secs(120)).await;
        assert!(updates.next().now_or_never().is_none() && timed.next().now_or_never().is_none());
        assert!(live.lock().get("farm://a").is_none());
    }
}
