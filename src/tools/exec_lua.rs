//! `exec-lua`: runs Lua on one computer and shows what came of it.

use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::model::{CallToolResult, JsonObject, Tool as Definition};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::{
    Context, Listener, Tool, annotations,
    arguments::{Arguments, Problem},
    failure, object, outcome, text,
    wording::{linked_names, name_of, why_gone},
};
use crate::fabric::{About, Ask, Cancelled, Computer, ComputerId, Fabric, Job, Stage, Waited};

/// How long a call waits for the code to end, in milliseconds, when it does not say.
const DEFAULT_TIMEOUT_MS: u64 = 20_000;

/// The longest a call may wait, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 600_000;

/// How often a client is told of new output at most, and how often that the job still runs at least.
const TELL_EVERY: Duration = Duration::from_millis(250);
const TELL_WITHIN: Duration = Duration::from_secs(8);

/// How long, once a call's time is up, the computer has to say that it stopped the code.
const STOP_TIME: Duration = Duration::from_millis(800);

/// How much output a client is told at once, in bytes.
const TOLD_AT_ONCE: usize = 16 * 1024;

/// The tool.
pub struct ExecLua {
    definition: Definition,
}

impl ExecLua {
    /// The tool.
    pub fn new() -> Self {
        let definition = Definition::new(
            "exec-lua",
            "Run Lua code on a linked ComputerCraft computer and get what it printed, then the values it returned; \
             use the game's APIs (turtle, peripheral, fs, redstone, …) as in a program there.",
            object(json!({
                "type": "object",
                "properties": {
                    "computerId": {
                        "type": "integer",
                        "minimum": 0,
                        "description": "The computer's number. May be left out when exactly one is linked.",
                    },
                    "code": {
                        "type": "string",
                        "description": "Lua 5.1/5.2 statements, or one expression such as turtle.getFuelLevel().",
                    },
                    "timeoutMs": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": MAX_TIMEOUT_MS,
                        "description": "How long to wait for the code to end, in milliseconds. Default 20000.",
                    },
                    "onTimeout": {
                        "type": "string",
                        "enum": ["detach", "cancel"],
                        "description": "When the time is up: let the code go on as a job to watch with get-job \
                                        (detach, the default), or stop it (cancel).",
                    },
                    "exclusive": {
                        "type": "boolean",
                        "description": "Hold the turtle until the code ends: other exclusive code is refused meanwhile.",
                    },
                },
                "required": ["code"],
                "additionalProperties": false,
            })),
        )
        .with_title("Run Lua on a computer")
        .with_annotations(annotations(false, true, false, true));
        Self { definition }
    }
}

impl Tool for ExecLua {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn call<'a>(
        &'a self,
        context: Context<'a>,
        arguments: JsonObject,
    ) -> BoxFuture<'a, CallToolResult> {
        async move {
            let call = match Call::read(arguments) {
                Ok(call) => call,
                Err(problem) => return failure(problem),
            };
            match call.run(context).await {
                Ok(shown) => text(shown),
                Err(shown) => failure(shown),
            }
        }
        .boxed()
    }
}

/// One call's arguments.
struct Call {
    computer: Option<ComputerId>,
    code: String,
    time: Duration,
    cancels: bool,
    exclusive: bool,
}

impl Call {
    fn read(arguments: JsonObject) -> Result<Self, Problem> {
        let mut arguments = Arguments::new(arguments);
        let call = Self {
            computer: arguments.computer()?,
            code: arguments.text("code")?,
            time: Duration::from_millis(arguments.whole_number(
                "timeoutMs",
                1,
                MAX_TIMEOUT_MS,
                DEFAULT_TIMEOUT_MS,
            )?),
            cancels: arguments.choice("onTimeout", &["detach", "cancel"])? == "cancel",
            exclusive: arguments.flag("exclusive")?,
        };
        arguments.end()?;
        Ok(call)
    }

    async fn run(self, context: Context<'_>) -> Result<String, String> {
        let computer = choose(self.computer, context.fabric).await?;
        let mut params = json!({ "code": self.code });
        if self.exclusive {
            params["exclusive"] = json!(true);
        }
        let ask = Ask {
            method: "exec-lua",
            params: Some(&params),
            about: About::listed(&self.code, self.exclusive),
        };
        let job = context.fabric.begin(&computer, ask)?;
        // A client that cancels the call drops this future.
        let mut given_up = CancelOnDrop {
            computer: computer.clone(),
            job: Some(job.clone()),
        };
        let waited = {
            let run = context.fabric.run(&computer, &job, ask, self.time);
            telling(context.listener, &job, run).await
        };
        given_up.job = None;
        match waited {
            Waited::Ended => job.look(|progress| outcome::whole(&computer, progress)),
            Waited::Running if self.cancels => self.cancel(&computer, &job).await,
            Waited::Running => Ok(self.still_running(&computer, &job)),
            Waited::NotTaken => self.not_taken(&computer, &job).await,
            Waited::Offline(why) => {
                computer.lose(&job, &format!("it never reached the computer: {why}"));
                Err(format!(
                    "offline error on computer {}: {why}, and it did not come back within {} ms. The code was not run.",
                    name_of(&computer.facts()),
                    self.time.as_millis()
                ))
            }
            Waited::TooLarge { size, limit } => Err(format!(
                "too-large error on computer {}: the request is {size} bytes long; the computer takes at most {limit} \
                 bytes. Send the code in smaller pieces.",
                name_of(&computer.facts())
            )),
        }
    }

    fn still_running(&self, computer: &Computer, job: &Job) -> String {
        let mut shown = format!(
            "The code still runs on computer {} after {} ms, as job {id}. get-job {id} shows how it goes on, cancel-job \
             stops it.",
            name_of(&computer.facts()),
            self.time.as_millis(),
            id = job.id,
        );
        let output = job.look(|progress| progress.read(0, usize::MAX).text);
        if !output.is_empty() {
            shown.push_str(&format!("\n\nOutput so far:\n{output}"));
        }
        shown
    }

    async fn cancel(&self, computer: &Computer, job: &Job) -> Result<String, String> {
        let name = name_of(&computer.facts());
        let after = format!("after {} ms", self.time.as_millis());
        match computer.cancel(job, STOP_TIME).await {
            // It may also have come to its own end meanwhile.
            Cancelled::Ended => job
                .look(|progress| outcome::whole(computer, progress))
                .map_err(|shown| format!("{shown}\n\nIt was stopped {after}, as asked.")),
            Cancelled::Told | Cancelled::Unreachable => Err(format!(
                "timeout on computer {name}: the code was to be stopped {after}, but the computer does not confirm it. \
                 Job {} shows what becomes of it.",
                job.id
            )),
        }
    }

    /// The computer never said that it has the request.
    async fn not_taken(&self, computer: &Computer, job: &Arc<Job>) -> Result<String, String> {
        let name = name_of(&computer.facts());
        let waited = self.time.as_millis();
        match computer.cancel(job, STOP_TIME).await {
            Cancelled::Ended => job.look(|progress| outcome::whole(computer, progress)),
            Cancelled::Told => Err(format!(
                "timeout on computer {name}: it took no notice of the request within {waited} ms; it was told not to run \
                 it. It may be busy with code that does not yield."
            )),
            Cancelled::Unreachable => Err(format!(
                "timeout on computer {name}: no answer within {waited} ms. The code may still be running there. Give it \
                 longer with `timeoutMs`, or let it do less at a time."
            )),
        }
    }
}

/// Waits for a job's end, and tells the client meanwhile what it prints.
async fn telling(listener: &dyn Listener, job: &Job, run: impl Future<Output = Waited>) -> Waited {
    let mut run = pin!(run);
    if !listener.listens() {
        return run.await;
    }
    let start = Instant::now();
    let (mut cursor, mut last, mut next) = (0, start, start + TELL_EVERY);
    loop {
        tokio::select! {
            waited = &mut run => return waited,
            () = sleep_until(next) => {}
        }
        next += TELL_EVERY;
        let page = job.look(|progress| progress.read(cursor, TOLD_AT_ONCE));
        cursor = page.next;
        let now = Instant::now();
        let message = if !page.text.is_empty() {
            page.text
        } else if now >= last + TELL_WITHIN {
            let state = if job.stage() == Stage::Running {
                "still running"
            } else {
                "waiting for the computer"
            };
            format!("{state} after {} s", start.elapsed().as_secs())
        } else {
            continue;
        };
        last = now;
        // A client that does not read must not hold up its own answer.
        tokio::select! {
            waited = &mut run => return waited,
            () = listener.tell(message) => {}
        }
    }
}

/// Cancels a job when nobody waits for it any more.
struct CancelOnDrop {
    computer: Arc<Computer>,
    job: Option<Arc<Job>>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(job) = self.job.take() {
            let computer = self.computer.clone();
            tokio::spawn(async move {
                let cancelled = computer.cancel(&job, STOP_TIME).await;
                tracing::info!(computer = %computer.id, request = job.id, ?cancelled, "the client cancelled a call");
            });
        }
    }
}

/// The computer a call means: the one it names, or the only one that is linked.
async fn choose(wanted: Option<ComputerId>, fabric: &Fabric) -> Result<Arc<Computer>, String> {
    if let Some(id) = wanted
        && let Some(computer) = fabric
            .computer(id)
            .await
            .map_err(|problem| problem.to_string())?
        && computer.may_answer()
    {
        return Ok(computer);
    }
    let mut computers = fabric
        .computers()
        .await
        .map_err(|problem| problem.to_string())?;
    let problem = match wanted {
        Some(id) => not_linked(id, &computers),
        None => {
            computers.retain(|computer| computer.link().is_some());
            match computers.len() {
                0 => "No computers connected.".to_owned(),
                1 => return Ok(computers.remove(0)),
                _ => {
                    let names = linked_names(&computers);
                    return Err(format!(
                        "Several computers are linked, so say which with `computerId`: {names}."
                    ));
                }
            }
        }
    };
    Err(format!(
        "{problem} Start `mcp-computer` on it in the game; list-computers shows when it has linked."
    ))
}

/// Why this computer can't be asked, and which others can.
fn not_linked(id: ComputerId, computers: &[Arc<Computer>]) -> String {
    let why = match computers.iter().find(|computer| computer.id == id) {
        Some(gone) => why_gone(gone, SystemTime::now()),
        None => format!("Computer {id} is not linked."),
    };
    match linked_names(computers) {
        none if none.is_empty() => format!("{why} No computer is linked now."),
        names => format!("{why} Linked now: {names}."),
    }
}
