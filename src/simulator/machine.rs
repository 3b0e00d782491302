//! The thread of one computer: boots its Lua, feeds it events, and ends it.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mlua::{Lua, LuaOptions, MultiValue, StdLib, Table, Thread, Value};

use super::budget::{Budget, TOO_LONG};
use super::clock::TICK_SECONDS;
use super::events::Events;
use super::http::Requests;
use super::land::Land;
use super::native::convert::event_to_lua;
use super::native::{self, Host, Power};
use super::options::ComputerOptions;
use super::rom;
use super::shared::{Order, Shared, lock};
use super::socket::Slots;
use super::state::State;

/// A program's reboot waits until so many ticks after the last start.
const REBOOT_TICKS: f64 = 50.0;

/// How a run ended.
enum End {
    Off,
    Reboot,
    /// The host asked for something.
    Ordered,
    TooLong,
    Crashed(String),
}

/// Runs a computer until the host ends it.
pub(super) fn run(
    shared: &Arc<Shared>,
    land: &Arc<Land>,
    options: Arc<ComputerOptions>,
    program: &str,
    runtime: &tokio::runtime::Handle,
) {
    let mut next = Some(Order::Boot);
    loop {
        next = match next {
            Some(Order::Stop) => break,
            Some(Order::Boot) => match shared.begin(&options) {
                Ok(events) => {
                    land.set_on(options.id, true);
                    let next = power_on(shared, land, &options, &events, program, runtime);
                    land.set_on(options.id, false);
                    next
                }
                Err(order) => Some(order),
            },
            Some(Order::Off) => {
                shared.set_off();
                None
            }
            None => shared.wait_for_order(None),
        };
    }
    shared.set_state(State::Stopped);
}

/// One run, from switching on to being off; what the host wants next, if that is known.
fn power_on(
    shared: &Arc<Shared>,
    land: &Arc<Land>,
    options: &Arc<ComputerOptions>,
    events: &Arc<Events>,
    program: &str,
    runtime: &tokio::runtime::Handle,
) -> Option<Order> {
    let started = Instant::now();
    lock(&shared.terminal).reset();
    let host = Host {
        options: Arc::clone(options),
        shared: Arc::clone(shared),
        land: Arc::clone(land),
        events: Arc::clone(events),
        runtime: runtime.clone(),
        slots: Slots::default(),
        requests: Requests::default(),
        power: Cell::new(None),
        program: program.to_owned(),
    };
    let ended = catch_unwind(AssertUnwindSafe(|| live(host)));
    let end = match ended {
        Ok(Ok(end)) => end,
        Ok(Err(error)) => End::Crashed(native::describe(&error).1),
        Err(_) => End::Crashed("the simulator itself failed".to_owned()),
    };
    events.interrupt();
    match end {
        End::Ordered => shared.wait_for_order(Some(Duration::ZERO)),
        End::Off => {
            shared.set_off();
            None
        }
        End::Reboot => {
            let soonest = Duration::from_secs_f64(
                REBOOT_TICKS * TICK_SECONDS / options.clock_speed.max(0.001),
            );
            let order = shared.wait_for_order(Some(soonest.saturating_sub(started.elapsed())));
            order.or(Some(Order::Boot))
        }
        End::TooLong => {
            show_failure(shared, TOO_LONG);
            shared.set_state(State::PoweredOff(TOO_LONG.to_owned()));
            None
        }
        End::Crashed(problem) => {
            show_failure(shared, &problem);
            shared.set_state(State::Crashed(problem));
            None
        }
    }
}

/// What the screen says of a computer that failed.
fn show_failure(shared: &Shared, problem: &str) {
    let mut terminal = lock(&shared.terminal);
    terminal.reset();
    terminal.set_foreground(14);
    terminal.write(b"Error running computer");
    for (line, y) in problem.lines().zip(2..) {
        terminal.set_cursor(1, y);
        terminal.write(line.as_bytes());
    }
}

/// Boots Lua and feeds it events until it ends.
fn live(host: Host) -> mlua::Result<End> {
    let libraries = StdLib::COROUTINE | StdLib::TABLE | StdLib::STRING | StdLib::BIT | StdLib::MATH;
    // `catch_rust_panics` leaves Lua's own `pcall` in place; mlua's other one can't be yielded across.
    let lua = Lua::new_with(libraries, LuaOptions::new().catch_rust_panics(true))?;
    let limits = &host.options.limits;
    lua.set_memory_limit(limits.memory_bytes)?;
    let budget = Budget::enforce(&lua, limits, Arc::clone(&host.shared.interrupted))?;
    let host = Rc::new(host);
    let (thread, natives) = boot(&lua, &host)?;

    let mut arguments = MultiValue::from_vec(vec![Value::Table(natives)]);
    let mut seen = 0;
    loop {
        let resumed = thread.resume::<MultiValue>(arguments);
        if host.shared.pending().is_some() {
            return Ok(End::Ordered);
        }
        if budget.is_exhausted() {
            return Ok(End::TooLong);
        }
        let yielded = resumed?;
        if let Some(power) = host.power.get() {
            return Ok(if power == Power::Off {
                End::Off
            } else {
                End::Reboot
            });
        }
        if !thread.is_resumable() {
            return Ok(End::Off);
        }
        let generation = lock(&host.shared.terminal).generation();
        if generation != seen {
            seen = generation;
            host.shared.notify();
        }
        let filter = match yielded.front() {
            Some(Value::String(name)) => Some(name.as_bytes().to_vec()),
            _ => None,
        };
        let event = loop {
            match host.events.next() {
                None => return Ok(End::Ordered),
                Some(event) => match &filter {
                    Some(name) if event.name != *name && event.name != b"terminate" => {}
                    _ => break event,
                },
            }
        };
        // Before any Lua runs, that which makes handles among it: waiting costs nothing.
        budget.restart();
        arguments = event_to_lua(&lua, event)?;
    }
}

/// Loads the rom, and makes the coroutine that runs it, to be resumed with the table of native functions.
fn boot(lua: &Lua, host: &Rc<Host>) -> mlua::Result<(Thread, Table)> {
    let natives: Table = native::build(lua, host)?;
    let files = lua.create_table()?;
    for (path, source) in rom::SYSTEM.iter().chain(rom::FILES) {
        files.set(*path, *source)?;
    }
    natives.set("files", files)?;
    lua.load(rom::NATIVE)
        .set_name("=[native]")
        .call::<()>(&natives)?;
    let bios = lua.load(rom::BIOS).set_name("@bios.lua").into_function()?;
    Ok((lua.create_thread(bios)?, natives))
}
