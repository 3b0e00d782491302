//! The game's side: frames, the link port, one computer's session, and the registry of computers.

pub mod admission;
mod allowance;
pub mod bridges;
pub mod computer;
pub mod ending;
pub mod frame;
pub mod handle;
pub mod http;
pub mod job;
mod job_table;
pub mod outgoing;
mod output;
pub mod parts;
pub mod port;
pub mod registry;
pub mod session;
pub mod text;
mod unclaimed;
