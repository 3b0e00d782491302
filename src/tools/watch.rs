//! Follows folders of tools: a change becomes a new offer within a second.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::watch;

use super::{
    Client, Offer, Source, builtin,
    changes::Changes,
    folder::{Folders, Look, Root},
    kit::Kit,
    namespace::Keeper,
    syncing::SyncPlace,
    trials::Untried,
};

/// How long after a look that met a half-written file the next one comes.
const AGAIN: Duration = Duration::from_millis(45);

/// How long a list waits for what is built in: without it there is next to nothing. It takes a millisecond; this only
/// counts on a machine that hardly moves.
const BUILT_IN_PATIENCE: Duration = Duration::from_secs(20);

/// The source of what is built in, and that of folders. A thread of its own reads the former and follows the latter. It
/// begins when somebody wants to know what there is: a client's first question is not about tools, and some never ask
/// about them.
pub fn sources(
    roots: Vec<Root>,
    keeper: Keeper,
    probe_time: Duration,
    sync: SyncPlace,
) -> [Box<dyn Source>; 2] {
    let (built_in_sender, built_in) = watch::channel(Arc::new(Offer::default()));
    let (sender, folders) = watch::channel(Arc::new(Offer::default()));
    let work = move || {
        let kit = Kit::keeping(keeper).syncing(sync);
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
    changes: Changes,
    /// The problems that were logged, so that each is logged once.
    told: BTreeSet<String>,
}

impl Follower {
    fn new(folders: Folders) -> Self {
        Self {
            changes: Changes::new(folders.roots().to_vec()),
            folders,
            told: BTreeSet::new(),
        }
    }

    fn run(mut self, sender: &watch::Sender<Arc<Offer>>) {
        loop {
            // Before the look, so that what changes meanwhile is told of.
            let since = self.changes.from_now_on();
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
            if !self.changes.wait(since, || !sender.is_closed()) {
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
