//! The servers of one bridge: which there are, what they offer together, and what becomes of both.

pub mod report;

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, SystemTime},
};

use futures_util::future::join_all;
use tokio::{
    sync::{Notify, Semaphore, watch},
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    config::variables,
    hearing::Hearers,
    listing::{Listing, View},
    names,
    requests::{Inbox, Request},
    server::{Phase, Server, ServerFolders, keeper::keep},
    settings::Settings,
    sources::{self, ConfigPlace, Resolution},
    status::{HEARTBEAT, Report, StatusFile},
    trust,
};
use crate::tools::{Client, Hearer};

/// How long a session must last before servers are started for it that nobody has called: clients start short-lived
/// processes to look at a server.
const PROBE_TIME: Duration = Duration::from_millis(500);

/// How many servers are started at once to see what they offer: at least, and at most.
const STARTS_AT_ONCE: (usize, usize) = (4, 16);

/// How long a start counts among those. One that takes longer waits for something, and costs this machine little.
const TURN: Duration = Duration::from_secs(2);

/// How often the state folder is looked at for requests, and the configuration for changes.
const LOOK: Duration = Duration::from_secs(1);

/// The same, where nothing is configured.
const RARE_LOOK: Duration = Duration::from_secs(10);

/// The servers of one bridge.
pub struct Manager {
    settings: Settings,
    /// What is configured, and the servers that come of it.
    servers: Mutex<Servers>,
    listing: watch::Sender<Arc<Listing>>,
    /// Held while the listing is put together.
    rebuilding: Mutex<()>,
    ready: watch::Sender<bool>,
    /// The clients with sessions, which hear what servers log.
    hearers: Arc<Hearers>,
    /// The kinds of clients that were served.
    clients: Mutex<BTreeSet<Client>>,
    begun: AtomicBool,
    /// Told of every change in a server.
    news: Arc<Notify>,
    /// Told of a client that was not there before.
    new_client: Notify,
    /// All tasks.
    tasks: TaskTracker,
    /// Cancelled when the bridge leaves.
    leaving: CancellationToken,
}

#[derive(Default)]
struct Servers {
    all: Vec<Arc<Server>>,
    /// What the configuration said at the last look.
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
        Self {
            settings,
            servers: Mutex::default(),
            listing: watch::Sender::default(),
            rebuilding: Mutex::default(),
            ready: watch::Sender::new(false),
            hearers: Arc::default(),
            clients: Mutex::default(),
            begun: AtomicBool::new(false),
            news: Arc::default(),
            new_client: Notify::new(),
            tasks: TaskTracker::new(),
            leaving: CancellationToken::new(),
        }
    }

    /// See `Upstream::begin`.
    pub fn begin(self: &Arc<Self>, client: Client) {
        let is_new = self
            .clients
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(client);
        if is_new {
            self.new_client.notify_one();
        }
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

    /// Lets a client with a session hear what the servers log, for as long as it is there.
    pub fn heard_by(&self, hearer: Weak<dyn Hearer>) {
        self.hearers.add(hearer);
    }

    /// Asks all servers that run for as much of that as somebody wants.
    pub async fn heed(&self) {
        let all = self.lock().all.clone();
        join_all(all.iter().map(|server| server.heed())).await;
    }

    /// Waits until the configuration was read.
    pub async fn ready(&self) {
        let _ = self.ready.subscribe().wait_for(|ready| *ready).await;
    }

    /// Whether anything is configured at all.
    pub fn is_used(&self) -> bool {
        let servers = self.lock();
        let found = &servers.resolution;
        !(found.servers.is_empty() && found.problems.is_empty() && found.shadowed.is_empty())
    }

    /// Whether there is a server that may run and of which is not known yet what it offers.
    pub fn has_unknown(&self) -> bool {
        self.lock().all.iter().any(|server| {
            let state = server.state();
            state.offers.is_none() && state.phase.may_run()
        })
    }

    /// What the servers offer together.
    pub fn listing(&self) -> Arc<Listing> {
        self.listing.borrow().clone()
    }

    /// The listing, to be followed.
    pub fn watch(&self) -> watch::Receiver<Arc<Listing>> {
        self.listing.subscribe()
    }

    /// The listing as it is by what the servers say now.
    pub fn renewed(&self) -> Arc<Listing> {
        self.rebuild();
        self.listing()
    }

    /// The server that a tool of this public name may be of, though nobody knows yet what it offers.
    pub fn that_may_have(&self, client: Client, tool: &str) -> Option<Arc<Server>> {
        let may_have = |server: &&Arc<Server>| {
            let state = server.state();
            names::may_be_of(&server.id, tool)
                && state.offers.is_none()
                && state.phase.may_run()
                && client.may_see(server.entry.origin.owner())
        };
        self.lock().all.iter().find(may_have).cloned()
    }

    /// The server with this id.
    pub fn server(&self, id: &str) -> Option<Arc<Server>> {
        self.lock()
            .all
            .iter()
            .find(|server| server.id == id)
            .cloned()
    }

    /// Stops everything, and waits for it.
    pub async fn leave(&self) {
        self.leaving.cancel();
        for server in &self.lock().all {
            server.leave();
        }
        self.tasks.close();
        self.tasks.wait().await;
    }

    async fn manage(self: &Arc<Self>) {
        let mut stamps = Stamps::new();
        let first = self.look().await;
        self.adopt(first, &mut stamps);
        self.rebuild();
        self.ready.send_replace(true);

        let lister = self.clone();
        self.tasks
            .spawn(self.leaving.clone().run_until_cancelled_owned(async move {
                lister.list_the_unknown().await;
            }));
        let mut inbox = Some(Inbox::new(&self.settings.state));
        let status = StatusFile::new(&self.settings.state);
        let mut told = None;
        self.tell(&status, &mut told);
        let mut beat = Instant::now();
        let mut looked = Instant::now();
        loop {
            let next_look = looked + if self.is_used() { LOOK } else { RARE_LOOK };
            tokio::select! {
                () = self.news.notified() => {
                    self.rebuild();
                    self.tell(&status, &mut told);
                }
                () = sleep_until(next_look) => {
                    looked = Instant::now();
                    let (requests, now) = self.peek(&mut inbox).await;
                    let changed = now.is_some_and(|now| now != stamps);
                    if changed || requests.contains(&Request::Reload) {
                        let look = self.look().await;
                        self.adopt(look, &mut stamps);
                        self.news.notify_one();
                        self.new_client.notify_one();
                    }
                    for request in requests {
                        if let Request::Restart { server } = request {
                            self.restart(&server);
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
        for server in self
            .lock()
            .all
            .iter()
            .filter(|server| server.entry.name == name)
        {
            server.restart();
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

    /// Makes the servers those that are configured. One whose entry stayed the same goes on.
    fn adopt(self: &Arc<Self>, look: Option<Look>, stamps: &mut Stamps) {
        let Some(look) = look else {
            return;
        };
        *stamps = look.stamps;
        let folders = ServerFolders {
            working: self.settings.folder.clone(),
            state: self.settings.state.clone(),
        };
        let mut servers = self.lock();
        for problem in &look.resolution.problems {
            tracing::warn!("{problem}");
        }
        let mut before: HashMap<String, Arc<Server>> = std::mem::take(&mut servers.all)
            .into_iter()
            .map(|server| (server.entry.name.clone(), server))
            .collect();
        for entry in look.resolution.in_force(look.trusted) {
            let disabled = report::why_disabled(entry, look.trusted);
            let same = before.get(&entry.name).is_some_and(|server| {
                let state = server.state();
                let was_disabled = (state.phase == Phase::Disabled)
                    .then_some(state.error)
                    .flatten();
                server.entry == *entry && was_disabled == disabled
            });
            if same && let Some(server) = before.remove(&entry.name) {
                server.judge_again();
                servers.all.push(server);
                continue;
            }
            let (server, orders) = Server::new(
                entry.clone(),
                disabled,
                folders.clone(),
                self.news.clone(),
                self.hearers.clone(),
            );
            self.tasks.spawn(keep(server.clone(), orders));
            servers.all.push(server);
        }
        for gone in before.values() {
            gone.leave();
        }
        let read: Vec<_> = servers
            .all
            .iter()
            .map(|server| variables::read_by(&server.entry, &self.settings.folder))
            .collect();
        for (number, server) in servers.all.iter().enumerate() {
            let others = read
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != number);
            let of_others = others.flat_map(|(_, names)| names.difference(&read[number]));
            server.keep_from(of_others.cloned().collect());
        }
        servers.trusted = look.trusted;
        servers.resolution = look.resolution;
        servers.places = look.places;
    }

    /// Starts servers of which is not known what they offer, some at a time, once a client stays.
    async fn list_the_unknown(self: Arc<Self>) {
        let (least, most) = STARTS_AT_ONCE;
        let at_once = thread::available_parallelism().map_or(least, |cores| cores.get());
        let at_once = Arc::new(Semaphore::new(at_once.clamp(least, most)));
        sleep(PROBE_TIME).await;
        loop {
            let clients = self
                .clients
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            let unknown: Vec<_> = self
                .lock()
                .all
                .iter()
                .filter(|server| {
                    let owner = server.entry.origin.owner();
                    clients.iter().any(|client| client.may_see(owner)) && server.wait_to_start()
                })
                .cloned()
                .collect();
            for server in unknown {
                let at_once = at_once.clone();
                self.tasks
                    .spawn(self.leaving.clone().run_until_cancelled_owned(async move {
                        if let Ok(_turn) = at_once.acquire().await {
                            // It goes on without; how it ends is in its state.
                            let _ = timeout(TURN, server.start()).await;
                        }
                    }));
            }
            self.new_client.notified().await;
        }
    }

    /// Puts together anew what the servers offer.
    fn rebuild(&self) {
        // One after the other, so that none of what was is published after what is.
        let _order = self
            .rebuilding
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let listing = Listing::of(&self.views());
        self.listing.send_if_modified(|now| {
            let changed = **now != listing;
            if changed {
                *now = Arc::new(listing);
            }
            changed
        });
    }

    fn views(&self) -> Vec<View> {
        self.lock()
            .all
            .iter()
            .filter(|server| server.state().phase != Phase::Disabled)
            .map(|server| server.view())
            .collect()
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
        if let Err(error) = file.write(&report) {
            tracing::debug!(%error, "the state of the servers can't be written down");
        }
        *told = Some(report);
    }

    /// How the servers are.
    pub fn report(&self) -> Report {
        // What is told here must hold for the next question too.
        self.rebuild();
        let listing = self.listing();
        let servers = self.lock();
        Report {
            pid: std::process::id(),
            folder: self.settings.folder.clone(),
            servers: servers
                .all
                .iter()
                .map(|server| report::row(server, &listing))
                .collect(),
            notes: report::notes(&servers.resolution, servers.trusted),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Servers> {
        // The list is never left half changed.
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
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
