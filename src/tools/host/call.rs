//! One call of a handler on the host: hands it to a worker, answers what it asks, and ends it at its deadline.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use thiserror::Error;
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    asker::{Asker, Rights},
    pool::{NoWorker, Worker, WorkerGone, Workers},
    protocol::{Answer, Done, End, FromWorker, Order, ToWorker},
    record::Record,
};
use crate::base::hidden;
use crate::tools::{
    Context, Step,
    couriers::Couriers,
    legible,
    namespace::{Hiding, Home, Keeper, Visit},
    teller::Teller,
};

/// How much memory a handler's Lua may take, in bytes.
const MEMORY: usize = 64 * 1024 * 1024;

/// How much a handler may return, in bytes of JSON: what clients take at most.
const OUTPUT: usize = 8 * 1024 * 1024;

/// How many lines of one call's log are kept.
const LOG_LINES: u32 = 200;

/// How long the worker of a call whose time is up may be silent until all that it said before counts as read; five
/// times as long if it is never silent.
const LAST_WORDS: Duration = Duration::from_millis(20);

/// A handler's source, and what of it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The Lua source.
    pub source: Arc<str>,
    /// What it is called in errors: a file's name.
    pub chunk: String,
    /// The function of the table that the source returns; none: the source itself is what is called, an expression or
    /// statements.
    pub method: Option<String>,
    /// The namespace that it is in; none: it is a script, or built in.
    pub home: Option<Home>,
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
    /// A person ended the call that it is part of.
    #[error("{0}")]
    StoppedFromOutside(String),
    /// Its deadline came.
    #[error("timeout: {chunk} did not end within {ms} ms and was stopped.")]
    TimedOut {
        /// What it is called.
        chunk: String,
        /// The time it had, in milliseconds.
        ms: u128,
    },
}

/// Waits until a person ends the client's call, and returns what is told then.
async fn stopped(context: Context<'_>) -> String {
    match context.call {
        Some(call) => {
            call.stopped().await;
            call.told_of_its_stop()
        }
        None => std::future::pending().await,
    }
}

/// Why a call has no values.
#[derive(Debug, Error)]
pub enum NotWell {
    /// It did not come to its end.
    #[error(transparent)]
    NotEnded(#[from] CallError),
    /// What the handler threw, with where that was.
    #[error("{0}")]
    Thrown(String),
}

impl NotWell {
    /// Whether its time was up while it ran.
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::NotEnded(CallError::TimedOut { .. }))
    }
}

/// What came of a call. Strings of Lua's are bytes in it: see `base::byte_text`.
pub struct Ended {
    /// What the handler printed until its end, whichever that was.
    pub printed: String,
    /// If it did not go well, what had come back from computers until then, one line each.
    pub came_back: String,
    /// The values that it returned.
    pub end: Result<Vec<Value>, NotWell>,
}

/// Runs handlers in workers.
pub struct HostHandler {
    pub(super) workers: Arc<Workers>,
    couriers: Arc<Couriers>,
    keeper: Arc<Keeper>,
}

impl HostHandler {
    /// Runs handlers in these workers. What their namespaces have is with the keeper.
    pub fn new(workers: Arc<Workers>, couriers: Arc<Couriers>, keeper: Arc<Keeper>) -> Self {
        Self {
            workers,
            couriers,
            keeper,
        }
    }

    /// What keeps what its handlers' namespaces have.
    pub fn keeper(&self) -> &Keeper {
        &self.keeper
    }

    /// Runs a handler to its end, for `time` at most.
    pub async fn run(
        &self,
        context: Context<'_>,
        code: &Code,
        rights: Rights,
        arguments: Value,
        time: Duration,
    ) -> Ended {
        let record = Record::default();
        let visit = Visit::new(
            code.home.as_ref(),
            &code.source,
            &self.keeper,
            context.stand_in,
        );
        visit.keep_secrets();
        let hiding = Hiding {
            listener: context.listener,
        };
        let asker = Asker {
            context: Context {
                listener: &hiding,
                ..context
            },
            rights,
            couriers: &self.couriers,
            deadline: Instant::now() + time,
            record: &record,
            visit: &visit,
        };
        let done = self.done(&asker, code, arguments, time);
        let done = tokio::select! {
            biased;
            done = done => done,
            told = stopped(context) => Err(CallError::StoppedFromOutside(told)),
        };
        let (untold, mut end) = match done {
            Ok(Done { untold, end }) => (Some(untold), end.into()),
            Err(problem) => (None, Err(problem.into())),
        };
        let came_back = match &end {
            Ok(_) => String::new(),
            Err(problem) => record.answers(&problem.to_string()),
        };
        let handed = hidden::secrets();
        match &mut end {
            Ok(values) => values.iter_mut().for_each(|value| handed.hide(value)),
            Err(NotWell::Thrown(problem)) => *problem = handed.hidden(problem).into_owned(),
            Err(NotWell::NotEnded(_)) => {}
        }
        Ended {
            printed: handed.hidden(&record.printed(untold)).into_owned(),
            came_back: handed.hidden(&came_back).into_owned(),
            end,
        }
    }

    async fn done(
        &self,
        asker: &Asker<'_>,
        code: &Code,
        arguments: Value,
        time: Duration,
    ) -> Result<Done, CallError> {
        let (context, deadline) = (asker.context, asker.deadline);
        let call = Call { asker, code };
        let order = Order::of(code, arguments);
        let mut worker = match timeout_at(deadline, self.workers.take(context.depth)).await {
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
        match timeout_at(deadline, call.serve(&mut worker, order)).await {
            Ok(Ok(done)) => {
                self.workers.give_back(worker);
                Ok(done)
            }
            Ok(Err(problem)) => Err(problem),
            Err(_) => {
                // What it printed may stand in the pipe still.
                let until = Instant::now() + LAST_WORDS * 5;
                while Instant::now() < until
                    && let Ok(Ok(message)) = timeout(LAST_WORDS, worker.receive()).await
                {
                    match message {
                        FromWorker::Printed { text, is_cut } => {
                            call.asker.print(&text, is_cut);
                        }
                        FromWorker::Log { .. } | FromWorker::Progress { .. } => {}
                        _ => break,
                    }
                }
                Err(CallError::TimedOut {
                    chunk: code.chunk.clone(),
                    ms: time.as_millis(),
                })
            }
        }
    }
}

impl Order {
    /// This code, with these arguments.
    pub fn of(code: &Code, arguments: Value) -> Self {
        Self {
            source: code.source.to_string(),
            chunk: code.chunk.clone(),
            method: code.method.clone(),
            arguments,
            is_handler: code.home.is_some(),
            memory: MEMORY,
            output: OUTPUT,
        }
    }
}

/// A call that is under way.
struct Call<'a> {
    asker: &'a Asker<'a>,
    code: &'a Code,
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
        let mut teller = Teller::new(self.asker.context.listener, chunk, None);
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
                    if lines <= LOG_LINES {
                        teller.log(level, &text).await;
                    }
                }
                FromWorker::Progress {
                    message,
                    done,
                    total,
                } => {
                    let step = Step {
                        message: legible::text(&message).into_owned(),
                        done,
                        total,
                    };
                    teller.tell(step).await;
                }
                FromWorker::Printed { text, is_cut } => self.asker.print(&text, is_cut),
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

impl From<End> for Result<Vec<Value>, NotWell> {
    fn from(end: End) -> Self {
        match end {
            End::Values(values) => Ok(values),
            End::Failed(problem) => Err(NotWell::Thrown(problem)),
        }
    }
}
