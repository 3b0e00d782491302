//! What belongs to no floor: text for people, small stores, the log, what clients refuse.

pub mod client_rules;
pub mod logging;
pub mod store;
pub mod text;
