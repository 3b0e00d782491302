//! `mcp-bridge jobs`: what runs where and for whom, over all bridges that run.

use std::{
    collections::{BTreeMap, HashMap},
    io::{self, IsTerminal},
    process::ExitCode,
    thread,
    time::{Duration, SystemTime},
};

use clap::Args;
use serde_json::{Value, json};

use super::{computers, console, startup};
use crate::{
    base::text::{one_line, timestamp},
    bridges::one_machine::port_holder,
    computers::RequestId,
    hands::{
        mailbox::{self, Round},
        message::{Answer, CallRow, JobRow, Question, Told},
    },
    settings::{Config, Flags, Folders},
    tools::wording::time_between,
};

/// How long bridges have to answer.
const TO_ANSWER: Duration = Duration::from_secs(4);

/// How often what runs is shown anew.
const AGAIN: Duration = Duration::from_secs(1);

/// Show what runs where and for whom, over all bridges
///
/// One line for each call that has not been answered: its number, the client, since when, the tool and its arguments;
/// below it the jobs that it waits for, with their computers. Then the jobs that no call waits for.
#[derive(Debug, Args)]
pub struct Jobs {
    /// Go on showing it, anew each second
    #[arg(short = 'w', long)]
    watch: bool,

    /// Show it as JSON: one line each time
    #[arg(long)]
    json: bool,
}

impl Jobs {
    pub fn run(self, folders: &Folders) -> ExitCode {
        loop {
            let runs = match Running::look(folders) {
                Ok(runs) => runs,
                Err(error) => return cant_be_asked(folders, &error),
            };
            let too_old = too_old(folders);
            let text = match self.json {
                true => format!("{}\n", runs.in_fields(too_old.as_deref())),
                false => runs.in_words(SystemTime::now(), too_old.as_deref()),
            };
            let clear = if self.watch && !self.json && io::stdout().is_terminal() {
                "\x1b[H\x1b[J"
            } else {
                ""
            };
            if !console::show(&format!("{clear}{text}")) || !self.watch {
                return ExitCode::SUCCESS;
            }
            thread::sleep(AGAIN);
        }
    }
}

/// What to know of bridges that share the link port and can't be asked: those before this version.
pub fn too_old(folders: &Folders) -> Option<String> {
    let config = Config::load(&Flags::default(), startup::variable, folders).ok()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .ok()?;
    let health = runtime.block_on(port_holder::health(&computers::place(&config.link)));
    let share = health.ok()?.bridges.unwrap_or(1);
    let known = mailbox::present(&folders.shared).len();
    (share > known).then(|| {
        format!(
            "Of the {share} bridges that share the link port only {known} can be asked. The others are older than this \
             version, or have another state folder: they tell nothing of what runs, stop nothing, and do not pause. End \
             them, or restart their clients."
        )
    })
}

/// Says that bridges can't be asked, and how the process ends.
pub fn cant_be_asked(folders: &Folders, error: &io::Error) -> ExitCode {
    console::note(&format!(
        "mcp-bridge: the bridges can't be asked: {}: {error}",
        folders.shared.display()
    ));
    ExitCode::FAILURE
}

/// What runs, as all bridges together tell it.
pub struct Running {
    /// The calls, each with its bridge.
    pub calls: Vec<(Bridge, CallRow)>,
    /// The jobs.
    pub jobs: BTreeMap<RequestId, Seen>,
    /// How many bridges told of them.
    bridges: usize,
    /// The process ids of those that did not answer.
    pub silent: Vec<u32>,
}

/// A bridge that answered.
#[derive(Debug, Clone)]
pub struct Bridge {
    /// What it is called in questions.
    pub name: String,
    /// Its process id.
    pub pid: u32,
    /// The client's, if it started the bridge.
    client: Option<u32>,
}

/// A job, and who tells of it.
pub struct Seen {
    /// The job.
    pub row: JobRow,
    /// A bridge that can be asked to stop it: the one that asked for it, if that answered.
    pub by: Bridge,
}

/// A call's number over all bridges.
pub fn number(bridge: &Bridge, call: u64) -> String {
    format!("{}.{call}", bridge.pid)
}

impl Running {
    /// Asks all bridges.
    pub fn look(folders: &Folders) -> io::Result<Self> {
        let round = mailbox::ask(&folders.shared, &Question::Jobs, TO_ANSWER)?;
        Ok(Self::of(round))
    }

    fn of(round: Round) -> Self {
        let mut runs = Self {
            calls: Vec::new(),
            jobs: BTreeMap::new(),
            bridges: round.told.len(),
            silent: round.silent,
        };
        for (
            name,
            Told {
                pid,
                client,
                answer,
                ..
            },
        ) in round.told
        {
            let bridge = Bridge { name, pid, client };
            let Answer::Jobs { calls, jobs } = answer else {
                continue;
            };
            runs.calls
                .extend(calls.into_iter().map(|call| (bridge.clone(), call)));
            for row in jobs {
                let is_better = |seen: &Seen| row.is_own && !seen.row.is_own;
                if runs.jobs.get(&row.id).is_none_or(is_better) {
                    let by = bridge.clone();
                    runs.jobs.insert(row.id.clone(), Seen { row, by });
                }
            }
        }
        runs.calls.sort_by_key(|(_, call)| call.since);
        runs
    }

    /// The number of the call that waits for each job.
    fn waited_for(&self) -> HashMap<&RequestId, String> {
        let calls = self.calls.iter();
        let jobs = calls.flat_map(|(bridge, call)| {
            let number = number(bridge, call.number);
            call.jobs.iter().map(move |job| (job, number.clone()))
        });
        jobs.collect()
    }

    /// For a person to read.
    fn in_words(&self, now: SystemTime, too_old: Option<&str>) -> String {
        let mut words = String::new();
        let mut line = |text: String| {
            words.push_str(&text);
            words.push('\n');
        };
        for (bridge, call) in &self.calls {
            line(call_in_words(bridge, call, now));
            for job in call.jobs.iter().filter_map(|id| self.jobs.get(id)) {
                line(format!("    {}", job_in_words(&job.row, now)));
            }
        }
        let waited_for = self.waited_for();
        let free = self.jobs.values();
        let mut free: Vec<_> = free
            .filter(|job| !waited_for.contains_key(&job.row.id))
            .collect();
        free.sort_by_key(|job| job.row.since);
        if !free.is_empty() {
            line("Jobs that no call here waits for:".to_owned());
        }
        for Seen { row, by } in free {
            let who = match row.is_own {
                true => format!("asked for by bridge {}", by.pid),
                false => "asked for by a bridge that does not tell, or is gone".to_owned(),
            };
            line(format!("    {} ({who})", job_in_words(row, now)));
        }
        if self.calls.is_empty() && self.jobs.is_empty() {
            line(match self.bridges {
                0 if self.silent.is_empty() => {
                    "No bridge that could be asked runs. `mcp-bridge status` shows who holds the link port.".to_owned()
                }
                0 => "It is not known what runs.".to_owned(),
                1 => "Nothing runs (1 bridge told so).".to_owned(),
                count => format!("Nothing runs ({count} bridges told so)."),
            });
        }
        for pid in &self.silent {
            line(silent(*pid));
        }
        if let Some(too_old) = too_old {
            line(too_old.to_owned());
        }
        words
    }

    /// For a program.
    fn in_fields(&self, too_old: Option<&str>) -> Value {
        let calls = self.calls.iter().map(|(bridge, call)| {
            json!({
                "call": number(bridge, call.number),
                "client": call.caller.name,
                "version": call.caller.version,
                "over": if call.caller.over_http { "http" } else { "stdio" },
                "clientProcess": bridge.client,
                "bridge": bridge.pid,
                "kind": call.kind,
                "name": call.name,
                "arguments": call.arguments,
                "since": timestamp(call.since),
                "jobs": call.jobs.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "servers": call.servers,
            })
        });
        let waited_for = self.waited_for();
        let jobs = self.jobs.values().map(|Seen { row, by }| {
            json!({
                "job": row.id.to_string(),
                "computer": row.computer,
                "name": row.computer_name,
                "begun": row.has_begun,
                "waitsForPlayer": row.waits_for_player,
                "outOfReach": row.is_away,
                "since": timestamp(row.since),
                "code": row.code,
                "call": waited_for.get(&row.id),
                "bridge": row.is_own.then_some(by.pid),
            })
        });
        json!({
            "time": timestamp(SystemTime::now()),
            "calls": calls.collect::<Value>(),
            "jobs": jobs.collect::<Value>(),
            "bridges": self.bridges,
            "silent": self.silent,
            "notice": too_old,
        })
    }
}

/// What there is to say of a bridge that does not answer.
pub fn silent(pid: u32) -> String {
    format!(
        "Bridge {pid} runs, but does not answer: it may be suspended, and what it asked for is not all known."
    )
}

/// One line: `4242.7 claude-code 2.1 (process 4100, bridge 4242), for 12 s: exec-lua {"computerId":12,"code":"dig()"}`.
fn call_in_words(bridge: &Bridge, call: &CallRow, now: SystemTime) -> String {
    let caller = &call.caller;
    let mut who = match caller.name.as_str() {
        "" => "a client without a name".to_owned(),
        name => format!("{} {}", one_line(name), one_line(&caller.version)),
    };
    match bridge.client {
        _ if caller.over_http => who.push_str(&format!(" (over HTTP, bridge {})", bridge.pid)),
        Some(client) => who.push_str(&format!(" (process {client}, bridge {})", bridge.pid)),
        None => who.push_str(&format!(" (bridge {})", bridge.pid)),
    }
    let arguments = match &call.arguments {
        Value::Null => String::new(),
        arguments => format!(" {arguments}"),
    };
    format!(
        "{} {who}, for {}: {}{}",
        number(bridge, call.number),
        time_between(call.since, now),
        one_line(&call.name),
        one_line(&arguments),
    )
}

/// `job 3fe-7 on 12 (Label: base), running for 12 s: dig()`.
fn job_in_words(row: &JobRow, now: SystemTime) -> String {
    let state = match (row.has_begun, row.is_away) {
        _ if row.waits_for_player => "waiting for the player's yes",
        (true, false) => "running",
        (true, true) => "begun, its computer out of reach,",
        (false, _) => "asked",
    };
    format!(
        "job {} on {}, {state} for {}: {}",
        row.id,
        row.computer_name,
        time_between(row.since, now),
        one_line(row.code.lines().next().unwrap_or_default())
    )
}
