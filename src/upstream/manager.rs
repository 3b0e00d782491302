//! The servers of one bridge: which there are, what they offer together, and what becomes of both.

pub mod report;

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    requests::{Inbox, Request},
    server::{Server, ServerFolders},
    servers::{Servers, Wanted},
    settings::Settings,
    sources::{self, ConfigPlace, Resolution},
    status::{HEARTBEAT, Report, StatusFile},
    trust,
};
use crate::tools::asked::Asked;

/// How many clients may have servers of their own at once. One more shares those of all.
const MOST_OWN: usize = 32;

/// How often the state folder is looked at for requests, and the configuration for changes.
const LOOK: Duration = Duration::from_secs(1);

/// The same, where nothing is configured.
const RARE_LOOK: Duration = Duration::from_secs(10);

/// The servers of one bridge.
pub struct Manager {
    settings: Settings,
    /// What the configuration said at the last look.
    said: Mutex<Said>,
    /// The servers that it names, for all who have such.
    wanted: watch::Sender<Arc<[Wanted]>>,
    /// Those that clients share.
    shared: Arc<Servers>,
    /// Those of clients that have their own.
    own: Mutex<Vec<Weak<Servers>>>,
    ready: watch::Sender<bool>,
    begun: AtomicBool,
    /// All tasks.
    tasks: TaskTracker,
    /// Cancelled when the bridge leaves.
    leaving: CancellationToken,
}

#[derive(Default)]
struct Said {
    places: Vec<ConfigPlace>,
    resolution: Resolution,
    /// Whether the project's file, if there is one, may be used.
    trusted: bool,
}

/// What is configured at one moment, as read by [`look`].
struct Look {
    stamps: Stamps,
    places: Vec<ConfigPlace>,
    resolution: Resolution,
    trusted: bool,
}

/// By what a change of the configuration files is seen: their times and sizes.
type Stamps = Vec<Option<(SystemTime, u64)>>;

impl Manager {
    /// A manager that has not begun.
    pub fn new(settings: Settings) -> Self {
        let (tasks, leaving) = (TaskTracker::new(), CancellationToken::new());
        let folders = folders(&settings);
        let shared = Servers::new(folders, None, tasks.clone(), leaving.child_token());
        Self {
            settings,
            said: Mutex::default(),
            wanted: watch::Sender::new(Arc::default()),
            shared: Arc::new(shared),
            own: Mutex::default(),
            ready: watch::Sender::new(false),
            begun: AtomicBool::new(false),
            tasks,
            leaving,
        }
    }

    /// Begins to read what is configured, and to follow it. Must be called in a tokio runtime; any number of times.
    pub fn begin(self: &Arc<Self>) {
        if !self.begun.swap(true, Ordering::AcqRel) {
            let manager = self.clone();
            self.tasks.spawn(async move {
                let leaving = manager.leaving.clone();
                tokio::select! {
                    () = manager.manage() => {}
                    () = leaving.cancelled() => {}
                }
            });
        }
    }

    /// The servers that clients share.
    pub fn shared(&self) -> &Arc<Servers> {
        &self.shared
    }

    /// Servers for this client alone, which they may ask things of; none if too many clients have their own. They are to
    /// leave when nobody needs them any more.
    pub fn own(self: &Arc<Self>, asked: Arc<dyn Asked>) -> Option<Arc<Servers>> {
        let mut all = self.lock_own();
        all.retain(|own| own.strong_count() > 0);
        if all.len() >= MOST_OWN {
            tracing::warn!(
                "{MOST_OWN} clients have servers of their own; one more shares those of all"
            );
            return None;
        }
        let leaving = self.leaving.child_token();
        let own = Servers::new(
            folders(&self.settings),
            Some(asked),
            self.tasks.clone(),
            leaving.clone(),
        );
        let own = Arc::new(own);
        all.push(Arc::downgrade(&own));
        drop(all);
        let (following, mut wanted) = (own.clone(), self.wanted.subscribe());
        let shared_news = self.shared.news.clone();
        let follow = async move {
            loop {
                let now = wanted.borrow_and_update().clone();
                following.adopt(&now).await;
                following.rebuild();
                loop {
                    tokio::select! {
                        () = following.news.notified() => {
                            following.rebuild();
                            // Others are told of them too.
                            shared_news.notify_one();
                        }
                        changed = wanted.changed() => match changed {
                            Ok(()) => break,
                            Err(_) => return,
                        },
                    }
                }
            }
        };
        self.tasks
            .spawn(leaving.clone().run_until_cancelled_owned(follow));
        self.tasks
            .spawn(leaving.run_until_cancelled_owned(own.clone().list_the_unknown()));
        Some(own)
    }

    /// Waits until the configuration was read.
    pub async fn ready(&self) {
        let _ = self.ready.subscribe().wait_for(|ready| *ready).await;
    }

    /// Whether the configuration was read, and names nothing at all.
    pub fn is_known_to_be_unused(&self) -> bool {
        *self.ready.borrow() && !self.is_used()
    }

    /// Whether anything is configured at all.
    pub fn is_used(&self) -> bool {
        let said = self.lock();
        let found = &said.resolution;
        !(found.servers.is_empty() && found.problems.is_empty() && found.shadowed.is_empty())
    }

    /// Stops everything, and waits for it.
    pub async fn leave(&self) {
        self.leaving.cancel();
        self.shared.leave();
        let own = self.lock_own().clone();
        for own in own.iter().filter_map(Weak::upgrade) {
            own.leave();
        }
        self.tasks.close();
        self.tasks.wait().await;
    }

    async fn manage(self: &Arc<Self>) {
        let mut stamps = Stamps::new();
        let first = self.look().await;
        self.adopt(first, &mut stamps).await;
        self.shared.rebuild();
        self.ready.send_replace(true);

        let list = self.shared.clone().list_the_unknown();
        self.tasks
            .spawn(self.leaving.clone().run_until_cancelled_owned(list));
        let mut inbox = Some(Inbox::new(&self.settings.state));
        let status = StatusFile::new(&self.settings.state);
        let mut told = None;
        self.tell(&status, &mut told);
        let mut beat = Instant::now();
        let mut looked = Instant::now();
        loop {
            let next_look = looked + if self.is_used() { LOOK } else { RARE_LOOK };
            tokio::select! {
                () = self.shared.news.notified() => {
                    self.shared.rebuild();
                    self.tell(&status, &mut told);
                }
                () = sleep_until(next_look) => {
                    looked = Instant::now();
                    let (requests, now) = self.peek(&mut inbox).await;
                    let changed = now.is_some_and(|now| now != stamps);
                    if changed || requests.contains(&Request::Reload) {
                        let look = self.look().await;
                        self.adopt(look, &mut stamps).await;
                    }
                    for request in requests {
                        match request {
                            Request::Restart { server } => self.restart(&server),
                            Request::Renew { server } => self.renew(&server),
                            Request::Reload => {}
                        }
                    }
                    if beat.elapsed() >= HEARTBEAT {
                        beat = Instant::now();
                        status.beat();
                    }
                }
            }
        }
    }

    fn restart(&self, name: &str) {
        self.shared.restart(name);
        for own in self.lock_own().iter().filter_map(Weak::upgrade) {
            own.restart(name);
        }
    }

    fn renew(&self, name: &str) {
        self.shared.renew(name);
        for own in self.lock_own().iter().filter_map(Weak::upgrade) {
            own.renew(name);
        }
    }

    /// What was asked for since the last time, and the files' stamps. On a thread of its own: a folder may be on a
    /// network that hangs.
    async fn peek(&self, inbox: &mut Option<Inbox>) -> (Vec<Request>, Option<Stamps>) {
        let Some(mut taken) = inbox.take() else {
            return Default::default();
        };
        let settings = self.settings.clone();
        let peek = tokio::task::spawn_blocking(move || {
            let requests = taken.take();
            (taken, requests, stamps(&settings))
        });
        match peek.await {
            Ok((given_back, requests, stamps)) => {
                *inbox = Some(given_back);
                (requests, Some(stamps))
            }
            Err(_) => Default::default(),
        }
    }

    /// Reads what is configured now.
    async fn look(&self) -> Option<Look> {
        let settings = self.settings.clone();
        let before = self.lock().places.clone();
        let look = tokio::task::spawn_blocking(move || {
            // Before the files, so that a change in between is seen the next time.
            let stamps = stamps(&settings);
            let mut places = sources::read(&settings.folder, settings.config.as_deref());
            sources::keep(&mut places, &before);
            let resolution = sources::resolve(&places, settings.own_port);
            let trusted = resolution
                .project
                .as_ref()
                .is_none_or(|file| trust::is_trusted(&settings.state, file));
            Look {
                stamps,
                places,
                resolution,
                trusted,
            }
        });
        look.await.ok()
    }

    /// Makes the servers those that are configured.
    async fn adopt(&self, look: Option<Look>, stamps: &mut Stamps) {
        let Some(look) = look else {
            return;
        };
        *stamps = look.stamps;
        for problem in &look.resolution.problems {
            tracing::warn!("{problem}");
        }
        let in_force = look.resolution.in_force(look.trusted).into_iter();
        let wanted: Arc<[_]> = in_force
            .map(|entry| Wanted {
                entry: entry.clone(),
                disabled: report::why_disabled(entry, look.trusted),
            })
            .collect();
        *self.lock() = Said {
            places: look.places,
            resolution: look.resolution,
            trusted: look.trusted,
        };
        self.shared.adopt(&wanted).await;
        self.wanted.send_replace(wanted);
    }

    /// Writes the status file, if there is something to tell that was not told.
    fn tell(&self, file: &StatusFile, told: &mut Option<Report>) {
        if !self.is_used() {
            return;
        }
        let report = self.report();
        if told.as_ref() == Some(&report) {
            return;
        }
        file.write(report.clone());
        *told = Some(report);
    }

    /// How the servers are, of all clients.
    pub fn report(&self) -> Report {
        let own: Vec<_> = self.lock_own().iter().filter_map(Weak::upgrade).collect();
        self.report_of(&self.shared, &own)
    }

    /// How these servers are; of each, how it is for one of the others where there it does more.
    pub fn report_of(&self, servers: &Servers, others: &[Arc<Servers>]) -> Report {
        // What is told here must hold for the next question too.
        let listing = servers.renewed();
        let others: Vec<_> = others
            .iter()
            .map(|other| (other.all(), other.listing()))
            .collect();
        let row = |server: &Arc<Server>| {
            let same = others.iter().flat_map(|(all, listing)| {
                let same = all
                    .iter()
                    .filter(|other| other.entry.name == server.entry.name);
                same.map(move |other| (other, listing))
            });
            let (busiest, listing) = same.fold((server, &listing), |best, other| {
                let is_busier = other.0.state().phase.activity() > best.0.state().phase.activity();
                if is_busier { other } else { best }
            });
            report::row(busiest, listing)
        };
        let rows = servers.all().iter().map(row).collect();
        let said = self.lock();
        Report {
            pid: std::process::id(),
            folder: self.settings.folder.clone(),
            servers: rows,
            notes: report::notes(&said.resolution, said.trusted),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Said> {
        // What it holds is replaced as a whole.
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_own(&self) -> MutexGuard<'_, Vec<Weak<Servers>>> {
        // Nothing that holds the lock can panic.
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn folders(settings: &Settings) -> ServerFolders {
    ServerFolders {
        working: settings.folder.clone(),
        state: settings.state.clone(),
    }
}

fn stamps(settings: &Settings) -> Stamps {
    paths(settings)
        .iter()
        .map(|path| {
            let facts = fs::metadata(path).ok()?;
            Some((facts.modified().ok()?, facts.len()))
        })
        .collect()
}

fn paths(settings: &Settings) -> Vec<PathBuf> {
    sources::places(&settings.folder, settings.config.as_deref())
        .into_iter()
        .map(|(_, path)| path)
        .collect()
}
