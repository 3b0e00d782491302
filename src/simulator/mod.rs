//! Simulated ComputerCraft computers that run the real agent in embedded Lua, one virtual machine each.
//!
//! A [`Computer`] is a thread with a Lua 5.2 state of its own, a queue of 256 events, a screen, a disk in memory,
//! and real sockets on the caller's runtime. It boots an operating system of ours (`rom/`), whose shell runs what it
//! is given. Everything is written from the facts in README.md; nothing is copied from the mod. Where the mod's own
//! core could be run beside it, the two were compared.
//!
//! ```no_run
//! use std::time::Duration;
//! use mcp_bridge::simulator::{Computer, ComputerOptions, Kind};
//!
//! # async fn example(agent: String) -> std::io::Result<()> {
//! let mut options = ComputerOptions::new(12).with_file("mcp-computer.lua", agent);
//! options.kind = Kind::Turtle;
//! let runtime = tokio::runtime::Handle::current();
//! let computer = Computer::start(options, "mcp-computer ws://127.0.0.1:3001", &runtime)?;
//! let linked = |computer: &Computer| computer.screen().iter().any(|line| line.contains("linked as"));
//! assert!(computer.until(Duration::from_secs(5), linked).await);
//! # Ok(())
//! # }
//! ```
//!
//! # As strict as the game
//!
//! The queue drops the newest event when full. Timers fire at whole ticks of 50 ms, in the order in which things
//! happened. An event may be worked on for 7 s, by all coroutines together; then `Too long without yielding` is
//! thrown once, and 1.5 s later the computer is powered off. Four sockets, 16 requests at once; messages of 131,072
//! bytes; no close frames; fragments lost; text transcoded as the version does; errors in the game's words and with the
//! place where the game puts them. A disk of 1,000,000 bytes, `/rom` read-only, 128 open files. `os.reboot` waits until 50 ticks
//! after the start. Tabs on advanced computers. The limits, the version and a faster clock are [`ComputerOptions`].
//!
//! What happens to computers from outside can be caused: a chunk that unloads and loads again
//! ([`Computer::unload`], [`Computer::load`]), a paused world ([`Computer::pause`], [`Computer::resume`]), a server
//! that restarts ([`World::restart`]), a player at the keyboard.
//!
//! # What it lacks
//!
//! A function that the game has and the simulator has not is there, so that feature tests answer as in the game,
//! and says when it is called: `the simulated computer has no 'commands.execAsync' yet`. Functions that came with a
//! later version than the simulated one are not there. Modules that are lacking say so when they are required.
//! Besides, these differ:
//!
//! - The Lua is PUC 5.2, not Cobalt. Its C functions (`string.find`, `string.rep`, `table.sort`…) can't be
//!   interrupted, so a pattern that takes minutes outlives the 7 s, and what they call back can't yield; some of its
//!   messages have other words; `error(42)` gets a place; `load` takes no first line with `#!`; a whole number of 15
//!   digits or more is written in full by `tostring` but not by `..` and `%s`; `goto` is a keyword, and
//!   functions without `_ENV` keep their environment, in every version.
//! - Before 1.90 the game puts `pcall: ` before a native function's error where `pcall` called it directly; here its
//!   place stands there as in later versions. `xpcall` gives an error in its handler to the handler again. Text files
//!   are not buffered, so that `Out of space` never waits for `flush` or `close`.
//! - `debug.traceback` of a suspended coroutine is empty; `debug.sethook`, `getlocal` and their like are lacking.
//! - No TLS, no compression: `wss` and `https` can't connect, and a server that accepts an extension is refused.
//! - A computer that is started by itself ([`Computer::start`]) stands in an empty world, with nothing attached but, if
//!   asked for, a drive with a floppy ([`ComputerOptions::floppy`]). Others are started in one ([`Computer::start_in`]) that
//!   a file describes ([`Land::read`]). What that lacks: animals and players, light, weather, things that grow and water that
//!   flows; sand falls at once; redstone goes through no blocks, and there are no repeaters; turtles break no other computer.
//!   A floppy is at `/disk` of the computers that reach its drive when they start, and each of these has its own copy.

mod address;
mod budget;
mod clock;
mod computer;
mod events;
mod exchange;
mod filesystem;
mod handshake;
mod http;
mod keys;
mod land;
mod machine;
mod native;
mod options;
mod rom;
mod shared;
mod socket;
mod state;
mod terminal;
mod websocket;
mod world;

pub use computer::{Argument, Computer};
pub use land::{Land, Position, Resident, WrongLand};
pub use options::{ComputerOptions, HttpRules, Kind, Limits, UnknownKind, UnknownVersion, Version};
pub use state::{ProgramState, State};
pub use terminal::{Cell, DEFAULT_PALETTE, Terminal};
pub use world::World;

#[cfg(test)]
mod tests;
