//! The plan of a run: who calls what and when, and what breaks and when. All of it is drawn from one seed.

use std::{fmt, ops::Range, time::Duration};

use super::seeded::Seeded;
use crate::common::proxy::Way;

/// Computers have the numbers from 1 to this.
pub const COMPUTERS: u64 = 6;

/// Who calls: a seat that one client after the other takes. Of those over standard input one is mostly the owner.
pub const SEATS: usize = 3;

/// The seat of the client over HTTP.
pub const HTTP_SEAT: usize = 2;

/// How long a tool in the game may take, in milliseconds, by its name.
pub const TOOLS: [(&str, u64); 2] = [("counted-short", 700), ("counted-long", 2_500)];

/// The longest that counted code runs, in turns of a tenth of a second.
pub const MOST_TURNS: u64 = 50;

/// Time between two calls, and between two faults, in milliseconds.
const BETWEEN_CALLS: Range<u64> = 20..200;
const BETWEEN_FAULTS: Range<u64> = 200..1_200;

/// A call.
#[derive(Debug, Clone)]
pub struct Call {
    pub number: usize,
    pub at: Duration,
    pub seat: usize,
    pub what: What,
}

impl Call {
    /// By which the oracle knows its runs.
    pub fn key(&self) -> String {
        format!("c{}", self.number)
    }
}

/// What is called.
#[derive(Debug, Clone)]
pub enum What {
    /// `exec-lua`.
    Exec(Exec),
    /// `run-script`, with one `computers.exec` for several computers.
    Script {
        computers: Vec<u64>,
        turns: u64,
        /// The time of each computer.
        timeout_ms: u64,
        /// The script's own.
        script_ms: u64,
    },
    /// A tool whose handler runs on a computer.
    Tool {
        name: &'static str,
        computer: u64,
        turns: u64,
    },
    /// `get-job` of a job that an answer named: the last one, or so many before it.
    GetJob {
        back: usize,
        wait_ms: u64,
    },
    /// `cancel-job`, likewise.
    CancelJob {
        back: usize,
    },
    ListJobs,
}

#[derive(Debug, Clone)]
pub struct Exec {
    pub computer: u64,
    pub turns: u64,
    pub timeout_ms: u64,
    pub cancels: bool,
    pub exclusive: bool,
    pub throws: bool,
}

/// Something that breaks, or is broken.
#[derive(Debug, Clone)]
pub struct Fault {
    pub at: Duration,
    pub what: Harm,
}

/// What is broken.
#[derive(Debug, Clone)]
pub enum Harm {
    Computer(u64, ComputerHarm),
    /// The owner's process stands still.
    SuspendOwner(Duration),
    /// The owner is killed, and another client takes its seat.
    KillOwner,
    /// The client of a seat closes its end, in the middle of its calls, and another one takes the seat.
    Leave(usize),
    /// The client of a seat is killed, and another one takes the seat.
    Kill(usize),
}

/// What is done to a computer, or to the network before it.
#[derive(Debug, Clone, Copy)]
pub enum ComputerHarm {
    Cut,
    /// No connection comes about.
    Unreachable(Duration),
    /// What goes one way is lost, and then the link is cut.
    Lose(Way, Duration),
    Stall(Way, Duration),
    /// Its game's process stands still.
    Suspend(Duration),
    /// Its world is paused: timers wait, messages arrive.
    Pause(Duration),
    Reboot,
    /// Its chunk is unloaded, and loaded again.
    Unload(Duration),
    /// Its program is ended by a player, who starts the computer anew later.
    Terminate(Duration),
}

/// All calls and faults, each in order of time.
#[derive(Debug)]
pub struct Plan {
    pub calls: Vec<Call>,
    pub faults: Vec<Fault>,
}

impl Plan {
    pub fn draw(seed: u64, calls: usize) -> Self {
        let mut random = Seeded::new(seed);
        let mut at = 0;
        let calls: Vec<_> = (0..calls)
            .map(|number| {
                at += random.within(BETWEEN_CALLS);
                Call {
                    number,
                    at: Duration::from_millis(at),
                    seat: random.below(SEATS as u64) as usize,
                    what: call(&mut random),
                }
            })
            .collect();
        let mut faults = Vec::new();
        let mut next = random.within(BETWEEN_FAULTS);
        while next < at {
            faults.push(Fault {
                at: Duration::from_millis(next),
                what: harm(&mut random),
            });
            next += random.within(BETWEEN_FAULTS);
        }
        Self { calls, faults }
    }
}

fn call(random: &mut Seeded) -> What {
    match random.below(100) {
        0..55 => What::Exec(Exec {
            computer: computer(random),
            turns: turns(random),
            timeout_ms: random.within(300..3_000),
            cancels: random.chance(40),
            exclusive: random.chance(10),
            throws: random.chance(8),
        }),
        55..65 => What::Script {
            computers: several(random),
            turns: turns(random),
            timeout_ms: random.within(300..3_000),
            script_ms: if random.chance(40) {
                random.within(500..3_000)
            } else {
                30_000
            },
        },
        65..80 => What::Tool {
            name: TOOLS[random.below(TOOLS.len() as u64) as usize].0,
            computer: computer(random),
            turns: turns(random),
        },
        80..88 => What::GetJob {
            back: random.below(6) as usize,
            wait_ms: [0, 0, 400, 2_000][random.below(4) as usize],
        },
        88..94 => What::CancelJob {
            back: random.below(3) as usize,
        },
        _ => What::ListJobs,
    }
}

fn computer(random: &mut Seeded) -> u64 {
    random.within(1..COMPUTERS + 1)
}

/// Some computers, in order and none twice.
fn several(random: &mut Seeded) -> Vec<u64> {
    let first = computer(random);
    (1..=COMPUTERS)
        .filter(|id| *id == first || random.chance(50))
        .collect()
}

/// How long code runs: mostly for a moment.
fn turns(random: &mut Seeded) -> u64 {
    match random.below(10) {
        0..4 => 0,
        4..7 => random.within(1..6),
        _ => random.within(6..MOST_TURNS + 1),
    }
}

fn harm(random: &mut Seeded) -> Harm {
    let harm = match random.below(100) {
        0..4 => return Harm::KillOwner,
        4..8 => return Harm::SuspendOwner(time(random, 300..6_000)),
        8..11 => return Harm::Leave(random.below(SEATS as u64) as usize),
        11..14 => return Harm::Kill(random.below(SEATS as u64) as usize),
        14..24 => ComputerHarm::Cut,
        24..30 => ComputerHarm::Unreachable(time(random, 200..4_000)),
        30..46 => ComputerHarm::Lose(way(random), time(random, 20..2_500)),
        46..62 => ComputerHarm::Stall(way(random), time(random, 300..5_000)),
        62..78 => ComputerHarm::Suspend(time(random, 300..5_000)),
        78..82 => ComputerHarm::Pause(time(random, 300..4_000)),
        82..90 => ComputerHarm::Reboot,
        90..95 => ComputerHarm::Unload(time(random, 100..3_000)),
        _ => ComputerHarm::Terminate(time(random, 100..3_000)),
    };
    Harm::Computer(computer(random), harm)
}

fn way(random: &mut Seeded) -> Way {
    if random.chance(50) {
        Way::ToBridge
    } else {
        Way::ToComputer
    }
}

fn time(random: &mut Seeded, ms: Range<u64>) -> Duration {
    Duration::from_millis(random.within(ms))
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            number,
            at,
            seat,
            what,
        } = self;
        write!(f, "c{number} at {at:?} by client {seat}: {what:?}")
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {:?}", self.at, self.what)
    }
}
