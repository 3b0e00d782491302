//! The game's side: the link port, who may use it, and one computer's session.

pub mod admission;
pub mod agent;
mod allowance;
mod compact;
pub mod http;
mod outlet;
mod packages;
pub mod port;
pub mod session;
mod unclaimed;
