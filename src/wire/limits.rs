//! The numbers that both ends of a link keep to.

/// The version of the link protocol that this bridge speaks.
pub const PROTOCOL: u32 = 2;

/// The longest id of a request, and name of a frame in parts, in bytes.
pub const MAX_ID: usize = 256;

/// The largest message the game takes or sends by default: 131,072 bytes, inclusive.
pub const DEFAULT_MAX_MESSAGE: usize = 131_072;
