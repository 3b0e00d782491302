//! Lua of ours on a computer in the game: shipped once and called by its hash where the agent keeps handlers, else as
//! one chunk of plain code.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use mlua::{Lua, LuaOptions, StdLib, chunk::ChunkMode};
use serde_json::{Value, json};

use super::{
    Context,
    asking::{self, STOP_TIME},
    outcome,
    wording::name_of,
};
use crate::computers::{
    About, AgentError, Answer, Ask, Cancelled, Computer, ComputerId, End, Job, Waited, decode_bytes,
};

/// What goes with a handler to an agent that keeps none.
const CHUNK: &str = include_str!("../../lua/handler-chunk.lua");

/// The method of the link protocol that runs a handler.
const METHOD: &str = "run-handler";

/// The error kind of an agent that does not have the source of a hash (any more).
const SOURCE_WANTED: &str = "source-wanted";

/// The error kind of an agent that does not know the method.
const UNSUPPORTED: &str = "unsupported";

/// Lua for a computer.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// What it is called in errors and lists.
    pub name: &'a str,
    /// Its source.
    pub source: &'a str,
    /// The function of the table that the source returns; none: the source itself is what is called.
    pub method: Option<&'a str>,
    /// What the function gets.
    pub arguments: &'a [Value],
    /// Whether it holds the turtle.
    pub exclusive: bool,
    /// Whether it may be called again, so that the agent is to keep it.
    pub is_kept: bool,
}

/// What Lua on a computer came to.
#[derive(Debug)]
pub struct Ran {
    /// What it printed.
    pub output: String,
    /// What it returned, or what went wrong.
    pub end: Result<Vec<Value>, String>,
}

/// What agents are known to take and to keep.
#[derive(Debug, Default)]
pub struct Couriers {
    known: Mutex<HashMap<ComputerId, Known>>,
}

/// What one start of an agent is known to take and to keep.
#[derive(Debug, Default)]
struct Known {
    boot: String,
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
        if let Some(boot) = boot.filter(|boot| self.may_take(computer.id, boot))
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
        boot: &str,
        piece: Piece<'_>,
        time: Duration,
    ) -> Option<Ran> {
        let hash = hash_of(piece.source);
        let mut with_source = !piece.is_kept
            || !self.lock_of(computer.id, boot, |known| known.hashes.contains(&hash));
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
                params["source"] = json!(piece.source);
            }
            if piece.exclusive {
                params["exclusive"] = json!(true);
            }
            let request = Ask {
                method: METHOD,
                params: Some(&params),
                about: About::listed(piece.name, piece.exclusive),
            };
            let ran = run_request(context, computer, request, time, values_of).await;
            let kind = ran.refusal.as_deref();
            if kind == Some(UNSUPPORTED) {
                self.lock_of(computer.id, boot, |known| known.handlers = Some(false));
                return None;
            }
            if kind == Some(SOURCE_WANTED) && !with_source {
                with_source = true;
                continue;
            }
            self.lock_of(computer.id, boot, |known| {
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
    fn may_take(&self, computer: ComputerId, boot: &str) -> bool {
        self.lock_of(computer, boot, |known| known.handlers != Some(false))
    }

    fn lock_of<T>(
        &self,
        computer: ComputerId,
        boot: &str,
        look: impl FnOnce(&mut Known) -> T,
    ) -> T {
        let mut known = self.lock();
        let known = known.entry(computer).or_default();
        if known.boot != boot {
            *known = Known {
                boot: boot.to_owned(),
                ..Known::default()
            };
        }
        look(known)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ComputerId, Known>> {
        // Nothing that holds the lock can panic.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What came of a request, and the kind of error if the agent refused it.
struct Asked {
    ran: Ran,
    refusal: Option<String>,
}

/// Asks, and reads the values that were returned from the result.
async fn run_request(
    context: Context<'_>,
    computer: &Arc<Computer>,
    request: Ask<'_>,
    time: Duration,
    read: impl Fn(&Value) -> Option<Vec<Value>>,
) -> Asked {
    let failed = |problem: String| Asked {
        ran: Ran {
            output: String::new(),
            end: Err(problem),
        },
        refusal: None,
    };
    let (job, waited) = match asking::ask(context, computer, request, time).await {
        Ok(asked) => asked,
        Err(problem) => return failed(problem),
    };
    let name = name_of(&computer.facts());
    match waited {
        Waited::Ended => ended(computer, &job, read),
        Waited::Running | Waited::NotTaken => match computer.cancel(&job, STOP_TIME).await {
            Cancelled::Ended => {
                let mut asked = ended(computer, &job, read);
                if let Err(problem) = &mut asked.ran.end {
                    let _ = write!(problem, " (it was stopped after {} ms)", time.as_millis());
                }
                asked
            }
            Cancelled::Told => failed(format!(
                "timeout on computer {name}: it was told to stop after {} ms, but has not confirmed it. Job {} shows what \
                 becomes of it.",
                time.as_millis(),
                job.id
            )),
            Cancelled::Unreachable => {
                computer.give_up(&job);
                failed(format!(
                    "timeout on computer {name}: no answer within {} ms. The code may still be running there.",
                    time.as_millis()
                ))
            }
        },
        Waited::Offline(why) => {
            computer.lose(&job, &format!("it never reached the computer: {why}"));
            failed(format!(
                "offline error on computer {name}: {why}, and it did not come back within {} ms. The code was not run.",
                time.as_millis()
            ))
        }
        Waited::TooLarge { size, limit } => failed(format!(
            "too-large error on computer {name}: the code and its arguments are {size} bytes long; this computer takes at \
             most {limit} bytes. Send less at a time."
        )),
    }
}

/// What came of a job that has ended.
fn ended(computer: &Computer, job: &Job, read: impl Fn(&Value) -> Option<Vec<Value>>) -> Asked {
    job.look(|progress| {
        let output = progress.read(0, usize::MAX).text;
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
            })) => result.as_ref().and_then(read).ok_or_else(|| {
                format!(
                    "the agent on computer {} gave an answer that is no result of a handler",
                    name_of(&computer.facts())
                )
            }),
            Some(end) => Err(outcome::failure(computer, end)),
            None => Err("the job ended without a result".to_owned()),
        };
        Asked {
            ran: Ran { output, end },
            refusal,
        }
    })
}

/// The values of `run-handler`'s result.
fn values_of(result: &Value) -> Option<Vec<Value>> {
    match result.get("values")? {
        Value::Array(values) => Some(values.clone()),
        // An empty Lua table may be written as an object.
        Value::Object(fields) if fields.is_empty() => Some(Vec::new()),
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
        method: "exec-lua",
        params: Some(&params),
        about: About::listed(piece.name, piece.exclusive),
    };
    let read = |result: &Value| {
        let text = result.get("returns")?.get(0)?.get("value")?.as_str()?;
        let values = serde_json::from_str(text).ok()?;
        match decode_bytes(values) {
            Value::Array(values) => Some(values),
            _ => None,
        }
    };
    run_request(context, computer, request, time, read)
        .await
        .ran
}

/// A piece of Lua as one chunk that returns a string. Its lines keep their numbers.
fn chunk_of(piece: Piece<'_>) -> String {
    // An expression, or else statements, as exec-lua takes them.
    let is_expression = piece.method.is_none() && compiles(&format!("return {}", piece.source));
    let mut chunk = String::from("local function handler(...) ");
    if is_expression {
        chunk.push_str("return ");
    }
    chunk.push_str(piece.source);
    chunk.push_str("\nend\nlocal deliver = (function()\n");
    chunk.push_str(CHUNK);
    chunk.push_str("\nend)()\nreturn deliver(handler, ");
    match piece.method {
        Some(method) => lua_string(&mut chunk, method),
        None => chunk.push_str("nil"),
    }
    for argument in piece.arguments {
        chunk.push_str(", ");
        lua_literal(&mut chunk, argument);
    }
    chunk.push(')');
    chunk
}

/// Whether this is Lua.
fn compiles(source: &str) -> bool {
    Lua::new_with(StdLib::NONE, LuaOptions::new()).is_ok_and(|lua| {
        lua.load(source)
            .set_mode(ChunkMode::Text)
            .into_function()
            .is_ok()
    })
}

/// A value as a Lua literal in ASCII.
fn lua_literal(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("nil"),
        Value::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => lua_string(out, text),
        Value::Array(items) => {
            out.push('{');
            for item in items {
                lua_literal(out, item);
                out.push(',');
            }
            out.push('}');
        }
        Value::Object(fields) => {
            out.push('{');
            for (name, field) in fields {
                out.push('[');
                lua_string(out, name);
                out.push_str("]=");
                lua_literal(out, field);
                out.push(',');
            }
            out.push('}');
        }
    }
}

fn lua_string(out: &mut String, text: &str) {
    out.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(char::from(byte));
            }
            b' '..=b'~' => out.push(char::from(byte)),
            // Three digits, so that a digit after it is not taken for a part of it. Writing to a String can't fail.
            byte => {
                let _ = write!(out, "\\{byte:03}");
            }
        }
    }
    out.push('"');
}

/// A source's name among those that an agent keeps. It tells a user's own files apart, and guards against nobody.
fn hash_of(source: &str) -> String {
    let mut hasher = DefaultHasher::new();
    source.hash(&mut hasher);
    format!("{:016x}-{}", hasher.finish(), source.len())
}
