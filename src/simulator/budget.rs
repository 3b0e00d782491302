//! How long Lua may run on one event and how deep its calls may go, and how it is made to stop.

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

/// How many calls may be under way in a coroutine. Lua's own limit is one of memory, and lies much higher.
const STACK_FRAMES: usize = 32_768;

/// How many calls there still may be room for, to see whether the next look can wait. Looking takes as long as the stack
/// is deep.
const ROOMS: [usize; 4] = [2048, 4096, 8192, 16_384];

/// How many calls at most are made between two looks: each takes two instructions.
const CALLS: usize = INSTRUCTIONS as usize / 2;

/// How many Lua instructions run between two looks at the clock and the stack: some ten microseconds' worth.
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

/// The time one event may take, over all coroutines of a computer, and the calls that one coroutine may have under way.
#[derive(Debug)]
pub(super) struct Budget {
    limits: Limits,
    started: Cell<Instant>,
    /// Whether the catchable error was thrown for this event.
    thrown: Cell<bool>,
    /// Whether the computer has to be powered off.
    exhausted: Cell<bool>,
    /// Whether the stack that was last looked at was full, and its program has been told so: what deals with that may go
    /// a little deeper.
    overflown: Cell<bool>,
    /// How many looks at the stack are left out, since it can't be full by then.
    left_out: Cell<usize>,
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
            overflown: Cell::new(false),
            left_out: Cell::new(0),
        });
        let checked = Rc::clone(&budget);
        // A coroutine inherits the hook of the one that makes it.
        let triggers = HookTriggers::new().every_nth_instruction(INSTRUCTIONS);
        lua.set_global_hook(triggers, move |lua, debug| {
            if interrupted.load(Ordering::Relaxed) {
                return Err(mlua::Error::external(Halt));
            }
            checked.check_stack(lua, debug)?;
            checked.check_time(debug)
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

    fn check_stack(&self, lua: &Lua, debug: &Debug<'_>) -> mlua::Result<()> {
        if let Some(fewer) = self.left_out.get().checked_sub(1) {
            self.left_out.set(fewer);
            return Ok(());
        }
        let reaches = |depth| lua.inspect_stack(depth, |_| ()).is_some();
        let room = ROOMS
            .into_iter()
            .take_while(|room| !reaches(STACK_FRAMES - room))
            .last();
        self.left_out.set(room.map_or(0, |room| room / CALLS));
        let is_full = room.is_none() && reaches(STACK_FRAMES);
        if self.overflown.replace(is_full) || !is_full {
            return Ok(());
        }
        Err(mlua::Error::runtime(format!(
            "{}stack overflow",
            place(debug)
        )))
    }

    fn check_time(&self, debug: &Debug<'_>) -> mlua::Result<VmState> {
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
        Err(mlua::Error::runtime(format!("{}{TOO_LONG}", place(debug))))
    }
}

/// `file:line: ` of what runs.
fn place(debug: &Debug<'_>) -> String {
    match (debug.source().short_src, debug.current_line()) {
        (Some(source), Some(line)) => format!("{source}:{line}: "),
        _ => String::new(),
    }
}
