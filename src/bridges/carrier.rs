//! What carries messages between bridges, and decides which of them is the owner: one folder for each way.

use std::fmt::Debug;

use futures_util::future::BoxFuture;
use thiserror::Error;

use super::{channel::Channel, owner_end::OwnerEnd, secret::SecretError};
use crate::computers::reach::{Blocked, Owner};

/// A way for bridges to find each other, and to be two ends of one line.
pub trait Carrier: Debug + Send + Sync + 'static {
    /// Takes the owner's place, unless somebody has it.
    fn claim(&self) -> BoxFuture<'_, Result<Claimed, NotClaimed>>;

    /// Connects to whoever has the owner's place. It may still turn out to be no bridge to share with.
    fn connect(&self) -> BoxFuture<'_, Result<Channel, NotJoined>>;

    /// What there is to say of an owner that was connected to and says nothing.
    fn silent(&self) -> NotJoined;

    /// The owner's place as people write it, such as `0.0.0.0:3001`.
    fn place(&self) -> String;
}

/// The owner's place, taken by this bridge.
pub struct Claimed {
    /// This bridge, as others are told of it.
    pub owner: Owner,
    /// Serves computers and guests for as long as the bridge runs.
    pub serve: Serve,
}

/// Serves computers, and guests by this end if there is one: without it the bridge shares with no other.
pub type Serve = Box<dyn FnOnce(Option<OwnerEnd>) -> BoxFuture<'static, ()> + Send>;

/// Why the owner's place can't be taken.
#[derive(Debug)]
pub enum NotClaimed {
    /// Somebody has it.
    Held,
    /// It can't be had at all.
    Blocked(Blocked),
}

/// Why this bridge is not the holder's guest. Each says what holds the port, and what to do.
#[derive(Debug, Error)]
pub enum NotJoined {
    /// The holder is gone: the port may be free.
    #[error("the program that held it has just ended")]
    Gone,
    /// It takes connections, but says nothing.
    #[error("{}", frozen(.0.as_ref()))]
    Silent(Option<Owner>),
    /// It is no mcp-bridge.
    #[error(
        "another program, no mcp-bridge, listens there. Stop that program, or set CC_LINK_PORT to another port and give \
         the agents the new one"
    )]
    Stranger,
    /// It is an mcp-bridge that can't share.
    #[error("{}", incompatible(.theirs))]
    Incompatible {
        /// Its version.
        theirs: String,
    },
    /// It is an mcp-bridge that keeps another secret.
    #[error(
        "an mcp-bridge of another user holds it, or one with another state folder. Bridges share a port only with those \
         of the same user: set CC_LINK_PORT to a port of your own and give your agents that one, or stop the other bridge"
    )]
    OtherUser,
    /// The connection broke in the middle, or the holder said something unexpected.
    #[error("an mcp-bridge holds it, but the link to it failed: {0}")]
    Broken(String),
    /// This bridge can't show that it belongs to the same user.
    #[error(
        "an mcp-bridge holds it, but the link to it failed: this bridge has no secret to show: {0}"
    )]
    NoSecret(#[from] SecretError),
}

/// What is said of a bridge of that version that can't share.
fn incompatible(theirs: &str) -> String {
    let ours = env!("CARGO_PKG_VERSION");
    if theirs == ours {
        return format!(
            "an mcp-bridge {theirs} holds it that was started without the secret by which bridges of one user know each \
             other. Start its client again; `mcp-bridge status` names its process"
        );
    }
    format!(
        "mcp-bridge {theirs} holds it, which can't share it with this version, {ours}. Update the older of the two, and \
         start their clients again"
    )
}

/// What there is to say of an owner that holds the port and does not answer.
pub fn frozen(owner: Option<&Owner>) -> String {
    match owner {
        Some(Owner { pid, .. }) => format!(
            "the mcp-bridge with process id {pid} holds it, but does not answer. It may be stopped or suspended: resume \
             it (kill -CONT {pid}), or end it; then the computers come back by themselves"
        ),
        None => "a program holds it that does not answer. Resume it or end it, or set CC_LINK_PORT to another port and \
                 give the agents the new one"
            .to_owned(),
    }
}
