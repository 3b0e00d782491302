//! What is asked of an agent about a screen, and what it answers.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use serde_json::Value;
use thiserror::Error;

use super::target::Target;
use crate::{
    computers::{About, Answer, Ask, Computer, End, Gate, Method, Waited},
    tools::{
        Context,
        asking::{self, Behalf, NotAsked, STOP_TIME, held},
        listener::Belongs,
        outcome::{self, OLD_AGENT},
        wording::{name_of, waits_for_player, why_out_of_reach},
    },
};

/// What an agent tells in its hello if it can show its screens and be given input.
const CAPABILITY: &str = "screens";

/// How long a computer has to answer beside what it was asked to wait.
pub const ANSWER_TIME: Duration = Duration::from_secs(20);

/// Why there is no answer.
#[derive(Debug, Error)]
pub enum AskError {
    #[error(transparent)]
    OldAgent(#[from] NoScreen),
    #[error(transparent)]
    NotAsked(#[from] NotAsked),
    /// Its player has not said yet whether it may begin.
    #[error("{0}")]
    WaitsForPlayer(String),
    /// In the words of [`outcome`].
    #[error("{0}")]
    Failed(String),
    #[error("Nothing was done: {0}.")]
    Paused(String),
    #[error("Computer {computer} did not answer within {ms} ms. {unknown}")]
    Silent {
        /// Its name.
        computer: String,
        /// How long it was waited for, in milliseconds.
        ms: u128,
        /// What is not known, and what to do.
        unknown: &'static str,
    },
    #[error("Computer {computer} has been {away}. {unknown}")]
    Away {
        /// Its name.
        computer: String,
        /// Since when, and why.
        away: String,
        /// What is not known, and what to do.
        unknown: &'static str,
    },
    #[error(
        "too-large error on computer {computer}: this is {size} bytes long; the computer takes at most {limit}. Send less at a time."
    )]
    TooLarge {
        /// Its name.
        computer: String,
        /// In bytes.
        size: usize,
        /// In bytes.
        limit: usize,
    },
    #[error("The agent on computer {0} gave an answer that is no screen.")]
    Odd(String),
}

/// A computer whose agent is too old for screens; its name.
#[derive(Debug, Error)]
#[error("Computer {0} can't show its screens: {OLD_AGENT}")]
pub struct NoScreen(String);

/// Whether a computer can show its screens, as far as that is known now.
///
/// # Errors
/// It can't.
pub fn can_show(computer: &Computer) -> Result<(), NoScreen> {
    let facts = computer.facts();
    match facts.capabilities.is_some() && !facts.can(CAPABILITY) {
        true => Err(NoScreen(name_of(&facts))),
        false => Ok(()),
    }
}

/// A question about a screen.
#[derive(Clone, Copy)]
pub struct Question<'a> {
    pub target: &'a Target,
    pub method: Method,
    pub params: &'a Value,
    /// How long it may take in all.
    pub time: Duration,
    pub about: About<'a>,
    /// Whether a person's pause holds it up, since it changes something.
    pub pauses: bool,
    /// What is not known where there is no answer, and what to do then.
    pub unknown: &'static str,
}

impl Question<'_> {
    /// Asks it, and waits for the answer. Dropping the future gives it up.
    ///
    /// # Errors
    /// There is no answer, or the agent refused it.
    pub async fn ask(self, context: Context<'_>) -> Result<Value, AskError> {
        let Self {
            target,
            unknown,
            time,
            ..
        } = self;
        let computer = &target.computer;
        can_show(computer)?;
        let ask = Ask {
            method: self.method,
            params: Some(self.params),
            about: self.about,
            gate: self.pauses.then_some(Gate(&context)),
        };
        let behalf = Behalf {
            belongs: Belongs::ToAuthor,
            handler: None,
            on_taken: None,
        };
        let asked = asking::ask(context, computer, ask, behalf, time).await?;
        let name = || name_of(&computer.facts());
        match asked.waited {
            Waited::Ended => {}
            Waited::Held => return Err(AskError::Paused(held(context).await)),
            Waited::TooLarge { size, limit } => {
                return Err(AskError::TooLarge {
                    computer: name(),
                    size,
                    limit,
                });
            }
            // A yes starts it yet, by itself.
            Waited::Running if asked.job.is_asking() => {
                computer.detach(&asked.job).await;
                let waits = waits_for_player(&computer.facts(), &asked.job.id);
                return Err(AskError::WaitsForPlayer(waits));
            }
            Waited::Running | Waited::NotTaken | Waited::Away(_) => {
                computer.stop(&asked.job, STOP_TIME).await;
                if let Some(why) = asked.job.look(outcome::why_not_begun) {
                    let name = name();
                    return Err(AskError::Failed(format!(
                        "Nothing was done on computer {name}: {why}."
                    )));
                }
                if let Some(away) = why_out_of_reach(computer, SystemTime::now()) {
                    return Err(AskError::Away {
                        computer: name(),
                        away: away.to_string(),
                        unknown,
                    });
                }
                return Err(AskError::Silent {
                    computer: name(),
                    ms: time.as_millis(),
                    unknown,
                });
            }
        }
        asked.job.look(|progress| match progress.end.as_deref() {
            Some(End::Answered(Answer {
                error: None,
                result: Some(result),
            })) => Ok(result.clone()),
            Some(End::Answered(Answer { error: None, .. })) | None => Err(AskError::Odd(name())),
            Some(end) => Err(AskError::Failed(outcome::failure(computer, end))),
        })
    }
}

/// A screen's name and its computer's, as a sentence's beginning.
pub struct Heading<'a>(pub &'a Target);

impl fmt::Display for Heading<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let computer = name_of(&self.0.computer.facts());
        write!(f, "Screen {} of computer {computer}", self.0.shown)
    }
}
