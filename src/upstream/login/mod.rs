//! Servers over HTTP that want to know who asks: OAuth, as MCP has it.
//!
//! A person logs in once for each such server ([`flow`]), in a browser that answers to a port of this machine
//! (`callback`). What that gives is [`kept`] for all bridges, and what each request shows of it is in [`pass`], which also
//! has it renewed.

pub mod browser;
mod callback;
pub mod flow;
pub mod guarded;
pub mod kept;
pub mod pass;
mod words;
