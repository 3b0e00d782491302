//! Follows what the bridge's own resources show, for whoever subscribed to it, and only as long as somebody has: the
//! computers by what the registry is told, screens by asking to be told of the next change, files by looking now and then.
//! However many follow one thing, one looks after it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use thiserror::Error;
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};
use tokio_util::task::AbortOnDropHandle;

use super::looks::{Look, Watched};
use crate::{
    computers::Fleet,
    tools::{
        couriers::Couriers,
        updates::{Followed, Updates},
    },
};

/// How many things are followed at once.
const MOST: usize = 100;

/// How long after one change is told the next one is.
const PAUSE: Duration = Duration::from_millis(500);

/// How long a subscription waits for the first look at what it is about, so that it misses no change after that.
const FIRST_LOOK: Duration = Duration::from_secs(2);

/// What is followed.
pub struct Watching {
    fleet: Arc<Fleet>,
    couriers: Arc<Couriers>,
    watches: Mutex<Watches>,
}

#[derive(Default)]
struct Watches {
    all: BTreeMap<Watched, Watch>,
    /// Counts the followers.
    followers: u64,
}

/// What looks after one thing, until it is dropped, and whom it tells.
struct Watch {
    followers: Followers,
    has_looked: watch::Receiver<bool>,
    _task: AbortOnDropHandle<()>,
}

/// Whom to tell, each by which URI.
type Followers = Arc<Mutex<BTreeMap<u64, (String, Updates)>>>;

/// So many things are followed that nothing is added.
#[derive(Debug, Error)]
#[error(
    "Too many subscriptions: {MOST} computers, screens, files and folders are followed already. Unsubscribe from one first."
)]
pub struct TooMany;

impl Watching {
    /// One of these computers.
    pub fn new(fleet: Arc<Fleet>, couriers: Arc<Couriers>) -> Arc<Self> {
        Arc::new(Self {
            fleet,
            couriers,
            watches: Mutex::default(),
        })
    }

    /// The computers.
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// Tells `updates` of each change from now on, by this URI, for as long as what is returned lives.
    ///
    /// # Errors
    /// Too many things are followed.
    pub async fn follow(
        self: &Arc<Self>,
        watched: Watched,
        uri: &str,
        updates: Updates,
    ) -> Result<Followed, TooMany> {
        let (number, mut has_looked) = {
            let mut watches = lock(&self.watches);
            if watches.all.len() >= MOST && !watches.all.contains_key(&watched) {
                return Err(TooMany);
            }
            watches.followers += 1;
            let number = watches.followers;
            let watch = watches
                .all
                .entry(watched.clone())
                .or_insert_with(|| self.begin(watched.clone()));
            lock(&watch.followers).insert(number, (uri.to_owned(), updates));
            (number, watch.has_looked.clone())
        };
        let watching = Arc::downgrade(self);
        let followed = Followed::until(move || {
            if let Some(watching) = watching.upgrade() {
                watching.leave(&watched, number);
            }
        });
        let looked = has_looked.wait_for(|has_looked| *has_looked);
        // One that takes longer begins when it can.
        let _ = timeout(FIRST_LOOK, looked).await;
        Ok(followed)
    }

    fn begin(&self, watched: Watched) -> Watch {
        let followers = Followers::default();
        let (looks, has_looked) = watch::channel(false);
        let mut look = Look::new(self.fleet.clone(), self.couriers.clone(), watched);
        let told = followers.clone();
        let task = tokio::spawn(async move {
            look.first().await;
            looks.send_replace(true);
            loop {
                look.changed().await;
                for (uri, updates) in lock(&told).values() {
                    updates.add(uri, uri.clone());
                }
                sleep(PAUSE).await;
            }
        });
        Watch {
            followers,
            has_looked,
            _task: AbortOnDropHandle::new(task),
        }
    }

    fn leave(&self, watched: &Watched, number: u64) {
        let mut watches = lock(&self.watches);
        let Some(watch) = watches.all.get(watched) else {
            return;
        };
        let mut followers = lock(&watch.followers);
        followers.remove(&number);
        let is_last = followers.is_empty();
        drop(followers);
        if is_last {
            watches.all.remove(watched);
        }
    }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that holds the lock can panic.
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
