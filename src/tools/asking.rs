//! One request to a computer on behalf of a call: who waits is told how it goes, and a call that is given up takes its
//! job with it.

use std::{pin::pin, sync::Arc, time::Duration};

use serde_json::Value;
use thiserror::Error;

use super::{Context, Hold, Paused, listener::Belongs, telling::Telling, wording::name_of};
use crate::{
    base::text::one_line,
    computers::{AgentPolicy, Ask, Computer, Job, Method, Stage, TooManyJobs, Waited},
};

/// How long, once a call's time is up, the computer has to say that it stopped the code.
pub const STOP_TIME: Duration = Duration::from_millis(800);

/// What an agent tells in its hello if it shows its player for whom code runs.
const SHOWS_CALLER: &str = "for";

/// Of the client's name it is sent so many characters.
const CALLER_LENGTH: usize = 40;

/// Whose code is asked for, and who is told of it.
#[derive(Clone, Copy)]
pub struct Behalf<'a> {
    /// What it prints belongs to that.
    pub belongs: Belongs,
    /// What its handler is called, if it runs one: what that tells is handed on.
    pub handler: Option<&'a str>,
    /// Called as soon as the computer has taken it, if that comes to be known before its end.
    pub on_taken: Option<&'a (dyn Fn() + Send + Sync)>,
}

/// What came of asking.
pub struct Asked {
    /// The job.
    pub job: Arc<Job>,
    /// How the waiting for its end ended.
    pub waited: Waited,
    /// How far, as a position in its output, that was handed to whoever waits.
    pub printed: u64,
}

/// Why a computer was not asked.
#[derive(Debug, Error)]
pub enum NotAsked {
    /// It can't take more.
    #[error(transparent)]
    TooManyJobs(#[from] TooManyJobs),
    /// Its agent would refuse it; the computer's name.
    #[error(
        "refused error on computer {0}: its agent was started read-only: it runs no code that comes from a bridge, only \
         what is known to change nothing. Only a person at that computer can change it: by `set mcp_computer.policy full`, \
         `set mcp_computer.read_only false`, and by starting mcp-computer without --policy and --read-only."
    )]
    ReadOnly(String),
}

/// Asks a computer, and waits for the job's end for `time` at most. Dropping the future cancels the job.
///
/// # Errors
/// The computer has too many jobs that have not ended, or is linked read-only.
pub async fn ask(
    context: Context<'_>,
    computer: &Arc<Computer>,
    ask: Ask<'_>,
    behalf: Behalf<'_>,
    time: Duration,
) -> Result<Asked, NotAsked> {
    let facts = computer.facts();
    // One that is away may come back with another policy.
    if facts.policy == AgentPolicy::ReadOnly
        && !ask.method.changes_nothing()
        // A handler that promises to change nothing is one that it may know.
        && (ask.method != Method::RunHandler || ask.gate.is_some())
        && computer.link().is_some()
    {
        context.notes.about(computer);
        context.note_refused();
        return Err(NotAsked::ReadOnly(name_of(&facts)));
    }
    let named = with_caller(context, computer, ask.params);
    let ask = Ask {
        params: named.as_ref().or(ask.params),
        ..ask
    };
    let job = context.fleet.begin(computer, ask)?;
    context.notes.about(computer);
    let _noted = context.call.map(|call| call.waits_for(computer, &job));
    let mut given_up = CancelOnDrop {
        computer: computer.clone(),
        job: Some(job.clone()),
    };
    let run = context.fleet.run(computer, &job, ask, time);
    let run = noting_taken(&job, run, behalf.on_taken);
    let mut telling = Telling::new(context, computer, &job, behalf.belongs, behalf.handler);
    let waited = telling.during(run).await;
    let printed = telling.printed();
    given_up.job = None;
    Ok(Asked {
        job,
        waited,
        printed,
    })
}

/// A request's parameters with the name of the client that asks, where the agent shows that to its player.
fn with_caller(context: Context<'_>, computer: &Computer, params: Option<&Value>) -> Option<Value> {
    let name = &context.call?.caller.name;
    if name.is_empty() || !computer.facts().can(SHOWS_CALLER) {
        return None;
    }
    let mut params = params?.clone();
    let short: String = one_line(name).chars().take(CALLER_LENGTH).collect();
    params
        .as_object_mut()?
        .insert("for".to_owned(), short.into());
    Some(params)
}

/// Waits for a job's end, and says meanwhile when the computer has taken it.
async fn noting_taken(
    job: &Job,
    run: impl Future<Output = Waited>,
    on_taken: Option<&(dyn Fn() + Send + Sync)>,
) -> Waited {
    let Some(on_taken) = on_taken else {
        return run.await;
    };
    let mut run = pin!(run);
    let mut progress = job.follow();
    tokio::select! {
        biased;
        waited = &mut run => return waited,
        _ = progress.wait_for(|progress| progress.stage == Stage::Running) => {}
    }
    on_taken();
    run.await
}

/// What is told of something that was held up by a pause before it began: it may have been lifted since.
pub(super) async fn held(context: Context<'_>) -> String {
    context.note_refused();
    let hold = context.others.paused().await;
    hold.unwrap_or(Hold::Paused(Paused::default())).told()
}

/// Cancels a job when nobody waits for it any more.
struct CancelOnDrop {
    computer: Arc<Computer>,
    job: Option<Arc<Job>>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(job) = self.job.take() {
            tracing::info!(computer = %self.computer.key, request = %job.id, "the client cancelled a call");
            self.computer.stop_later(&job);
        }
    }
}
