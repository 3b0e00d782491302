//! One call of a handler on the host: hands it to a worker, answers what it asks, and ends it at its deadline.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use thiserror::Error;
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    pool::{NoWorker, Worker, WorkerGone, Workers},
    protocol::{Answer, Done, End, FromWorker, Order, ToWorker},
    questions::{Asker, Rights},
};
use crate::tools::{Context, Step, computer::Couriers};

/// How much memory a handler's Lua may take, in bytes.
const MEMORY: usize = 64 * 1024 * 1024;

/// How much a handler may return, in bytes of JSON: what clients take at most.
const OUTPUT: usize = 8 * 1024 * 1024;

/// How many lines of one call's log are kept.
const LOG_LINES: u32 = 200;

/// How long a client may take to read what it is told meanwhile.
const TELL_TIME: Duration = Duration::from_secs(1);

/// A handler's source, and what of it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The Lua source.
    pub source: Arc<str>,
    /// What it is called in errors: a file's name.
    pub chunk: String,
    /// The function of the table that the source returns; none: the source itself is what is called.
    pub method: Option<String>,
}

/// Why a handler did not come to its end.
#[derive(Debug, Error)]
pub enum CallError {
    /// There is no process for it.
    #[error(transparent)]
    NoWorker(#[from] NoWorker),
    /// All of them were busy until its deadline.
    #[error("timeout: all workers were busy for {ms} ms, so {chunk} was not run. Try again later.")]
    Busy {
        /// What it is called.
        chunk: String,
        /// The time it had, in milliseconds.
        ms: u128,
    },
    /// Its process went.
    #[error("{chunk}: {gone}")]
    Gone {
        /// What it is called.
        chunk: String,
        /// How.
        gone: WorkerGone,
    },
    /// Its process has a fault.
    #[error("{chunk}: the worker failed: {message}")]
    Fault {
        /// What it is called.
        chunk: String,
        /// Which.
        message: String,
    },
    /// Its process waits for another.
    #[error("{0}: the worker lost the call")]
    Lost(String),
    /// Its deadline came.
    #[error("timeout: {chunk} did not end within {ms} ms and was stopped.")]
    TimedOut {
        /// What it is called.
        chunk: String,
        /// The time it had, in milliseconds.
        ms: u128,
    },
}

/// What a handler threw, with where that was.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Thrown(String);

/// Runs handlers in workers.
pub struct HostHandler {
    workers: Arc<Workers>,
    couriers: Arc<Couriers>,
}

impl HostHandler {
    /// Runs handlers in these workers.
    pub fn new(workers: Arc<Workers>, couriers: Arc<Couriers>) -> Self {
        Self { workers, couriers }
    }

    /// Runs a handler to its end, for `time` at most.
    ///
    /// # Errors
    /// It did not come to its end; why.
    pub async fn run(
        &self,
        context: Context<'_>,
        code: &Code,
        rights: Rights,
        arguments: Value,
        time: Duration,
    ) -> Result<Done, CallError> {
        let asker = Asker {
            context,
            rights,
            couriers: &self.couriers,
        };
        let call = Call {
            asker,
            code,
            deadline: Instant::now() + time,
        };
        let order = Order {
            source: code.source.to_string(),
            chunk: code.chunk.clone(),
            method: code.method.clone(),
            arguments,
            memory: MEMORY,
            output: OUTPUT,
        };
        let mut worker = match timeout_at(call.deadline, self.workers.take()).await {
            Ok(Ok(worker)) => worker,
            Ok(Err(problem)) => return Err(problem.into()),
            Err(_) => {
                return Err(CallError::Busy {
                    chunk: code.chunk.clone(),
                    ms: time.as_millis(),
                });
            }
        };
        // A worker whose call does not end here is dropped, which ends its process.
        match timeout_at(call.deadline, call.serve(&mut worker, order)).await {
            Ok(Ok(done)) => {
                self.workers.give_back(worker);
                Ok(done)
            }
            Ok(Err(problem)) => Err(problem),
            Err(_) => Err(CallError::TimedOut {
                chunk: code.chunk.clone(),
                ms: time.as_millis(),
            }),
        }
    }
}

/// A call that is under way.
struct Call<'a> {
    asker: Asker<'a>,
    code: &'a Code,
    deadline: Instant,
}

impl Call<'_> {
    async fn serve(&self, worker: &mut Worker, order: Order) -> Result<Done, CallError> {
        let chunk = &self.code.chunk;
        let gone = |gone| CallError::Gone {
            chunk: chunk.clone(),
            gone,
        };
        worker.send(&ToWorker::Call(order)).await.map_err(gone)?;
        let mut lines = 0;
        let mut hears = true;
        loop {
            match worker.receive().await.map_err(gone)? {
                FromWorker::Ask { ask, what } => {
                    let answer = match self.asker.answer(what).await {
                        Ok(value) => Answer::Value(value),
                        Err(problem) => Answer::Error(problem.to_string()),
                    };
                    let answer = ToWorker::Answer { ask, answer };
                    worker.send(&answer).await.map_err(gone)?;
                }
                FromWorker::Log { level, text } => {
                    lines += 1;
                    if lines > LOG_LINES {
                        continue;
                    }
                    let line = crate::base::text::one_line(&text);
                    tracing::info!(handler = chunk, ?level, "{line}");
                    let log = self.asker.context.listener.log(level, chunk, text);
                    hears = hears && timeout(TELL_TIME, log).await.is_ok();
                }
                FromWorker::Progress {
                    message,
                    done,
                    total,
                } => {
                    let step = Step {
                        message,
                        done,
                        total,
                    };
                    let tell = self.asker.context.listener.tell(step);
                    // A client that does not read must not hold up the handler.
                    hears = hears && timeout(TELL_TIME, tell).await.is_ok();
                }
                FromWorker::Done(done) => return Ok(done),
                FromWorker::Fault { message } => {
                    return Err(CallError::Fault {
                        chunk: chunk.clone(),
                        message,
                    });
                }
                FromWorker::Ready { .. } => {
                    return Err(CallError::Lost(chunk.clone()));
                }
            }
        }
    }
}

/// A handler's end as its values.
///
/// # Errors
/// What it threw.
pub fn values_of(done: Done) -> Result<Vec<Value>, Thrown> {
    match done.end {
        End::Values(values) => Ok(values),
        End::Failed(problem) => Err(Thrown(problem)),
    }
}
