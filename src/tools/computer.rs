//! One request by which Lua of ours runs on a computer in the game, and what comes of it.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::Instant;

use super::{
    Context,
    asking::{self, Behalf, NotAsked, STOP_TIME, held},
    listener::Belongs,
    outcome,
    plain_chunk::{Piece, chunk_of},
    telling::Telling,
    unanswered::Unanswered,
    wording::{name_of, waits_for_player},
};
use crate::{
    computers::{
        AgentError, Answer, Ask, Cancelled, Computer, End, ErrorKind, Gate, Job, Method, RequestId,
        Waited,
    },
    wire::text::{TextMode, decode_value},
};

/// What Lua on a computer came to.
#[derive(Debug)]
pub struct Ran {
    /// What it printed, byte by byte (see `base::byte_text`), as are the strings in its values.
    pub output: String,
    /// What it returned, or what went wrong.
    pub end: Result<Vec<Value>, RunError>,
}

/// Why Lua on a computer did not come to its end.
#[derive(Debug, Error)]
pub enum RunError {
    /// The computer was not asked.
    #[error(transparent)]
    NotAsked(#[from] NotAsked),
    /// Its time was up before the player had answered; what is to be said of it.
    #[error("{0}")]
    WaitsForPlayer(String),
    /// It failed there, in the words of [`outcome`].
    #[error("{0}")]
    Failed(String),
    /// It was stopped when its time was up.
    #[error(
        "timeout on computer {computer}: the code had not ended after {ms} ms, and was stopped"
    )]
    Stopped {
        /// The computer's name.
        computer: String,
        /// The time it had, in milliseconds.
        ms: u128,
    },
    /// It was told to stop.
    #[error(
        "timeout on computer {computer}: it was told to stop after {ms} ms, but has not confirmed it. Job {job} shows what \
         becomes of it."
    )]
    StopNotConfirmed {
        /// The computer's name.
        computer: String,
        /// The time it had, in milliseconds.
        ms: u128,
        /// The job's id.
        job: RequestId,
    },
    /// No answer came in time.
    #[error(transparent)]
    Unanswered(Unanswered),
    /// It does not fit into a message.
    #[error(
        "too-large error on computer {computer}: the code and its arguments are {size} bytes long; this computer takes at \
         most {limit} bytes. Send less at a time."
    )]
    TooLarge {
        /// The computer's name.
        computer: String,
        /// In bytes.
        size: usize,
        /// In bytes.
        limit: usize,
    },
    /// The agent, on the computer of this name, answered something else.
    #[error("the agent on computer {0} gave an answer that is no result of a handler")]
    NoResult(String),
    /// A person has paused it before anything was sent.
    #[error("the code was not run: {0}")]
    Paused(String),
    /// Nothing is known of it.
    #[error("the job ended without a result")]
    NoEnd,
}

/// A piece of Lua on its way to a computer.
#[derive(Clone, Copy)]
pub(super) struct Errand<'a> {
    pub context: Context<'a>,
    pub computer: &'a Arc<Computer>,
    pub piece: Piece<'a>,
    /// How long it may take in all, as its author was told.
    pub time: Duration,
    /// When that is over.
    pub deadline: Instant,
}

/// What came of a request, and the kind of error if the agent refused it.
pub(super) struct Asked {
    pub ran: Ran,
    pub refusal: Option<ErrorKind>,
}

impl Errand<'_> {
    /// Runs it as a handler, with these parameters. `on_taken` is called as soon as the agent has taken it.
    pub async fn run_handler(&self, params: &Value, on_taken: &(dyn Fn() + Send + Sync)) -> Asked {
        self.ask(Method::RunHandler, params, Some(on_taken), values_of)
            .await
    }

    /// Runs it as plain code, whose only result is a string of JSON.
    pub async fn run_plain(&self) -> Ran {
        let mut params = json!({ "code": chunk_of(self.piece) });
        if self.piece.exclusive {
            params["exclusive"] = json!(true);
        }
        let read = |result: &Value| {
            let text = result.get("returns")?.get(0)?.get("value")?.as_str()?;
            let values = serde_json::from_str(text).ok()?;
            // Of the agent's own making: its strings stand for bytes (wire/PROTOCOL.md, "Byte strings").
            match decode_value(values, TextMode::Bytes) {
                Value::Array(values) => Some(values),
                _ => None,
            }
        };
        self.ask(Method::ExecLua, &params, None, read).await.ran
    }

    /// Asks, and reads the values that were returned from the result.
    async fn ask(
        &self,
        method: Method,
        params: &Value,
        on_taken: Option<&(dyn Fn() + Send + Sync)>,
        read: impl Fn(&Value) -> Option<Vec<Value>>,
    ) -> Asked {
        let Self {
            context,
            computer,
            piece,
            time,
            deadline,
        } = *self;
        let failed = |problem: RunError| Asked {
            ran: Ran {
                output: String::new(),
                end: Err(problem),
            },
            refusal: None,
        };
        let request = Ask {
            method,
            params: Some(params),
            about: piece.about(),
            gate: piece.pauses.then_some(Gate(&context)),
        };
        let behalf = Behalf {
            belongs: Belongs::ToAuthor,
            handler: piece.is_kept.then_some(piece.name),
            on_taken,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let asking::Asked {
            job,
            waited,
            printed,
        } = match asking::ask(context, computer, request, behalf, left).await {
            Ok(asked) => asked,
            Err(problem) => return failed(problem.into()),
        };
        let (name, ms) = (name_of(&computer.facts()), time.as_millis());
        let unanswered = |job, away| {
            let unanswered = Unanswered::new(computer, job, ms, away);
            failed(RunError::Unanswered(unanswered))
        };
        match waited {
            Waited::Ended => ended(computer, &job, read),
            // A yes starts it yet, by itself.
            Waited::Running if job.is_asking() => {
                computer.detach(&job).await;
                let waits = waits_for_player(&computer.facts(), &job.id);
                failed(RunError::WaitsForPlayer(waits))
            }
            Waited::Running | Waited::NotTaken => match computer.stop(&job, STOP_TIME).await {
                Cancelled::Ended => {
                    let telling =
                        Telling::new(context, computer, &job, behalf.belongs, behalf.handler);
                    telling.from(printed).tell_last().await;
                    let mut asked = ended(computer, &job, read);
                    let not_begun = job.look(outcome::why_not_begun);
                    let is_told = not_begun.is_some_and(|why| why != outcome::STOPPED_BEFORE);
                    // It may also have come to its own end meanwhile.
                    if !is_told && job.look(outcome::was_stopped) {
                        asked.ran.end = Err(RunError::Stopped { computer: name, ms });
                    }
                    asked
                }
                Cancelled::Told if job.is_running() => failed(RunError::StopNotConfirmed {
                    computer: name,
                    ms,
                    job: job.id.clone(),
                }),
                Cancelled::Told | Cancelled::Unreachable => unanswered(&job, None),
            },
            Waited::Away(why) => {
                computer.stop_later(&job);
                unanswered(&job, Some(&why))
            }
            Waited::TooLarge { size, limit } => failed(RunError::TooLarge {
                computer: name,
                size,
                limit,
            }),
            Waited::Held => failed(RunError::Paused(held(context).await)),
        }
    }
}

/// What came of a job that has ended.
fn ended(computer: &Computer, job: &Job, read: impl Fn(&Value) -> Option<Vec<Value>>) -> Asked {
    job.look(|progress| {
        let output = progress.exact_output();
        let end = progress.end.as_deref();
        let refusal = match end {
            Some(End::Answered(Answer {
                error: Some(AgentError { kind, .. }),
                ..
            })) => Some(kind.clone()),
            _ => None,
        };
        let end = match end {
            Some(End::Answered(Answer {
                error: None,
                result,
            })) => result
                .as_ref()
                .and_then(read)
                .ok_or_else(|| RunError::NoResult(name_of(&computer.facts()))),
            Some(end) => Err(RunError::Failed(outcome::failure(computer, end))),
            None => Err(RunError::NoEnd),
        };
        Asked {
            ran: Ran { output, end },
            refusal,
        }
    })
}

/// The values of `run-handler`'s result.
fn values_of(result: &Value) -> Option<Vec<Value>> {
    match (result.get("values"), result.get("returns")) {
        (Some(Value::Array(values)), _) => Some(values.clone()),
        // An empty Lua table may be written as an object.
        (Some(Value::Object(fields)), _) if fields.is_empty() => Some(Vec::new()),
        // Agents up to 1.0.0 answer so when the handler is about to reboot or shut down the computer.
        (None, Some(Value::Array(returns))) if returns.is_empty() => Some(Vec::new()),
        _ => None,
    }
}
