//! Whoever passes the computers on to others, as the registry knows them.

use std::{fmt::Debug, time::SystemTime};

use super::{computer::Computer, key::ComputerKey, link::Link};
use crate::wire::names::RequestId;

/// Follows what happens to the computers, for others than this bridge's own clients.
///
/// All is told at once, and changes in the order in which they happen, while the registry is locked: nothing here may
/// wait, or ask the registry anything.
pub trait Follower: Debug + Send + Sync {
    /// A computer has linked.
    fn linked(&self, computer: &Computer, link: &Link);

    /// A computer has another label, or none.
    fn relabelled(&self, computer: ComputerKey, label: Option<&str>);

    /// A player lets nothing new begin on a computer, or does again.
    fn paused(&self, computer: ComputerKey, paused: bool);

    /// A computer is gone; `why` is a sentence's end.
    fn left(&self, computer: ComputerKey, since: SystemTime, why: &str);

    /// Whether whoever made this request can be handed what its computer says.
    fn has_asked(&self, request: &RequestId) -> bool;

    /// Hands over what a computer says about a request, word for word, to whoever made it. Tells whether anybody did.
    fn hand(&self, computer: ComputerKey, link: u64, request: &RequestId, frame: &str) -> bool;
}
