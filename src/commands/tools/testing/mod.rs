//! Runs examples of tools, prompts and resources, each in a world of its own, and holds what comes against what must.

pub mod call;
pub mod judge;
pub mod junit;
pub mod report;
mod run;
pub mod suite;
pub mod test;
pub mod world;
