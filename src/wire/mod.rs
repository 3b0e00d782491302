//! The link protocol as it stands on the wire: frames, parts, how strings travel, and how a link ends. No I/O.

pub mod ending;
pub mod error;
pub mod frame;
pub mod hello;
pub mod limits;
pub mod names;
pub mod outgoing;
pub mod parts;
pub mod text;
pub mod told;
