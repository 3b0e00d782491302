//! One connection to one server, from its handshake to its end.

// Servers of the revisions that have roots and logging still use them.
#![allow(deprecated)]

mod lists;

use std::{
    ffi::OsString,
    path::Path,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures_util::FutureExt;
use rmcp::{
    ErrorData, RoleClient,
    model::{
        CancelledNotificationParam, ClientConfig, ClientRequest, ClientResult, ErrorCode,
        GetExtensions, Implementation, ProgressNotificationParam, ProtocolVersion, RequestId,
        ServerCapabilities, ServerNotification, ServerRequest, ServerResult, SetLevelRequest,
        SetLevelRequestParams,
    },
    service::{
        ClientCacheConfig, ClientInitializeError, ClientLifecycleMode, ClientServiceExt,
        NotificationContext, Peer, PeerRequestOptions, RequestContext, RunningService, Service,
        ServiceError,
    },
    transport::Transport,
};
use thiserror::Error;
use tokio::{
    sync::{Notify, mpsc, watch},
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    config::variables::{Lookup, Surroundings, VariableError},
    entry::{Entry, Reach},
    http::{self, AddressError, Target},
    itself,
    lines::{Lines, MAX_LINE, Rubbish},
    process::{self, Process, StartError},
    tail::Tail,
    tap::{Ears, Route, Tap},
};
use crate::tools::{
    Step,
    asked::{self, Asked, can_be_asked},
    hearer::Severity,
};

/// How many of a call's progress notifications may wait to be passed on; more are dropped.
pub const PROGRESS_QUEUE: usize = 64;

/// The longest a call may go on, however much progress it tells.
const LONGEST_CALL: Duration = Duration::from_secs(60 * 60);

/// The longest that a client and its person may think about what a server asks of them.
const LONGEST_QUESTION: Duration = Duration::from_secs(10 * 60);

/// How long after the end of a server's output the end of its process is waited for.
const TO_END: Duration = Duration::from_millis(1_500);

/// How long a server may take to take note of something beside its calls.
pub const TO_NOTE: Duration = Duration::from_secs(5);

/// A connection that is open.
pub struct Connection {
    peer: Peer<RoleClient>,
    /// From which severity on the server was last asked for what it logs, if it was.
    severity: tokio::sync::Mutex<Option<Severity>>,
    /// How many of its questions wait for the client's answer.
    held: Arc<watch::Sender<usize>>,
    /// Cancelled when the server sends no more.
    ended: CancellationToken,
    /// Told when the server says that one of its lists changed.
    pub changed: Arc<Notify>,
    /// What else a program prints.
    pub rubbish: Arc<Rubbish>,
    /// The server's process, if it is ours.
    pub process: Option<Process>,
    /// Why this bridge ends it, once it does, in words after "since".
    let_go: OnceLock<String>,
}

/// Why a request has no answer.
#[derive(Debug, Error)]
pub enum AskError {
    /// The server refused it.
    #[error("{}", .0.message)]
    Refused(ErrorData),
    /// There was no way to its address; why.
    #[error("it can't be reached: {0}")]
    NotSent(String),
    /// The server is gone; whether it did anything is unknown. Of a server over HTTP, with what went wrong.
    #[error("it ended before it answered")]
    Gone(Option<String>),
    /// Over HTTP something else came in its place; what. Nothing else that the server was asked is the worse for it.
    #[error("{0}")]
    Unanswered(String),
    /// Something that the server printed could not be read, perhaps the answer.
    #[error("it sent a line of over {} MiB, which can't be passed on; perhaps it was this answer", MAX_LINE / 1024 / 1024)]
    TooLong,
    /// There was no answer and no progress for this long.
    #[error("it neither answered nor told of progress for {} s; the call was cancelled", .0.as_secs_f64())]
    Timeout(Duration),
    /// Something else.
    #[error("{0}")]
    Other(String),
}

/// Why a server can't be used, in words that follow its name.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// Its entry uses a variable that is not set.
    #[error(transparent)]
    Variable(#[from] VariableError),
    /// Its process can't be started.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Its address can't be used.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// It is one of us.
    #[error("is an mcp-bridge itself; bridges do not manage each other")]
    Bridge,
    /// Its process ended during the handshake; how.
    #[error("ended before it answered `initialize` ({0})")]
    Ended(String),
    /// Its process goes on, and says nothing more.
    #[error("closed its output before it answered `initialize`")]
    Closed,
    /// There was no way to its address; why.
    #[error("can't be reached: {0}")]
    Unreachable(String),
    /// There is no MCP at its address; what there is.
    #[error("can't be reached: {0}; perhaps its `url` is not that of its MCP endpoint")]
    TakesNoPosts(String),
    /// It refused the handshake, in these words.
    #[error("refused `initialize`: {0}")]
    Refused(String),
    /// It answered something else.
    #[error("does not speak MCP as it should: {0}")]
    Odd(&'static str),
}

/// Where goes what a program prints that is no message.
pub struct Prints {
    /// To standard error.
    pub tail: Arc<Tail>,
    /// To standard output.
    pub rubbish: Arc<Rubbish>,
}

/// Who hears a server, beside those that call it.
pub struct Hears {
    /// Who wants what it tells of its own accord.
    pub ears: Ears,
    /// The client that it may ask things of, if it is that one's own.
    pub asked: Option<Arc<dyn Asked>>,
}

/// Everything that a started server tells and asks by rmcp, and that only we can answer.
struct Events {
    changed: Arc<Notify>,
    asked: Option<Arc<dyn Asked>>,
    held: Arc<watch::Sender<usize>>,
}

impl Service<RoleClient> for Events {
    fn get_info(&self) -> ClientConfig {
        // A server that many clients share can't ask any of them: it does not say whose call it works on.
        let capabilities = self
            .asked
            .as_ref()
            .map(|asked| asked.capabilities().clone());
        ClientConfig::new(
            capabilities.unwrap_or_default(),
            Implementation::new(itself::NAME, env!("CARGO_PKG_VERSION")),
        )
        // rmcp would send a later one, which no `initialize` has.
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn handle_request(
        &self,
        question: ServerRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        if let ServerRequest::PingRequest(_) = question {
            return Ok(ClientResult::empty(()));
        }
        let method = asked::method(&question).to_owned();
        let asked = self.asked.as_ref();
        let Some(asked) = asked.filter(|asked| can_be_asked(asked.capabilities(), &question))
        else {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None));
        };
        let _held = Held::begin(self.held.clone());
        tokio::select! {
            answer = timeout(LONGEST_QUESTION, asked.ask(question)) => answer.unwrap_or_else(|_| {
                let minutes = LONGEST_QUESTION.as_secs() / 60;
                let why = format!("the client did not answer {method} within {minutes} minutes");
                Err(ErrorData::internal_error(why, None))
            }),
            // rmcp sends none to a server that took its question back.
            () = context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
        }
    }

    async fn handle_notification(
        &self,
        notification: ServerNotification,
        _: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        if let ServerNotification::ToolListChangedNotification(_)
        | ServerNotification::PromptListChangedNotification(_)
        | ServerNotification::ResourceListChangedNotification(_) = notification
        {
            self.changed.notify_one();
        }
        Ok(())
    }
}

/// A question that waits for the client's answer, counted.
struct Held(Arc<watch::Sender<usize>>);

impl Held {
    fn begin(count: Arc<watch::Sender<usize>>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// A connection, and rmcp's service that keeps it.
pub struct Open {
    /// The connection.
    pub connection: Arc<Connection>,
    service: RunningService<RoleClient, Events>,
}

impl Open {
    /// Connects to a server and shakes hands with it; there is no deadline. A program is given these of our variables; the
    /// login at an address is in the state folder.
    /// Dropping the future ends the server.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub async fn connect(
        entry: &Entry,
        folder: &Path,
        state: &Path,
        variable: Lookup<'_>,
        given: &[(OsString, OsString)],
        prints: &Prints,
        hears: &Hears,
    ) -> Result<Self, ConnectError> {
        let surroundings = Surroundings {
            style: entry.variables,
            variable,
            folder,
        };
        match &entry.reach {
            Reach::Program(program) => {
                let program = surroundings.in_program(program)?;
                let started = process::start(&program, given, folder, prints.tail.clone())?;
                let rubbish = prints.rubbish.clone();
                let lines = Lines::new(started.stdout, started.stdin, rubbish.clone());
                shake_hands(lines, hears, rubbish, Some(started.process)).await
            }
            Reach::Address(address) => {
                let address = surroundings.in_address(address)?;
                let target = Target::new(&entry.name, &address, state)?;
                let older = async || {
                    let older = target.older_transport().await;
                    let older = older.map_err(ConnectError::Unreachable)?;
                    shake_hands(older, hears, Arc::default(), None).await
                };
                if address.is_older {
                    return older().await;
                }
                let newer = shake_hands(target.transport()?, hears, Arc::default(), None).await;
                match newer {
                    Err(ConnectError::TakesNoPosts(why)) => {
                        let older = older().await;
                        older.map_err(|_| ConnectError::TakesNoPosts(why))
                    }
                    other => other,
                }
            }
        }
    }

    /// Ends the connection, and with it a server that is our process, which has `patience` to leave by itself.
    pub async fn close(self, patience: Duration) {
        // rmcp closes the transport, and so the server's standard input.
        let _ = timeout(patience, self.service.cancel()).await;
        if let Some(process) = &self.connection.process
            && timeout(patience, process.ended()).await.is_err()
        {
            process.hurry();
            let _ = timeout(patience, process.ended()).await;
        }
    }
}

async fn shake_hands<T>(
    transport: T,
    hears: &Hears,
    rubbish: Arc<Rubbish>,
    process: Option<Process>,
) -> Result<Open, ConnectError>
where
    T: Transport<RoleClient> + Send + 'static,
{
    let ended = CancellationToken::new();
    let changed = Arc::new(Notify::new());
    let held = Arc::new(watch::Sender::new(0));
    let events = Events {
        changed: changed.clone(),
        asked: hears.asked.clone(),
        held: held.clone(),
    };
    let tapped = Tap::new(transport, hears.ears.clone(), ended.clone());
    let opened = events
        .serve_with_lifecycle(tapped, ClientLifecycleMode::Initialize)
        .await;
    let service = match opened {
        Ok(service) => service,
        Err(error) => return Err(not_opened(error, process.as_ref()).await),
    };
    let peer = service.peer().clone();
    // It would list tools of a server that is gone.
    peer.set_response_cache_config(ClientCacheConfig::disabled())
        .await;
    let info = peer.peer_info();
    let name = info
        .as_ref()
        .and_then(|info| info.server_info.as_ref())
        .map(|server| server.name.as_str());
    if name == Some(itself::NAME) {
        return Err(ConnectError::Bridge);
    }
    Ok(Open {
        connection: Arc::new(Connection {
            peer,
            severity: tokio::sync::Mutex::default(),
            held,
            ended,
            changed,
            rubbish,
            process,
            let_go: OnceLock::new(),
        }),
        service,
    })
}

/// Why a handshake failed, with how the process ended if that is why.
async fn not_opened(error: ClientInitializeError, process: Option<&Process>) -> ConnectError {
    match (error, process) {
        (
            ClientInitializeError::ConnectionClosed(_)
            | ClientInitializeError::TransportError { .. },
            Some(process),
        ) => match timeout(TO_END, process.ended()).await {
            Ok(how) => ConnectError::Ended(how),
            Err(_) => ConnectError::Closed,
        },
        (ClientInitializeError::TransportError { error, .. }, None) => {
            let error = error.error.as_ref();
            let why = http::reason(error);
            match http::takes_no_posts(error) {
                true => ConnectError::TakesNoPosts(why),
                false => ConnectError::Unreachable(why),
            }
        }
        (ClientInitializeError::JsonRpcError(error), _) => {
            ConnectError::Refused(error.message.into_owned())
        }
        (ClientInitializeError::ConnectionClosed(_), None) => {
            ConnectError::Unreachable("it closed the connection before it answered".to_owned())
        }
        (other, _) => ConnectError::Odd(match other {
            ClientInitializeError::ConflictInitResponseId(..)
            | ClientInitializeError::UncorrelatedErrorResponse { .. } => {
                "it answers `initialize` with the id of another request"
            }
            ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
                "it has no revision of the protocol that mcp-bridge has"
            }
            _ => "it answers `initialize` with something else",
        }),
    }
}

impl Connection {
    /// Waits until the server sends no more.
    pub async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Notes that this bridge is about to end it, and why, in words after "since".
    pub fn let_go(&self, why: &str) {
        let _ = self.let_go.set(why.to_owned());
    }

    /// Why this bridge ended it, if it did.
    pub fn why_let_go(&self) -> Option<&str> {
        self.let_go.get().map(String::as_str)
    }

    /// Whether it is over.
    pub fn has_ended(&self) -> bool {
        self.ended.is_cancelled() || self.peer.is_transport_closed()
    }

    /// How it ended: of a program, how its process did. Waits for that, but not long.
    pub async fn how_it_ended(&self) -> String {
        match &self.process {
            Some(process) => match timeout(TO_END, process.ended()).await {
                Ok(how) => format!("ended ({how})"),
                Err(_) => "closed its output".to_owned(),
            },
            None => "closed the connection".to_owned(),
        }
    }

    /// What the server says that it can do.
    pub fn capabilities(&self) -> ServerCapabilities {
        let info = self.peer.peer_info();
        info.map(|info| info.capabilities.clone())
            .unwrap_or_default()
    }

    /// Tells the server that its client has other roots now.
    pub async fn tell_of_roots(&self) {
        let told = self.peer.notify_roots_list_changed();
        if !matches!(timeout(TO_NOTE, told).await, Ok(Ok(()))) {
            tracing::debug!("a server is not told of other roots");
        }
    }

    /// Asks the server for what it logs from this severity on, if it logs and was not asked for the same last.
    pub async fn log_from(&self, wanted: Severity) {
        if self.capabilities().logging.is_none() {
            return;
        }
        // Held, so that of two changes at once the later one is told last.
        let mut last = self.severity.lock().await;
        if *last == Some(wanted) {
            return;
        }
        let request = SetLevelRequest::new(SetLevelRequestParams::new(wanted));
        let asked = self.ask(ClientRequest::SetLevelRequest(request), None, TO_NOTE);
        match asked.await {
            Ok(_) => *last = Some(wanted),
            Err(error) => tracing::debug!(%error, "a server does not log as it is asked to"),
        }
    }

    /// Asks the server something, and waits until `patience` has passed without an answer or progress. Progress goes to
    /// `progress`, if anyone wants it. Dropping the future cancels the request at the server.
    ///
    /// # Errors
    /// See [`AskError`].
    pub async fn ask(
        &self,
        mut request: ClientRequest,
        progress: Option<&mpsc::Sender<Step>>,
        patience: Duration,
    ) -> Result<ServerResult, AskError> {
        let (route, mut news) = mpsc::channel(PROGRESS_QUEUE);
        request.extensions_mut().insert(Route(route));
        let mut too_long = self.rubbish.too_long.subscribe();
        too_long.mark_unchanged();
        let handle = self
            .peer
            .send_cancellable_request(request, PeerRequestOptions::no_options())
            .await
            .map_err(told)?;
        let mut cancel = CancelOnDrop::new(self.peer.clone(), handle.id.clone());
        let answer = handle.await_response();
        tokio::pin!(answer);
        let end = Instant::now() + LONGEST_CALL;
        let mut until = Instant::now() + patience;
        let mut held = self.held.subscribe();
        let result = loop {
            tokio::select! {
                biased;
                Some(news) = news.recv() => {
                    until = (Instant::now() + patience).min(end);
                    if let Some(progress) = progress {
                        let _ = progress.try_send(step(news));
                    }
                }
                answer = &mut answer => break answer.map_err(told),
                () = self.ended.cancelled() => {
                    // What it answered in its last moment may still be on its way through rmcp.
                    break match timeout(Duration::from_millis(200), &mut answer).await {
                        Ok(answer) => answer.map_err(told),
                        Err(_) => Err(AskError::Gone(None)),
                    };
                }
                Ok(()) = too_long.changed() => return Err(AskError::TooLong),
                // It waits for the client, who is not hurried: a question has a time of its own.
                Ok(()) = held.changed() => until = (Instant::now() + patience).min(end),
                () = sleep_until(until), if *held.borrow() == 0 || until >= end => return Err(AskError::Timeout(patience)),
            }
        };
        cancel.disarm();
        let result = match result {
            // rmcp says so of an answer that breaks off, too. Each has a connection of its own.
            Err(AskError::Gone(None)) if self.process.is_none() && !self.has_ended() => Err(
                AskError::Unanswered("its answer broke off before it was whole".to_owned()),
            ),
            other => other,
        };
        if let Err(AskError::Gone(_) | AskError::NotSent(_)) = result {
            // Over HTTP nothing else tells.
            self.ended.cancel();
        }
        // What came before the answer goes on before it.
        while let (Ok(news), Some(progress)) = (news.try_recv(), progress) {
            let _ = progress.try_send(step(news));
        }
        result
    }
}

/// How a call goes on, as the server tells it.
fn step(progress: ProgressNotificationParam) -> Step {
    Step {
        message: progress.message.unwrap_or_default(),
        done: Some(progress.progress),
        total: progress.total,
    }
}

fn told(error: ServiceError) -> AskError {
    match error {
        ServiceError::McpError(error) => AskError::Refused(error),
        ServiceError::TransportClosed => AskError::Gone(None),
        ServiceError::TransportSend(error) => {
            let error = error.error.as_ref();
            let why = http::reason(error);
            if http::was_not_sent(error) {
                return AskError::NotSent(why);
            }
            match http::ends_session(error) {
                true => AskError::Gone(Some(why)),
                false => AskError::Unanswered(why),
            }
        }
        other => AskError::Other(other.to_string()),
    }
}

/// Tells the server that nobody waits for the answer any more.
struct CancelOnDrop(Option<(Peer<RoleClient>, RequestId)>);

impl CancelOnDrop {
    fn new(peer: Peer<RoleClient>, id: RequestId) -> Self {
        Self(Some((peer, id)))
    }

    fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let (Some((peer, id)), Ok(runtime)) =
            (self.0.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let mut tell = Box::pin(async move {
            let reason = Some("the client no longer waits for the answer".to_owned());
            let cancelled = CancelledNotificationParam::new(Some(id), reason);
            let _ = timeout(Duration::from_secs(5), peer.notify_cancelled(cancelled)).await;
        });
        // Begun here, so that it goes before the call that has its place next.
        if (&mut tell).now_or_never().is_none() {
            runtime.spawn(tell);
        }
    }
}
