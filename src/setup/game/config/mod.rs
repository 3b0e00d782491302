//! The game's configuration files: what they say of HTTP, and how a link is let through without changing anything else.
//!
//! A file is read into a [`View`](view::View), which knows the place of each word in the text. What is changed, is
//! changed in the text at these places, so that all else stays as it is, byte for byte.

pub(crate) mod ccemux;
pub(crate) mod close;
pub(crate) mod computer_settings;
pub(crate) mod forge;
pub(crate) mod format;
pub(crate) mod open;
pub(crate) mod toml;
pub(crate) mod view;

#[cfg(test)]
mod tests;
