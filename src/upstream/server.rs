//! One managed server: when it runs, what it offers, and calls to it.
//!
//! All that changes its state happens in one task, in `keeper`. Whoever wants something of it sends that task an order
//! and watches the state.

// Servers of the revisions that have subscriptions by request still use them.
#![allow(deprecated)]

pub mod keeper;

use std::{
    collections::BTreeSet,
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use rmcp::{
    ErrorData,
    model::{
        ClientCapabilities, ClientRequest, ErrorCode, ServerCapabilities, ServerResult,
        SubscribeRequest, SubscribeRequestParams, UnsubscribeRequest, UnsubscribeRequestParams,
    },
};
use tokio::{
    sync::{Notify, Semaphore, mpsc, watch},
    time::{Instant, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    connection::{AskError, Connection, Hears, TO_NOTE},
    entry::{Entry, Reach},
    environment::{Environment, Inherit, Withheld},
    following::Following,
    hearing::{Hearers, Hearing},
    lines::Rubbish,
    listing::View,
    names,
    offers::{Offers, Remembered},
    tail::Tail,
    tap::Ears,
    trouble::{LONGEST_QUEUE, LastWords, NotReached, Printed, Trouble},
    trust,
};
use crate::tools::{
    Context, Step,
    asked::Asked,
    updates::{Followed, Updates},
};

/// How many calls a server that takes several gets at once.
const PARALLEL_CALLS: usize = 32;

/// How long a call waits for a server that is about to be started again. Past that it is answered with the reason.
const PATIENCE: Duration = Duration::from_secs(3);

/// After how many failures in a row what a server offers is no longer shown.
const FAILURES_TO_HIDE: u32 = 2;

/// How many of a server's last words are told with an error.
const LAST_WORDS: usize = 10;

/// What a server is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It does not run, and is started when it is needed.
    Stopped,
    /// It is to be started as soon as others that are being started leave it room, or when it is needed.
    Waiting,
    /// It was started, and is asked what it offers.
    Starting,
    /// It runs and answers.
    Connected,
    /// It could not be started, or ended by itself; it is tried again later.
    Failed,
    /// It is not to be started; the error says why.
    Disabled,
}

impl Phase {
    /// Its name, as the user reads it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Waiting => "waiting",
            Self::Starting => "starting",
            Self::Connected => "connected",
            Self::Failed => "failed",
            Self::Disabled => "disabled",
        }
    }

    /// How much goes on, to be compared.
    pub fn activity(self) -> u8 {
        match self {
            Self::Disabled | Self::Stopped => 0,
            Self::Waiting => 1,
            Self::Failed => 2,
            Self::Starting => 3,
            Self::Connected => 4,
        }
    }

    /// Whether it may run, now or later.
    pub fn may_run(self) -> bool {
        self != Self::Disabled
    }
}

/// The state of a server at one moment.
#[derive(Clone)]
pub struct State {
    /// What it is doing.
    pub phase: Phase,
    /// Since when.
    pub since: SystemTime,
    /// What went wrong last, in words that follow the server's name; also why it is disabled.
    pub error: Option<String>,
    /// The last lines it wrote to standard error before that.
    pub last_words: Vec<String>,
    /// Variables that it was not given and may have ended for want of.
    pub lacked: Withheld,
    /// What it printed since its last start that is no message.
    pub rubbish: Arc<Rubbish>,
    /// How many times in a row it has failed.
    pub failures: u32,
    /// When it is started again.
    pub retry: Option<Instant>,
    /// How many starts were tried.
    pub starts: u32,
    /// How many requests to restart it were followed.
    pub restarts: u32,
    /// The connection, when there is one.
    pub connection: Option<Arc<Connection>>,
    /// What it offers, or offered when it last ran; none if it never did.
    pub offers: Option<Arc<Offers>>,
    /// Whether it said so to a client like its own. If not, this is what it offers to those that can't be asked anything.
    pub is_listed: bool,
    /// Tools whose definition is not the accepted one.
    pub changed: Arc<BTreeSet<String>>,
}

/// Where a server's files are, and what it is relative to.
#[derive(Debug, Clone)]
pub struct ServerFolders {
    /// The bridge's working folder.
    pub working: PathBuf,
    /// The bridge's state folder.
    pub state: PathBuf,
}

/// What the keeper of a server is told.
#[derive(Debug)]
pub enum Order {
    /// Start it, if it does not run.
    Start,
    /// Stop it if it runs, and start it anew.
    Restart,
    /// The same, but what is under way ends on the connection that it began on.
    Renew,
}

/// One managed server.
pub struct Server {
    /// How it is configured.
    pub entry: Entry,
    /// What public names of its things begin with.
    pub id: String,
    /// See [`Entry::fingerprint`].
    pub fingerprint: String,
    /// The client that it may ask things of, whose own it then is.
    asked: Option<Arc<dyn Asked>>,
    /// The end of what it wrote to standard error.
    pub tail: Arc<Tail>,
    /// Who hears what it logs.
    pub hearing: Arc<Hearing>,
    /// Who follows its resources.
    following: Arc<Following>,
    folders: ServerFolders,
    /// Variables that other servers' entries read.
    of_others: Mutex<BTreeSet<String>>,
    state: watch::Sender<State>,
    orders: mpsc::Sender<Order>,
    /// Cancelled when it is to be stopped for good.
    leaving: CancellationToken,
    /// Why, in words after "since", once it is.
    why_leaving: OnceLock<String>,
    /// Told when anything changed that others may want to know.
    news: Arc<Notify>,
    /// One for each call that it takes at once.
    slots: Semaphore,
    /// How many calls wait or run.
    calls: AtomicUsize,
    /// When the last call ended.
    last_used: Mutex<Instant>,
}

/// What is known of a server before it is started.
pub struct Known {
    /// See [`Entry::fingerprint`].
    fingerprint: String,
    /// See [`State::offers`].
    offers: Option<Arc<Offers>>,
    /// See [`State::is_listed`].
    is_listed: bool,
    /// See [`State::changed`].
    changed: Arc<BTreeSet<String>>,
}

impl Known {
    /// What is kept of the server of this entry for a client that can be asked this, if for one. Waits for a disk.
    pub fn load(
        entry: &Entry,
        folders: &ServerFolders,
        askable: Option<&ClientCapabilities>,
    ) -> Self {
        let fingerprint = entry.fingerprint(&folders.working);
        let listed = Remembered::load(&folders.state, &fingerprint, askable);
        let is_listed = listed.is_some();
        // Better than nothing, until it is asked.
        let any = || Remembered::load(&folders.state, &fingerprint, None);
        let offers = listed.or_else(any).map(|remembered| remembered.offers);
        let changed = offers
            .as_ref()
            .map(|offers| trust::changed_tools(&folders.state, &fingerprint, &entry.name, offers));
        // What takes time is done here, and not when the tools are listed first.
        if let Some(offers) = &offers {
            offers.checked_tools();
        }
        Self {
            fingerprint,
            offers: offers.map(Arc::new),
            is_listed,
            changed: Arc::new(changed.unwrap_or_default()),
        }
    }
}

/// How tools were judged by what the user has accepted.
pub struct Judged {
    /// These.
    offers: Arc<Offers>,
    /// Those whose definition is not the accepted one.
    changed: BTreeSet<String>,
}

impl Server {
    /// The server of this entry, of which this is `known`, and the orders that [`keeper::keep`] is to follow for it.
    /// `disabled` says why it must not be started. `news` is told of changes, and the `hearers` of what it logs.
    pub fn new(
        entry: Entry,
        known: Known,
        disabled: Option<String>,
        folders: ServerFolders,
        news: Arc<Notify>,
        hearers: Arc<Hearers>,
        asked: Option<Arc<dyn Asked>>,
    ) -> (Arc<Self>, mpsc::Receiver<Order>) {
        let (orders, received) = mpsc::channel(16);
        let state = State {
            phase: if disabled.is_some() {
                Phase::Disabled
            } else {
                Phase::Stopped
            },
            since: SystemTime::now(),
            error: disabled,
            last_words: Vec::new(),
            lacked: Withheld::default(),
            rubbish: Arc::default(),
            failures: 0,
            retry: None,
            starts: 0,
            restarts: 0,
            connection: None,
            offers: known.offers,
            is_listed: known.is_listed,
            changed: known.changed,
        };
        let id = names::server_id(&entry.name);
        let server = Arc::new(Self {
            hearing: Arc::new(Hearing::new(id.clone(), entry.origin.owner(), hearers)),
            following: Arc::new(Following::new(names::scheme(&id))),
            id,
            tail: Arc::new(Tail::new(&folders.state, &entry.name)),
            fingerprint: known.fingerprint,
            asked,
            of_others: Mutex::default(),
            folders,
            state: watch::Sender::new(state),
            orders,
            leaving: CancellationToken::new(),
            why_leaving: OnceLock::new(),
            news,
            slots: Semaphore::new(if entry.parallel { PARALLEL_CALLS } else { 1 }),
            calls: AtomicUsize::new(0),
            last_used: Mutex::new(Instant::now()),
            entry,
        });
        (server, received)
    }

    /// Its state now.
    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Whether what it offers is shown to clients: not while it keeps failing, and not when it is disabled.
    pub fn is_shown(&self) -> bool {
        let state = self.state.borrow();
        match state.phase {
            Phase::Disabled => false,
            Phase::Stopped | Phase::Waiting | Phase::Connected => true,
            Phase::Starting | Phase::Failed => state.failures < FAILURES_TO_HIDE,
        }
    }

    /// What it offers, as far as it counts for the listing; nothing if it is not known yet.
    pub fn view(&self) -> View {
        let state = self.state();
        View {
            id: self.id.clone(),
            name: self.entry.name.clone(),
            origin: self.entry.origin,
            selection: self.entry.tools.clone(),
            shown: self.is_shown(),
            offers: state.offers.unwrap_or_default(),
            changed: state.changed,
        }
    }

    /// Starts it if it does not run, and waits until it does.
    ///
    /// # Errors
    /// It can't be used.
    pub async fn start(&self) -> Result<(), NotReached> {
        // A start that fails at its deadline says more than that it still goes on.
        let until = Instant::now() + self.entry.start_timeout + PATIENCE;
        self.reach(until, None).await.map(|_| ())
    }

    /// Says that it is to be started, if it stands still and nobody knows what it offers. Returns whether that is so.
    pub fn wait_to_start(&self) -> bool {
        let waits = self.state.send_if_modified(|state| {
            let waits = state.phase == Phase::Stopped && !state.is_listed;
            if waits {
                state.phase = Phase::Waiting;
                state.since = SystemTime::now();
            }
            waits
        });
        if waits {
            self.news.notify_one();
        }
        waits
    }

    /// Asks it to be stopped and started anew.
    pub fn restart(&self) {
        self.order(Order::Restart);
    }

    /// Asks it to be connected to anew, without cutting off what is under way.
    pub fn renew(&self) {
        self.order(Order::Renew);
    }

    /// Asks it to be stopped for good, and says why, in words after "since".
    pub fn leave(&self, why: &str) {
        let _ = self.why_leaving.set(why.to_owned());
        self.leaving.cancel();
    }

    fn why_leaving(&self) -> &str {
        self.why_leaving
            .get()
            .map_or("it was stopped", String::as_str)
    }

    /// Says which variables other servers' entries read, to be followed from its next start on.
    pub fn keep_from(&self, of_others: BTreeSet<String>) {
        *self
            .of_others
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = of_others;
    }

    /// What its process is given of this one's environment, if it has one.
    fn environment(&self) -> Environment {
        let Reach::Program(program) = &self.entry.reach else {
            return Environment::default();
        };
        let of_others = self
            .of_others
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let inherit = match program.inherit_env {
            true => Inherit::AllBut(&of_others),
            false => Inherit::Usual,
        };
        Environment::of(std::env::vars_os(), inherit)
    }

    /// Whether its entry itself gives it this variable.
    fn gives(&self, variable: &str) -> bool {
        matches!(&self.entry.reach, Reach::Program(program) if program.env.contains_key(variable))
    }

    fn order(&self, order: Order) {
        // A full queue holds such orders already; a closed one belongs to a server that left.
        let _ = self.orders.try_send(order);
    }

    /// Judges its tools by what the user has accepted meanwhile. Waits for a disk.
    pub fn judged(&self) -> Option<Judged> {
        let offers = self.state().offers?;
        let changed = trust::changed_tools(
            &self.folders.state,
            &self.fingerprint,
            &self.entry.name,
            &offers,
        );
        Some(Judged { offers, changed })
    }

    /// Takes over how its tools were judged, unless it offers others by now: these were judged themselves.
    pub fn take_judged(&self, judged: Judged) {
        self.change(|state| {
            let offers = state.offers.as_ref();
            if offers.is_some_and(|offers| Arc::ptr_eq(offers, &judged.offers)) {
                state.changed = Arc::new(judged.changed);
            }
        });
    }

    /// Asks it something, starting it if it does not run. Everything together has the time that the entry gives a call,
    /// unless the server tells of progress. Dropping the future cancels the request. Where it is part of a call that could
    /// change something, it begins only while no person has paused that: it may have waited for its turn.
    ///
    /// # Errors
    /// It can't be used, or did not answer.
    pub async fn ask(
        &self,
        request: ClientRequest,
        progress: Option<&mpsc::Sender<Step>>,
        changing: Option<Context<'_>>,
    ) -> Result<ServerResult, Trouble> {
        let server = || self.entry.name.clone();
        let time = self.entry.call_timeout;
        let until = Instant::now() + time;
        let Some(_call) = Call::begin(self) else {
            return Err(Trouble::FullQueue { server: server() });
        };
        let _slot = match self.slots.try_acquire() {
            Ok(slot) => slot,
            Err(_) => {
                say(progress, || match self.entry.parallel {
                    true => format!(
                        "waits: the server `{}` has {PARALLEL_CALLS} calls to answer",
                        server()
                    ),
                    false => format!(
                        "waits for another call of the server `{}`, which takes one at a time",
                        server()
                    ),
                });
                let Ok(Ok(slot)) = timeout_at(until, self.slots.acquire()).await else {
                    return Err(Trouble::Busy {
                        server: server(),
                        time,
                    });
                };
                slot
            }
        };
        let connection = self.reach(until, progress).await?;
        // It may have been started only now, and turn out to be another than it was.
        if let ClientRequest::CallToolRequest(call) = &request
            && self
                .state
                .borrow()
                .changed
                .contains(call.params.name.as_ref())
        {
            return Err(Trouble::Withheld {
                server: server(),
                tool: call.params.name.to_string(),
            });
        }
        if let Some(call) = changing
            && let Some(why) = call.held().await
        {
            return Err(Trouble::Held {
                server: server(),
                why,
            });
        }
        self.ask_over(&connection, request, progress, until).await
    }

    /// The same beside its calls, for what a server answers out of hand, whatever else it does; none if it does not say that
    /// it `can`.
    ///
    /// # Errors
    /// It can't be used, or did not answer.
    pub async fn ask_beside(
        &self,
        request: ClientRequest,
        can: impl FnOnce(&ServerCapabilities) -> bool,
    ) -> Result<Option<ServerResult>, Trouble> {
        let until = Instant::now() + self.entry.call_timeout;
        let Some(_call) = Call::begin(self) else {
            let server = self.entry.name.clone();
            return Err(Trouble::FullQueue { server });
        };
        let connection = self.reach(until, None).await?;
        if !can(&connection.capabilities()) {
            return Ok(None);
        }
        let answer = self.ask_over(&connection, request, None, until).await;
        answer.map(Some)
    }

    async fn ask_over(
        &self,
        connection: &Connection,
        request: ClientRequest,
        progress: Option<&mpsc::Sender<Step>>,
        until: Instant,
    ) -> Result<ServerResult, Trouble> {
        let server = || self.entry.name.clone();
        let time = self.entry.call_timeout;
        let left = until.saturating_duration_since(Instant::now());
        let answer = connection
            .ask(request, progress, left.max(Duration::from_millis(1)))
            .await;
        if let (Err(AskError::Gone(_)), Some(why)) = (&answer, connection.why_let_go()) {
            return Err(Trouble::LetGo {
                server: server(),
                did: match connection.process {
                    Some(_) => "ended",
                    None => "closed its connection to",
                },
                why: why.to_owned(),
            });
        }
        match answer {
            Ok(result) => Ok(result),
            Err(AskError::Refused(error)) => Err(Trouble::Refused(error)),
            Err(AskError::NotSent(why)) => Err(Trouble::NotSent {
                server: server(),
                why,
            }),
            Err(AskError::Unanswered(why)) => Err(Trouble::Unanswered {
                server: server(),
                why,
            }),
            Err(AskError::Gone(Some(why))) if connection.process.is_none() => {
                Err(Trouble::Unanswered {
                    server: server(),
                    why,
                })
            }
            Err(AskError::Gone(_)) => Err(Trouble::Gone {
                server: server(),
                how: connection.how_it_ended().await,
                last_words: LastWords(self.tail.last(LAST_WORDS)),
            }),
            Err(AskError::Timeout(_)) => Err(Trouble::TooSlow {
                server: server(),
                time,
            }),
            Err(error) => Err(Trouble::NoAnswer {
                server: server(),
                error,
            }),
        }
    }

    /// Has it tell `updates` of changes of a resource, by its own URI, starting it if it does not run. It goes on when it
    /// is started anew, and is not stopped meanwhile for being unused.
    ///
    /// # Errors
    /// It does not tell of changes, refuses to, or can't be used.
    pub async fn follow(
        self: &Arc<Self>,
        uri: &str,
        updates: Updates,
    ) -> Result<Followed, Trouble> {
        let until = Instant::now() + self.entry.call_timeout;
        let connection = self.reach(until, None).await?;
        let resources = connection.capabilities().resources;
        if resources.is_none_or(|resources| resources.subscribe != Some(true)) {
            let message = format!(
                "The server `{}` does not tell of changes of its resources.",
                self.entry.name
            );
            let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None);
            return Err(Trouble::Refused(error));
        }
        // Before the server knows, so that what it tells at once is not lost.
        let number = self.following.add(uri, updates);
        let server = Arc::downgrade(self);
        let followed = Followed::until(move || {
            if let Some(server) = server.upgrade() {
                server.unfollow(number);
            }
        });
        let request = SubscribeRequest::new(SubscribeRequestParams::new(uri));
        let request = ClientRequest::SubscribeRequest(request);
        self.ask_over(&connection, request, None, until).await?;
        Ok(followed)
    }

    /// Takes a follower of a resource away, and tells the server if it was the last one.
    fn unfollow(&self, number: u64) {
        let left = self.following.remove(number);
        *self
            .last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Instant::now();
        let connection = self.state.borrow().connection.clone();
        let (Some(uri), Some(connection), Ok(runtime)) =
            (left, connection, tokio::runtime::Handle::try_current())
        else {
            return;
        };
        // Ends within the time that the request has.
        runtime.spawn(async move {
            let request = UnsubscribeRequest::new(UnsubscribeRequestParams::new(uri));
            let request = ClientRequest::UnsubscribeRequest(request);
            if let Err(error) = connection.ask(request, None, TO_NOTE).await {
                tracing::debug!(%error, "a server was not told that nobody follows a resource");
            }
        });
    }

    /// Asks it, if it runs, for as much of what it logs as somebody wants.
    pub async fn heed(&self) {
        let connection = self.state.borrow().connection.clone();
        if let (Some(connection), Some(wanted)) = (connection, self.hearing.wanted()) {
            connection.log_from(wanted).await;
        }
    }

    /// Tells it, if it runs, that its client has other roots now.
    pub async fn tell_of_roots(&self) {
        let connection = self.state.borrow().connection.clone();
        if let Some(connection) = connection {
            connection.tell_of_roots().await;
        }
    }

    /// Has a new connection do what was asked of the ones before it.
    async fn resume(&self, connection: &Connection) {
        if let Some(wanted) = self.hearing.wanted() {
            connection.log_from(wanted).await;
        }
        for uri in self.following.uris() {
            let request = SubscribeRequest::new(SubscribeRequestParams::new(uri));
            let request = ClientRequest::SubscribeRequest(request);
            if let Err(error) = connection.ask(request, None, TO_NOTE).await {
                tracing::warn!(server = self.entry.name, %error, "a resource is no longer followed");
            }
        }
    }

    fn hears(&self) -> Hears {
        Hears {
            ears: Ears {
                hearing: self.hearing.clone(),
                following: self.following.clone(),
            },
            asked: self.asked.clone(),
        }
    }

    /// The open connection; opens it first if need be, which is told to `progress`.
    async fn reach(
        &self,
        until: Instant,
        progress: Option<&mpsc::Sender<Step>>,
    ) -> Result<Arc<Connection>, NotReached> {
        let server = || self.entry.name.clone();
        let mut is_told = false;
        let mut watched = self.state.subscribe();
        let mut starts_before = None;
        loop {
            if self.leaving.is_cancelled() {
                return Err(NotReached::TakenAway {
                    server: server(),
                    why: self.why_leaving().to_owned(),
                });
            }
            let state = watched.borrow_and_update().clone();
            let starts_before = *starts_before.get_or_insert(state.starts);
            match state.phase {
                Phase::Connected => {
                    if let Some(connection) = state
                        .connection
                        .filter(|connection| !connection.has_ended())
                    {
                        return Ok(connection);
                    }
                    // Its keeper is about to notice.
                }
                Phase::Disabled => return Err(self.why_not(&state)),
                Phase::Failed => {
                    let far_off = state
                        .retry
                        .is_none_or(|retry| retry > until.min(Instant::now() + PATIENCE));
                    if state.starts > starts_before || far_off {
                        return Err(self.why_not(&state));
                    }
                }
                Phase::Stopped | Phase::Waiting => self.order(Order::Start),
                Phase::Starting if is_told => {}
                Phase::Starting => {
                    say(progress, || {
                        format!("waits until the server `{}` has started", server())
                    });
                    is_told = true;
                }
            }
            tokio::select! {
                changed = timeout_at(until, watched.changed()) => {
                    if changed.is_err() {
                        return Err(NotReached::StillStarting {
                            server: server(),
                            printed: Printed(state.rubbish.told()),
                        });
                    }
                }
                () = self.leaving.cancelled() => {}
            }
        }
    }

    /// Why it can't be called now, and what to do.
    fn why_not(&self, state: &State) -> NotReached {
        let server = self.entry.name.clone();
        let why = state.error.as_deref().unwrap_or("is not there").to_owned();
        if state.phase == Phase::Disabled {
            return NotReached::Disabled { server, why };
        }
        let seconds = state
            .retry
            .map(|retry| retry.saturating_duration_since(Instant::now()).as_secs() + 1);
        NotReached::Failed {
            server,
            why,
            seconds,
            lacked: state.lacked.clone(),
            printed: Printed(state.rubbish.told()),
            last_words: LastWords(state.last_words.clone()),
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        self.state.send_modify(change);
        self.news.notify_one();
    }

    fn enter(&self, phase: Phase, change: impl FnOnce(&mut State)) {
        self.change(|state| {
            state.phase = phase;
            state.since = SystemTime::now();
            state.retry = None;
            state.connection = None;
            change(state);
        });
        tracing::info!(
            server = self.entry.name,
            phase = phase.name(),
            "a server's state"
        );
    }

    /// When it may be stopped, if it is not used until then; none while it is used.
    fn idle_from(&self) -> Option<Instant> {
        if self.calls.load(Ordering::Acquire) > 0 || !self.following.is_empty() {
            return None;
        }
        let last_used = *self
            .last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Some(last_used + self.entry.idle_timeout)
    }
}

/// Tells whoever follows a call what it waits for.
fn say(progress: Option<&mpsc::Sender<Step>>, message: impl FnOnce() -> String) {
    if let Some(progress) = progress {
        let _ = progress.try_send(Step {
            message: message(),
            done: None,
            total: None,
        });
    }
}

/// A call that waits or runs, counted.
struct Call<'a>(&'a Server);

impl<'a> Call<'a> {
    fn begin(server: &'a Server) -> Option<Self> {
        let call = Self(server);
        let before = server.calls.fetch_add(1, Ordering::AcqRel);
        (before < LONGEST_QUEUE).then_some(call)
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        *self
            .0
            .last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.0.calls.fetch_sub(1, Ordering::AcqRel);
    }
}
