//! A line between two bridges, whatever carries it.

use std::{pin::Pin, sync::Arc};

use futures_util::{Sink, Stream};
use thiserror::Error;

use crate::base::http::intake::Intake;

/// A line between two bridges: whole messages, in order, until it ends.
pub struct Channel {
    /// To the other bridge. Flushing waits until it has read most of what was sent; closing says that this one leaves.
    pub sender: MessageSink,
    /// From the other bridge; ends when that leaves. A line that breaks is an error.
    pub receiver: MessageStream,
    /// What lets the other side send no more than a greeting, until it has shown that it may. None where no stranger
    /// can come.
    pub intake: Option<Arc<Intake>>,
}

/// See [`Channel::sender`].
pub type MessageSink = Pin<Box<dyn Sink<String, Error = ChannelBroken> + Send>>;

/// See [`Channel::receiver`].
pub type MessageStream = Pin<Box<dyn Stream<Item = Result<String, ChannelBroken>> + Send>>;

/// The line broke; why.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct ChannelBroken(pub String);
