//! A computer's life: start-up, the shell, power, the player, the world around it.

use super::*;

fn start(options: ComputerOptions, program: &str) -> (tokio::runtime::Runtime, Computer) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let computer = Computer::start(options, program, runtime.handle()).expect("a thread");
    (runtime, computer)
}

#[test]
fn a_program_prints_on_the_screen_and_the_prompt_follows() {
    let (_runtime, computer) = start(
        fast().with_file("p.lua", "print(arg[0], ...)"),
        "p 'x' \"a b\"",
    );
    let prompted = |computer: &Computer| computer.screen().iter().any(|line| line == ">");
    assert!(
        computer.wait_until(PATIENCE, prompted),
        "{:#?}",
        computer.screen()
    );
    // Between them stands the message of the day.
    assert_eq!(computer.screen()[0], "CraftOS 1.9");
    assert_eq!(computer.screen()[2..4], ["p 'x' a b", ">"]);
}

#[test]
fn a_player_types_commands_at_the_prompt() {
    let (_runtime, computer) = start(fast(), "");
    for (typed, shown) in [
        ("echo one  two", "one two"),
        ("nonsense", "No such program"),
        ("label set Bob", "Computer label set to \"Bob\""),
        ("mkdir d", "> mkdir d"),
        ("cd d", "d>"),
        ("id", "This is computer #7"),
    ] {
        computer.type_line(typed);
        assert!(
            computer.wait_until(PATIENCE, |computer| shows(computer, shown)),
            "{typed}: {:#?}",
            computer.screen()
        );
    }
    assert_eq!(computer.label().as_deref(), Some("Bob"));
    computer.type_line("lua");
    computer.type_line("1 + 1, {x = 'y'}");
    assert!(
        computer.wait_until(PATIENCE, |computer| shows(computer, "x = \"y\"")),
        "{:#?}",
        computer.screen()
    );
}

/// README.md, "Start and end": module paths are relative to the program's folder.
#[test]
fn a_programs_modules_are_found_beside_it() {
    let options = fast()
        .with_file(
            "app/main.lua",
            "print(require('lib.greet')('you')) print(pcall(require, 'cc.nope'))",
        )
        .with_file(
            "app/lib/greet.lua",
            "local name = ... return function(who) return name .. ' ' .. who end",
        );
    let (_runtime, computer) = start(options, "app/main");
    assert!(
        computer.wait_until(PATIENCE, |computer| shows(computer, "lib.greet you")),
        "{:#?}",
        computer.screen()
    );
    assert!(
        computer.wait_until(PATIENCE, |computer| shows(computer, "no 'cc.nope' yet")),
        "{:#?}",
        computer.screen()
    );
}

/// README.md, "Start and end": boot runs `/startup(.lua)`, then the files in `/startup/`.
#[test]
fn startup_files_run_before_the_program() {
    let options = fast()
        .with_file("startup.lua", "print('first')")
        .with_file("startup/10.lua", "print('second')")
        .with_file("startup/20.lua", "print('third')");
    let (_runtime, computer) = start(options, "echo last");
    assert!(computer.wait_until(PATIENCE, |computer| shows(computer, "last")));
    assert_eq!(
        computer.screen()[2..6],
        ["first", "second", "third", "last"]
    );
}

#[test]
fn a_programs_error_is_shown_and_ends_only_the_program() {
    let (computer, _) = run_with(fast(), "error('oh no')");
    assert_eq!(computer.program(), ProgramState::Ended { ok: false });
    assert!(shows(&computer, "oh no"));
    assert_eq!(computer.state(), State::Running);
}

/// README.md, "Events and time": `os.pullEvent` raises `Terminated`.
#[test]
fn holding_ctrl_t_ends_a_program() {
    let (_runtime, computer) = start(
        fast().with_file("p.lua", "print('waiting') sleep(1e6)"),
        "p",
    );
    assert!(computer.wait_until(PATIENCE, |computer| shows(computer, "waiting")));
    computer.terminate();
    assert!(computer.wait_until(PATIENCE, |computer| shows(computer, "Terminated")));
    assert_eq!(computer.program(), ProgramState::Ended { ok: false });
}

#[test]
fn a_shutdown_switches_off_and_the_host_can_switch_on_again() {
    let (computer, _) = run_with(fast(), "os.shutdown()");
    assert_eq!(computer.wait_until_stopped(PATIENCE), Some(State::Off));
    assert!(
        !computer.queue_event("e", &[]),
        "an event for a computer that is off is lost"
    );
    computer.reboot();
    assert!(computer.wait_until(PATIENCE, |computer| computer.boots() == 2));
    computer.stop();
    assert_eq!(computer.state(), State::Stopped);
}

/// README.md, "Start and end": `os.reboot` waits until 50 ticks after the last start.
#[test]
fn a_reboot_keeps_the_disk_and_waits_until_50_ticks_after_the_start() {
    let program = "if fs.exists('once') then print('again') else fs.open('once', 'w').close() os.reboot() end";
    let begun = Instant::now();
    let (_runtime, computer) = start(fast().with_file("p.lua", program), "p");
    assert!(
        computer.wait_until(PATIENCE, |computer| shows(computer, "again")),
        "{:#?}",
        computer.screen()
    );
    assert_eq!(computer.boots(), 2);
    assert!(begun.elapsed() >= Duration::from_millis(2500 / 20));
}

/// README.md, "Start and end": a machine that was on boots anew on load, all state lost.
#[test]
fn a_chunk_that_unloads_ends_programs_and_one_that_loads_starts_them_anew() {
    let (_runtime, computer) = start(fast().with_file("p.lua", "print('boot') sleep(1e6)"), "p");
    assert!(computer.wait_until(PATIENCE, |computer| shows(computer, "boot")));
    computer.unload();
    assert_eq!(computer.wait_until_stopped(PATIENCE), Some(State::Unloaded));
    computer.reboot();
    assert_eq!(computer.state(), State::Unloaded, "nobody can reach it");
    computer.load();
    let booted = |computer: &Computer| computer.boots() == 2 && shows(computer, "boot");
    assert!(computer.wait_until(PATIENCE, booted));
}

/// README.md, "Start and end": only a machine that was on boots on load.
#[test]
fn a_computer_that_was_off_when_its_chunk_unloaded_stays_off() {
    let (computer, _) = run_with(fast(), "os.shutdown()");
    assert_eq!(computer.wait_until_stopped(PATIENCE), Some(State::Off));
    computer.unload();
    let is = |state: State| move |computer: &Computer| computer.state() == state;
    assert!(computer.wait_until(PATIENCE, is(State::Unloaded)));
    computer.load();
    assert!(computer.wait_until(PATIENCE, is(State::Off)));
    computer.shutdown();
    computer.shutdown();
    computer.reboot();
    assert!(computer.wait_until(PATIENCE, |computer| computer.boots() == 2));
}

/// README.md, "Start and end": a world stop ends all programs; machines that were on boot anew.
#[test]
fn a_server_restart_boots_all_computers_anew_and_a_paused_world_goes_on() {
    let program = |id| ComputerOptions {
        id,
        ..fast().with_file("p.lua", "sleep(0.1) print('boot') sleep(1e6)")
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let start = |id| Computer::start(program(id), "p", runtime.handle()).expect("a thread");
    let world = World::new((1..=3).map(start).collect());
    for computer in world.computers() {
        assert!(computer.wait_until(PATIENCE, |computer| shows(computer, "boot")));
    }
    world.pause();
    runtime.block_on(world.restart());
    for computer in world.computers() {
        let booted = |computer: &Computer| computer.boots() == 2 && shows(computer, "boot");
        assert!(computer.wait_until(PATIENCE, booted));
        assert!(!computer.is_paused());
    }
    assert_eq!(world.computer(2).map(Computer::id), Some(2));
}

#[test]
fn a_computer_that_never_yields_can_be_stopped() {
    let (_runtime, computer) = start(
        fast().with_file("p.lua", "print('busy') sleep(0) while true do end"),
        "p",
    );
    assert!(computer.wait_until(PATIENCE, |computer| shows(computer, "busy")));
    let begun = Instant::now();
    computer.stop();
    assert_eq!(computer.state(), State::Stopped);
    assert!(begun.elapsed() < Duration::from_secs(1));
}

/// README.md, "Events and time": `sleep` halts while the world is paused, though other events still come.
#[test]
fn in_a_paused_world_sleep_halts_and_events_arrive() {
    let program = "print('ready') local timer = os.startTimer(0.05) \
        while true do local e, id = os.pullEvent() print(e == 'timer' and id == timer and 'woken' or e) end";
    let (_runtime, computer) = start(fast().with_file("p.lua", program), "");
    computer.pause();
    computer.type_line("p");
    assert!(
        computer.wait_until(PATIENCE, |computer| shows(computer, "ready")),
        "{:#?}",
        computer.screen()
    );
    computer.queue_event("message", &[]);
    assert!(computer.wait_until(PATIENCE, |computer| shows(computer, "message")));
    assert!(!shows(&computer, "woken"));
    computer.resume();
    assert!(computer.wait_until(PATIENCE, |computer| shows(computer, "woken")));
}

/// README.md, "Screen and keys": multishell sends keys only to the focused tab.
#[test]
fn tabs_run_side_by_side_and_only_the_one_in_front_gets_keys() {
    let options = fast()
        .with_file("back.lua", "while true do local e, x = os.pullEvent() _G.seen = (_G.seen or '') .. e .. ' ' end")
        .with_file("p.lua", "local id = shell.openTab('back') os.queueEvent('both') sleep(0.1) print('tab ' .. id) \
            os.pullEvent('char') sleep(0.1) print('[' .. _G.seen .. ']') print(multishell.getCount(), multishell.getTitle(2))");
    let (_runtime, computer) = start(options, "p");
    assert!(
        computer.wait_until(PATIENCE, |computer| shows(computer, "tab 2")),
        "{:#?}",
        computer.screen()
    );
    computer.queue_event("char", &["x".into()]);
    assert!(
        computer.wait_until(PATIENCE, |computer| shows(computer, "2 back")),
        "{:#?}",
        computer.screen()
    );
    assert!(!shows(&computer, "char"), "{:#?}", computer.screen());
    assert!(shows(&computer, "both"), "{:#?}", computer.screen());
}

#[test]
fn fifty_computers_start_at_once() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let begun = Instant::now();
    let all: Vec<Computer> = (0..50)
        .map(|id| {
            let options = ComputerOptions::new(id)
                .with_file("p.lua", "print('I am ' .. os.getComputerID()) sleep(1e6)");
            Computer::start(options, "p", runtime.handle()).expect("a thread")
        })
        .collect();
    for computer in &all {
        let text = format!("I am {}", computer.id());
        assert!(
            computer.wait_until(PATIENCE, |computer| shows(computer, &text)),
            "{:#?}",
            computer.screen()
        );
    }
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    drop(all);
}
