//! Follows folders of tools: a change becomes a new offer within a second.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, mpsc},
    time::{Duration, Instant},
};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::watch;

use super::{
    Client, Offer, Source, builtin,
    folder::{Folders, Look, Root},
    kit::Kit,
    namespace::Keeper,
    trials::Untried,
};

/// A burst of changes has ended once nothing happened for this long.
const QUIET: Duration = Duration::from_millis(50);

/// A burst that does not end is looked at after this long.
const LONGEST_BURST: Duration = Duration::from_millis(300);

/// How long after a look that met a half-written file the next one comes.
const AGAIN: Duration = Duration::from_millis(45);

/// How often files are looked at where the system tells of changes: network drives and the like tell of none.
const POLL: Duration = Duration::from_secs(5);

/// How often, where it does not.
const POLL_WITHOUT_EVENTS: Duration = Duration::from_millis(700);

/// How long a list waits for what is built in: without it there is next to nothing. It takes a millisecond; this only
/// counts on a machine that hardly moves.
const BUILT_IN_PATIENCE: Duration = Duration::from_secs(20);

/// The source of what is built in, and that of folders. A thread of its own reads the former and follows the latter. It
/// begins when somebody wants to know what there is: a client's first question is not about tools, and some never ask
/// about them.
pub fn sources(roots: Vec<Root>, keeper: Keeper, probe_time: Duration) -> [Box<dyn Source>; 2] {
    let (built_in_sender, built_in) = watch::channel(Arc::new(Offer::default()));
    let (sender, folders) = watch::channel(Arc::new(Offer::default()));
    let work = move || {
        let kit = Kit::keeping(keeper);
        let built_in = builtin::offer(&kit, probe_time);
        let folders = Folders::new(roots, kit, &built_in);
        built_in_sender.send_replace(Arc::new(built_in));
        Follower::new(folders).run(&sender);
    };
    let begin = Arc::new(Begin(Mutex::new(Some(Box::new(work)))));
    [
        Box::new(BuiltIn(built_in, begin.clone())),
        Box::new(InFolders(folders, begin)),
    ]
}

/// What the thread does, until it does.
struct Begin(Mutex<Option<Box<dyn FnOnce() + Send>>>);

impl Begin {
    fn now(&self) {
        // Nothing that holds the lock can panic.
        let work = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(work) = work else {
            return;
        };
        let spawned = std::thread::Builder::new()
            .name("tools".to_owned())
            .spawn(work);
        if let Err(error) = spawned {
            tracing::error!(%error, "there are no tools: no thread can be started");
        }
    }
}

struct BuiltIn(watch::Receiver<Arc<Offer>>, Arc<Begin>);

impl Source for BuiltIn {
    fn follow(&self) -> watch::Receiver<Arc<Offer>> {
        self.0.clone()
    }

    fn wanted(&self, _: Client) {
        self.1.now();
    }

    fn patience(&self) -> Duration {
        BUILT_IN_PATIENCE
    }
}

struct InFolders(watch::Receiver<Arc<Offer>>, Arc<Begin>);

impl Source for InFolders {
    fn follow(&self) -> watch::Receiver<Arc<Offer>> {
        self.0.clone()
    }

    fn wanted(&self, _: Client) {
        self.1.now();
    }
}

struct Follower {
    folders: Folders,
    events: mpsc::Receiver<()>,
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    /// The problems that were logged, so that each is logged once.
    told: BTreeSet<String>,
}

impl Follower {
    fn new(folders: Folders) -> Self {
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
            folders,
            events,
            watcher: watcher.ok(),
            watched: BTreeSet::new(),
            told: BTreeSet::new(),
        }
    }

    fn run(mut self, sender: &watch::Sender<Arc<Offer>>) {
        loop {
            // Before the look, so that what changes meanwhile is told of.
            let watches = self.watch();
            let stamp = self.folders.stamp();
            let mut look = self.folders.look();
            let is_unsettled = look.is_unsettled;
            let untried = std::mem::take(&mut look.untried);
            // What is half written is no mistake yet.
            if !is_unsettled {
                self.tell(&look);
            }
            sender.send_replace(Arc::new(look.offer));
            if is_unsettled {
                std::thread::sleep(AGAIN);
                continue;
            }
            if !untried.is_empty() && self.try_handlers(untried) {
                continue;
            }
            if !self.wait(stamp, watches, sender) {
                return;
            }
        }
    }

    /// Loads handlers; tells whether that could be done.
    fn try_handlers(&mut self, untried: Vec<Untried>) -> bool {
        // Its own, since this thread is none of the runtime's, and does nothing else meanwhile.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        match runtime {
            Ok(runtime) => {
                runtime.block_on(self.folders.try_handlers(untried));
                true
            }
            Err(error) => {
                tracing::warn!(%error, "handlers can't be tried");
                false
            }
        }
    }

    /// Waits for a change; tells whether anybody still wants to know.
    fn wait(&self, stamp: u64, watches: bool, sender: &watch::Sender<Arc<Offer>>) -> bool {
        let poll = if watches { POLL } else { POLL_WITHOUT_EVENTS };
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
            if sender.is_closed() {
                return false;
            }
            if self.folders.stamp() != stamp {
                return true;
            }
        }
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
        for Root { path, .. } in self.folders.roots() {
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

    /// Logs what is wrong, once.
    fn tell(&mut self, look: &Look) {
        let problems: BTreeSet<_> = look.problems.iter().map(ToString::to_string).collect();
        for problem in problems.difference(&self.told) {
            tracing::warn!("{problem}");
        }
        for problem in self.told.difference(&problems) {
            tracing::info!("no longer: {problem}");
        }
        self.told = problems;
    }
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
