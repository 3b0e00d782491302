//! Whether the computers can be reached, and through whom: what bridges find out about the link port.

use std::{fmt::Debug, net::SocketAddr, sync::Arc, time::Duration, time::SystemTime};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{ends::Cancelled, job::Job, key::ComputerKey};
use crate::wire::names::RequestId;

/// How this bridge reaches the computers at one moment.
#[derive(Debug, Clone)]
pub enum Reach {
    /// Not known yet, or about to change.
    Unknown,
    /// They link to this process, which holds the link port.
    Here {
        /// This bridge.
        owner: Owner,
        /// How many bridges share the port, this one among them.
        bridges: usize,
    },
    /// They link to another bridge, which passes everything on.
    Through {
        /// That bridge.
        owner: Owner,
        /// How many bridges share the port, the owner among them.
        bridges: usize,
        /// Whom to ask about jobs of other bridges.
        elsewhere: Arc<dyn Elsewhere>,
    },
    /// Not at all: something else holds the port, or it can't be bound.
    Blocked(Blocked),
}

/// The bridge that holds the link port.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Owner {
    /// Its process id.
    pub pid: u32,
    /// Since when it holds the port.
    pub since: SystemTime,
    /// The address it listens on.
    pub address: SocketAddr,
    /// Its version.
    pub version: String,
}

impl Owner {
    /// What to know of it if it is older than this bridge.
    pub fn outdated(&self) -> Option<Outdated> {
        Outdated::unless_current(&self.version, self.pid)
    }
}

/// The bridge that holds the link port is older than this one: what does not work through it, and what to do.
#[derive(Debug, Clone, Error)]
#[error(
    "The link port is held by mcp-bridge {version} (process {pid}), which is older than this one, {THIS_VERSION}. Until it \
     ends, it is not known whether code that a computer did not take in time begins later, a new label is seen only when \
     its computer links again, and code whose client was killed goes on. End that process, or restart the MCP client that \
     started it: then a newer mcp-bridge can take the port, and the computers link to that."
)]
pub struct Outdated {
    version: String,
    pid: u32,
}

/// The version of this bridge.
const THIS_VERSION: &str = env!("CARGO_PKG_VERSION");

impl Outdated {
    /// The holder of this version and process id; none if it is as new as this bridge, or its version is none of ours.
    pub fn unless_current(version: &str, pid: u32) -> Option<Self> {
        is_before(version, THIS_VERSION).then(|| Self {
            version: version.to_owned(),
            pid,
        })
    }
}

/// Whether one version of ours is older than another.
fn is_before(version: &str, other: &str) -> bool {
    let numbers = |version: &str| -> Option<Vec<u32>> {
        let numbers = version.split('.').map(|part| part.parse().ok());
        numbers.collect()
    };
    matches!((numbers(version), numbers(other)), (Some(one), Some(two)) if one < two)
}

/// Why the link port can't be had.
#[derive(Debug, Clone, PartialEq)]
pub struct Blocked {
    /// The address as configured, such as `0.0.0.0:3001`.
    pub address: String,
    /// What the system says, and what to do, as whole sentences.
    pub reason: String,
}

/// Why the computers can't be reached at all.
#[derive(Debug, Error)]
#[error("No computer can be reached over the link port {}: {}", .0.address, .0.reason)]
pub struct Unreachable(pub Blocked);

/// Whom to ask about jobs that this bridge does not know all of. One for each way of reaching another bridge.
///
/// A job it tells of is a copy, as it was at that moment.
pub trait Elsewhere: Debug + Send + Sync {
    /// All jobs there that are running or still readable, without their output. None: no answer came.
    fn jobs(&self) -> BoxFuture<'_, Option<Vec<JobElsewhere>>>;

    /// One job with its output from `cursor` (bytes) on, once it has printed past that or has ended, or after `wait`.
    fn job<'a>(
        &'a self,
        id: &'a RequestId,
        cursor: u64,
        wait: Duration,
    ) -> BoxFuture<'a, Option<JobElsewhere>>;

    /// Stops a job at its next yield, and waits `time` for word that it did.
    fn cancel<'a>(
        &'a self,
        id: &'a RequestId,
        time: Duration,
    ) -> BoxFuture<'a, Option<(JobElsewhere, Cancelled)>>;
}

/// A job that another bridge told of.
#[derive(Debug)]
pub struct JobElsewhere {
    /// The computer it runs on.
    pub computer: ComputerKey,
    /// The job at the moment of the answer.
    pub job: Arc<Job>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_older_by_its_numbers() {
        for (version, other, older) in [
            ("1.0.0", "1.1.0", true),
            ("1.9.0", "1.10.0", true),
            ("0.9.9", "1.0.0", true),
            ("1.1.0", "1.1.0", false),
            ("1.2.0", "1.1.9", false),
            ("", "1.1.0", false),
            ("of another", "1.1.0", false),
        ] {
            assert_eq!(is_before(version, other), older, "{version} {other}");
        }
    }
}
