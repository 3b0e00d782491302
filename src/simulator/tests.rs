//! What a simulated computer does as a whole: programs run on it, and its screen and disk are looked at.

use std::time::Duration;

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
    let out = computer.read_file("out").unwrap_or_default();
    let lines = String::from_utf8_lossy(&out)
        .lines()
        .map(str::to_owned)
        .collect();
    (computer, lines)
}

fn fast() -> ComputerOptions {
    ComputerOptions {
        clock_speed: 20.0,
        ..ComputerOptions::new(7)
    }
}

fn run(source: &str) -> Vec<String> {
    let (computer, lines) = run_with(fast(), source);
    assert_eq!(
        computer.program(),
        ProgramState::Ended { ok: true },
        "{:#?}",
        computer.screen()
    );
    lines
}

#[test]
fn a_program_prints_on_the_screen_and_the_prompt_follows() {
    let (computer, _) = run_with(fast(), "print('hello', 1, true)");
    let prompted = computer.wait_until(Duration::from_secs(3), |computer| {
        computer.screen().iter().any(|line| line == ">")
    });
    assert!(prompted, "{:#?}", computer.screen());
    assert_eq!(
        computer.screen()[..3],
        [
            "CraftOS 1.9",
            "hello\t1\ttrue".replace('\t', "\t").as_str(),
            ">"
        ]
    );
}
