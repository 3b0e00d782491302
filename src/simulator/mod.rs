//! Simulated ComputerCraft computers that run the real agent in embedded Lua, one virtual machine each.

mod address;
mod budget;
mod clock;
mod computer;
mod events;
mod filesystem;
mod handshake;
mod http;
mod machine;
mod native;
mod options;
mod rom;
mod terminal;
mod websocket;

pub use computer::{Argument, Computer, ProgramState, State};
pub use options::{ComputerOptions, HttpRules, Kind, Limits, UnknownKind, UnknownVersion, Version};
pub use terminal::{Cell, DEFAULT_PALETTE, Terminal};

#[cfg(test)]
mod tests;
