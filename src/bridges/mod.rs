//! Several bridges on one link port: the owner's side of its guests, and what the two say to each other.
//!
//! The **owner** holds the port; a **guest** is another bridge of the same user on the same machine. A guest links to
//! the owner over the port itself, after both have proven to know the same secret ([`secret`]). Then it is told which
//! computers there are and sends them frames of its own, which the owner passes on as they are, with a fair turn at
//! each computer ([`owner_end`]). What a computer says about a request goes to the bridge whose id it carries
//! ([`guests`]): so nothing has to be remembered, and nothing is lost when owners change.

mod guest_end;
pub mod guests;
pub mod holder;
pub mod message;
pub mod owner_end;
pub mod owner_line;
pub mod role;
pub mod secret;
pub mod snapshot;
mod watchdog;

/// The WebSocket subprotocol (RFC 6455, section 1.9) by which a bridge that links is told from a computer.
pub const SUBPROTOCOL: &str = "mcp-bridge.guest";

/// The version of what bridges say to each other. Bridges of different versions don't share a port.
pub const PROTOCOL: u32 = 1;

/// The largest message between bridges, in bytes: the largest frame of a computer, with what stands around it.
pub const MAX_MESSAGE: usize = 24 * 1024 * 1024;

/// How often each side pings the other.
pub const PING_EVERY: std::time::Duration = std::time::Duration::from_secs(2);

/// How long a silent peer counts as alive. With the attempt to link to it anew, less than the 15 s within which a user
/// is to be told.
pub const DEAD_AFTER: std::time::Duration = std::time::Duration::from_secs(8);

/// How long each step of the handshake may take.
pub const GREETING_TIME: std::time::Duration = std::time::Duration::from_secs(3);
