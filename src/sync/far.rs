//! A computer's folder, as it is asked by Lua of ours, whoever brings that there.

mod fetching;
mod peer;
mod surveying;
mod writing;

pub use fetching::Fetching;
pub use peer::{Errand, Peer, READING, WRITING};
pub use surveying::{Survey, survey};
pub use writing::{Change, Old, Writer};
