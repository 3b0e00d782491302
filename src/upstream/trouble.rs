//! Why a server did not answer, in words for whoever called.

use std::{fmt, time::Duration};

use rmcp::ErrorData;
use thiserror::Error;

use super::{connection::AskError, environment::Withheld};
use crate::base::text::{in_shell, one_line};

/// How many calls may wait for a server's attention; more are refused.
pub const LONGEST_QUEUE: usize = 64;

/// Why a server did not answer.
#[derive(Debug, Error)]
pub enum Trouble {
    /// The server itself refused the request.
    #[error("{}", .0.message)]
    Refused(ErrorData),
    /// Too many calls wait for it.
    #[error(
        "The server `{server}` has {LONGEST_QUEUE} calls waiting already. Try again when some of them are answered."
    )]
    FullQueue {
        /// Its name.
        server: String,
    },
    /// Another call took all the time that this one had.
    #[error(
        "The server `{server}` was busy with another call for {} s, and takes one at a time (its entry can say \
         `\"parallel\": true`). This call did not reach it.",
        .time.as_secs_f64()
    )]
    Busy {
        /// Its name.
        server: String,
        /// How long this call has waited.
        time: Duration,
    },
    /// It does not run.
    #[error(transparent)]
    NotReached(#[from] NotReached),
    /// What it runs as now has another tool of this name than was accepted.
    #[error("The tool {tool} of the server `{server}` is withheld: {}.", has_changed(.server))]
    Withheld {
        /// Its name.
        server: String,
        /// The tool, by the server's own name.
        tool: String,
    },
    /// A person has paused what could change something, or may have, before its turn came.
    #[error("The server `{server}` was not called: {why}.")]
    Held {
        /// Its name.
        server: String,
        /// What is told of the pause.
        why: String,
    },
    /// It ended in mid call.
    #[error(
        "The server `{server}` {how} before it answered this call. Whether it did what was asked is unknown. It is \
         started again.{last_words}"
    )]
    Gone {
        /// Its name.
        server: String,
        /// How it ended, in words that follow its name.
        how: String,
        /// What it wrote last.
        last_words: LastWords,
    },
    /// This bridge ended it in mid call, or its connection to it.
    #[error(
        "mcp-bridge {did} the server `{server}` before it answered this call, since {why}. Whether it did what was asked \
         is unknown."
    )]
    LetGo {
        /// Its name.
        server: String,
        /// What was done with it, in words before its name.
        did: &'static str,
        /// Why, in words after "since".
        why: String,
    },
    /// There was no way to it.
    #[error("The server `{server}` can't be reached: {why}. This call did not reach it.")]
    NotSent {
        /// Its name.
        server: String,
        /// Why not.
        why: String,
    },
    /// Over HTTP it answered with something else, or not at all.
    #[error(
        "The server `{server}` did not answer this call: {why}. Whether it did what was asked is unknown: find that out before \
         you ask again."
    )]
    Unanswered {
        /// Its name.
        server: String,
        /// What came instead.
        why: String,
    },
    /// It took longer than its entry gives a call.
    #[error(
        "The server `{server}` neither answered nor told of progress within {} s (its entry can set `callTimeoutMs`). The \
         call was cancelled; whether it did what was asked is unknown.",
        .time.as_secs_f64()
    )]
    TooSlow {
        /// Its name.
        server: String,
        /// How long that is.
        time: Duration,
    },
    /// Its answer could not be had.
    #[error("The server `{server}`: {error}.")]
    NoAnswer {
        /// Its name.
        server: String,
        /// Why not.
        error: AskError,
    },
}

/// Why a call did not get to a server.
#[derive(Debug, Error)]
pub enum NotReached {
    /// It is configured no more, or otherwise.
    #[error("This call did not reach the server `{server}`, since {why}.")]
    TakenAway {
        /// Its name.
        server: String,
        /// Why, in words after "since".
        why: String,
    },
    /// The call's time is over, and it still does not run.
    #[error(
        "The server `{server}` is still being started. The call did not reach it; try again later.{printed}"
    )]
    StillStarting {
        /// Its name.
        server: String,
        /// What it printed meanwhile.
        printed: Printed,
    },
    /// It must not be started.
    #[error("The server `{server}` {why}.")]
    Disabled {
        /// Its name.
        server: String,
        /// Why not, in words that follow its name.
        why: String,
    },
    /// It could not be started, or ended by itself.
    #[error(
        "The server `{server}` {why}.{}{}{printed}{last_words}",
        sentence(.lacked),
        again(.server, .seconds)
    )]
    Failed {
        /// Its name.
        server: String,
        /// What went wrong, in words that follow its name.
        why: String,
        /// In how many seconds it is started again, if it is.
        seconds: Option<u64>,
        /// What it may have lacked.
        lacked: Withheld,
        /// What it printed that is no message.
        printed: Printed,
        /// What it wrote last.
        last_words: LastWords,
    },
}

/// What a server printed that is no message: how many lines, and the last of them. Told below what went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed(pub Option<(u64, String)>);

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some((count, last)) => write!(f, "\nIt {}", printed(*count, last)),
            None => Ok(()),
        }
    }
}

/// That a server printed so many lines that are no messages, of which this is the last, in words that follow its name.
pub fn printed(count: u64, last: &str) -> String {
    let lines = match count {
        1 => "1 line that is no message".to_owned(),
        _ => format!("{count} lines that are no messages"),
    };
    format!("printed {lines}, the last: {}", one_line(last))
}

/// What a server wrote last to standard error, told below what went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastWords(pub Vec<String>);

impl fmt::Display for LastWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        write!(
            f,
            "\nThe last lines it wrote to standard error:\n{}",
            self.0.join("\n")
        )
    }
}

fn sentence(lacked: &Withheld) -> String {
    match lacked.0.is_empty() {
        true => String::new(),
        false => format!(" {lacked}."),
    }
}

fn again(server: &str, seconds: &Option<u64>) -> String {
    match seconds {
        Some(seconds) => format!(
            " It is started again in {seconds} s; `mcp-bridge upstream restart {}` does it now.",
            in_shell(server)
        ),
        None => String::new(),
    }
}

/// Why a tool of this server whose definition is not the accepted one is withheld.
pub fn has_changed(server: &str) -> String {
    format!(
        "its definition has changed since it was accepted. Look at the change and accept it with `mcp-bridge trust \
         --server {server}`"
    )
}
