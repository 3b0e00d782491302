//! `mcp-bridge simulate`: computers without the game, which run the real agent and link to a bridge.

mod controls;
mod person;
mod view;

use std::{
    fs,
    io::{self, IsTerminal},
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
};

use anyhow::Context;
use clap::Args;
use tokio::{runtime::Handle, sync::watch, task::JoinSet};

use self::controls::Control;
use super::{
    console::{note, say},
    lines,
    signals::LeaveSignals,
};
use crate::{
    link::agent,
    settings::Folders,
    simulator::{
        Computer, ComputerOptions, Kind, Land, ProgramState, Resident, State, Version, World,
    },
};

/// Run computers without the game, which link to a bridge as real ones do
#[derive(Debug, Args)]
pub struct Simulate {
    /// How many computers
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    count: u64,

    /// computer, turtle, pocket or command
    #[arg(long, default_value_t)]
    kind: Kind,

    /// The version of CC:Tweaked they behave as, such as 1.89 (Minecraft 1.12.2), 1.101 (1.16) or 1.113 (1.20)
    #[arg(long, value_name = "VERSION", default_value_t)]
    version: Version,

    /// The first computer's number; the others follow
    #[arg(long, value_name = "ID", default_value_t = 1)]
    first_id: u64,

    /// Their label; several are counted after it [default: the kind]
    #[arg(long)]
    label: Option<String>,

    /// The blocks, chests and computers that there are: a file such as examples/worlds/base.toml
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["count", "kind", "version", "first_id", "label"],
    )]
    world: Option<PathBuf>,

    /// The bridge's link port
    #[arg(long, default_value = "ws://127.0.0.1:3001")]
    url: String,

    /// The token that the bridge wants, if it wants one
    #[arg(long)]
    token: Option<String>,

    /// Draw their screens in this terminal, and take keys
    #[arg(long)]
    show: bool,
}

impl Simulate {
    /// Runs the computers, shows what their screens say, and ends when all their agents have, or at Ctrl+C.
    pub fn run(self, _: &Folders) -> ExitCode {
        let ended = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .context("the runtime can't be started")
            .and_then(|runtime| runtime.block_on(simulate(&self)));
        match ended {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                note(&format!("mcp-bridge: {error:#}"));
                ExitCode::FAILURE
            }
        }
    }

    fn start(&self, number: u64) -> anyhow::Result<Computer> {
        let id = self.first_id + number;
        let label = self.label.as_deref().unwrap_or(self.kind.name());
        let mut options = with_agent(ComputerOptions::new(id));
        options.kind = self.kind;
        options.version = self.version.clone();
        options.label = Some(if self.count == 1 && self.label.is_some() {
            label.to_owned()
        } else {
            format!("{label}-{}", number + 1)
        });
        Computer::start(options, &self.agent(), &Handle::current())
            .with_context(|| format!("computer {id} can't be started"))
    }

    /// The command line by which a computer runs the agent.
    fn agent(&self) -> String {
        let token = self
            .token
            .as_ref()
            .map(|token| format!(" --token {token}"))
            .unwrap_or_default();
        format!("mcp-computer {}{token}", self.url)
    }

    /// Starts the computers: those of a world file, or as many as were asked for.
    fn populate(&self) -> anyhow::Result<World> {
        let Some(file) = &self.world else {
            let computers: anyhow::Result<_> =
                (0..self.count).map(|number| self.start(number)).collect();
            return Ok(World::new(computers?));
        };
        let shown = file.display();
        let text = fs::read_to_string(file).with_context(|| format!("{shown} can't be read"))?;
        let (land, residents) =
            Land::read(&text).map_err(|wrong| anyhow::anyhow!("{shown}, {wrong}"))?;
        if residents.is_empty() {
            anyhow::bail!("{shown} has no [[computer]], so there is nothing to run");
        }
        let computers = residents.into_iter().map(|Resident { options, program }| {
            let id = options.id;
            let program = program.unwrap_or_else(|| self.agent());
            Computer::start_in(&land, with_agent(options), &program, &Handle::current())
                .with_context(|| format!("computer {id} can't be started"))
        });
        let computers = computers.collect::<anyhow::Result<_>>()?;
        Ok(World::in_land(land, computers))
    }
}

/// A computer with the agent on its disk.
fn with_agent(options: ComputerOptions) -> ComputerOptions {
    let id = options.id;
    options
        .with_file("mcp-computer.lua", agent::program())
        // The same each time: a bridge would warn of a computer that is another under the number of one before.
        .with_file(
            ".settings",
            format!("{{ [\"mcp_computer.key\"] = \"simulated-computer-{id}\" }}"),
        )
}

async fn simulate(simulation: &Simulate) -> anyhow::Result<()> {
    let mut signals = LeaveSignals::listen().context("signals can't be listened to")?;
    let world = Arc::new(simulation.populate()?);
    let leaving = async {
        signals.next().await;
    };
    tokio::select! {
        () = leaving => Ok(()),
        ended = async {
            if simulation.show {
                return person::play(&world).await;
            }
            watch_and_obey(&world).await;
            Ok(())
        } => ended,
    }
}

/// Shows what the screens say and does what is asked on standard input, until `quit`; or, when nothing more can be
/// asked, until all agents have ended.
async fn watch_and_obey(world: &Arc<World>) {
    let (asking, still_asking) = watch::channel(true);
    let mut reports = JoinSet::new();
    for index in 0..world.computers().len() {
        reports.spawn(report(Arc::clone(world), index, still_asking.clone()));
    }
    note(if io::stdin().is_terminal() {
        "Press Ctrl+C to end; `help` lists what can be done to the computers meanwhile."
    } else {
        "Press Ctrl+C to end."
    });
    let only = match world.computers() {
        [one] => Some(one.id()),
        _ => None,
    };
    let mut lines = lines::lines_of_stdin();
    while let Some(line) = lines.recv().await {
        if line.is_empty() {
            continue;
        }
        let answer = match Control::parse(&line, only) {
            Ok(Control::Quit) => return,
            Ok(control) => control.carry_out(world).await,
            Err(problem) => Err(problem),
        };
        say(&answer.unwrap_or_else(|problem| problem.to_string()));
    }
    asking.send_replace(false);
    while reports.join_next().await.is_some() {}
}

/// Shows what comes onto a computer's screen, and what becomes of it. Ends once its agent or the computer itself has
/// ended and nobody can ask for more.
async fn report(world: Arc<World>, index: usize, mut still_asking: watch::Receiver<bool>) {
    let Some(computer) = world.computers().get(index) else {
        return;
    };
    let mut changes = computer.changes();
    let mut shown: Vec<String> = Vec::new();
    let mut told = String::new();
    loop {
        // Before the screen: what it says comes after what the agent wrote last.
        let fate = fate(computer);
        let mut lines = computer.screen();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        for line in news(&shown, &lines) {
            say(&format!("[{}] {line}", computer.id()));
        }
        shown = lines;
        let over = fate.is_some();
        let fate = fate.unwrap_or_default();
        if over && fate != told {
            say(&format!("[{}] {fate}", computer.id()));
        }
        told = fate;
        if over && !*still_asking.borrow() {
            return;
        }
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            changed = still_asking.changed(), if *still_asking.borrow() => if changed.is_err() { return },
        }
    }
}

/// How a computer's agent, or the computer itself, has ended; `None` if neither has.
fn fate(computer: &Computer) -> Option<String> {
    Some(match computer.state() {
        State::Running => match computer.program() {
            ProgramState::Ended { .. } => "The agent has ended.".to_owned(),
            _ => return None,
        },
        State::Off => "The computer is off.".to_owned(),
        State::Unloaded => "The computer is unloaded.".to_owned(),
        State::PoweredOff(why) => format!("The computer was powered off: {why}"),
        State::Crashed(why) => format!("The computer failed: {why}"),
        State::Stopped => "The computer has ended.".to_owned(),
    })
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
