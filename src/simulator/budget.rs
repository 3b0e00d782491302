//! How long Lua may run on one event, and how it is made to stop.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mlua::debug::{Debug, HookTriggers};
use mlua::{Lua, VmState};

use super::options::Limits;

/// What is thrown into a program that doesn't yield.
pub(super) const TOO_LONG: &str = "Too long without yielding";

/// How many Lua instructions run between two looks at the clock: some ten microseconds' worth.
const INSTRUCTIONS: u32 = 1000;

/// Ends the whole virtual machine: the simulator's own `pcall` passes it on, so that no program can catch it.
#[derive(Debug)]
pub(super) struct Halt;

impl fmt::Display for Halt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the computer was powered off")
    }
}

impl Error for Halt {}

/// The time one event may take, over all coroutines of a computer.
#[derive(Debug)]
pub(super) struct Budget {
    limits: Limits,
    started: Cell<Instant>,
    /// Whether the catchable error was thrown for this event.
    thrown: Cell<bool>,
    /// Whether the computer has to be powered off.
    exhausted: Cell<bool>,
}

impl Budget {
    /// Puts a budget in force in `lua`, in every coroutine it will make, and lets `interrupted` end it.
    pub(super) fn enforce(
        lua: &Lua,
        limits: &Limits,
        interrupted: Arc<AtomicBool>,
    ) -> mlua::Result<Rc<Self>> {
        let budget = Rc::new(Budget {
            limits: limits.clone(),
            started: Cell::new(Instant::now()),
            thrown: Cell::new(false),
            exhausted: Cell::new(false),
        });
        let checked = Rc::clone(&budget);
        // A coroutine inherits the hook of the one that makes it.
        let triggers = HookTriggers::new().every_nth_instruction(INSTRUCTIONS);
        lua.set_global_hook(triggers, move |_, debug| {
            if interrupted.load(Ordering::Relaxed) {
                return Err(mlua::Error::external(Halt));
            }
            checked.check(debug)
        })?;
        Ok(budget)
    }

    /// A new event begins.
    pub(super) fn restart(&self) {
        self.started.set(Instant::now());
        self.thrown.set(false);
    }

    /// Whether the last event ran past all its time.
    pub(super) fn is_exhausted(&self) -> bool {
        self.exhausted.get()
    }

    fn check(&self, debug: &Debug<'_>) -> mlua::Result<VmState> {
        let spent: Duration = self.started.get().elapsed();
        if spent < self.limits.event_time {
            return Ok(VmState::Continue);
        }
        if spent >= self.limits.event_time + self.limits.grace_time {
            self.exhausted.set(true);
            return Err(mlua::Error::external(Halt));
        }
        if self.thrown.replace(true) {
            return Ok(VmState::Continue);
        }
        let place = match (debug.source().short_src, debug.current_line()) {
            (Some(source), Some(line)) => format!("{source}:{line}: "),
            _ => String::new(),
        };
        Err(mlua::Error::runtime(format!("{place}{TOO_LONG}")))
    }
}
