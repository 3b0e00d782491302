//! `cancel-job`: stops a job.

use std::time::Duration;

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::model::{CallToolResult, JsonObject, Tool as Definition};
use serde_json::json;

use super::{
    Context, Tool, annotations,
    arguments::{Arguments, Problem},
    failure, get_job, object, text,
    wording::name_of,
};
use crate::fabric::{Answer, Cancelled, End, Fabric, Job, Stage, Unreachable};

/// How long the computer has to say that it stopped the job.
const STOP_TIME: Duration = Duration::from_secs(3);

/// The tool.
pub struct CancelJob {
    definition: Definition,
}

impl CancelJob {
    /// The tool.
    pub fn new() -> Self {
        let definition = Definition::new(
            "cancel-job",
            "Stop a job at its next yield; what it did so far stays done.",
            object(json!({
                "type": "object",
                "properties": {
                    "jobId": { "type": "string", "description": "As exec-lua or list-jobs tell it." },
                },
                "required": ["jobId"],
                "additionalProperties": false,
            })),
        )
        .with_title("Stop a job")
        .with_annotations(annotations(false, true, true, false));
        Self { definition }
    }
}

impl Tool for CancelJob {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn call<'a>(
        &'a self,
        context: Context<'a>,
        arguments: JsonObject,
    ) -> BoxFuture<'a, CallToolResult> {
        async move {
            let mut arguments = Arguments::new(arguments);
            match arguments
                .text("jobId")
                .and_then(|id| arguments.end().map(|()| id))
            {
                Ok(id) => cancel(context.fabric, &id).await.map_or_else(failure, text),
                Err(problem) => failure(problem),
            }
        }
        .boxed()
    }
}

async fn cancel(fabric: &Fabric, id: &str) -> Result<String, Problem> {
    let unreachable = |problem: Unreachable| problem.to_string();
    let before = fabric.job(id, 0, Duration::ZERO);
    if let Some((_, job)) = before.await.map_err(unreachable)?
        && job.stage() == Stage::Ended
    {
        return Ok(format!(
            "Job {} had ended before. get-job shows its result.",
            job.id
        ));
    }
    let cancelled = fabric.cancel(id, STOP_TIME).await.map_err(unreachable)?;
    let Some(((computer, job), cancelled)) = cancelled else {
        return Err(get_job::unknown(id));
    };
    let name = name_of(&computer.facts());
    match cancelled {
        Cancelled::Ended if was_stopped(&job) => {
            Ok(format!("Job {} on computer {name} was stopped.", job.id))
        }
        Cancelled::Ended => Ok(format!(
            "Job {} on computer {name} had ended by itself. get-job shows its result.",
            job.id
        )),
        Cancelled::Told => Err(format!(
            "Job {} was told to stop, but computer {name} has not confirmed it yet: it stops at its next yield, or when \
             the game ends code that never yields. get-job shows when it has.",
            job.id
        )),
        Cancelled::Unreachable => Err(format!(
            "Job {} can't be stopped now: computer {name} is not linked, or its agent is too old to stop jobs.",
            job.id
        )),
    }
}

fn was_stopped(job: &Job) -> bool {
    job.look(|progress| match progress.end.as_deref() {
        Some(End::Answered(Answer {
            error: Some(error), ..
        })) => error.kind == "cancelled",
        _ => false,
    })
}
