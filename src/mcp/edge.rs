//! The edge before rmcp: lines in, lines out, and an answer for every line that asks for one.
//!
//! rmcp drops what it can't read, ends the process at an early notification, loses the second of two requests with
//! one id, and holds any number of answers for a client that stopped reading. This transport sees to all of that.

use std::{
    collections::VecDeque,
    future::Future,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use rmcp::{
    RoleServer,
    model::{
        ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta, JsonRpcMessage,
        ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerResult,
    },
    transport::Transport,
};
use serde_json::value::RawValue;
use tokio::{
    io::AsyncWriteExt,
    sync::Notify,
    task::{JoinHandle, spawn_blocking},
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::{
    batch::{Answers, Batch},
    cancelled::CANCELLED,
    in_flight::InFlight,
    incoming::{self, Incoming, LONG},
    lines::{Line, Lines, MAX_LINE},
    numbers::as_meant,
    stdio::{Input, Output},
};

/// How many requests may be unanswered before reading pauses.
const MAX_IN_FLIGHT: usize = 1_024;

/// How many bytes of answers may wait for the client to read before reading pauses.
const MAX_UNREAD: usize = 16 * 1024 * 1024;

/// How long, after the client closed our input, requests that are nearly answered still have.
const LAST_ANSWERS: Duration = Duration::from_millis(250);

/// The transport between a client's lines and rmcp.
pub struct Edge {
    lines: Lines,
    /// A long line that is being read.
    reading: Option<JoinHandle<Incoming>>,
    /// The batch that is being read, and those of its messages that were not read yet.
    batch: Option<(Arc<Batch>, VecDeque<Box<RawValue>>)>,
    shared: Arc<Shared>,
    /// Whether rmcp has seen what opens a session; before that it ends at anything but a request.
    open: bool,
    /// Cancelled when there is nobody left to serve.
    gone: CancellationToken,
    /// Called at the first request that uses what is offered.
    wanted: Option<Box<dyn FnOnce() + Send + Sync>>,
    /// Until when, after the end of the input, answers are still waited for.
    last_answers_until: Option<Instant>,
}

struct Shared {
    output: tokio::sync::Mutex<Output>,
    /// Requests that have no answer yet.
    in_flight: Mutex<InFlight<Option<Arc<Batch>>>>,
    /// Whether the session is of a revision without batches; before one is agreed they are taken.
    has_no_batches: AtomicBool,
    /// Bytes of answers that were not written yet.
    unread: AtomicUsize,
    /// Told when a request was answered or bytes were written.
    progress: Notify,
    gone: CancellationToken,
}

impl Edge {
    /// An edge over these streams. `wanted` is called at the first request that uses what is offered; `gone` is
    /// cancelled once the client closed our input and what could still be answered was, or our output broke.
    pub fn new(
        input: Input,
        output: Output,
        wanted: impl FnOnce() + Send + Sync + 'static,
        gone: CancellationToken,
    ) -> Self {
        let shared = Shared {
            output: tokio::sync::Mutex::new(output),
            in_flight: Mutex::default(),
            has_no_batches: AtomicBool::new(false),
            unread: AtomicUsize::new(0),
            progress: Notify::new(),
            gone: gone.clone(),
        };
        Self {
            lines: Lines::new(input),
            reading: None,
            batch: None,
            shared: Arc::new(shared),
            open: false,
            gone,
            wanted: Some(Box::new(wanted)),
            last_answers_until: None,
        }
    }

    /// Whether this message goes on to rmcp.
    fn admit(&mut self, message: &mut ClientJsonRpcMessage) -> bool {
        match message {
            JsonRpcMessage::Request(request) => {
                // Notifications of a subscription carry its id, which must then be the client's.
                let by_any_id = !matches!(
                    request.request,
                    ClientRequest::SubscriptionsListenRequest(_)
                );
                let batch = self.batch.as_ref().map(|(batch, _)| batch.clone());
                let entered =
                    self.shared
                        .lock_in_flight()
                        .enter(&request.id, by_any_id, batch.clone());
                let Some(id) = entered else {
                    self.refuse(incoming::id_in_use(&request.id));
                    return false;
                };
                request.id = id;
                if let Some(batch) = batch {
                    batch.expect();
                }
                if uses(&request.request)
                    && let Some(wanted) = self.wanted.take()
                {
                    wanted();
                }
                self.open |= opens_session(&request.request);
                true
            }
            JsonRpcMessage::Notification(notification) => {
                // rmcp answers a cancelled request no more.
                if let ClientNotification::CancelledNotification(cancelled) =
                    &mut notification.notification
                    && let Some(id) = &mut cancelled.params.request_id
                    && self.open
                {
                    let cancelled = self.shared.lock_in_flight().cancel(id);
                    if let Some((known_as, batch)) = cancelled {
                        *id = known_as;
                        self.send_later(batch.and_then(|batch| batch.came(None)));
                    }
                    self.shared.progress.notify_waiters();
                }
                self.open
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => self.open,
        }
    }

    /// The next thing that the client says; none at the end. Dropping the future loses nothing.
    async fn next(&mut self) -> io::Result<Option<Incoming>> {
        if let Some((batch, rest)) = &mut self.batch {
            if let Some(message) = rest.pop_front() {
                return Ok(Some(incoming::read_in_batch(&message)));
            }
            let answers = batch.all_read();
            self.batch = None;
            self.send_later(answers);
        }
        if self.reading.is_none() {
            match self.lines.next().await? {
                None => return Ok(None),
                Some(Line::TooLong(id)) => {
                    let answer = incoming::too_long(id.as_deref(), MAX_LINE);
                    return Ok(Some(Incoming::Refused(answer)));
                }
                Some(Line::Whole(line)) if line.len() <= LONG => {
                    return Ok(Some(incoming::read(line)));
                }
                Some(Line::Whole(line)) => {
                    let line = line.to_vec();
                    self.reading = Some(spawn_blocking(move || incoming::read(&line)));
                }
            }
        }
        let Some(reading) = &mut self.reading else {
            return Ok(None);
        };
        let read = reading.await;
        self.reading = None;
        Ok(Some(read?))
    }

    /// Begins to read a batch, if the session has such.
    fn open_batch(&mut self, messages: Vec<Box<RawValue>>) {
        if self.shared.has_no_batches.load(Ordering::Acquire) {
            for answer in incoming::no_batches(&messages) {
                self.refuse(answer);
            }
        } else {
            self.batch = Some((Arc::default(), messages.into()));
        }
    }

    /// Gives an answer of the edge's own: in the batch that is being read, or as a line.
    fn refuse(&self, answer: String) {
        match &self.batch {
            None => self.shared.clone().answer(answer),
            Some((batch, _)) => {
                let answer = answer.into_bytes();
                self.shared.count(answer.len());
                self.send_later(batch.add(answer));
            }
        }
    }

    /// Sends answers of a batch, without keeping the reader waiting.
    fn send_later(&self, answers: Option<Answers>) {
        if let Some(answers) = answers {
            let shared = self.shared.clone();
            tokio::spawn(async move { shared.write_batch(answers).await });
        }
    }

    /// Waits until the client has taken enough of what it was sent to be sent more.
    async fn room(&self) {
        loop {
            let progress = self.shared.progress.notified();
            if self.shared.in_flight() < MAX_IN_FLIGHT
                && self.shared.unread.load(Ordering::Acquire) < MAX_UNREAD
            {
                return;
            }
            progress.await;
        }
    }

    /// Waits, but not long, until every request is answered and written.
    async fn last_answers(&mut self) {
        // rmcp starts this wait anew at each answer it takes in: the end must not move with it.
        let until = *self
            .last_answers_until
            .get_or_insert_with(|| Instant::now() + LAST_ANSWERS);
        let done = async {
            loop {
                let progress = self.shared.progress.notified();
                if self.shared.in_flight() == 0 && self.shared.unread.load(Ordering::Acquire) == 0 {
                    return;
                }
                progress.await;
            }
        };
        let _ = timeout_at(until, done).await;
        // Of batches, what there is: the rest of them would not come any more.
        let batches: Vec<_> = {
            let in_flight = self.shared.lock_in_flight();
            in_flight.kept().flatten().cloned().collect()
        };
        let rest = async {
            for answers in batches.iter().filter_map(|batch| batch.so_far()) {
                let _ = self.shared.write_batch(answers).await;
            }
        };
        let _ = timeout(LAST_ANSWERS, rest).await;
    }
}

/// Whether this request uses what is offered. A client that only wants to know what that is may start this program,
/// initialize it, list its tools, and end it within moments; the copy that stays is another one.
fn uses(request: &ClientRequest) -> bool {
    matches!(
        request,
        ClientRequest::CallToolRequest(_)
            | ClientRequest::GetPromptRequest(_)
            | ClientRequest::ReadResourceRequest(_)
    )
}

/// Whether rmcp takes this request as the opening of a session.
fn opens_session(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) => false,
        other => {
            let meta = other.get_meta();
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28)
                .is_empty()
                && meta
                    .protocol_version()
                    .is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
        }
    }
}

/// A message as JSON.
fn written(message: &ServerJsonRpcMessage) -> serde_json::Result<Vec<u8>> {
    if let JsonRpcMessage::Response(response) = message
        && let ServerResult::InputRequiredResult(_) = response.result
    {
        // Questions of servers, which the client is to get as they are.
        let mut message = serde_json::to_value(message)?;
        as_meant(&mut message);
        return serde_json::to_vec(&message);
    }
    serde_json::to_vec(message)
}

impl Transport<RoleServer> for Edge {
    type Error = io::Error;

    fn send(
        &mut self,
        mut message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let shared = self.shared.clone();
        async move {
            if let JsonRpcMessage::Error(error) = &message
                && error.error.code == CANCELLED
            {
                return Ok(());
            }
            if let JsonRpcMessage::Response(response) = &message
                && let ServerResult::InitializeResult(agreed) = &response.result
            {
                let has_none = !incoming::has_batches(&agreed.protocol_version);
                shared.has_no_batches.store(has_none, Ordering::Release);
            }
            let answered = match &mut message {
                JsonRpcMessage::Response(response) => Some(&mut response.id),
                JsonRpcMessage::Error(error) => error.id.as_mut(),
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
            };
            let answered = answered.map(|id| {
                let clients = shared.lock_in_flight().id_of_client(id);
                std::mem::replace(id, clients)
            });
            let line = shared.announce(written(&message)?);
            shared.write(line, answered.as_ref()).await
        }
    }

    // rmcp drops and renews this future at will, so nothing may be lost at an await: a line is taken only when whole.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            self.room().await;
            match self.next().await {
                Ok(Some(Incoming::Message(mut message))) => {
                    if self.admit(&mut message) {
                        return Some(*message);
                    }
                }
                Ok(Some(Incoming::Batch(messages))) => self.open_batch(messages),
                Ok(Some(Incoming::Nothing)) => {}
                Ok(Some(Incoming::Refused(reply))) => self.refuse(reply),
                Ok(None) => break,
                Err(error) => {
                    tracing::warn!(%error, "standard input can't be read");
                    break;
                }
            }
        }
        self.last_answers().await;
        self.gone.cancel();
        None
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    /// Writes an answer of the edge's own, without keeping the reader waiting.
    fn answer(self: Arc<Self>, line: String) {
        let line = self.announce(line.into_bytes());
        tokio::spawn(async move { self.write(line, None).await });
    }

    /// Ends a line and counts it as unread, before it waits for its turn.
    fn announce(&self, mut line: Vec<u8>) -> Vec<u8> {
        line.push(b'\n');
        self.count(line.len());
        line
    }

    /// Counts bytes as unread.
    fn count(&self, bytes: usize) {
        self.unread.fetch_add(bytes, Ordering::AcqRel);
    }

    /// Writes a line that was announced, whole: writers take turns. If it answers a request, by the id that rmcp knows,
    /// the client's id is free again before it can have read the line; if that was cancelled meanwhile, nothing is
    /// written, and if it was of a batch, it goes with the other answers of that.
    async fn write(&self, mut line: Vec<u8>, answers: Option<&RequestId>) -> io::Result<()> {
        let mut bytes = line.len();
        let written = async {
            let mut output = self.output.lock().await;
            if let Some(id) = answers {
                let Some(batch) = self.lock_in_flight().answer(id) else {
                    return Ok(());
                };
                if let Some(batch) = batch {
                    // Its bytes stay counted, but for the line feed, until they are sent.
                    line.pop();
                    bytes = 1;
                    let Some(gathered) = batch.came(Some(line)) else {
                        return Ok(());
                    };
                    bytes += gathered.bytes;
                    line = gathered.line;
                    line.push(b'\n');
                }
            }
            output.write_all(&line).await?;
            output.flush().await
        }
        .await;
        self.was_written(bytes, written)
    }

    /// Writes answers of a batch as a line.
    async fn write_batch(&self, answers: Answers) -> io::Result<()> {
        let Answers { mut line, bytes } = answers;
        line.push(b'\n');
        let written = async {
            let mut output = self.output.lock().await;
            output.write_all(&line).await?;
            output.flush().await
        }
        .await;
        self.was_written(bytes, written)
    }

    /// Notes what came of writing so many bytes that were counted.
    fn was_written(&self, bytes: usize, written: io::Result<()>) -> io::Result<()> {
        self.unread.fetch_sub(bytes, Ordering::AcqRel);
        self.progress.notify_waiters();
        if let Err(error) = &written {
            tracing::warn!(%error, "standard output can't be written: the client is gone");
            self.gone.cancel();
        }
        written
    }

    fn in_flight(&self) -> usize {
        self.lock_in_flight().len()
    }

    fn lock_in_flight(&self) -> MutexGuard<'_, InFlight<Option<Arc<Batch>>>> {
        // It is never left half changed.
        self.in_flight
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
