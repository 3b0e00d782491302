//! Which computers there are, and what each was asked: the registry, jobs and their output.

pub mod computer;
pub mod fleet;
pub mod job;
mod job_table;
pub mod link;
mod output;
pub mod registry;

pub use self::{
    computer::{Computer, Facts, Presence, TooManyJobs, Waited},
    job::{About, Cancelled, End, Job, Progress, Stage},
};
pub use crate::{
    base::text::{one_line, timestamp},
    bridges::message::Owner,
    link::port::Blocked,
    wire::frame::{AgentError, Answer, ComputerId},
};
pub use fleet::{Ask, Fleet, LinkPort, Unreachable, decode_bytes};
