//! What a client has run on one computer as a job: it is waited for until the call's time is up, and what is known then
//! is put into words.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::{
    computers::{About, Ask, Cancelled, Computer, Gate, Job, Method, RequestId, Waited},
    tools::{
        Context,
        asking::{self, Behalf, NotAsked, STOP_TIME, held},
        bounds::{self, MaxChars},
        choosing::ChoiceError,
        job_text::{JobFailed, Shown, so_far, whole_beside},
        listener::Belongs,
        outcome::{self, MINDS_WHERE, OLD_AGENT},
        unanswered::Unanswered,
        wording::{name_of, waits_for_player, whether_it_runs, why_out_of_reach},
    },
};

/// How long something is waited for, where it draws, and how much is shown of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manner {
    timeout_ms: u64,
    on_timeout: OnTimeout,
    /// Where its terminal is.
    #[serde(rename = "where")]
    pub place: Place,
    #[serde(default)]
    max_chars: MaxChars,
}

/// Where the code's terminal is.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// Nowhere that a player sees; what it shows at the end comes with the answer.
    Job,
    /// On the computer's own screen.
    Screen,
}

/// What becomes of code that has not ended when the call's time is up.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OnTimeout {
    Detach,
    Cancel,
}

/// Why there is no result.
#[derive(Debug, Error)]
pub enum RunError {
    #[error(transparent)]
    NotChosen(#[from] ChoiceError),
    #[error(transparent)]
    NotAsked(#[from] NotAsked),
    #[error(transparent)]
    Failed(#[from] JobFailed),
    #[error(
        "timeout on computer {computer}: the code was to be stopped after {ms} ms, but the computer does not confirm it. \
         Job {job} shows what becomes of it."
    )]
    StopNotConfirmed {
        computer: String,
        ms: u64,
        job: RequestId,
    },
    #[error(
        "timeout on computer {computer}: the code was to be stopped after {ms} ms, but the computer can't be told. \
         {whether} It is stopped should the computer come back within two minutes. Job {job} shows what becomes of it."
    )]
    NotStopped {
        computer: String,
        ms: u64,
        whether: String,
        job: RequestId,
    },
    /// A person has paused it before anything was sent.
    #[error("The code was not run: {0}.")]
    Paused(String),
    /// What is known of it all the same, with what it printed.
    #[error("{0}")]
    Unanswered(String),
    #[error(
        "too-large error on computer {computer}: the request is {size} bytes long; the computer takes at most {limit} \
         bytes. Send the code in smaller pieces."
    )]
    TooLarge {
        computer: String,
        size: usize,
        limit: usize,
    },
    /// A terminal on the screen has the screen's size.
    #[error(
        "`width` and `height` are for a terminal out of sight: leave them out where `where` is \"screen\"."
    )]
    SizedScreen,
}

/// What is to run.
pub struct Run<'a> {
    /// The method that runs it.
    pub method: Method,
    /// Its parameters.
    pub params: &'a Value,
    /// What it is, for lists.
    pub about: About<'a>,
    /// What is to be known of it besides, as a paragraph, if anything is: it stands below the answer.
    pub note: Option<String>,
}

impl Manner {
    /// Has it run on a computer, and shows what came of it.
    pub async fn run(
        &self,
        context: Context<'_>,
        computer: &Arc<Computer>,
        run: Run<'_>,
    ) -> Result<String, RunError> {
        let note = run.note.clone().or_else(|| match self.place {
            Place::Screen => screen_note(computer),
            Place::Job => None,
        });
        let most = self.max_chars.beside(note.as_deref().unwrap_or_default());
        let result = self.ask(context, computer, run, most).await;
        let Some(note) = note else { return result };
        match result {
            Ok(shown) => Ok(shown + &note),
            Err(RunError::Failed(failed)) => Err(failed.noting(&note).into()),
            other => other,
        }
    }

    async fn ask(
        &self,
        context: Context<'_>,
        computer: &Arc<Computer>,
        run: Run<'_>,
        most: MaxChars,
    ) -> Result<String, RunError> {
        let ask = Ask {
            method: run.method,
            params: Some(run.params),
            about: run.about,
            gate: Some(Gate(&context)),
        };
        let time = Duration::from_millis(self.timeout_ms);
        let behalf = Behalf {
            belongs: Belongs::ToAnswer,
            handler: None,
            on_taken: None,
        };
        let asking::Asked {
            job,
            waited,
            printed,
        } = asking::ask(context, computer, ask, behalf, time).await?;
        // What a person at a terminal has seen already is left out.
        let from = match context.shows_output() {
            true => printed,
            false => 0,
        };
        let shown = Shown { most, from };
        match waited {
            Waited::Ended => Ok(whole_beside(computer, &job, shown).await?),
            Waited::Away(why) if !job.is_running() => {
                Err(self.unanswered(computer, &job, Some(&why), shown))
            }
            Waited::Running | Waited::Away(_) => match self.on_timeout {
                OnTimeout::Detach => {
                    computer.detach(&job).await;
                    Ok(self.still_running(computer, &job, shown))
                }
                OnTimeout::Cancel => self.cancel(computer, &job, shown).await,
            },
            Waited::NotTaken => self.not_taken(computer, &job, shown).await,
            Waited::Held => Err(RunError::Paused(held(context).await)),
            Waited::TooLarge { size, limit } => Err(RunError::TooLarge {
                computer: name_of(&computer.facts()),
                size,
                limit,
            }),
        }
    }

    fn still_running(&self, computer: &Computer, job: &Job, shown: Shown) -> String {
        let (name, ms, id) = (name_of(&computer.facts()), self.timeout_ms, &job.id);
        let said = |cursor| match why_out_of_reach(computer, SystemTime::now()) {
            None if job.is_asking() => waits_for_player(&computer.facts(), id),
            None => format!(
                "The code still runs on computer {name} after {ms} ms, as job {id}. {} shows how it goes on, cancel-job \
                 stops it.",
                bounds::call_for(id, cursor)
            ),
            Some(away) => format!(
                "The code had not ended on computer {name} when that left, as job {id}. The computer has been {away}, and \
                 it is not known whether the code still runs there. get-job {id} shows what becomes of it: it goes on if \
                 the computer comes back with it while this client is there, and ends as lost if the computer comes back without it."
            ),
        };
        so_far(said, computer, job, shown)
    }

    async fn cancel(
        &self,
        computer: &Arc<Computer>,
        job: &Arc<Job>,
        shown: Shown,
    ) -> Result<String, RunError> {
        let ms = self.timeout_ms;
        match computer.stop(job, STOP_TIME).await {
            Cancelled::Ended => match job.look(outcome::was_stopped) {
                true => Ok(self.stopped(computer, job, shown)),
                // It came to its own end meanwhile.
                false => Ok(whole_beside(computer, job, shown).await?),
            },
            Cancelled::Told => Err(RunError::StopNotConfirmed {
                computer: name_of(&computer.facts()),
                ms,
                job: job.id.clone(),
            }),
            Cancelled::Unreachable => Err(RunError::NotStopped {
                computer: name_of(&computer.facts()),
                ms,
                whether: whether_it_runs(computer, SystemTime::now()),
                job: job.id.clone(),
            }),
        }
    }

    /// The time was up, and the code was stopped: what the call asked for.
    fn stopped(&self, computer: &Computer, job: &Job, shown: Shown) -> String {
        let said = format!(
            "The code had not ended on computer {} after {} ms, and was stopped, as `onTimeout` asks.",
            name_of(&computer.facts()),
            self.timeout_ms,
        );
        so_far(|_| said, computer, job, shown)
    }

    /// The computer never said that it has the request.
    async fn not_taken(
        &self,
        computer: &Arc<Computer>,
        job: &Arc<Job>,
        shown: Shown,
    ) -> Result<String, RunError> {
        match computer.stop(job, STOP_TIME).await {
            Cancelled::Ended => Ok(whole_beside(computer, job, shown).await?),
            Cancelled::Told | Cancelled::Unreachable => {
                Err(self.unanswered(computer, job, None, shown))
            }
        }
    }

    fn unanswered(
        &self,
        computer: &Computer,
        job: &Arc<Job>,
        away: Option<&str>,
        shown: Shown,
    ) -> RunError {
        let unanswered = Unanswered::new(computer, job, u128::from(self.timeout_ms), away);
        RunError::Unanswered(so_far(|_| unanswered.to_string(), computer, job, shown))
    }
}

/// What to know where code was to show itself on the screen, and the agent is not known to do so; a paragraph.
fn screen_note(computer: &Computer) -> Option<String> {
    let facts = computer.facts();
    match &facts.capabilities {
        Some(names) if names.iter().any(|name| name == MINDS_WHERE) => None,
        Some(_) => Some(format!(
            "\n\nWhat `term` draws is on the computer's screen, but not what is printed: {OLD_AGENT}"
        )),
        None => Some(
            "\n\nWhether what is printed is on the computer's screen too isn't known: the mcp-bridge that holds the link \
             port is older than this one, and does not tell what the agent can do."
                .to_owned(),
        ),
    }
}
