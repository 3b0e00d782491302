//! The game: where it is on this machine, whether it lets computers reach the bridge, and how it comes to do so.
//!
//! [`found`] looks for it, [`rules`] judge as the game does, [`config`] reads and changes its files, [`open_world`] tells
//! whether it would undo that. [`survey`] puts this together for whoever asks.

pub(crate) mod config;
pub(crate) mod found;
pub(crate) mod open_world;
pub(crate) mod rules;
pub(crate) mod survey;
pub(crate) mod table;
