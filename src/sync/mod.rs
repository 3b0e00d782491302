//! Keeps a folder of the host and one of a computer alike: by contents, to the computer, from it, or both ways.
//!
//! It knows no computers: whoever syncs hands in a [`Peer`], by which Lua of ours (`lua/tools/sync/`) is asked what is there
//! and what is to be written. What comes from the game is other players' too, so `names` says what of it may become a
//! file here, and [`host`] sees to it that nothing leads out of the folder.

mod copies;
mod digest;
mod entry;
mod far;
pub mod host;
mod ignored;
mod memory;
mod names;
mod news;
mod plan;
mod report;
mod round;
mod watching;

pub use far::{Errand, Peer, READING, WRITING};
pub use host::Host;
pub use names::game_folder;
pub use news::News;
pub use plan::Way;
pub use report::Report;
pub use round::{Order, Step, Teller, sync_all};
pub use watching::watch;
