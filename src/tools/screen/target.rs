//! Which screen of which computer is meant.

use std::{sync::Arc, time::Duration};

use thiserror::Error;

use crate::{
    base::text::one_line,
    computers::{Computer, ComputerKey, Fleet, NoSuchName, Unreachable},
    tools::choosing::{ChoiceError, choose},
};

/// What a job's screen is called by, before its id.
const JOB: &str = "job ";

/// What a tab's screen is called by, before its number.
const TAB: &str = "tab ";

/// The screen that the player sees.
const TERMINAL: &str = "terminal";

/// A screen of a computer.
pub struct Target {
    /// As the agent knows it.
    pub name: String,
    /// As people and models read it.
    pub shown: String,
    pub computer: Arc<Computer>,
}

/// Why none is meant.
#[derive(Debug, Error)]
pub enum TargetError {
    #[error(transparent)]
    NotChosen(#[from] ChoiceError),
    #[error(transparent)]
    Unreachable(#[from] Unreachable),
    #[error(transparent)]
    Name(#[from] NoSuchName),
    #[error("There is no job {}. list-jobs shows those there are.", one_line(.0))]
    NoJob(String),
    #[error("Job {0} has ended, and its screen with it. get-job {0} shows what came of it.")]
    Ended(String),
    #[error("Job {job} runs on computer {on}, not on {not}.")]
    Elsewhere {
        /// Its id.
        job: String,
        /// Where it runs.
        on: ComputerKey,
        /// Where it was looked for.
        not: ComputerKey,
    },
}

impl Target {
    /// The screen that is called so. A job tells by itself on which computer it runs.
    ///
    /// # Errors
    /// No such computer can be asked, or there is no such job.
    pub async fn find(
        name: Option<&str>,
        computer: Option<ComputerKey>,
        fleet: &Fleet,
    ) -> Result<Self, TargetError> {
        let name = name.unwrap_or(TERMINAL).trim();
        let Some(called) = strip(name, JOB) else {
            let name = match strip(name, TAB) {
                Some(number) => format!("{TAB}{number}"),
                None if name.eq_ignore_ascii_case(TERMINAL) => TERMINAL.to_owned(),
                None => name.to_owned(),
            };
            return Ok(Self {
                shown: one_line(&name).into_owned(),
                name,
                computer: choose(computer, fleet).await?,
            });
        };
        let id = fleet.id_called(called).await?;
        let found = fleet.job(&id, 0, Duration::ZERO).await?;
        let (of, job) = found.ok_or_else(|| TargetError::NoJob(called.to_owned()))?;
        if let Some(not) = computer.filter(|computer| *computer != of.key) {
            return Err(TargetError::Elsewhere {
                job: id.to_string(),
                on: of.key,
                not,
            });
        }
        if !job.is_running() {
            return Err(TargetError::Ended(id.to_string()));
        }
        Ok(Self {
            name: format!("{JOB}{}", id.as_str()),
            shown: format!("{JOB}{id}"),
            computer: choose(Some(of.key), fleet).await?,
        })
    }

    /// Whether it can only be a monitor.
    pub fn is_monitor(&self) -> bool {
        self.name != TERMINAL
            && [JOB, TAB]
                .iter()
                .all(|kind| strip(&self.name, kind).is_none())
    }
}

/// What stands behind a kind of screen, in whatever case that is written.
fn strip<'a>(name: &'a str, kind: &str) -> Option<&'a str> {
    let head = name.get(..kind.len())?;
    head.eq_ignore_ascii_case(kind)
        .then(|| name[kind.len()..].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_screens_are_told_by_their_names() {
        assert_eq!(strip("job 3f0c-41", JOB), Some("3f0c-41"));
        assert_eq!(strip("Tab  2", TAB), Some("2"));
        for monitor in ["monitor_3", "top", "job", "tabasco", "é"] {
            assert_eq!((strip(monitor, JOB), strip(monitor, TAB)), (None, None));
        }
    }
}
