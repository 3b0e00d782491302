//! One computer's link: its hello, then frames out and frames in, until either side ends it.

mod entrance;
mod in_parts;
mod patience;
mod serving;
mod shared;
mod signs_of_life;
mod socket;
mod state;
mod taking;

pub use self::{entrance::run, shared::Shared};
