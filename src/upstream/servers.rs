//! Servers that are used together, and what they offer together: those that clients share, or those of one client alone that
//! they may ask things of.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    thread,
    time::Duration,
};

use futures_util::future::join_all;
use tokio::{
    sync::{Notify, Semaphore, watch},
    task::spawn_blocking,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    config::variables,
    entry::Entry,
    hearing::Hearers,
    listing::{Listing, View},
    names,
    server::{Judged, Known, Phase, Server, ServerFolders, keeper::keep},
};
use crate::tools::{Client, Hearer, asked::Asked};

/// How long a session must last before servers are started for it that nobody has called: clients start short-lived
/// processes to look at a server.
const PROBE_TIME: Duration = Duration::from_millis(500);

/// How many servers are started at once to see what they offer: at least, and at most.
const STARTS_AT_ONCE: (usize, usize) = (4, 16);

/// How long a start counts among those. One that takes longer waits for something, and costs this machine little.
const TURN: Duration = Duration::from_secs(2);

/// A server that there is to be.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// How it is configured.
    pub entry: Entry,
    /// Why it must not be started, if so.
    pub disabled: Option<String>,
}

/// A server that there is to be, beside those that there are.
enum Next {
    /// It is there already.
    Same(Arc<Server>),
    /// It is not; why it must not be started, if so.
    New(Box<Entry>, Option<String>),
}

/// The same, with what the disk knows of it.
enum Looked {
    Same(Arc<Server>, Option<Judged>),
    New(Box<Entry>, Option<String>, Known),
}

impl Next {
    /// Looks. Waits for a disk.
    fn looked(self, folders: &ServerFolders, asked: Option<&dyn Asked>) -> Looked {
        match self {
            Self::Same(server) => {
                let judged = server.judged();
                Looked::Same(server, judged)
            }
            Self::New(entry, disabled) => {
                let known = Known::load(&entry, folders, asked.map(Asked::capabilities));
                Looked::New(entry, disabled, known)
            }
        }
    }
}

/// Why the server of this entry is stopped, in words after "since", where this is wanted of its name now.
fn why_gone(entry: &Entry, now: Option<&Wanted>) -> String {
    let file = entry.file.display();
    match now {
        None => format!("its entry was taken out of {file}"),
        Some(Wanted {
            disabled: Some(why),
            ..
        }) => format!("it {why}"),
        Some(now) if now.entry.file != entry.file => {
            format!("its entry is now that in {}", now.entry.file.display())
        }
        Some(_) => format!("its entry in {file} was changed"),
    }
}

/// Servers that are used together.
pub struct Servers {
    all: Mutex<Vec<Arc<Server>>>,
    folders: ServerFolders,
    /// The client that they may ask things of, whose own they then are.
    asked: Option<Arc<dyn Asked>>,
    listing: watch::Sender<Arc<Listing>>,
    /// Held while the listing is put together.
    rebuilding: Mutex<()>,
    /// The clients with sessions, which hear what servers log.
    hearers: Arc<Hearers>,
    /// The kinds of clients that were served.
    clients: Mutex<BTreeSet<Client>>,
    /// Told of every change in a server.
    pub news: Arc<Notify>,
    /// Told when there may be a server that has to be listed.
    to_list: Notify,
    /// What keeps them and lists them.
    tasks: TaskTracker,
    /// Cancelled when they are to leave.
    leaving: CancellationToken,
}

impl Servers {
    /// None yet. Their tasks are among `tasks`, and they leave when `leaving` is cancelled.
    pub fn new(
        folders: ServerFolders,
        asked: Option<Arc<dyn Asked>>,
        tasks: TaskTracker,
        leaving: CancellationToken,
    ) -> Self {
        Self {
            all: Mutex::default(),
            folders,
            asked,
            listing: watch::Sender::default(),
            rebuilding: Mutex::default(),
            hearers: Arc::default(),
            clients: Mutex::default(),
            news: Arc::default(),
            to_list: Notify::new(),
            tasks,
            leaving,
        }
    }

    /// Whether they are one client's alone.
    pub fn are_own(&self) -> bool {
        self.asked.is_some()
    }

    /// Notes that a client uses them, or asks what they offer.
    pub fn want(&self, client: Client) {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if clients.insert(client) {
            self.to_list.notify_one();
        }
    }

    /// Makes them those that are wanted. One whose entry stayed the same goes on. Is to be called by one task only.
    pub async fn adopt(&self, wanted: &[Wanted]) {
        let mut before: HashMap<String, Arc<Server>> = self
            .all()
            .into_iter()
            .map(|server| (server.entry.name.clone(), server))
            .collect();
        let mut next = Vec::new();
        for Wanted { entry, disabled } in wanted {
            let same = before.get(&entry.name).is_some_and(|server| {
                let state = server.state();
                let was_disabled = (state.phase == Phase::Disabled)
                    .then_some(state.error)
                    .flatten();
                server.entry == *entry && was_disabled == *disabled
            });
            let former = same.then(|| before.remove(&entry.name)).flatten();
            next.push(former.map_or_else(
                || Next::New(entry.clone().into(), disabled.clone()),
                Next::Same,
            ));
        }
        let (folders, asked) = (self.folders.clone(), self.asked.clone());
        let look = move || -> Vec<_> {
            let next = next.into_iter();
            next.map(|next| next.looked(&folders, asked.as_deref()))
                .collect()
        };
        // Beside, since the disk may hang, and what servers offer may be much.
        let Ok(looked) = spawn_blocking(look).await else {
            return;
        };
        let looked = looked.into_iter();
        let servers: Vec<_> = looked.map(|looked| self.taken_up(looked)).collect();
        let mut all = self.lock();
        *all = servers;
        for gone in before.values() {
            let now = wanted.iter().find(|one| one.entry.name == gone.entry.name);
            gone.leave(&why_gone(&gone.entry, now));
        }
        let read: Vec<_> = all
            .iter()
            .map(|server| variables::read_by(&server.entry, &self.folders.working))
            .collect();
        for (number, server) in all.iter().enumerate() {
            let others = read
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != number);
            let of_others = others.flat_map(|(_, names)| names.difference(&read[number]));
            server.keep_from(of_others.cloned().collect());
        }
        drop(all);
        self.news.notify_one();
        self.to_list.notify_one();
    }

    /// A server that there is from now on.
    fn taken_up(&self, looked: Looked) -> Arc<Server> {
        let (entry, disabled, known) = match looked {
            Looked::Same(server, judged) => {
                if let Some(judged) = judged {
                    server.take_judged(judged);
                }
                return server;
            }
            Looked::New(entry, disabled, known) => (entry, disabled, known),
        };
        let (server, orders) = Server::new(
            *entry,
            known,
            disabled,
            self.folders.clone(),
            self.news.clone(),
            self.hearers.clone(),
            self.asked.clone(),
        );
        if !self.leaving.is_cancelled() {
            self.tasks.spawn(keep(server.clone(), orders));
        }
        server
    }

    /// Whether there is one that may run and of which is not known yet what it offers.
    pub fn has_unknown(&self) -> bool {
        self.lock().iter().any(|server| {
            let state = server.state();
            !state.is_listed && state.phase.may_run()
        })
    }

    /// What they offer together.
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
                && !state.is_listed
                && state.phase.may_run()
                && client.may_see(server.entry.origin.owner())
        };
        self.lock().iter().find(may_have).cloned()
    }

    /// All of them.
    pub fn all(&self) -> Vec<Arc<Server>> {
        self.lock().clone()
    }

    /// The server with this id.
    pub fn server(&self, id: &str) -> Option<Arc<Server>> {
        self.lock().iter().find(|server| server.id == id).cloned()
    }

    /// Restarts the servers of this name.
    pub fn restart(&self, name: &str) {
        for server in self.lock().iter().filter(|one| one.entry.name == name) {
            server.restart();
        }
    }

    /// Connects to the servers of this name anew, without cutting off what is under way.
    pub fn renew(&self, name: &str) {
        for server in self.lock().iter().filter(|one| one.entry.name == name) {
            server.renew();
        }
    }

    /// Lets a client with a session hear what they log, for as long as it is there.
    pub fn heard_by(&self, hearer: Weak<dyn Hearer>) {
        self.hearers.add(hearer);
    }

    /// Asks all that run for as much of that as somebody wants.
    pub async fn heed(&self) {
        let all = self.all();
        join_all(all.iter().map(|server| server.heed())).await;
    }

    /// Tells all that run that the client has other roots now.
    pub async fn tell_of_roots(&self) {
        let all = self.all();
        join_all(all.iter().map(|server| server.tell_of_roots())).await;
    }

    /// Stops them, and whatever is done for them.
    pub fn leave(&self) {
        self.leaving.cancel();
        for server in self.lock().iter() {
            server.leave("mcp-bridge itself ends");
        }
    }

    /// Puts together anew what they offer.
    pub fn rebuild(&self) {
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
            .iter()
            .filter(|server| server.state().phase != Phase::Disabled)
            .map(|server| server.view())
            .collect()
    }

    /// Starts those of which is not known what they offer, some at a time, once a client stays.
    pub async fn list_the_unknown(self: Arc<Self>) {
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
            let mut unknown = self.all();
            unknown.retain(|server| {
                let owner = server.entry.origin.owner();
                clients.iter().any(|client| client.may_see(owner)) && server.wait_to_start()
            });
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
            self.to_list.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Server>>> {
        // The list is never left half changed.
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, pin::pin};

    use futures_util::future::poll_immediate;

    use super::*;
    use crate::upstream::{
        config::selection::Selection,
        entry::{Address, Origin, Reach, Style},
    };

    #[test]
    fn nobody_else_waits_for_the_disk_that_knows_a_server() {
        // With one thread for disks, which is held up here.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(1)
            .build()
            .unwrap();
        runtime.block_on(adopts_beside_a_disk_that_stands_still());
    }

    async fn adopts_beside_a_disk_that_stands_still() {
        let state = tempfile::tempdir().unwrap();
        let folders = ServerFolders {
            working: state.path().to_owned(),
            state: state.path().to_owned(),
        };
        let (tasks, leaving) = (TaskTracker::new(), CancellationToken::new());
        let servers = Servers::new(folders, None, tasks, leaving);
        let entry = Entry {
            name: "a".to_owned(),
            origin: Origin::User,
            file: state.path().join("mcp.json"),
            reach: Reach::Address(Address {
                url: "http://127.0.0.1:1/mcp".to_owned(),
                headers: BTreeMap::new(),
                is_older: false,
            }),
            enabled: false,
            variables: Style::default(),
            tools: Selection::default(),
            parallel: false,
            start_timeout: PROBE_TIME,
            call_timeout: PROBE_TIME,
            idle_timeout: PROBE_TIME,
        };
        let wanted = [Wanted {
            entry,
            disabled: Some("is switched off".to_owned()),
        }];
        // It is new, and then the same.
        for _ in 0..2 {
            let (go_on, still) = std::sync::mpsc::channel::<()>();
            tokio::task::spawn_blocking(move || still.recv());
            let mut adopt = pin!(servers.adopt(&wanted));
            assert!(poll_immediate(&mut adopt).await.is_none());
            go_on.send(()).unwrap();
            adopt.await;
            assert_eq!(servers.all().len(), 1);
        }
        servers.leave();
    }
}
