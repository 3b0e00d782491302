//! `send-input`: types, clicks and waits in a program on a computer, as its player would, and shows the screen then.

use std::sync::Arc;

use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::task::JoinError;

use super::typed::Native;
use crate::{
    base::text::one_line,
    computers::{About, ComputerKey, Method},
    tools::{
        Context, failure,
        screen::{
            asking::{ANSWER_TIME, AskError, Heading, Question},
            beside::Beside,
            cells::Screen,
            doubts,
            steps::{Place, Plan, Step, StepError},
            target::{Target, TargetError},
            words,
        },
        text,
        wording::name_of,
    },
    wire::{names::with_short_ids, text::read},
};

pub struct SendInput {
    /// Where screens are put into words.
    pub beside: Arc<Beside>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arguments {
    computer_id: Option<ComputerKey>,
    target: Option<String>,
    steps: Vec<Step>,
}

#[derive(Debug, Error)]
pub enum InputError {
    #[error(transparent)]
    Step(#[from] StepError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Ask(#[from] AskError),
    #[error("The steps were taken; the screen could not be shown: {0}.")]
    NotShown(#[from] JoinError),
}

impl Native for SendInput {
    const NAME: &'static str = "send-input";
    type Arguments = Arguments;
    type Error = InputError;

    async fn run(
        &self,
        context: Context<'_>,
        arguments: Arguments,
    ) -> Result<CallToolResult, InputError> {
        let target = arguments.target.as_deref();
        let target = Target::find(target, arguments.computer_id, context.fleet).await?;
        let facts = target.computer.facts();
        let place = Place {
            is_monitor: target.is_monitor(),
            has_mouse: facts
                .machine
                .as_ref()
                .is_none_or(|machine| machine.advanced),
        };
        drop(facts);
        let plan = Plan::of(&arguments.steps, place)?;
        let params = json!({
            "target": target.name, "acts": plan.acts, "limitMs": plan.time.as_millis() as u64,
        });
        let listed = format!("send-input to {}", target.shown);
        let question = Question {
            target: &target,
            method: Method::SendInput,
            params: &params,
            time: plan.time + ANSWER_TIME,
            about: About::listed(&listed, false),
            pauses: true,
            unknown: "How many of the steps were done is not known: read-screen shows what came of them.",
        };
        let told = question.ask(context).await?;
        let (heading, name) = (
            Heading(&target).to_string(),
            name_of(&target.computer.facts()),
        );
        let work = move || answer(&heading, &name, &arguments.steps, &told);
        Ok(self.beside.run(work).await??)
    }
}

/// What was done, and the screen then. `heading` says which screen, `name` whose it is.
fn answer(
    heading: &str,
    name: &str,
    steps: &[Step],
    told: &Value,
) -> Result<CallToolResult, AskError> {
    let odd = || AskError::Odd(name.to_owned());
    let mut doubts = String::new();
    let below = match told.get("screen") {
        Some(told) if !told.is_null() => {
            let screen = Screen::read(told).ok_or_else(odd)?;
            doubts = doubts::of(steps, &screen).unwrap_or_default();
            words::above(heading, &screen, told) + &words::text(&screen)
        }
        _ => match told.get("gone").and_then(Value::as_str) {
            Some(why) => {
                let why = with_short_ids(&read(why));
                format!("Its screen is gone now: {}.", one_line(&why))
            }
            None => return Err(odd()),
        },
    };
    match told.get("problem").and_then(Value::as_str) {
        None => Ok(text(match steps.len() {
            1 => format!("The step was done.{doubts}\n\n{below}"),
            steps => format!("All {steps} steps were done.{doubts}\n\n{below}"),
        })),
        Some(problem) => {
            let at = told.get("step").and_then(Value::as_u64).ok_or_else(odd)?;
            let at = usize::try_from(at).unwrap_or(steps.len());
            let mut problem = with_short_ids(&read(problem));
            let failed = at.checked_sub(1).and_then(|at| steps.get(at));
            if let Some(awaited) = failed.and_then(Step::awaited)
                && let Some(rest) = problem.strip_prefix("the text ")
            {
                problem = format!("{awaited:?} {rest}");
            }
            let not_done = match steps.len().saturating_sub(at) {
                0 => "",
                1 => " The step after it was not done.",
                _ => " The steps after it were not done.",
            };
            let said = format!(
                "Step {at} failed: {}.{not_done}{doubts}",
                one_line(&problem)
            );
            Ok(failure(format!("{said}\n\n{below}").trim_end().to_owned()))
        }
    }
}
