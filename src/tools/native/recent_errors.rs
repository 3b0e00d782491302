//! `recent-errors`: what the programs of a computer's player died of, as the agent that hosts their shell has seen it.

use std::{
    fmt::Write as _,
    time::{Duration, SystemTime},
};

use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::json;
use thiserror::Error;

use super::typed::Native;
use crate::{
    base::text::one_line,
    computers::{About, Answer, Ask, ComputerKey, End, Gate, Method, Waited},
    tools::{
        Context,
        asking::{self, Behalf, NotAsked, held},
        choosing::{ChoiceError, choose},
        listener::Belongs,
        outcome::{self, OLD_AGENT},
        text,
        unanswered::Unanswered,
        wording::{ago, name_of},
    },
};

/// What an agent tells in its hello if it can be asked for them.
const KEEPS_ERRORS: &str = "recentErrors";

/// How long the computer has to answer.
const TIME: Duration = Duration::from_secs(20);

pub struct RecentErrors;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arguments {
    computer_id: Option<ComputerKey>,
    limit: u64,
}

#[derive(Debug, Error)]
pub enum RecentError {
    #[error(transparent)]
    NotChosen(#[from] ChoiceError),
    #[error(transparent)]
    NotAsked(#[from] NotAsked),
    /// Its agent is older than this.
    #[error("Computer {0} does not tell what its programs die of: {OLD_AGENT}")]
    Old(String),
    /// As the agent says.
    #[error("{0}")]
    Failed(String),
    #[error(transparent)]
    Unanswered(Unanswered),
    #[error("It was not asked: {0}.")]
    Paused(String),
    #[error("The agent on computer {0} gave an answer that can't be read.")]
    Unreadable(String),
}

/// What the agent answers.
#[derive(Deserialize)]
struct Told {
    total: u64,
    now: f64,
    errors: Vec<Death>,
}

/// The end of one program.
#[derive(Deserialize)]
struct Death {
    program: String,
    message: String,
    traceback: Option<String>,
    at: f64,
}

impl Native for RecentErrors {
    const NAME: &'static str = "recent-errors";
    type Arguments = Arguments;
    type Error = RecentError;

    async fn run(
        &self,
        context: Context<'_>,
        Arguments { computer_id, limit }: Arguments,
    ) -> Result<CallToolResult, RecentError> {
        let computer = choose(computer_id, context.fleet).await?;
        let facts = computer.facts();
        let name = name_of(&facts);
        if facts.capabilities.is_some() && !facts.can(KEEPS_ERRORS) {
            return Err(RecentError::Old(name));
        }
        let params = json!({ "limit": limit });
        let ask = Ask {
            method: Method::RecentErrors,
            params: Some(&params),
            about: About::unlisted(),
            gate: Some(Gate(&context)),
        };
        let behalf = Behalf {
            belongs: Belongs::ToAnswer,
            handler: None,
            on_taken: None,
        };
        let asked = asking::ask(context, &computer, ask, behalf, TIME).await?;
        let away = match asked.waited {
            Waited::Ended => {
                let told = asked.job.look(|progress| match progress.end.as_deref() {
                    Some(End::Answered(Answer {
                        error: None,
                        result: Some(result),
                    })) => serde_json::from_value(result.clone())
                        .map_err(|_| RecentError::Unreadable(name.clone())),
                    Some(end) => Err(RecentError::Failed(outcome::failure(&computer, end))),
                    None => Err(RecentError::Unreadable(name.clone())),
                })?;
                return Ok(text(shown(&name, &told)));
            }
            Waited::Held => return Err(RecentError::Paused(held(context).await)),
            Waited::Away(why) => Some(why),
            Waited::Running | Waited::NotTaken | Waited::TooLarge { .. } => None,
        };
        let unanswered = Unanswered::new(&computer, &asked.job, TIME.as_millis(), away.as_deref());
        Err(RecentError::Unanswered(unanswered))
    }
}

/// All of them as text, newest first. What a computer sends can't make a line of its own but within a traceback, whose
/// lines are indented.
fn shown(name: &str, told: &Told) -> String {
    if told.errors.is_empty() {
        return format!(
            "No program of computer {name}'s shell has died of an error since its agent began."
        );
    }
    let mut shown = format!(
        "{} of the last {} errors of programs on computer {name}, newest first:",
        told.errors.len(),
        told.total
    );
    let now = SystemTime::now();
    for death in &told.errors {
        let passed = Duration::try_from_secs_f64((told.now - death.at).max(0.0) / 1000.0);
        let when = now.checked_sub(passed.unwrap_or_default()).unwrap_or(now);
        // Writing to a String can't fail.
        let _ = write!(
            shown,
            "\n\n{}, {}: {}",
            ago(when, now),
            one_line(&death.program),
            one_line(&death.message)
        );
        for line in death.traceback.iter().flat_map(|trace| trace.lines()) {
            let _ = write!(shown, "\n  {}", one_line(line));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_died_of_is_shown_newest_first_and_can_t_forge_lines() {
        let told = Told {
            total: 7,
            now: 100_000.0,
            errors: vec![
                Death {
                    program: "/mine.lua".into(),
                    message: "mine.lua:3: boom\nforged".into(),
                    traceback: Some("mine.lua:3: in local 'f'\nmine.lua:9: in main chunk".into()),
                    at: 40_000.0,
                },
                Death {
                    program: "/other".into(),
                    message: "x".into(),
                    traceback: None,
                    at: 200_000.0,
                },
            ],
        };
        let shown = shown("1 (Label: a)", &told);
        let lines: Vec<_> = shown.lines().collect();
        assert!(lines[0].starts_with("2 of the last 7 errors"), "{shown}");
        assert!(
            lines[2].ends_with("/mine.lua: mine.lua:3: boom\\nforged"),
            "{shown}"
        );
        assert_eq!(lines[3], "  mine.lua:3: in local 'f'", "{shown}");
        assert!(lines[6].ends_with(", /other: x"), "{shown}");
    }
}
