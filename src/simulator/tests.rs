//! What a simulated computer does as a whole: programs run on it, and its screen and disk are looked at.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

/// What every program begins with that says something: its lines go to `/out`.
const PRELUDE: &str = "local out = fs.open('/out', 'wb') \
    local function say(...) local t = table.pack(...) for n = 1, t.n do t[n] = tostring(t[n]) end \
    out.write(table.concat(t, ' ') .. '\\n') out.flush() end ";

/// Runs programs on computers of a world, each until it ends, and returns what each has said.
fn run_in(land: &Arc<Land>, residents: &[Resident], programs: &[(u64, &str)]) -> Vec<Vec<String>> {
    run_at(20.0, land, residents, programs)
}

/// The same with a clock so many times faster than the game's.
fn run_at(
    speed: f64,
    land: &Arc<Land>,
    residents: &[Resident],
    programs: &[(u64, &str)],
) -> Vec<Vec<String>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    land.set_clock_speed(speed);
    let computers: Vec<Computer> = programs
        .iter()
        .map(|(id, source)| {
            let its = residents.iter().find(|resident| resident.options.id == *id);
            let mut options = its.expect("a computer of this number").options.clone();
            options.clock_speed = speed;
            let options = options.with_file("test.lua", format!("{PRELUDE}{source}"));
            Computer::start_in(land, options, "test", runtime.handle()).expect("a thread")
        })
        .collect();
    for computer in &computers {
        let ended = |computer: &Computer| matches!(computer.program(), ProgramState::Ended { .. });
        assert!(
            computer.wait_until(PATIENCE, ended),
            "{:#?}",
            computer.screen()
        );
        let ok = ProgramState::Ended { ok: true };
        assert_eq!(computer.program(), ok, "{:#?}", computer.screen());
    }
    computers.iter().map(out_of).collect()
}

/// What one program says in a world of this description.
fn run_there(world: &str, id: u64, program: &str) -> (Arc<Land>, Vec<String>) {
    let (land, residents) = Land::read(world).expect("a world");
    let said = run_in(&land, &residents, &[(id, program)]).remove(0);
    (land, said)
}

/// Runs a program on a computer of its own, and returns the computer and the lines of its file `/out`.
fn run_with(options: ComputerOptions, source: &str) -> (Computer, Vec<String>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let options = options.with_file("test.lua", format!("{PRELUDE}{source}"));
    let computer = Computer::start(options, "test", runtime.handle()).expect("a thread");
    let ended = computer.wait_until(PATIENCE, |computer| {
        matches!(computer.program(), ProgramState::Ended { .. })
            || computer.state() != State::Running
    });
    assert!(ended, "{:?} {:#?}", computer, computer.screen());
    let lines = out_of(&computer);
    (computer, lines)
}

fn out_of(computer: &Computer) -> Vec<String> {
    let out = computer.read_file("out").unwrap_or_default();
    String::from_utf8_lossy(&out)
        .lines()
        .map(str::to_owned)
        .collect()
}

fn fast() -> ComputerOptions {
    ComputerOptions {
        clock_speed: 20.0,
        ..ComputerOptions::new(7)
    }
}

fn version(text: &str) -> ComputerOptions {
    ComputerOptions {
        version: text.parse().expect("a version"),
        ..fast()
    }
}

fn impatient() -> ComputerOptions {
    let mut options = fast();
    options.limits.event_time = Duration::from_millis(500);
    options.limits.grace_time = Duration::from_millis(500);
    options
}

/// What a program says that ends well.
fn run(source: &str) -> Vec<String> {
    run_on(fast(), source)
}

fn run_on(options: ComputerOptions, source: &str) -> Vec<String> {
    let (computer, lines) = run_with(options, source);
    assert_eq!(
        computer.program(),
        ProgramState::Ended { ok: true },
        "{:#?}",
        computer.screen()
    );
    lines
}

fn shows(computer: &Computer, text: &str) -> bool {
    computer.screen().iter().any(|line| line.contains(text))
}

mod apis;
mod facts;
mod language;
mod life;
mod neighbours;
mod storage;
mod turtles;
