//! What there is of the game on this machine: launchers and their instances, servers, worlds, emulators.

pub(crate) mod emulators;
pub(crate) mod instance;
pub(crate) mod jar;
pub(crate) mod launchers;
pub(crate) mod version;
