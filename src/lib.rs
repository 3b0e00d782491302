//! `mcp-bridge` lets an MCP client see and program the ComputerCraft computers of a Minecraft world.
//!
//! One process is both ends of the host side: an MCP server over standard input and output or HTTP ([`mcp`]), and the
//! link port that in-game agents connect to ([`link`]). Between them stand the [`tools`] that a client calls and the
//! [`fabric`] that says which computers exist and asks one something. Beside them are MCP servers of others that
//! the bridge is a client of ([`upstream`]). Dependencies point one way: `mcp` → `tools` → `fabric` → `link`.

#![warn(missing_docs, clippy::expect_used, clippy::unwrap_used)]

pub mod agent;
pub mod client_rules;
pub mod commands;
pub mod config;
pub mod fabric;
pub mod link;
pub mod logging;
pub mod mcp;
pub mod simulator;
pub mod store;
pub mod tools;
pub mod upstream;
