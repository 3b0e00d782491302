//! The game's side: frames, the link port, one computer's session, and the registry of computers.

pub mod admission;
pub mod frame;
pub mod http;
pub mod port;
pub mod registry;
pub mod session;
pub mod text;
