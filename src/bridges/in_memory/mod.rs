//! Bridges in one process, for tests: whoever comes first to a meeting place is the owner, and lines to it are queues.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
    time::SystemTime,
};

use futures_util::{FutureExt, future::BoxFuture, sink, stream};
use tokio::{sync::mpsc, task::JoinSet};

use super::{
    carrier::{Carrier, Claimed, NotClaimed, NotJoined},
    channel::{Channel, ChannelBroken},
};
use crate::computers::Owner;

/// Where bridges meet. The owner's place is free again when what it serves with has ended.
#[derive(Debug, Clone, Default)]
pub struct MeetingPlace(Arc<Mutex<Option<Guests>>>);

/// Where the owner takes lines of guests from.
type Guests = mpsc::UnboundedSender<Line>;

/// A line as its other end hands it over.
#[derive(Debug)]
pub struct Line {
    to: mpsc::Sender<String>,
    from: mpsc::Receiver<String>,
}

impl Line {
    /// How many messages wait at most for the other end to read them.
    const WAITING: usize = 64;

    fn pair() -> (Self, Self) {
        let (to_owner, from_guest) = mpsc::channel(Self::WAITING);
        let (to_guest, from_owner) = mpsc::channel(Self::WAITING);
        let guests = Self {
            to: to_owner,
            from: from_owner,
        };
        let owners = Self {
            to: to_guest,
            from: from_guest,
        };
        (guests, owners)
    }

    fn into_channel(self) -> Channel {
        let sender = sink::unfold(self.to, async |to: mpsc::Sender<String>, message| {
            let sent = to.send(message).await;
            sent.map(|()| to)
                .map_err(|_| ChannelBroken("nobody reads it".to_owned()))
        });
        let receiver = stream::unfold(self.from, async |mut from| {
            let message = from.recv().await?;
            Some((Ok(message), from))
        });
        Channel {
            sender: Box::pin(sender),
            receiver: Box::pin(receiver),
            intake: None,
        }
    }
}

impl Carrier for MeetingPlace {
    fn claim(&self) -> BoxFuture<'_, Result<Claimed, NotClaimed>> {
        async {
            let mut place = self.0.lock().unwrap();
            if place.as_ref().is_some_and(|guests| !guests.is_closed()) {
                return Err(NotClaimed::Held);
            }
            let (sender, mut guests) = mpsc::unbounded_channel::<Line>();
            *place = Some(sender);
            let owner = Owner {
                pid: std::process::id(),
                since: SystemTime::now(),
                address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
                version: env!("CARGO_PKG_VERSION").to_owned(),
            };
            Ok(Claimed {
                owner,
                serve: Box::new(move |end| {
                    async move {
                        let Some(end) = end.map(Arc::new) else {
                            return std::future::pending().await;
                        };
                        let mut served = JoinSet::new();
                        while let Some(line) = guests.recv().await {
                            let end = end.clone();
                            served.spawn(async move {
                                end.serve(line.into_channel(), "memory").await;
                            });
                        }
                    }
                    .boxed()
                }),
            })
        }
        .boxed()
    }

    fn connect(&self) -> BoxFuture<'_, Result<Channel, NotJoined>> {
        async {
            let (ours, theirs) = Line::pair();
            let place = self.0.lock().unwrap();
            let owner = place.as_ref().ok_or(NotJoined::Gone)?;
            owner.send(theirs).map_err(|_| NotJoined::Gone)?;
            Ok(ours.into_channel())
        }
        .boxed()
    }

    fn silent(&self) -> NotJoined {
        NotJoined::Silent(None)
    }

    fn place(&self) -> String {
        "a place in memory".to_owned()
    }
}
