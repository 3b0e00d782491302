//! Tells when something changes in folders of tools: by the system's word where there is one, and by looking now and then.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hasher},
    path::{Path, PathBuf},
    sync::mpsc,
    time::{Duration, Instant},
};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

use super::{files, folder::Root};

/// A burst of changes has ended once nothing happened for this long.
const QUIET: Duration = Duration::from_millis(50);

/// A burst that does not end is looked at after this long.
const LONGEST_BURST: Duration = Duration::from_millis(300);

/// How often files are looked at where the system tells of changes: network drives and the like tell of none.
const POLL: Duration = Duration::from_secs(5);

/// How often, where it does not.
const POLL_WITHOUT_EVENTS: Duration = Duration::from_millis(700);

/// Changes of folders.
pub struct Changes {
    roots: Vec<Root>,
    events: mpsc::Receiver<()>,
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
}

/// A moment, from which on changes count.
pub struct Since {
    /// A stamp of all files, which differs when one of them does.
    stamp: u64,
    /// Whether the system tells of all changes.
    is_watched: bool,
}

impl Changes {
    /// Those of these folders, and of all below them.
    pub fn new(roots: Vec<Root>) -> Self {
        let (sender, events) = mpsc::sync_channel(1);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Reading is an event too, and the looks themselves read.
            if event.is_ok_and(|event| matches!(event.kind, EventKind::Access(_))) {
                return;
            }
            // One that waits stands for all that come after it.
            let _ = sender.try_send(());
        });
        if let Err(error) = &watcher {
            tracing::warn!(%error, "changes of tools are looked for now and then: the system does not tell of them");
        }
        Self {
            roots,
            events,
            watcher: watcher.ok(),
            watched: BTreeSet::new(),
        }
    }

    /// From now on changes count.
    pub fn from_now_on(&mut self) -> Since {
        Since {
            is_watched: self.watch(),
            stamp: self.stamp(),
        }
    }

    /// Waits until something seems to have changed since then; tells whether anybody still wants to know.
    pub fn wait(&self, since: Since, is_wanted: impl Fn() -> bool) -> bool {
        let poll = match since.is_watched {
            true => POLL,
            false => POLL_WITHOUT_EVENTS,
        };
        loop {
            match self.events.recv_timeout(poll) {
                Ok(()) => {
                    let start = Instant::now();
                    while start.elapsed() < LONGEST_BURST && self.events.recv_timeout(QUIET).is_ok()
                    {
                    }
                    return true;
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                // There is no watcher.
                Err(mpsc::RecvTimeoutError::Disconnected) => std::thread::sleep(poll),
            }
            if !is_wanted() {
                return false;
            }
            if self.stamp() != since.stamp {
                return true;
            }
        }
    }

    /// A stamp of all files, which differs when one of them does.
    fn stamp(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for root in &self.roots {
            files::stamp(&root.path, &mut hasher);
        }
        hasher.finish()
    }

    /// Watches what there is now: each folder, or the nearest one above it that exists. Tells whether all is watched.
    fn watch(&mut self) -> bool {
        let Some(watcher) = &mut self.watcher else {
            return false;
        };
        // A folder that was replaced by another of its name is not watched any more.
        for path in std::mem::take(&mut self.watched) {
            let _ = watcher.unwatch(&path);
        }
        let mut all = true;
        for Root { path, .. } in &self.roots {
            let Some((path, mode)) = nearest(path) else {
                continue;
            };
            if self.watched.contains(&path) {
                continue;
            }
            match watcher.watch(&path, mode) {
                Ok(()) => {
                    self.watched.insert(path);
                }
                Err(error) => {
                    tracing::debug!(folder = %path.display(), %error, "a folder can't be watched");
                    all = false;
                }
            }
        }
        all
    }
}

/// Looks for changes of folders on a thread of its own. The first word comes once it looks, and one each time that a file
/// has changed since the last; several of them may be one.
///
/// # Errors
/// The system has no thread left.
pub fn told_of(roots: Vec<Root>) -> std::io::Result<tokio::sync::mpsc::Receiver<()>> {
    let (sender, told) = tokio::sync::mpsc::channel(1);
    std::thread::Builder::new()
        .name("changes".to_owned())
        .spawn(move || {
            let mut changes = Changes::new(roots);
            let mut last = None;
            loop {
                let since = changes.from_now_on();
                // Not all that the system tells of is a change of a file: it may be an editor's own.
                if last != Some(since.stamp) {
                    last = Some(since.stamp);
                    match sender.try_send(()) {
                        // Whoever has not looked yet finds this change too.
                        Ok(()) | Err(tokio::sync::mpsc::error::TrySendError::Full(())) => {}
                        Err(tokio::sync::mpsc::error::TrySendError::Closed(())) => return,
                    }
                }
                if !changes.wait(since, || !sender.is_closed()) {
                    return;
                }
            }
        })?;
    Ok(told)
}

/// A folder, or the nearest one above it that exists.
fn nearest(path: &Path) -> Option<(PathBuf, RecursiveMode)> {
    if path.is_dir() {
        return Some((path.to_path_buf(), RecursiveMode::Recursive));
    }
    path.ancestors()
        .skip(1)
        .find(|above| above.is_dir())
        .map(|above| (above.to_path_buf(), RecursiveMode::NonRecursive))
}
