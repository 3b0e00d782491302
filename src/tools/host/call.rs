//! One call of a handler on the host: hands it to a worker, answers what it asks, and ends it at its deadline.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, stream};
use rmcp::model::JsonObject;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    pool::{Worker, Workers},
    protocol::{
        Answer, CallOn, Done, End, ExecOn, FromWorker, Options, Order, Outcome, Question, ToWorker,
    },
};
use crate::{
    computers::{ComputerId, Presence},
    tools::{
        Context, Found, Step,
        choosing::choose,
        computer::{Couriers, Piece},
    },
};

/// How much memory a handler's Lua may take, in bytes.
const MEMORY: usize = 64 * 1024 * 1024;

/// How much a handler may return, in bytes of JSON: what clients take at most.
const OUTPUT: usize = 8 * 1024 * 1024;

/// How long a computer has for what a handler asks of it, when the handler does not say, in milliseconds.
const DEFAULT_TIMEOUT_MS: f64 = 20_000.0;

/// How many computers are asked at once.
const AT_ONCE: usize = 32;

/// How many computers one question may be for.
const MOST_COMPUTERS: usize = 1000;

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

/// What a handler may do beside computing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rights {
    /// It may run Lua on computers, unless the bridge is read-only: a person wrote it.
    OfItsAuthor,
    /// It may do what the client may: the client's model wrote it.
    OfItsClient,
}

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
    ) -> Result<Done, String> {
        let call = Call {
            context,
            code,
            rights,
            couriers: &self.couriers,
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
            Ok(Err(problem)) => return Err(problem.to_string()),
            Err(_) => {
                return Err(format!(
                    "timeout: all workers were busy for {} ms, so {} was not run. Try again later.",
                    time.as_millis(),
                    code.chunk
                ));
            }
        };
        // A worker whose call does not end here is dropped, which ends its process.
        match timeout_at(call.deadline, call.serve(&mut worker, order)).await {
            Ok(Ok(done)) => {
                self.workers.give_back(worker);
                Ok(done)
            }
            Ok(Err(problem)) => Err(problem),
            Err(_) => Err(format!(
                "timeout: {} did not end within {} ms and was stopped.",
                code.chunk,
                time.as_millis()
            )),
        }
    }
}

/// A call that is under way.
struct Call<'a> {
    context: Context<'a>,
    code: &'a Code,
    rights: Rights,
    couriers: &'a Couriers,
    deadline: Instant,
}

impl Call<'_> {
    async fn serve(&self, worker: &mut Worker, order: Order) -> Result<Done, String> {
        let gone = |problem: super::pool::WorkerGone| format!("{}: {problem}", self.code.chunk);
        worker.send(&ToWorker::Call(order)).await.map_err(gone)?;
        let mut lines = 0;
        let mut hears = true;
        loop {
            match worker.receive().await.map_err(gone)? {
                FromWorker::Ask { ask, what } => {
                    let answer = match self.answer(what).await {
                        Ok(value) => Answer::Value(value),
                        Err(problem) => Answer::Error(problem),
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
                    tracing::info!(handler = self.code.chunk, ?level, "{line}");
                    let log = self.context.listener.log(level, &self.code.chunk, text);
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
                    let tell = self.context.listener.tell(step);
                    // A client that does not read must not hold up the handler.
                    hears = hears && timeout(TELL_TIME, tell).await.is_ok();
                }
                FromWorker::Done(done) => return Ok(done),
                FromWorker::Fault { message } => {
                    return Err(format!("{}: the worker failed: {message}", self.code.chunk));
                }
                FromWorker::Ready { .. } => {
                    return Err(format!("{}: the worker lost the call", self.code.chunk));
                }
            }
        }
    }

    async fn answer(&self, question: Question) -> Result<Value, String> {
        match question {
            Question::List => self.list().await,
            Question::Exec { on, options } => {
                self.may_exec()?;
                let time = self.time_of(&options)?;
                let runs = bounded(on)?.into_iter().map(|on| {
                    let options = &options;
                    async move { self.exec(on, options, time).await }
                });
                self.outcomes(runs).await
            }
            Question::Call { tool, on, options } => {
                let time = self.time_of(&options)?;
                let tool = &tool;
                let runs = bounded(on)?
                    .into_iter()
                    .map(|on| async move { self.call(tool, on, time).await });
                self.outcomes(runs).await
            }
        }
    }

    /// What came of each computer, in the order they were asked.
    async fn outcomes(
        &self,
        runs: impl Iterator<Item = impl Future<Output = Outcome>>,
    ) -> Result<Value, String> {
        let outcomes: Vec<_> = stream::iter(runs).buffered(AT_ONCE).collect().await;
        let counted = outcomes.into_iter().map(|outcome| {
            let count = outcome.returns.as_ref().map(Vec::len);
            let mut outcome = json!(outcome);
            // Lua does not count what ends in nil.
            outcome["n"] = json!(count);
            outcome
        });
        Ok(counted.collect())
    }

    /// Whether this handler may run any Lua on computers.
    fn may_exec(&self) -> Result<(), String> {
        let others = self.context.others;
        if others.is_read_only() {
            return Err(
                "computers.exec is refused: this bridge was started read-only (--read-only), and code may change anything"
                    .to_owned(),
            );
        }
        if self.rights == Rights::OfItsAuthor {
            return Ok(());
        }
        match others.find("exec-lua") {
            Found::Tool(_) => Ok(()),
            Found::Refused(refusal) => Err(format!(
                "computers.exec is refused, as exec-lua is: {}",
                refusal.reason()
            )),
            Found::Nothing => Err("computers.exec is refused: there is no exec-lua".to_owned()),
        }
    }

    /// How long each computer of a question has.
    fn time_of(&self, options: &Options) -> Result<Duration, String> {
        let asked = options.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
        if !(1.0..=600_000.0).contains(&asked) {
            return Err(format!(
                "options.timeoutMs must be a number from 1 to 600000, not {asked}"
            ));
        }
        Ok(Duration::from_secs_f64(asked / 1000.0))
    }

    async fn list(&self) -> Result<Value, String> {
        let computers = self
            .context
            .fleet
            .computers()
            .await
            .map_err(|problem| problem.to_string())?;
        let shown = computers.iter().map(|computer| {
            let facts = computer.facts();
            let mut fields = json!({
                "id": computer.id,
                "linked": matches!(computer.presence(), Presence::Linked(_)),
            });
            if let Some(label) = &facts.label {
                fields["label"] = json!(label);
            }
            if let Some(machine) = &facts.machine {
                fields["kind"] = json!(machine.kind);
                fields["advanced"] = json!(machine.advanced);
            }
            fields
        });
        Ok(shown.collect())
    }

    async fn exec(&self, on: ExecOn, options: &Options, time: Duration) -> Outcome {
        let run = async {
            let computer = choose(Some(number_of(&on.id)?), self.context.fleet).await?;
            let piece = Piece {
                name: "exec-lua",
                source: &on.code,
                method: None,
                arguments: &options.arguments,
                exclusive: options.exclusive,
                is_kept: false,
            };
            Ok(self
                .couriers
                .run(self.context, &computer, piece, time)
                .await)
        };
        match run.await {
            Ok(ran) => outcome(on.id, ran.end, ran.output),
            Err(problem) => outcome(on.id, Err(problem), String::new()),
        }
    }

    async fn call(&self, tool: &str, on: CallOn, time: Duration) -> Outcome {
        let call = async {
            let context = self.context.deeper()?;
            let found = match context.others.find(tool) {
                Found::Tool(found) => found,
                Found::Refused(refusal) => return Err(refusal.of(tool)),
                Found::Nothing => return Err(format!("there is no tool `{tool}`")),
            };
            let properties = found.definition().input_schema.get("properties");
            if properties.is_none_or(|properties| properties.get("computerId").is_none()) {
                return Err(format!(
                    "`{tool}` is not about one computer: it takes no computerId"
                ));
            }
            let mut arguments = match on.arguments.clone() {
                Value::Object(fields) => fields,
                _ => JsonObject::new(),
            };
            arguments.insert("computerId".to_owned(), json!(number_of(&on.id)?));
            match timeout(time, found.value(context, arguments)).await {
                Ok(value) => value,
                Err(_) => Err(format!(
                    "timeout: {tool} did not end on computer {} within {} ms and was stopped",
                    on.id,
                    time.as_millis()
                )),
            }
        };
        let value = call.await;
        outcome(on.id, value.map(|value| vec![value]), String::new())
    }
}

fn outcome(id: Value, end: Result<Vec<Value>, String>, output: String) -> Outcome {
    let (returns, error) = match end {
        Ok(values) => (Some(values), None),
        Err(problem) => (None, Some(problem)),
    };
    Outcome {
        id,
        returns,
        error,
        output,
    }
}

fn number_of(id: &Value) -> Result<ComputerId, String> {
    ComputerId::from_json(id)
        .ok_or_else(|| format!("a computer's number is a whole number, such as 12, not {id}"))
}

fn bounded<T>(on: Vec<T>) -> Result<Vec<T>, String> {
    if on.len() > MOST_COMPUTERS {
        return Err(format!(
            "at most {MOST_COMPUTERS} computers can be asked at once, not {}",
            on.len()
        ));
    }
    Ok(on)
}

/// A handler's end as its values, or its error with what it printed before.
pub fn values_of(done: Done) -> Result<Vec<Value>, String> {
    match done.end {
        End::Values(values) => Ok(values),
        End::Failed(problem) => Err(problem),
    }
}
