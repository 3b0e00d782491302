//! Goes on with a sync: what changes on the host is told by the system, and the computer is looked at now and then.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::join_all;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};

use super::{
    far::{Peer, survey},
    report::Report,
    round::{Order, Teller, sync_all},
};

/// How long nothing has to change on the host before a sync begins, and how long it waits for that at most: programs write
/// a file in several steps, and some write all the time.
const QUIET: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(2);

/// How often a computer is looked at, for what has changed there, and for whether it is back; and the host's folder where
/// the system tells of no changes.
const LOOK: Duration = Duration::from_secs(3);

/// What is known of a computer that is followed.
#[derive(Default)]
struct Seen {
    /// What its folder was when it was last looked at, by a quick look.
    digest: String,
    /// Whether the last sync did all that there was to do.
    is_well: bool,
    /// What was told of the last sync that changed nothing.
    told: String,
}

/// Syncs with all these computers, and then whenever something changes, until the future is dropped. Each sync that did
/// something, or came to something else than the one before, is told.
pub async fn watch(
    orders: &[(Order, &dyn Peer)],
    tell: Teller<'_>,
    hear: &(dyn Fn(&Report) + Send + Sync),
) {
    let Some((first, _)) = orders.first() else {
        return;
    };
    let changed = Arc::new(Notify::new());
    // From before the first look, so that nothing is missed.
    let watcher = follow(first, changed.clone());
    let mut seen: BTreeMap<usize, Seen> = BTreeMap::new();
    // All of them, at first.
    let mut due: Vec<usize> = (0..orders.len()).collect();
    loop {
        let now: Vec<_> = due
            .drain(..)
            .filter_map(|at| Some((at, orders.get(at)?)))
            .collect();
        let synced = sync_all(now.iter().map(|(_, order)| *order), tell).await;
        for ((at, _), report) in now.into_iter().zip(synced) {
            let seen = seen.entry(at).or_default();
            seen.is_well = report.stopped.is_none();
            let is_news = report.has_changed() || seen.told != quiet(&report);
            seen.told = quiet(&report);
            if is_news {
                hear(&report);
            }
        }
        if timeout(LOOK, changed.notified()).await.is_ok() {
            // The last change of many counts.
            let begun = Instant::now();
            while begun.elapsed() < PATIENCE && timeout(QUIET, changed.notified()).await.is_ok() {}
            due.extend(0..orders.len());
            continue;
        }
        if watcher.is_none() {
            due.extend(0..orders.len());
            continue;
        }
        let looks = orders.iter().enumerate().map(async |(at, (order, peer))| {
            let seen = seen.get(&at)?;
            if !seen.is_well {
                return Some((at, None));
            }
            if !order.way.writes_here() {
                return None;
            }
            match survey(*peer, &order.path, Some(&seen.digest)).await {
                Ok(None) => None,
                // What is there is seen by the sync itself, too; what is not there any more is told by that.
                Ok(Some(is)) => Some((at, Some(is.digest))),
                Err(_) => Some((at, None)),
            }
        });
        for (at, digest) in join_all(looks).await.into_iter().flatten() {
            if let Some(digest) = digest {
                seen.entry(at).or_default().digest = digest;
            }
            due.push(at);
        }
    }
}

/// What of a report is the same again as long as nothing happens.
fn quiet(report: &Report) -> String {
    let settled = Report {
        name: String::new(),
        left: report.left.clone(),
        failed: report.failed.clone(),
        stay: report.stay.clone(),
        stopped: report.stopped.clone(),
        ..Report::default()
    };
    settled.words_in_full()
}

/// Follows the host's folder; none where the system tells of no changes.
fn follow(order: &Order, changed: Arc<Notify>) -> Option<RecommendedWatcher> {
    let tell = move |event: notify::Result<notify::Event>| {
        if event.is_ok_and(|event| !event.kind.is_access()) {
            changed.notify_one();
        }
    };
    let mut watcher = notify::recommended_watcher(tell).ok()?;
    let watched = watcher.watch(order.host.path(), RecursiveMode::Recursive);
    if let Err(error) = watched {
        tracing::warn!(%error, "the system does not tell what changes in a folder: it is looked at every few seconds");
        return None;
    }
    Some(watcher)
}
