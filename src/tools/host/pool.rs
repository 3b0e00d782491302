//! The worker processes: started when a call first needs one, kept for the next, and ended at any moment.

use std::{
    collections::VecDeque,
    io,
    path::PathBuf,
    process::Stdio,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use thiserror::Error;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep, timeout},
};

use super::protocol::{FromWorker, MAX_LINE, ToWorker};

/// The command that makes this binary a worker.
pub const COMMAND: &str = "worker";

/// How many workers serve calls at most, by how many tools stand between the client and the call. One that waits, for a
/// computer or for the tool that its handler calls, does nothing else meanwhile: calls of tools by tools have places of
/// their own, so that what waits for them can't keep them from ending.
const MOST: [usize; 5] = [32, 16, 8, 8, 8];

/// How many workers wait for calls at most.
const IDLE: usize = 2;

/// How long a worker waits for a call before it is ended. Each takes a few MiB of memory.
const IDLE_TIME: Duration = Duration::from_secs(60);

/// How many calls a worker serves, so that nothing can add up.
const CALLS: u32 = 1000;

/// How long a worker has to be ready, at its start and after a call.
const READY_TIME: Duration = Duration::from_secs(5);

/// The workers of one bridge.
pub struct Workers {
    program: io::Result<PathBuf>,
    /// As [`MOST`] has them.
    places: [Arc<Semaphore>; MOST.len()],
    idle: Mutex<Waiting>,
}

/// The workers that wait for calls.
#[derive(Default)]
struct Waiting {
    workers: VecDeque<Idle>,
    /// Whether a task looks after them, and ends those that wait too long.
    is_tended: bool,
    /// Whether one more is being started, to wait with them.
    is_growing: bool,
}

struct Idle {
    worker: Worker,
    since: Instant,
}

/// Why there is no worker.
#[derive(Debug, Error)]
pub enum NoWorker {
    /// The system refuses.
    #[error("a worker process can't be started: {0}")]
    Start(String),
    /// It started, and failed.
    #[error("a worker process failed at its start: {0}")]
    Ready(String),
    /// The program was replaced by another version while it ran.
    #[error(
        "mcp-bridge was replaced by version {0} while it ran, so it can't run handlers any more: restart your MCP client"
    )]
    Version(String),
}

/// One worker process, ready for a call. Dropping it ends the process.
pub struct Worker {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: Vec<u8>,
    calls: u32,
    /// Its place among those that serve calls; none while it waits for one.
    place: Option<OwnedSemaphorePermit>,
}

impl Workers {
    /// Workers that are processes of the program that runs now. None is started yet.
    pub fn new() -> Arc<Self> {
        // On Linux this is the very program, whatever has taken its place in its folder since.
        let itself = PathBuf::from("/proc/self/exe");
        let program = if cfg!(target_os = "linux") && itself.exists() {
            Ok(itself)
        } else {
            std::env::current_exe()
        };
        Self::with(program)
    }

    /// Workers that are processes of this program.
    pub fn of(program: PathBuf) -> Arc<Self> {
        Self::with(Ok(program))
    }

    fn with(program: io::Result<PathBuf>) -> Arc<Self> {
        Arc::new(Self {
            program,
            places: MOST.map(|most| Arc::new(Semaphore::new(most))),
            idle: Mutex::default(),
        })
    }

    /// A worker for one call, with so many tools between it and the client; waits for one if all are busy.
    ///
    /// # Errors
    /// See [`NoWorker`].
    pub async fn take(self: &Arc<Self>, depth: u8) -> Result<Worker, NoWorker> {
        let places = &self.places[usize::from(depth).min(MOST.len() - 1)];
        let place = places.clone().acquire_owned().await;
        let place = Some(place.map_err(|error| NoWorker::Start(error.to_string()))?);
        loop {
            // The one that served last is the likeliest to be in memory.
            let kept = self.lock().workers.pop_back();
            let Some(Idle { mut worker, .. }) = kept else {
                let worker = self.start().await?;
                self.start_spare();
                return Ok(Worker { place, ..worker });
            };
            // It may have been ended from outside.
            if matches!(worker.child.try_wait(), Ok(None)) {
                return Ok(Worker { place, ..worker });
            }
        }
    }

    /// Takes a worker back after a call, once it is ready for the next.
    pub fn give_back(self: &Arc<Self>, mut worker: Worker) {
        worker.calls += 1;
        if worker.calls >= CALLS {
            return;
        }
        let workers = self.clone();
        tokio::spawn(async move {
            // A finalizer of the last call may never end.
            match worker.ready().await {
                Ok(()) => workers.keep(worker),
                Err(error) => tracing::warn!(%error, "a worker process was ended after a call"),
            }
        });
    }

    /// Starts a worker beside the one that a call has just taken, so that the next call finds one.
    fn start_spare(self: &Arc<Self>) {
        let mut waiting = self.lock();
        if !waiting.workers.is_empty() || std::mem::replace(&mut waiting.is_growing, true) {
            return;
        }
        drop(waiting);
        let workers = self.clone();
        tokio::spawn(async move {
            let started = workers.start().await;
            workers.lock().is_growing = false;
            match started {
                Ok(worker) => workers.keep(worker),
                Err(error) => tracing::warn!(%error, "no spare worker"),
            }
        });
    }

    fn keep(self: &Arc<Self>, mut worker: Worker) {
        worker.place = None;
        let mut waiting = self.lock();
        if waiting.workers.len() >= IDLE {
            return;
        }
        waiting.workers.push_back(Idle {
            worker,
            since: Instant::now(),
        });
        if std::mem::replace(&mut waiting.is_tended, true) {
            return;
        }
        drop(waiting);
        let held = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                sleep(IDLE_TIME / 4).await;
                let Some(workers) = held.upgrade() else {
                    return;
                };
                let mut waiting = workers.lock();
                waiting
                    .workers
                    .retain(|kept| kept.since.elapsed() < IDLE_TIME);
                if waiting.workers.is_empty() {
                    waiting.is_tended = false;
                    return;
                }
            }
        });
    }

    /// Starts a worker that nobody else has.
    ///
    /// # Errors
    /// See [`NoWorker`].
    pub(super) async fn start(&self) -> Result<Worker, NoWorker> {
        let program = self
            .program
            .as_ref()
            .map_err(|error| NoWorker::Start(error.to_string()))?;
        let failed = |error: io::Error| NoWorker::Start(error.to_string());
        let mut command = Command::new(program);
        command
            .arg(COMMAND)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        #[cfg(windows)]
        {
            /// No window of its own, which would flash up.
            const CREATE_NO_WINDOW: u32 = 0x0800_0000;
            command.creation_flags(CREATE_NO_WINDOW);
            // Programs of Windows start with little, but not without this.
            if let Some(root) = std::env::var_os("SystemRoot") {
                command.env("SystemRoot", root);
            }
        }
        let mut child = command.spawn().map_err(failed)?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(NoWorker::Start("it has no pipes".to_owned()));
        };
        let mut worker = Worker {
            child,
            input,
            output: BufReader::new(output),
            line: Vec::new(),
            calls: 0,
            place: None,
        };
        worker.ready().await?;
        Ok(worker)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing that holds the lock can panic.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a worker can't be spoken to any more.
#[derive(Debug, Error)]
pub enum WorkerGone {
    /// It ended, or its pipes broke.
    #[error(
        "its worker process ended while it ran: it may have taken more memory than there is, or was ended from outside"
    )]
    Ended,
    /// It sent a line that is no message, or one that is too long.
    #[error("its worker process sent what is no message: {0}")]
    Nonsense(String),
}

impl Worker {
    /// Sends a message.
    ///
    /// # Errors
    /// The process has ended.
    pub async fn send(&mut self, message: &ToWorker) -> Result<(), WorkerGone> {
        let mut line =
            serde_json::to_vec(message).map_err(|error| WorkerGone::Nonsense(error.to_string()))?;
        line.push(b'\n');
        let sent = async {
            self.input.write_all(&line).await?;
            self.input.flush().await
        };
        sent.await.map_err(|_| WorkerGone::Ended)
    }

    /// The next message. Waits for as long as the worker is silent. What was read of a message stays if the wait is given
    /// up.
    ///
    /// # Errors
    /// The process has ended, or has gone wild.
    pub async fn receive(&mut self) -> Result<FromWorker, WorkerGone> {
        loop {
            // What has no end yet was left by a wait that was given up.
            if self.line.ends_with(b"\n") {
                self.line.clear();
            }
            let limit = (MAX_LINE + 1 - self.line.len()) as u64;
            let read = (&mut self.output)
                .take(limit)
                .read_until(b'\n', &mut self.line)
                .await;
            match read {
                Ok(0) | Err(_) => return Err(WorkerGone::Ended),
                Ok(_) if !self.line.ends_with(b"\n") => {
                    return Err(WorkerGone::Nonsense("a line without an end".to_owned()));
                }
                Ok(_) if self.line.len() == 1 => {}
                Ok(_) => {
                    return serde_json::from_slice(&self.line)
                        .map_err(|error| WorkerGone::Nonsense(error.to_string()));
                }
            }
        }
    }

    /// Ends the process, and waits until it has.
    pub(super) async fn end(mut self) {
        if let Err(error) = self.child.kill().await {
            tracing::debug!(%error, "a worker process can't be ended");
        }
    }

    /// Waits until it can take a call.
    pub(super) async fn ready(&mut self) -> Result<(), NoWorker> {
        match timeout(READY_TIME, self.receive()).await {
            Ok(Ok(FromWorker::Ready { version })) if version == env!("CARGO_PKG_VERSION") => Ok(()),
            Ok(Ok(FromWorker::Ready { version })) => Err(NoWorker::Version(version)),
            Ok(Ok(FromWorker::Fault { message })) => Err(NoWorker::Ready(message)),
            Ok(Ok(other)) => Err(NoWorker::Ready(format!("it said {other:?}"))),
            Ok(Err(gone)) => Err(NoWorker::Ready(gone.to_string())),
            Err(_) => Err(NoWorker::Ready("it took too long".to_owned())),
        }
    }
}
