//! How long an agent may be silent.

use crate::wire::hello::Hello;

/// How often each side pings the other, in seconds.
pub const PING_SECONDS: u64 = 5;

/// How long a silent peer counts as alive, in seconds: longer than the game lets code run without yielding.
const DEAD_SECONDS: u64 = 15;

/// The same for CraftOS-PC, which lets code run for 17 s.
const DEAD_SECONDS_CRAFTOS_PC: u64 = 30;

/// How long a link in doubt may be silent, in seconds: longer than the game lets code run without yielding.
const DOUBTED_SECONDS: u64 = 10;

/// The same for CraftOS-PC.
const DOUBTED_SECONDS_CRAFTOS_PC: u64 = 20;

/// How long an agent may be silent.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// In seconds.
    pub dead: u64,
    /// While another computer of its number waits, in seconds.
    pub doubted: u64,
}

impl Patience {
    /// That with the one that says this hello.
    pub fn for_agent(hello: &Hello) -> Self {
        match &hello.machine {
            Some(machine) if machine.host.contains("CraftOS-PC") => Self {
                dead: DEAD_SECONDS_CRAFTOS_PC,
                doubted: DOUBTED_SECONDS_CRAFTOS_PC,
            },
            _ => Self {
                dead: DEAD_SECONDS,
                doubted: DOUBTED_SECONDS,
            },
        }
    }
}
