//! What is changed on a person's machine so that the bridge is used: clients, the game, the service.
//!
//! A file is read as it was found ([`mod@file`]), a new text is made of it, and both are a [`change`], which a person sees as a
//! diff and agrees to ([`asking`]) before it is written. What was added is noted in the [`ledger`], so that it can be
//! taken out again.

pub mod asking;
pub mod change;
pub mod clients;
pub mod edit;
pub mod file;
pub(crate) mod game;
pub mod hiding;
pub mod ledger;
pub mod machine;
pub mod refusal;
mod run;
pub mod service;
mod splice;
