//! What a simulated computer does as a whole: programs run on it, and its screen and disk are looked at.

use std::time::{Duration, Instant};

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

/// Runs a program on a computer of its own, and returns the computer and the lines of its file `/out`.
fn run_with(options: ComputerOptions, source: &str) -> (Computer, Vec<String>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let prelude = "local out = fs.open('/out', 'wb') \
        local function say(...) local t = table.pack(...) for n = 1, t.n do t[n] = tostring(t[n]) end \
        out.write(table.concat(t, ' ') .. '\\n') end ";
    let options = options.with_file("test.lua", format!("{prelude}{source}"));
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
