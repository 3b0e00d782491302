//! Follows folders of tools: a change becomes a new offer within a second.

use std::{
    collections::BTreeSet,
    io,
    sync::{Arc, mpsc},
    time::Duration,
};

use tokio::sync::watch;

use super::{
    Offer, Source, builtin,
    changes::Changes,
    folder::{Folders, Root},
    kit::Kit,
    look::Look,
    namespace::Keeper,
    syncing::SyncPlace,
    trials::Untried,
};

/// How long after a look that met a half-written file the next one comes.
const AGAIN: Duration = Duration::from_millis(45);

/// How long a list waits for what is built in: without it there is next to nothing. It takes a millisecond; this only
/// counts on a machine that hardly moves.
const BUILT_IN_PATIENCE: Duration = Duration::from_secs(20);

/// The thread that reads tools. A client's first question waits for it, so it begins with what needs no settings: what is
/// built in.
pub struct Reader(io::Result<mpsc::Sender<Work>>);

/// What is done with the built-in entries, once the settings are known.
type Work = Box<dyn FnOnce(builtin::Entries) + Send>;

impl Reader {
    /// Begins to read. The thread ends when this is gone, unless [`sources`] has it.
    pub fn begin() -> Self {
        let (sender, work) = mpsc::channel::<Work>();
        let spawned = std::thread::Builder::new()
            .name("tools".to_owned())
            .spawn(move || {
                let built_in = builtin::Entries::read();
                if let Ok(work) = work.recv() {
                    work(built_in);
                }
            });
        Self(spawned.map(|_| sender))
    }

    fn go_on(self, work: impl FnOnce(builtin::Entries) + Send + 'static) {
        let told = match self.0 {
            Ok(thread) => thread
                .send(Box::new(work))
                .map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        if let Err(error) = told {
            tracing::error!(
                error,
                "there are no tools: the thread that reads them is not there"
            );
        }
    }
}

/// The source of what is built in, and that of folders, which the reader follows from here on.
pub fn sources(
    reader: Reader,
    roots: Vec<Root>,
    keeper: Keeper,
    probe_time: Duration,
    sync: SyncPlace,
) -> [Box<dyn Source>; 2] {
    let (built_in_sender, built_in) = watch::channel(Arc::new(Offer::default()));
    let (sender, folders) = watch::channel(Arc::new(Offer::default()));
    // Here, since the reader is busy yet.
    let changes = Changes::new(roots.clone());
    reader.go_on(move |entries| {
        let kit = Kit::keeping(keeper).syncing(sync);
        let built_in = entries.offer(&kit, probe_time);
        let folders = Folders::new(roots, kit, &built_in);
        built_in_sender.send_replace(Arc::new(built_in));
        Follower::new(folders, changes).run(&sender);
    });
    [Box::new(BuiltIn(built_in)), Box::new(InFolders(folders))]
}

struct BuiltIn(watch::Receiver<Arc<Offer>>);

impl Source for BuiltIn {
    fn follow(&self) -> watch::Receiver<Arc<Offer>> {
        self.0.clone()
    }

    fn patience(&self) -> Duration {
        BUILT_IN_PATIENCE
    }
}

struct InFolders(watch::Receiver<Arc<Offer>>);

impl Source for InFolders {
    fn follow(&self) -> watch::Receiver<Arc<Offer>> {
        self.0.clone()
    }
}

struct Follower {
    folders: Folders,
    changes: Changes,
    /// The problems that were logged, so that each is logged once.
    told: BTreeSet<String>,
}

impl Follower {
    fn new(folders: Folders, changes: Changes) -> Self {
        Self {
            folders,
            changes,
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
