//! What a computer's thread and its host share: screen, disk, state, and what the host has ordered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::clock::Clock;
use super::events::Events;
use super::filesystem::FileSystem;
use super::options::ComputerOptions;
use super::state::{ProgramState, State};
use super::terminal::Terminal;

/// A poisoned lock's data is still whole: every change is made in one step.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the host wants of a computer's power.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Off,
    Boot,
    /// End for good; nothing after it counts.
    Stop,
}

pub(super) struct Status {
    pub(super) state: State,
    pub(super) program: ProgramState,
    order: Option<Order>,
    /// The queue of the present run.
    pub(super) events: Arc<Events>,
    /// How often it was switched on.
    pub(super) boots: u64,
    /// Whether the world around it stands still.
    pub(super) paused: bool,
    /// Whether its chunk is loaded.
    loaded: bool,
    /// Whether it was on when its chunk was unloaded, and so boots when that is loaded again.
    on_when_unloaded: bool,
}

impl Status {
    /// Notes an order, unless the computer is to end already, and stops what runs.
    fn take_order(&mut self, order: Order, interrupted: &AtomicBool) {
        if self.order != Some(Order::Stop) {
            self.order = Some(order);
        }
        interrupted.store(true, Ordering::Relaxed);
        self.events.interrupt();
    }
}

/// What a computer's thread and its host share; it outlives reboots.
pub(super) struct Shared {
    pub(super) terminal: Mutex<Terminal>,
    pub(super) disk: Mutex<FileSystem>,
    pub(super) label: Mutex<Option<Vec<u8>>>,
    /// Makes running Lua stop at its next look.
    pub(super) interrupted: Arc<AtomicBool>,
    status: Mutex<Status>,
    /// Notified when the state, the program's state or the screen has changed.
    pub(super) changed: Condvar,
    /// The same, for those who wait in async code.
    pub(super) changes: watch::Sender<u64>,
}

impl Shared {
    /// Of a computer that has yet to be switched on.
    pub(super) fn new(options: &ComputerOptions, disk: FileSystem) -> Self {
        let (width, height) = options.kind.terminal_size();
        Shared {
            terminal: Mutex::new(Terminal::new(width, height)),
            disk: Mutex::new(disk),
            label: Mutex::new(options.label.clone().map(String::into_bytes)),
            interrupted: Arc::new(AtomicBool::new(false)),
            status: Mutex::new(Status {
                state: State::Running,
                program: ProgramState::Waiting,
                order: None,
                events: Arc::new(Events::new(Clock::new(options.clock_speed))),
                boots: 0,
                paused: false,
                loaded: true,
                on_when_unloaded: false,
            }),
            changed: Condvar::new(),
            changes: watch::Sender::new(0),
        }
    }

    pub(super) fn status(&self) -> MutexGuard<'_, Status> {
        // Every change is one assignment: after a panic elsewhere the data is still whole.
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells those who wait that something can be seen.
    pub(super) fn notify(&self) {
        self.changes.send_modify(|count| *count += 1);
        // With the lock held, so that nobody who has just looked misses it.
        drop(self.status());
        self.changed.notify_all();
    }

    pub(super) fn set_state(&self, state: State) {
        self.status().state = state;
        self.notify();
    }

    /// It is off, because it was switched off or because its chunk is not loaded.
    pub(super) fn set_off(&self) {
        let mut status = self.status();
        status.state = if status.loaded {
            State::Off
        } else {
            State::Unloaded
        };
        drop(status);
        self.notify();
    }

    pub(super) fn set_paused(&self, paused: bool) {
        let mut status = self.status();
        status.paused = paused;
        status.events.set_paused(paused);
        drop(status);
        self.notify();
    }

    pub(super) fn set_program(&self, program: ProgramState) {
        self.status().program = program;
        self.notify();
    }

    pub(super) fn order(&self, order: Order) {
        let mut status = self.status();
        if !status.loaded && order != Order::Stop {
            return;
        }
        status.take_order(order, &self.interrupted);
        drop(status);
        self.notify();
    }

    /// Takes the computer out of the world.
    pub(super) fn unload(&self) {
        let mut status = self.status();
        if !status.loaded {
            return;
        }
        status.on_when_unloaded = match status.order {
            Some(order) => order == Order::Boot,
            None => status.state == State::Running,
        };
        status.loaded = false;
        status.take_order(Order::Off, &self.interrupted);
        drop(status);
        self.notify();
    }

    pub(super) fn is_loaded(&self) -> bool {
        self.status().loaded
    }

    /// Puts the computer back into the world.
    pub(super) fn load(&self) {
        let mut status = self.status();
        if status.loaded {
            return;
        }
        status.loaded = true;
        let order = if status.on_when_unloaded {
            Order::Boot
        } else {
            Order::Off
        };
        status.take_order(order, &self.interrupted);
        drop(status);
        self.notify();
    }

    /// Prepares a run: a new queue. The order that ended the last one stays, unless it was to boot.
    pub(super) fn begin(&self, options: &ComputerOptions) -> Result<Arc<Events>, Order> {
        let mut status = self.status();
        if let Some(order @ (Order::Stop | Order::Off)) = status.order.take() {
            return Err(order);
        }
        // What the host queued between `start` and the first run is not lost.
        let events = match status.boots {
            0 => Arc::clone(&status.events),
            _ => Arc::new(Events::new(Clock::new(options.clock_speed))),
        };
        events.set_paused(status.paused);
        status.events = Arc::clone(&events);
        status.state = State::Running;
        status.program = ProgramState::Waiting;
        status.boots += 1;
        self.interrupted.store(false, Ordering::Relaxed);
        drop(status);
        self.notify();
        Ok(events)
    }

    /// Whether the host has asked for something.
    pub(super) fn pending(&self) -> Option<Order> {
        self.status().order
    }

    /// Waits for an order, at most so long if a time is given, and takes it.
    pub(super) fn wait_for_order(&self, time: Option<Duration>) -> Option<Order> {
        let until = time.map(|time| Instant::now() + time);
        let mut status = self.status();
        loop {
            if let Some(order) = status.order.take() {
                return Some(order);
            }
            status = match until.map(|until| until.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return None,
                Some(left) => {
                    self.changed
                        .wait_timeout(status, left)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
                None => self
                    .changed
                    .wait(status)
                    .unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}
