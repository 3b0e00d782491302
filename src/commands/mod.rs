//! What the binary can be told to do: one file for each command.

pub mod console;
pub mod demo;
#[cfg(unix)]
pub mod hold;
mod limits;
pub mod logs;
pub mod serve;
mod signals;
pub mod simulate;
mod startup;
pub mod status;
pub mod stdio;
pub mod tools;
pub mod trust;
pub mod upstream;
