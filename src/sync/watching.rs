//! Goes on with a sync: what changes on the host is told by the system, and the computer is looked at now and then.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use futures_util::future::join_all;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::{
    sync::Notify,
    task::spawn_blocking,
    time::{Instant, sleep, timeout},
};

use super::{
    far::{Peer, survey},
    host::Now,
    news::News,
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
/// something, or came to something else than the one before, is told; and when the host's folder is away, and back.
pub async fn watch(
    orders: &[(Order, &dyn Peer)],
    tell: Teller<'_>,
    hear: &(dyn Fn(News) + Send + Sync),
) {
    let mut orders = orders.to_vec();
    let Some((first, _)) = orders.first() else {
        return;
    };
    let changed = Arc::new(Notify::new());
    // From before the first look, so that nothing is missed.
    let mut watcher = follow(first, changed.clone());
    let mut is_away = false;
    let mut seen: BTreeMap<usize, Seen> = BTreeMap::new();
    // All of them, at first.
    let mut due: Vec<usize> = (0..orders.len()).collect();
    loop {
        match look(&mut orders, is_away).await {
            Place::There => {}
            Place::Away(line) => {
                if !is_away {
                    hear(News::Away(line));
                }
                is_away = true;
                sleep(LOOK).await;
                continue;
            }
            Place::Back(line) => {
                hear(News::Back(line));
                is_away = false;
                watcher = orders
                    .first()
                    .and_then(|(order, _)| follow(order, changed.clone()));
                due = (0..orders.len()).collect();
            }
        }
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
                hear(report.into());
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

/// Where the host's folder is.
enum Place {
    /// Where it was.
    There,
    /// Elsewhere; a line that says so.
    Away(String),
    /// There again, or another is there, which the orders have now; a line that says so.
    Back(String),
}

/// Looks whether the folder of the orders, which is one, is where it was.
async fn look(orders: &mut [(Order, &dyn Peer)], was_away: bool) -> Place {
    let Some((first, _)) = orders.first() else {
        return Place::There;
    };
    let host = first.host.clone();
    let path = host.path().display().to_string();
    let back = format!("{path} is there again, and is synced.");
    match spawn_blocking(move || host.now()).await {
        Ok(Now::There) if was_away => Place::Back(back),
        // What can't be found out is seen by the sync itself.
        Ok(Now::There) | Err(_) => Place::There,
        Ok(Now::Away) => Place::Away(format!(
            "{path} is not there any more: it was moved, renamed or deleted. Nothing is synced until a folder is there again."
        )),
        Ok(Now::Another(host)) => {
            for (order, _) in orders {
                order.host = host.clone();
            }
            Place::Back(match was_away {
                true => back,
                false => format!("{path} is another folder now, and that is synced."),
            })
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
        stopped: report.stopped.as_deref().map(without_ages),
        ..Report::default()
    };
    settled.words_in_full()
}

/// A text without how long ago something was, and without all other numbers: they tell nothing new.
fn without_ages(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    let is_same = |at: &usize| {
        let has_number = |word: &str| word.contains(|sign: char| sign.is_ascii_digit());
        let is_unit = words
            .get(at + 1)
            .is_some_and(|next| next.starts_with("ago"));
        !has_number(words[*at]) && !is_unit
    };
    let kept: Vec<_> = (0..words.len())
        .filter(is_same)
        .map(|at| words[at])
        .collect();
    kept.join(" ")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stops_a_sync_is_the_same_however_long_ago_it_began() {
        let [first, later] = [
            "3 s ago (2026-11-28T12:00:00Z): mine",
            "2 min ago (2026-11-28T12:00:00Z): mine",
        ]
        .map(|when| without_ages(&format!("A person has paused this {when}. Until then")));
        assert_eq!(first, later);
        assert_eq!(first, "A person has paused this ago mine. Until then");
        assert_ne!(without_ages("It is away."), without_ages("It is paused."));
    }
}
