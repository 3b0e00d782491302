//! A guest's line to the owner of the link port: what it sends, and what it waits for.

use std::{
    collections::HashMap,
    future::ready,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout},
};

use super::{
    message::{self, AboutRequest, FromGuest, Question, Reply},
    snapshot::JobSnapshot,
};
use crate::{
    computers::{
        Cancelled, ComputerKey,
        link::{Outbound, Outlet},
        reach::{Elsewhere, JobElsewhere},
    },
    wire::{ending::LinkEnded, names::RequestId},
};

/// How many requests may wait to be sent; whoever has more waits for room.
const REQUESTS: usize = 256;

/// How long an answer of the owner may take beyond what was asked for.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// The line. It is shared by the links of all computers that are reached over it.
#[derive(Debug)]
pub struct OwnerLine {
    requests: mpsc::Sender<String>,
    /// Small messages, each the answer to one that came: so there are never many.
    notes: mpsc::UnboundedSender<String>,
    next_question: AtomicU64,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The line is down: nobody answers any more.
    down: bool,
    /// Who waits for long requests to arrive, by the requests' ids.
    arrivals: HashMap<RequestId, oneshot::Sender<()>>,
    /// Who waits for answers, by the questions' numbers.
    replies: HashMap<u64, oneshot::Sender<Reply>>,
}

/// What the line's connection has to send.
#[derive(Debug)]
pub struct ToSend {
    /// Requests.
    pub requests: mpsc::Receiver<String>,
    /// Everything else, which goes first.
    pub notes: mpsc::UnboundedReceiver<String>,
}

impl OwnerLine {
    /// A line, and what its connection sends from.
    pub fn new() -> (Self, ToSend) {
        let (requests, requests_to_send) = mpsc::channel(REQUESTS);
        let (notes, notes_to_send) = mpsc::unbounded_channel();
        let line = Self {
            requests,
            notes,
            next_question: AtomicU64::new(1),
            waiting: Mutex::default(),
        };
        let to_send = ToSend {
            requests: requests_to_send,
            notes: notes_to_send,
        };
        (line, to_send)
    }

    /// Sends a request that is too long for one message to the computer, once there is room for it, and waits until all
    /// of it has arrived.
    ///
    /// # Errors
    /// The line is down.
    async fn send_long(&self, id: &RequestId, envelope: String) -> Result<(), LinkEnded> {
        let (arrived, waiting) = oneshot::channel();
        {
            let mut all = self.lock();
            if all.down {
                return Err(LinkEnded);
            }
            all.arrivals.insert(id.clone(), arrived);
        }
        let forget = OnDrop(|| drop(self.lock().arrivals.remove(id)));
        let sent = self.requests.send(envelope).await;
        sent.map_err(|_| LinkEnded)?;
        let arrived = waiting.await.map_err(|_| LinkEnded);
        drop(forget);
        arrived
    }

    /// Sends a small frame to a computer, or a control message, without waiting.
    pub fn note(&self, message: String) {
        // Without a receiver the line is down, and the message is of no use any more.
        let _ = self.notes.send(message);
    }

    /// Asks the owner something whose answer may take `time`; none if none comes.
    pub async fn ask(&self, question: Question, time: Duration) -> Option<Reply> {
        let n = self.next_question.fetch_add(1, Ordering::Relaxed);
        let (replied, reply) = oneshot::channel();
        {
            let mut all = self.lock();
            if all.down {
                return None;
            }
            all.replies.insert(n, replied);
        }
        let forget = OnDrop(|| drop(self.lock().replies.remove(&n)));
        self.note(message::write(&FromGuest::Ask { n, question }));
        let reply = timeout(time + ANSWER_TIME, reply).await.ok()?.ok();
        drop(forget);
        reply
    }

    /// A long request has arrived.
    pub fn arrived(&self, id: &RequestId) {
        if let Some(waiting) = self.lock().arrivals.remove(id) {
            // Whoever sent it may have given up.
            let _ = waiting.send(());
        }
    }

    /// An answer came.
    pub fn replied(&self, n: u64, reply: Reply) {
        if let Some(waiting) = self.lock().replies.remove(&n) {
            let _ = waiting.send(reply);
        }
    }

    /// The line is down: whoever waits learns of it.
    pub fn down(&self) {
        let mut waiting = self.lock();
        waiting.down = true;
        waiting.arrivals.clear();
        waiting.replies.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // The maps are never left half changed.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long the owner may take to tell of its jobs.
const TELL_TIME: Duration = Duration::from_secs(5);

impl Elsewhere for OwnerLine {
    fn jobs(&self) -> BoxFuture<'_, Option<Vec<JobElsewhere>>> {
        async {
            let Reply::Jobs { jobs } = self.ask(Question::Jobs, TELL_TIME).await? else {
                return None;
            };
            Some(jobs.into_iter().map(JobSnapshot::into_told).collect())
        }
        .boxed()
    }

    fn job<'a>(
        &'a self,
        id: &'a RequestId,
        cursor: u64,
        wait: Duration,
    ) -> BoxFuture<'a, Option<JobElsewhere>> {
        async move {
            let question = Question::Job {
                id: id.clone(),
                cursor,
                wait_ms: milliseconds(wait),
            };
            let Reply::Job { job } = self.ask(question, wait).await? else {
                return None;
            };
            job.map(|job| job.into_told())
        }
        .boxed()
    }

    fn cancel<'a>(
        &'a self,
        id: &'a RequestId,
        time: Duration,
    ) -> BoxFuture<'a, Option<(JobElsewhere, Cancelled)>> {
        async move {
            let question = Question::Cancel {
                id: id.clone(),
                time_ms: milliseconds(time),
            };
            let Reply::Cancelled { how, job } = self.ask(question, time).await? else {
                return None;
            };
            job.map(|job| (job.into_told(), how))
        }
        .boxed()
    }
}

/// The way over the line to one computer.
#[derive(Debug)]
pub struct ToOwner {
    /// The line.
    pub line: Arc<OwnerLine>,
    /// The computer.
    pub computer: ComputerKey,
    /// Which of its links the frames are for, by the owner's count.
    pub link: u64,
}

impl ToOwner {
    fn envelope(&self, request: &Outbound<'_>) -> String {
        let about = AboutRequest {
            code: request.about.code.into(),
            exclusive: request.about.exclusive,
            listed: request.about.listed,
            of_script: request.about.of_script,
            deadline_ms: milliseconds(request.deadline.saturating_duration_since(Instant::now())),
            attached: request.attached,
        };
        message::envelope(self.computer, self.link, Some(&about), &request.frame)
    }
}

impl Outlet for ToOwner {
    fn request<'a>(&'a self, request: Outbound<'a>) -> BoxFuture<'a, Result<(), LinkEnded>> {
        async move {
            let envelope = self.envelope(&request);
            let sent = self.line.requests.send(envelope).await;
            sent.map_err(|_| LinkEnded)
        }
        .boxed()
    }

    fn request_now(&self, request: Outbound<'_>) -> bool {
        let Ok(room) = self.line.requests.try_reserve() else {
            return false;
        };
        room.send(self.envelope(&request));
        true
    }

    fn long_request<'a>(&'a self, request: Outbound<'a>) -> BoxFuture<'a, Result<(), LinkEnded>> {
        async move {
            let envelope = self.envelope(&request);
            self.line.send_long(request.id, envelope).await
        }
        .boxed()
    }

    fn note(&self, frame: String) -> BoxFuture<'_, Result<(), LinkEnded>> {
        let note = message::envelope(self.computer, self.link, None, &frame);
        self.line.note(note);
        ready(Ok(())).boxed()
    }

    /// The owner serves the link: it makes it end, and sees to doubts.
    fn call(&self) {}
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Does something when it is dropped, as a future that is given up is.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
