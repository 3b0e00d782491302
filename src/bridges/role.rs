//! This bridge's role: it has the owner's place, or is the guest of the bridge that has, or can be neither for now.
//!
//! Whoever finds the place free takes it, and the [`Carrier`] sees to it that only one does. When an owner goes, all its
//! guests learn of it at once and try again: one has the place, the others become its guests. All the while the
//! [`Registry`] with its computers and their jobs stays the same.

use std::{path::PathBuf, sync::Arc, time::Duration};

use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, timeout},
};

use super::{
    carrier::{Carrier, Claimed, NotClaimed, NotJoined},
    guest_end::{self, Ended, GuestEnd},
    guests::Guests,
    owner_end::OwnerEnd,
    remembered::Remembered,
    secret::{Secret, SecretError},
};
use crate::computers::{
    Blocked,
    reach::{Elsewhere, Reach},
    registry::Registry,
};

/// How long after the start the place is tried at the latest, when no request came that needs it. A client that only
/// probes this program is gone by then.
const START_AFTER: Duration = Duration::from_secs(1);

/// How long after a failed attempt the place is tried again.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

/// The same while the place changes hands, and how long that may take.
const AGAIN_SOON_AFTER: Duration = Duration::from_millis(50);
const HAND_OVER: Duration = Duration::from_secs(3);

/// What playing a role takes.
pub struct Role {
    /// How bridges find each other.
    pub carrier: Box<dyn Carrier>,
    /// The folder where the bridges of a user keep what they share; without one, this bridge shares with no other.
    pub state: Option<PathBuf>,
    /// The file in which the owner keeps what it knows of computers over the end of all bridges, if it does.
    pub remembered: Option<PathBuf>,
    /// The computers.
    pub registry: Arc<Registry>,
    /// The guests while this bridge is the owner. They follow the registry.
    pub guests: Arc<Guests>,
    /// Where it is told how computers are reached.
    pub reach: Arc<watch::Sender<Reach>>,
}

impl Role {
    /// Becomes owner or guest, again and again, from when it is `wanted` on: someone who is not just probing this
    /// process wants the computers.
    pub async fn play(self, wanted: Arc<Notify>) {
        // A probe process must not take the place from the one that stays.
        let _ = timeout(START_AFTER, wanted.notified()).await;
        // Until when the place is expected to be in a moment what it is not now.
        let mut hand_over = Instant::now();
        loop {
            let blocked = match self.carrier.claim().await {
                Ok(claimed) => return self.own(claimed).await,
                Err(NotClaimed::Blocked(blocked)) => blocked,
                Err(NotClaimed::Held) => match self.join().await {
                    Ok(joined) => match self.be_guest(joined).await {
                        Ended::Gone(why) => {
                            tracing::info!(why, "the link port's owner has gone");
                            self.reach.send_replace(Reach::Unknown);
                            hand_over = Instant::now() + HAND_OVER;
                            continue;
                        }
                        Ended::Left => return,
                        // Perhaps this process was the one that stood still: the next attempt tells.
                        Ended::Frozen => {
                            tracing::warn!("the link port's owner says nothing any more");
                            self.reach.send_replace(Reach::Unknown);
                            continue;
                        }
                    },
                    // The holder ended between the two attempts.
                    Err(NotJoined::Gone) if Instant::now() < hand_over => {
                        sleep(AGAIN_SOON_AFTER).await;
                        continue;
                    }
                    Err(NotJoined::Gone) => {
                        hand_over = Instant::now() + HAND_OVER;
                        continue;
                    }
                    Err(why) => Blocked {
                        address: self.carrier.place(),
                        reason: why.to_string(),
                    },
                },
            };
            if Instant::now() < hand_over {
                sleep(AGAIN_SOON_AFTER).await;
                continue;
            }
            self.block(blocked);
            sleep(AGAIN_AFTER).await;
        }
    }

    fn block(&self, blocked: Blocked) {
        let news = !matches!(&*self.reach.borrow(), Reach::Blocked(before) if *before == blocked);
        if news {
            let Blocked { address, reason } = &blocked;
            tracing::error!(
                address,
                reason,
                "no computer can be reached; trying again every 2 s"
            );
        }
        self.reach.send_replace(Reach::Blocked(blocked));
    }

    async fn own(self, claimed: Claimed) {
        let Claimed { owner, serve } = claimed;
        let registry = self.registry.clone();
        let mut remembered = self.remembered().await;
        let end = match self.secret().await {
            Ok(secret) => Some(OwnerEnd::new(
                owner.clone(),
                secret,
                self.registry.clone(),
                self.guests,
                self.reach.clone(),
            )),
            Err(error) => {
                tracing::warn!(%error, "this bridge shares the link port with no other");
                None
            }
        };
        tracing::info!(address = %owner.address, "this bridge holds the link port: computers can link");
        self.reach.send_replace(Reach::Here { owner, bridges: 1 });
        // What says who has the place goes with it, before the process ends.
        let _place = registry.departure.line();
        tokio::select! {
            () = serve(end) => {}
            // The place is free for the next, and nobody comes here any more.
            () = registry.departure.begun() => {}
            () = keep(&mut remembered) => {}
        }
        if let Some(remembered) = &mut remembered {
            remembered.leave().await;
        }
    }

    /// What was known of computers when the last bridge ended; it is known here from now on.
    async fn remembered(&self) -> Option<Remembered> {
        let (file, registry) = (self.remembered.clone()?, self.registry.clone());
        tokio::task::spawn_blocking(move || Remembered::load(file, registry))
            .await
            .ok()
    }

    async fn join(&self) -> Result<GuestEnd, NotJoined> {
        let secret = self.secret().await?;
        let channel = self.carrier.connect().await?;
        let greeting = guest_end::greet(channel, &secret, self.registry.ids.prefix());
        match timeout(super::GREETING_TIME, greeting).await {
            Ok(joined) => joined,
            Err(_) => Err(self.carrier.silent()),
        }
    }

    async fn be_guest(&self, joined: GuestEnd) -> Ended {
        let (owner, line) = (joined.owner.clone(), joined.line.clone());
        tracing::info!(
            owner = owner.pid,
            "another mcp-bridge holds the link port and shares it"
        );
        if let Some(outdated) = owner.outdated() {
            tracing::warn!("{outdated}");
        }
        let bridges = |bridges| {
            let elsewhere: Arc<dyn Elsewhere> = line.clone();
            self.reach.send_replace(Reach::Through {
                owner: owner.clone(),
                bridges,
                elsewhere,
            });
        };
        joined.serve(&self.registry, bridges).await
    }

    async fn secret(&self) -> Result<Secret, SecretError> {
        let state = self.state.clone().ok_or(SecretError::NoFolder)?;
        tokio::task::spawn_blocking(move || Secret::load(&state))
            .await
            .unwrap_or_else(|error| Err(SecretError::NotRead(error.to_string())))
    }
}

/// Keeps what is remembered, for ever.
async fn keep(remembered: &mut Option<Remembered>) {
    match remembered {
        Some(remembered) => remembered.keep().await,
        None => std::future::pending().await,
    }
}
