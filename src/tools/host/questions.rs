//! What a handler on the host can ask of the bridge: which computers there are, and to run Lua or a tool on them.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use rmcp::model::JsonObject;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    asker::{Asker, Rights, TO_TELL, Time},
    options::{For, Options, OptionsError},
    other_tools::OtherToolError,
    protocol::{CallOn, ExecOn, Outcome, Question},
};
use crate::{
    computers::{ComputerKey, Presence, Unreachable},
    tools::{
        Found, Refusal, ToolFailed,
        choosing::{ChoiceError, choose, named},
        computer::RunError,
        namespace::NeedError,
        plain_chunk::Piece,
    },
};

/// How long a computer has for what a handler asks of it, when the handler does not say, in milliseconds.
const DEFAULT_TIMEOUT_MS: f64 = 20_000.0;

/// How many computers one question may be for. All are asked at once, within the next bound.
const MOST_COMPUTERS: usize = 1000;

/// How many bytes of requests of one question may be under way: what each computer is sent may be long.
const UNDER_WAY: usize = 64 * 1024 * 1024;

/// How much of memory all answers to one question may take, in bytes: the worker has to hold them too.
const ANSWERS: usize = 32 * 1024 * 1024;

/// Why a question has no answer.
#[derive(Debug, Error)]
pub enum QuestionError {
    /// Nothing may be changed.
    #[error(
        "computers.exec is refused: this bridge was started read-only (--read-only), and code may change anything. \
         computers.call goes on with tools that promise to change nothing (readOnlyHint: true)"
    )]
    ReadOnly,
    /// A person has paused it, or may have.
    #[error("computers.exec was not done: {0}")]
    Paused(String),
    /// The client may not run Lua either.
    #[error("computers.exec is refused, as exec-lua is: {}", .0.reason())]
    ExecRefused(Refusal),
    /// The client can't run Lua either.
    #[error("computers.exec is refused: there is no exec-lua")]
    NoExec,
    /// The time that each computer is to have, in milliseconds.
    #[error("options.timeoutMs must be a number from 1 to 600000, not {0}")]
    Timeout(f64),
    /// How it is to be put.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// More computers are named than may be.
    #[error("at most {MOST_COMPUTERS} computers can be asked at once, not {0}")]
    TooMany(usize),
    /// No computer can be.
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    /// What its namespace does not give.
    #[error(transparent)]
    Need(#[from] NeedError),
    /// The tool that it called.
    #[error(transparent)]
    OtherTool(#[from] OtherToolError),
}

/// Why one computer of a question has no values.
#[derive(Debug, Error)]
enum OneError {
    #[error("a computer is named by its number, such as 12, or its label, not by {0}")]
    NoNumber(Value),
    #[error(transparent)]
    NotChosen(#[from] ChoiceError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    OtherTool(#[from] OtherToolError),
    #[error("`{0}` is not about one computer: it takes no computerId")]
    NotAboutOne(String),
    #[error("timeout: {tool} did not end on computer {computer} within {ms} ms and was stopped")]
    TimedOut {
        tool: String,
        computer: Value,
        ms: u128,
    },
    #[error(
        "timeout on computer {0}: no answer while the call that asks had time to wait for it; it was told to stop"
    )]
    NoTime(Value),
    #[error(
        "too-large error on computer {computer}: its answer of {size} bytes is left out, since all answers to one question \
         may take {ANSWERS} bytes. Return less, or ask fewer computers at once."
    )]
    LeftOut { computer: Value, size: usize },
    #[error(transparent)]
    Tool(#[from] ToolFailed),
}

impl Asker<'_> {
    /// Answers.
    ///
    /// # Errors
    /// The question as a whole can't be answered; what goes wrong with one computer is in its outcome.
    pub async fn answer(&self, question: Question) -> Result<Value, QuestionError> {
        match question {
            Question::List => self.list().await,
            Question::Own(need) => Ok(self.own(need).await?),
            Question::Tool {
                tool,
                arguments,
                options,
            } => {
                let options = Options::read(&options, For::Call)?;
                let time = self.time_of(&options)?;
                Ok(self.tool(&tool, arguments, time).await?)
            }
            Question::Exec { on, options } => {
                self.may_exec().await?;
                let options = Options::read(&options, For::Exec)?;
                let time = self.time_of(&options)?;
                let on = bounded(on)?;
                let longest = on.iter().map(|on| on.code.len()).max().unwrap_or(0);
                let longest = longest + options.arguments.iter().map(size_of).sum::<usize>();
                let runs = on.into_iter().map(|on| {
                    let options = &options;
                    let id = on.id.clone();
                    self.one(id, time, self.exec(on, options, time.each))
                });
                Ok(self.outcomes(runs, longest).await)
            }
            Question::Call { tool, on, options } => {
                let options = Options::read(&options, For::Call)?;
                let time = self.time_of(&options)?;
                let tool = &tool;
                let on = bounded(on)?;
                let longest = on.iter().map(|on| size_of(&on.arguments)).max();
                let runs = on.into_iter().map(|on| {
                    let id = on.id.clone();
                    self.one(id, time, self.call(tool, on, time.each))
                });
                Ok(self.outcomes(runs, longest.unwrap_or(0)).await)
            }
        }
    }

    /// What comes of one computer, whatever comes: an answer, or that there was none in time.
    async fn one(&self, id: Value, time: Time, run: impl Future<Output = Outcome>) -> Outcome {
        self.record.ask(&id);
        let outcome = match timeout_at(time.until, run).await {
            Ok(outcome) => outcome,
            Err(_) => outcome(id.clone(), Err(OneError::NoTime(id)), String::new()),
        };
        self.record.answer(&outcome);
        outcome
    }

    /// What came of each computer, in the order they were named; all are asked at once, unless each is sent very much.
    async fn outcomes(
        &self,
        runs: impl Iterator<Item = impl Future<Output = Outcome>>,
        longest: usize,
    ) -> Value {
        let at_once = (UNDER_WAY / longest.max(1)).clamp(1, MOST_COMPUTERS);
        let mut room = ANSWERS;
        let runs = stream::iter(runs).buffered(at_once);
        let counted = runs.map(|mut outcome| {
            let size = outcome.output.len()
                + (outcome.returns.iter().flatten().map(size_of)).sum::<usize>();
            match room.checked_sub(size) {
                Some(left) => room = left,
                None => {
                    outcome = left_out(outcome.id, size);
                }
            }
            let count = outcome.returns.as_ref().map(Vec::len);
            let mut outcome = json!(outcome);
            // Lua does not count what ends in nil.
            outcome["n"] = json!(count);
            outcome
        });
        Value::Array(counted.collect().await)
    }

    /// Whether this handler may run any Lua on computers.
    async fn may_exec(&self) -> Result<(), QuestionError> {
        let others = self.context.others;
        if others.is_read_only() {
            return Err(QuestionError::ReadOnly);
        }
        if let Some(hold) = others.paused().await {
            self.context.note_refused();
            return Err(QuestionError::Paused(hold.told()));
        }
        if self.rights == Rights::OfItsAuthor {
            return Ok(());
        }
        match others.find("exec-lua").await {
            Found::Tool(_) => Ok(()),
            Found::Refused(refusal) => {
                self.context.note_refused();
                Err(QuestionError::ExecRefused(refusal))
            }
            Found::Nothing => Err(QuestionError::NoExec),
        }
    }

    /// How long the computers of a question have: as long as was asked for, but not longer than whoever asks.
    fn time_of(&self, options: &Options) -> Result<Time, QuestionError> {
        let asked = options.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
        if !(1.0..=600_000.0).contains(&asked) {
            return Err(QuestionError::Timeout(asked));
        }
        let left = self.deadline.saturating_duration_since(Instant::now());
        let to_tell = TO_TELL.min(left / 4);
        Ok(Time {
            each: Duration::from_secs_f64(asked / 1000.0).min(left - to_tell),
            // What is stopped may still say how it ended.
            until: self.deadline - to_tell / 2,
        })
    }

    async fn list(&self) -> Result<Value, QuestionError> {
        let computers = self.context.fleet.computers().await?;
        let shown = computers.iter().map(|computer| {
            let facts = computer.facts();
            let mut fields = json!({
                "id": computer.key,
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
            let computer = choose(Some(self.number_of(&on.id).await?), self.context.fleet).await?;
            let piece = Piece {
                name: "exec-lua",
                source: &on.code,
                method: None,
                arguments: &options.arguments,
                exclusive: options.exclusive,
                is_kept: false,
                pauses: true,
                is_listed: true,
            };
            Ok(self
                .couriers
                .run(self.context, &computer, piece, time)
                .await)
        };
        match run.await {
            Ok(ran) => outcome(on.id, ran.end.map_err(OneError::Run), ran.output),
            Err(problem) => outcome(on.id, Err(problem), String::new()),
        }
    }

    /// The computer that a handler names by its number or label.
    async fn number_of(&self, id: &Value) -> Result<ComputerKey, OneError> {
        match (id, ComputerKey::from_json(id)) {
            (_, Some(key)) => Ok(key),
            (Value::String(name), None) => Ok(named(name, self.context.fleet).await?),
            _ => Err(OneError::NoNumber(id.clone())),
        }
    }

    async fn call(&self, tool: &str, on: CallOn, time: Duration) -> Outcome {
        let call = async {
            let (context, found) = self.found(tool).await?;
            let properties = found.definition().input_schema.get("properties");
            if properties.is_none_or(|properties| properties.get("computerId").is_none()) {
                return Err(OneError::NotAboutOne(tool.to_owned()));
            }
            let mut arguments = match on.arguments.clone() {
                Value::Object(fields) => fields,
                _ => JsonObject::new(),
            };
            arguments.insert(
                "computerId".to_owned(),
                json!(self.number_of(&on.id).await?),
            );
            match timeout(time, found.value(context, arguments)).await {
                Ok(value) => Ok(value?),
                Err(_) => Err(OneError::TimedOut {
                    tool: tool.to_owned(),
                    computer: on.id.clone(),
                    ms: time.as_millis(),
                }),
            }
        };
        let value = call.await;
        outcome(on.id, value.map(|value| vec![value]), String::new())
    }
}

fn outcome(id: Value, end: Result<Vec<Value>, OneError>, output: String) -> Outcome {
    let (returns, error) = match end {
        Ok(values) => (Some(values), None),
        Err(problem) => (None, Some(problem.to_string())),
    };
    Outcome {
        id,
        returns,
        error,
        output,
    }
}

fn left_out(computer: Value, size: usize) -> Outcome {
    let problem = OneError::LeftOut {
        computer: computer.clone(),
        size,
    };
    outcome(computer, Err(problem), String::new())
}

/// About how many bytes a value takes in memory.
fn size_of(value: &Value) -> usize {
    let inside = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size_of).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, field)| name.len() + size_of(field))
            .sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    std::mem::size_of::<Value>() + inside
}

fn bounded<T>(on: Vec<T>) -> Result<Vec<T>, QuestionError> {
    if on.len() > MOST_COMPUTERS {
        return Err(QuestionError::TooMany(on.len()));
    }
    Ok(on)
}
