//! Several bridges that share the computers of one link port.
//!
//! One of them is the **owner**; a **guest** is another bridge of the same user. Which is which, and what carries their
//! messages, is up to a [`carrier`]; on one machine ([`one_machine`]) the owner is whoever holds the link port, and
//! guests link to that port. After both have proven to know the same secret, a guest is told which computers there are
//! and sends them frames of its own, which the owner passes on as they are, with a fair turn at each computer. What a
//! computer says about a request goes to the bridge whose id it carries ([`guests`]): so nothing has to be remembered,
//! and nothing is lost when owners change.

pub mod carrier;
#[cfg(test)]
mod carrier_tests;
pub mod channel;
mod guest_end;
pub mod guests;
#[cfg(test)]
mod in_memory;
mod message;
pub mod one_machine;
mod owner_end;
mod owner_line;
mod remembered;
pub mod role;
pub(crate) mod secret;
mod snapshot;

/// The version of what bridges say to each other. Bridges of different versions don't share a port.
const PROTOCOL: u32 = 1;

/// The largest message between bridges, in bytes: the largest frame of a computer, with what stands around it.
const MAX_MESSAGE: usize = 24 * 1024 * 1024;

/// How often each side pings the other.
const PING_EVERY: std::time::Duration = std::time::Duration::from_secs(2);

/// How long a silent peer counts as alive. With the attempt to link to it anew, less than the 15 s within which a user
/// is to be told.
const DEAD_AFTER: std::time::Duration = std::time::Duration::from_secs(8);

/// How long each step of the handshake may take.
const GREETING_TIME: std::time::Duration = std::time::Duration::from_secs(3);
