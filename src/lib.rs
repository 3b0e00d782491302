//! `mcp-bridge` lets an MCP client see and program the ComputerCraft computers of a Minecraft world.
//!
//! One process is both ends of the host side: an MCP server over standard input and output or HTTP ([`mcp`]), and the
//! link port that in-game agents connect to ([`link`]). Between them stand the [`tools`] that a client calls and the
//! [`computers`] that they ask. Beside them are other bridges of the same user ([`bridges`]) and MCP servers of others
//! that the bridge is a client of ([`upstream`]). What a person sees of it all from outside, and does with it, is in
//! [`hands`]; what is wrong with their set-up, in [`doctor`]. How a folder and a computer's are kept alike, in [`sync`].

#![warn(missing_docs, clippy::expect_used, clippy::unwrap_used)]

pub mod base;
pub mod bridges;
pub mod commands;
pub mod computers;
pub mod doctor;
pub mod hands;
pub mod link;
pub mod mcp;
pub mod settings;
pub mod setup;
pub mod simulator;
pub mod sync;
pub mod tools;
pub mod upstream;
pub mod wire;
