//! `exec-lua`: runs Lua on one computer and shows what came of it.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::model::JsonObject;
use serde_json::json;

use crate::{
    computers::{About, Ask, Cancelled, Computer, ComputerId, Job, Waited},
    tools::{
        Context,
        arguments::{Arguments, Problem},
        asking::{self, STOP_TIME},
        choosing::choose,
        entry::{Handled, Handler},
        failure, outcome, text,
        wording::name_of,
    },
};

/// How long a call waits for the code to end, in milliseconds, when it does not say.
const DEFAULT_TIMEOUT_MS: u64 = 20_000;

/// The longest a call may wait, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 600_000;

/// The tool.
pub struct ExecLua;

impl Handler for ExecLua {
    fn run<'a>(&'a self, context: Context<'a>, arguments: JsonObject) -> BoxFuture<'a, Handled> {
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
        .map(Handled::Result)
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
        let computer = choose(self.computer, context.fleet).await?;
        let mut params = json!({ "code": self.code });
        if self.exclusive {
            params["exclusive"] = json!(true);
        }
        let ask = Ask {
            method: "exec-lua",
            params: Some(&params),
            about: About::listed(&self.code, self.exclusive),
        };
        let (job, waited) = asking::ask(context, &computer, ask, self.time).await?;
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
