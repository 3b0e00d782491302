//! `mcp-bridge stop`: ends what runs, from outside, and says what is known to have ended.

use std::{collections::BTreeMap, process::ExitCode, time::Duration};

use clap::Args;

use super::{
    console,
    jobs::{Running, cant_be_asked, number, silent, too_old},
    meant,
    startup::BAD_SETTINGS,
};
use crate::{
    base::text::one_line,
    computers::ComputerKey,
    hands::{
        mailbox,
        message::{Answer, Orders, Question, StoppedCall},
    },
    settings::Folders,
};

/// How long bridges have to answer: longer than computers have.
const TO_ANSWER: Duration = Duration::from_secs(8);

/// Stop what runs, from outside: a call with all it does, or a job, whoever asked for it
///
/// A call that waits for what is stopped ends too, with all that it does: scripts on this machine and calls of other MCP
/// servers. Its client is told that a person ended it. Exit code 0: all has ended; 1: it is not known of all, or there
/// is no such job.
#[derive(Debug, Args)]
pub struct Stop {
    /// A job's id or a call's number, as `mcp-bridge jobs` shows them
    #[arg(conflicts_with_all = ["computer", "all"])]
    job: Option<String>,

    /// All that runs on the computer of this number or label
    #[arg(long, conflicts_with = "all")]
    computer: Option<String>,

    /// All that runs
    #[arg(long)]
    all: bool,
}

impl Stop {
    pub fn run(self, folders: &Folders) -> ExitCode {
        if self.job.is_none() && self.computer.is_none() && !self.all {
            console::note(
                "mcp-bridge: say what to stop: a job or call, as `mcp-bridge jobs` shows them (`mcp-bridge stop JOB`), all \
                 that runs on a computer (`--computer COMPUTER`), or everything (`--all`).",
            );
            return ExitCode::from(BAD_SETTINGS);
        }
        let runs = match Running::look(folders) {
            Ok(runs) => runs,
            Err(error) => return cant_be_asked(folders, &error),
        };
        let too_old = too_old(folders);
        if let Some(too_old) = &too_old {
            console::note(too_old);
        }
        let computer = match self.computer.as_deref().map(|word| computer(folders, word)) {
            None => None,
            Some(Ok(computer)) => Some(computer),
            Some(Err(code)) => return code,
        };
        let orders = self.orders(&runs, computer);
        if orders.is_empty() {
            let wrong = match (&self.job, &self.computer) {
                (Some(job), _) => Some(format!(
                    "Nothing that runs is `{}`. `mcp-bridge jobs` shows what runs.",
                    one_line(job)
                )),
                (None, Some(word)) => unknown(folders, word),
                (None, None) => None,
            };
            if let Some(wrong) = wrong {
                console::note(&wrong);
                return ExitCode::FAILURE;
            }
            console::say("Nothing runs that could be stopped.");
            return code(say_silent(&runs) && too_old.is_none());
        }
        let round = match mailbox::ask(&folders.shared, &Question::Stop(orders), TO_ANSWER) {
            Ok(round) => round,
            Err(error) => return cant_be_asked(folders, &error),
        };
        let mut all_is_over = round.silent.is_empty();
        for told in round.told.values() {
            let Answer::Stopped { calls, jobs } = &told.answer else {
                continue;
            };
            for call in calls {
                all_is_over &= call.is_over;
                console::say(&in_words(told.pid, call));
            }
            for job in jobs {
                all_is_over &= job.is_over;
                console::say(&format!(
                    "Job {} on {} {}.",
                    job.id, job.computer_name, job.how
                ));
            }
        }
        for pid in &round.silent {
            console::note(&silent(*pid));
        }
        code(say_silent(&runs) && all_is_over && (self.job.is_some() || too_old.is_none()))
    }

    /// What each bridge is to stop; nothing if nothing is meant.
    fn orders(&self, runs: &Running, computer: Option<ComputerKey>) -> BTreeMap<String, Orders> {
        let mut orders: BTreeMap<String, Orders> = BTreeMap::new();
        for (bridge, call) in &runs.calls {
            let number = number(bridge, call.number);
            if self.all || self.job.as_ref() == Some(&number) {
                let of_bridge = orders.entry(bridge.name.clone()).or_default();
                of_bridge.calls.push(call.number);
            }
        }
        for seen in runs.jobs.values() {
            let is_named =
                (self.job.as_ref()).is_some_and(|name| seen.row.id.is_called(name.trim()));
            if self.all || is_named || computer == Some(seen.row.computer) {
                let of_bridge = orders.entry(seen.by.name.clone()).or_default();
                of_bridge.jobs.push(seen.row.id.clone());
            }
        }
        // What has begun since is meant too.
        for of_bridge in orders.values_mut() {
            of_bridge.all = self.all;
            of_bridge.computer = computer;
        }
        orders
    }
}

/// The computer that a word means: one of a number may have been known to a bridge that is gone, and what it runs is
/// stopped all the same.
fn computer(folders: &Folders, word: &str) -> Result<ComputerKey, ExitCode> {
    if let Some(number) = meant::number(word) {
        return Ok(number);
    }
    let rows = meant::known(&folders.shared).map_err(|error| cant_be_asked(folders, &error))?;
    meant::one(&rows.unwrap_or_default(), word).map_err(|wrong| {
        console::note(&wrong);
        ExitCode::FAILURE
    })
}

/// What is said if no bridge knows the computer; nothing if one does, or none runs.
fn unknown(folders: &Folders, word: &str) -> Option<String> {
    let rows = meant::known(&folders.shared).ok().flatten()?;
    meant::one(&rows, word).err()
}

/// Tells of the bridges that did not say what runs; whether there is none.
fn say_silent(runs: &Running) -> bool {
    for pid in &runs.silent {
        console::note(&silent(*pid));
    }
    runs.silent.is_empty()
}

fn code(is_well: bool) -> ExitCode {
    match is_well {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// `Call 4242.7 (run-script) was ended.`
fn in_words(pid: u32, call: &StoppedCall) -> String {
    let how = match call.is_over {
        true => "was ended",
        false => "was told to end, but has not yet",
    };
    let mut words = format!(
        "Call {pid}.{} ({}) {how}.",
        call.number,
        one_line(&call.name)
    );
    if !call.servers.is_empty() {
        words.push_str(&format!(
            " Told that it is cancelled, and free not to heed that: {}.",
            one_line(&call.servers.join(", "))
        ));
    }
    words
}
