//! `mcp-bridge simulate`: computers without the game, which run the real agent and link to a bridge.

use std::process::ExitCode;

use anyhow::Context;
use tokio::{runtime::Handle, task::JoinSet};

use super::{
    console::{note, say},
    signals::LeaveSignals,
};
use crate::{
    agent,
    simulator::{Computer, ComputerOptions, Kind, ProgramState, State, Version},
};

/// Which computers to simulate.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// How many.
    pub count: u64,
    /// Of what kind.
    pub kind: Kind,
    /// As which version of CC:Tweaked.
    pub version: Version,
    /// The first one's number; the others follow.
    pub first_id: u64,
    /// Their label; with several, a dash and a count are put after it. The kind's name by default.
    pub label: Option<String>,
    /// The bridge.
    pub url: String,
    /// The token that the bridge wants, if it wants one.
    pub token: Option<String>,
}

/// Runs the computers, shows what their screens say, and ends when all their agents have, or at Ctrl+C.
pub fn run(simulation: &Simulation) -> ExitCode {
    let ended = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the runtime can't be started")
        .and_then(|runtime| runtime.block_on(simulate(simulation)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note(&format!("mcp-bridge: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn simulate(simulation: &Simulation) -> anyhow::Result<()> {
    let mut signals = LeaveSignals::listen().context("signals can't be listened to")?;
    let mut computers = JoinSet::new();
    for number in 0..simulation.count {
        computers.spawn(show(simulation.start(number)?));
    }
    note("Press Ctrl+C to end.");
    tokio::select! {
        _ = signals.next() => {}
        () = async { while computers.join_next().await.is_some() {} } => {}
    }
    Ok(())
}

impl Simulation {
    fn start(&self, number: u64) -> anyhow::Result<Computer> {
        let id = self.first_id + number;
        let label = self.label.as_deref().unwrap_or(self.kind.name());
        let mut options = ComputerOptions::new(id).with_file("mcp-computer.lua", agent::program());
        options.kind = self.kind;
        options.version = self.version.clone();
        options.label = Some(if self.count == 1 && self.label.is_some() {
            label.to_owned()
        } else {
            format!("{label}-{}", number + 1)
        });
        let token = self
            .token
            .as_ref()
            .map(|token| format!(" --token {token}"))
            .unwrap_or_default();
        Computer::start(
            options,
            &format!("mcp-computer {}{token}", self.url),
            &Handle::current(),
        )
        .with_context(|| format!("computer {id} can't be started"))
    }
}

/// Shows what comes onto a computer's screen, until its agent or the computer itself has ended.
async fn show(computer: Computer) {
    let mut changes = computer.changes();
    let mut shown: Vec<String> = Vec::new();
    loop {
        let over = matches!(computer.program(), ProgramState::Ended { .. })
            || computer.state() != State::Running;
        let mut lines = computer.screen();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        for line in news(&shown, &lines) {
            say(&format!("[{}] {line}", computer.id()));
        }
        shown = lines;
        if over || changes.changed().await.is_err() {
            break;
        }
    }
    match computer.state() {
        State::Running => say(&format!("[{}] The agent has ended.", computer.id())),
        state => say(&format!(
            "[{}] The computer is off: {state:?}",
            computer.id()
        )),
    }
}

/// The lines of a screen that were not on it before, when it may have scrolled in between.
fn news<'a>(before: &[String], now: &'a [String]) -> &'a [String] {
    let kept = (0..=before.len().min(now.len()))
        .rev()
        .find(|kept| before[before.len() - kept..] == now[..*kept])
        .unwrap_or(0);
    &now[kept..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split(' ')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn only_what_is_new_on_a_screen_is_shown() {
        assert_eq!(news(&lines(""), &lines("a b")), lines("a b"));
        assert_eq!(news(&lines("a b"), &lines("a b c")), lines("c"));
        assert_eq!(news(&lines("a b c"), &lines("b c d e")), lines("d e"));
        assert_eq!(news(&lines("a b"), &lines("x")), lines("x"));
    }
}
