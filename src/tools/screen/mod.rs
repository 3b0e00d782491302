//! A computer's screen as its agent tells it (`wire/PROTOCOL.md`, "Screens"): what stands there, in words and as a
//! picture; and what a person does at one, as an agent is told it.

pub mod asking;
pub mod beside;
pub mod cells;
pub mod doubts;
mod font;
mod keyboard;
pub mod picture;
pub mod steps;
pub mod target;
pub mod words;
