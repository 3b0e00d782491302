//! Which computers there are, and what each was asked: the registry, jobs and their output.
//!
//! Nothing here knows a socket. The game's side and other bridges feed the [`registry`]: each computer they tell of has
//! a [`link::Link`], which carries frames to it by an [`link::Outlet`] of theirs. Who passes computers on to others is
//! a [`follower::Follower`], and whom to ask about jobs of other bridges an [`reach::Elsewhere`]. So whatever brings
//! computers one day, from another machine even, needs no change here or above.

pub mod agent_clock;
mod ask;
mod asking;
pub mod computer;
pub mod departure;
mod doubt;
pub mod ends;
mod facts;
pub mod fleet;
pub mod follower;
pub mod holder;
pub mod job;
mod job_table;
pub mod key;
mod letting_go;
pub mod link;
mod output;
mod pings;
mod presence;
pub mod reach;
pub mod registry;
mod relaying;
mod request_ids;
mod roll_call;
mod room;
mod untold;
pub mod updating;

pub use self::{
    ask::{Ask, Gate, Gatekeeper},
    asking::Waited,
    computer::{Computer, TooManyJobs},
    ends::{Cancelled, End, Loss},
    facts::Facts,
    fleet::{Fleet, LinkPort, NoSuchName},
    job::{About, Job, Progress, Sent, Stage},
    key::ComputerKey,
    output::Page,
    pings::Pong,
    presence::{Presence, Seen},
    reach::{Blocked, Outdated, Owner, Unreachable},
    relaying::Relayed,
};
pub use crate::wire::{
    error::{AgentError, ErrorKind},
    frame::Answer,
    hello::AgentPolicy,
    names::{Boot, Method, RequestId},
};
