//! Which addresses the game lets computers connect to: its rules, read as the game reads them.

pub(crate) mod filter;
pub(crate) mod pattern;
pub(crate) mod range;
pub(crate) mod target;
