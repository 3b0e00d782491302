//! Lua handlers that run on the host: in worker processes of this binary, which can be ended at any moment.
//!
//! A worker serves one call at a time, in a fresh Lua state each. It has no files, no network and no processes; what a
//! handler asks of computers goes through the bridge, as lines of JSON over the worker's pipes (`protocol`).

mod asker;
mod bounds;
mod call;
mod fallible;
pub mod lua_json;
mod natives;
mod options;
mod other_tools;
mod ours;
mod pool;
mod protocol;
mod questions;
mod record;
mod regular;
mod sandbox;
mod trial;
pub mod worker;

pub use asker::Rights;
pub use call::{Code, Ended, HostHandler, NotWell};
pub use pool::{NoWorker, Worker, Workers};

pub use trial::{Loaded, Unusable};
