//! Lua of ours on a computer in the game: shipped once and called by its hash where the agent keeps handlers, else as
//! one chunk of plain code.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use thiserror::Error;

use super::{
    Context,
    asking::{self, STOP_TIME, held},
    listener::Belongs,
    outcome,
    plain_chunk::{Piece, chunk_of, with_helpers},
    telling::Telling,
    unanswered::Unanswered,
    wording::name_of,
};
use crate::{
    computers::{
        AgentError, Answer, Ask, Boot, Cancelled, Computer, ComputerKey, End, ErrorKind, Gate, Job,
        Method, RequestId, TooManyJobs, Waited,
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
    /// The computer can't take more.
    #[error(transparent)]
    TooManyJobs(#[from] TooManyJobs),
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

/// What an agent tells in its hello if it gives handlers `json`, `log` and `progress`.
const TELLS: &str = "tells";

/// What agents are known to take and to keep.
#[derive(Debug, Default)]
pub struct Couriers {
    known: Mutex<HashMap<ComputerKey, Known>>,
}

/// What one start of an agent is known to take and to keep.
#[derive(Debug, Default)]
struct Known {
    boot: Option<Boot>,
    /// Whether it runs handlers; none: it was not asked yet.
    handlers: Option<bool>,
    hashes: HashSet<String>,
}

impl Couriers {
    /// Runs Lua on a computer, for `time` at most; then it is stopped.
    pub async fn run(
        &self,
        context: Context<'_>,
        computer: &Arc<Computer>,
        piece: Piece<'_>,
        time: Duration,
    ) -> Ran {
        let boot = computer.facts().boot.clone();
        if let Some(boot) = boot.filter(|boot| self.may_take(computer.key, boot))
            && let Some(ran) = self.ship(context, computer, &boot, piece, time).await
        {
            return ran;
        }
        run_plain(context, computer, piece, time).await
    }

    /// Runs it as a handler; none if the agent knows no handlers.
    async fn ship(
        &self,
        context: Context<'_>,
        computer: &Arc<Computer>,
        boot: &Boot,
        piece: Piece<'_>,
        time: Duration,
    ) -> Option<Ran> {
        let source = if computer.facts().can(TELLS) {
            Cow::Borrowed(piece.source)
        } else {
            with_helpers(piece)
        };
        let hash = hash_of(&source);
        let mut with_source = !piece.is_kept
            || !self.lock_of(computer.key, boot, |known| known.hashes.contains(&hash));
        // The source is sent at most once more: the agent may have forgotten it since.
        for _ in 0..2 {
            let mut params = json!({ "name": piece.name, "arguments": piece.arguments });
            if let Some(method) = piece.method {
                params["method"] = json!(method);
            }
            if piece.is_kept {
                params["hash"] = json!(hash);
            }
            if with_source {
                params["source"] = json!(source);
            }
            if piece.exclusive {
                params["exclusive"] = json!(true);
            }
            let request = Ask {
                method: Method::RunHandler,
                params: Some(&params),
                about: piece.about(),
                gate: None,
            };
            let ran = run_request(context, computer, request, piece, time, values_of).await;
            let kind = ran.refusal.as_ref();
            if kind == Some(&ErrorKind::Unsupported) {
                self.lock_of(computer.key, boot, |known| known.handlers = Some(false));
                return None;
            }
            if kind == Some(&ErrorKind::SourceWanted) && !with_source {
                with_source = true;
                continue;
            }
            self.lock_of(computer.key, boot, |known| {
                known.handlers = Some(true);
                if piece.is_kept {
                    known.hashes.insert(hash.clone());
                }
            });
            return Some(ran.ran);
        }
        None
    }

    /// Whether this start of an agent may run handlers.
    fn may_take(&self, computer: ComputerKey, boot: &Boot) -> bool {
        self.lock_of(computer, boot, |known| known.handlers != Some(false))
    }

    fn lock_of<T>(
        &self,
        computer: ComputerKey,
        boot: &Boot,
        look: impl FnOnce(&mut Known) -> T,
    ) -> T {
        let mut known = self.lock();
        let known = known.entry(computer).or_default();
        if known.boot.as_ref() != Some(boot) {
            *known = Known {
                boot: Some(boot.clone()),
                ..Known::default()
            };
        }
        look(known)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ComputerKey, Known>> {
        // Nothing that holds the lock can panic.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came of a request, and the kind of error if the agent refused it.
struct Asked {
    ran: Ran,
    refusal: Option<ErrorKind>,
}

/// Asks, and reads the values that were returned from the result.
async fn run_request(
    context: Context<'_>,
    computer: &Arc<Computer>,
    request: Ask<'_>,
    piece: Piece<'_>,
    time: Duration,
    read: impl Fn(&Value) -> Option<Vec<Value>>,
) -> Asked {
    let failed = |problem: RunError| Asked {
        ran: Ran {
            output: String::new(),
            end: Err(problem),
        },
        refusal: None,
    };
    let gate = || context.others.paused().is_none();
    let request = Ask {
        gate: piece.pauses.then_some(Gate(&gate)),
        ..request
    };
    let belongs = Belongs::ToAuthor;
    let handler = piece.is_kept.then_some(piece.name);
    let asking::Asked {
        job,
        waited,
        printed,
    } = match asking::ask(context, computer, request, belongs, handler, time).await {
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
        Waited::Running | Waited::NotTaken => match computer.stop(&job, STOP_TIME).await {
            Cancelled::Ended => {
                let telling = Telling::new(context, computer, &job, belongs, handler);
                telling.from(printed).tell_last().await;
                let mut asked = ended(computer, &job, read);
                // It may also have come to its own end meanwhile.
                if job.look(outcome::was_stopped) {
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
        Waited::Held => failed(RunError::Paused(held(context))),
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

/// Runs it as plain code, whose only result is a string of JSON.
async fn run_plain(
    context: Context<'_>,
    computer: &Arc<Computer>,
    piece: Piece<'_>,
    time: Duration,
) -> Ran {
    let code = chunk_of(piece);
    let mut params = json!({ "code": code });
    if piece.exclusive {
        params["exclusive"] = json!(true);
    }
    let request = Ask {
        method: Method::ExecLua,
        params: Some(&params),
        about: piece.about(),
        gate: None,
    };
    let read = |result: &Value| {
        let text = result.get("returns")?.get(0)?.get("value")?.as_str()?;
        let values = serde_json::from_str(text).ok()?;
        // Of the agent's own making: its strings stand for bytes (wire/PROTOCOL.md, "Byte strings").
        match decode_value(values, TextMode::Bytes) {
            Value::Array(values) => Some(values),
            _ => None,
        }
    };
    run_request(context, computer, request, piece, time, read)
        .await
        .ran
}

/// A source's name among those that an agent keeps. It tells a user's own files apart, and guards against nobody.
fn hash_of(source: &str) -> String {
    let mut hasher = DefaultHasher::new();
    source.hash(&mut hasher);
    format!("{:016x}-{}", hasher.finish(), source.len())
}
