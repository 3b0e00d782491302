//! What the handlers of one namespace have on the host beside Lua: each other's code, a store, and, where a person allows
//! it, requests to hosts and secrets.
//!
//! A handler runs in a process that can do none of this (`host/worker.rs`). It asks the bridge, which does it here.

mod grant;
mod hiding;
#[cfg(feature = "upstream-http")]
mod http;
mod keeper;
mod live;
mod module;
mod modules;
#[cfg(not(feature = "upstream-http"))]
mod no_http;
#[cfg(feature = "upstream-http")]
mod public;
mod request;
mod secrets;
mod stand_in;
mod store;
mod visit;

pub use grant::{Grant, is_allowed};
pub use hiding::Hiding;
pub use keeper::Keeper;
pub use live::Live;
pub use module::Modules;
pub use modules::{ModuleError, Required, find as module};
pub use secrets::{SECRETS_FILE, VARIABLE as SECRET_VARIABLE};
pub use stand_in::{StandIn, StandInError};
pub use visit::{Home, Manner, Need, NeedError, Visit};
