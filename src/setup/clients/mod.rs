//! MCP clients: which there are, where their files are, and the bridge's entry in them.
//!
//! A client is an entry of `clients.toml`; what all have in common is here: what an entry says ([`shape`]), how it is found
//! and judged ([`look`]), added ([`adding`]) and taken out ([`removing`]). What other servers they have, [`servers`] tells.

pub mod adding;
pub mod client;
mod link;
pub mod look;
mod own_command;
mod paths;
pub mod removing;
pub mod servers;
pub mod shape;
mod table;

pub use table::{all, named};

#[cfg(test)]
#[path = "clients_tests.rs"]
mod tests;
