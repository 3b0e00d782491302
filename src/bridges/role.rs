//! This bridge's role: it owns the link port, or is the guest of the bridge that does, or can be neither for now.
//!
//! Whoever finds the port free takes it, and the system sees to it that only one does. When an owner goes, all its
//! guests learn of it at once and try again: one has the port, the others become its guests. All the while the
//! [`Registry`] with its computers and their jobs stays the same.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::{
    net::TcpListener,
    sync::{Notify, watch},
    time::{Instant, sleep, timeout},
};

use super::{
    guest_end::{Ended, Joined, NotJoined},
    holder,
    message::Owner,
    owner_end::Ownership,
    owner_line::OwnerLine,
    secret::Secret,
    watchdog,
};
use crate::{
    computers::registry::Registry,
    link::{
        http,
        port::{self, Blocked},
        session::Shared,
    },
    settings::LinkConfig,
};

/// How long after the start the port is tried at the latest, when no request came that needs it. A client that only
/// probes this program is gone by then.
const START_AFTER: Duration = Duration::from_secs(1);

/// How long after a failed attempt the port is tried again.
const AGAIN_AFTER: Duration = Duration::from_secs(2);

/// The same while the port changes hands, and how long that may take.
const AGAIN_SOON_AFTER: Duration = Duration::from_millis(50);
const HAND_OVER: Duration = Duration::from_secs(3);

/// How long whoever asks for the role waits for it to be known.
const KNOWN_WITHIN: Duration = Duration::from_secs(5);

/// The exit code of an owner whose runtime hung: `EX_SOFTWARE` of BSD's sysexits.
const HUNG: i32 = 70;

/// What this bridge is to the link port.
#[derive(Debug, Clone)]
pub enum Role {
    /// Not known yet, or about to change.
    Unknown,
    /// It holds the port.
    Owner(Owner),
    /// Another bridge does, and shares it.
    Guest {
        /// That bridge.
        owner: Owner,
        /// How many bridges share the port, the owner among them.
        bridges: usize,
        /// The line to the owner.
        line: Arc<OwnerLine>,
    },
    /// Something else does, or the port can't be bound. It is tried again every two seconds.
    Blocked(Blocked),
}

/// What plays this bridge's role, from the rest of the program's side.
#[derive(Debug)]
pub struct Player {
    shared: Arc<Shared>,
    role: watch::Receiver<Role>,
    wanted: Arc<Notify>,
}

impl Player {
    /// Starts in the background, for as long as the runtime lives. `state` is the folder where the bridges of a user
    /// keep what they share; without one, this bridge shares its port with no other.
    pub fn start(config: &LinkConfig, state: Option<&Path>) -> Self {
        let shared = Arc::new(Shared {
            registry: Registry::default(),
            token: config.token.clone(),
        });
        let (report, role) = watch::channel(Role::Unknown);
        let wanted = Arc::new(Notify::new());
        let stage = Stage {
            config: config.clone(),
            state: state.map(Path::to_owned),
            shared: shared.clone(),
            report,
        };
        tokio::spawn(stage.play(wanted.clone()));
        Self {
            shared,
            role,
            wanted,
        }
    }

    /// Begins now: someone who is not just probing this process wants the computers.
    pub fn want(&self) {
        self.wanted.notify_one();
    }

    /// Looks at the role as soon as it is known, or after five seconds all the same.
    pub async fn look<T>(&self, look: impl FnOnce(&Role) -> T) -> T {
        if !matches!(*self.role.borrow(), Role::Unknown) {
            return look(&self.role.borrow());
        }
        let mut role = self.role.clone();
        let known = role.wait_for(|role| !matches!(role, Role::Unknown));
        match timeout(KNOWN_WITHIN, known).await {
            Ok(Ok(role)) => look(&role),
            _ => look(&Role::Unknown),
        }
    }

    /// The computers.
    pub fn registry(&self) -> &Registry {
        &self.shared.registry
    }
}

/// What the playing takes.
struct Stage {
    config: LinkConfig,
    state: Option<PathBuf>,
    shared: Arc<Shared>,
    report: watch::Sender<Role>,
}

impl Stage {
    /// Becomes owner or guest, again and again.
    async fn play(self, wanted: Arc<Notify>) {
        // A probe process must not take the port from the one that stays.
        let _ = timeout(START_AFTER, wanted.notified()).await;
        // Until when the port is expected to be in a moment what it is not now.
        let mut hand_over = Instant::now();
        loop {
            let blocked = match port::bind(&self.config).await {
                Ok((listener, address)) => {
                    let owner = Owner {
                        pid: std::process::id(),
                        since: SystemTime::now(),
                        address,
                        version: env!("CARGO_PKG_VERSION").to_owned(),
                    };
                    return self.own(listener, owner).await;
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => match self.join().await {
                    Ok(joined) => match self.be_guest(joined).await {
                        Ended::Gone(why) => {
                            tracing::info!(why, "the link port's owner has gone");
                            self.report.send_replace(Role::Unknown);
                            hand_over = Instant::now() + HAND_OVER;
                            continue;
                        }
                        // Perhaps this process was the one that stood still: the next attempt tells.
                        Ended::Frozen => {
                            tracing::warn!("the link port's owner says nothing any more");
                            self.report.send_replace(Role::Unknown);
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
                    Err(why) => Blocked::because(&self.config, why.to_string()),
                },
                Err(error) => Blocked::new(&self.config, &error),
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
        let news = !matches!(&*self.report.borrow(), Role::Blocked(before) if *before == blocked);
        if news {
            let Blocked { address, reason } = &blocked;
            tracing::error!(
                address,
                reason,
                "no computer can be reached; trying again every 2 s"
            );
        }
        self.report.send_replace(Role::Blocked(blocked));
    }

    async fn own(self, listener: TcpListener, owner: Owner) {
        let ownership = match self.secret().await {
            Ok(secret) => Some(Arc::new(Ownership {
                owner: owner.clone(),
                secret,
            })),
            Err(error) => {
                tracing::warn!(error, "this bridge shares the link port with no other");
                None
            }
        };
        if let Some(state) = self.state.clone() {
            let owner = owner.clone();
            tokio::task::spawn_blocking(move || {
                holder::note_owner(&state, owner.address.port(), &owner);
            });
        }
        if let Err(error) = watchdog::start(hung) {
            tracing::warn!(%error, "no watchdog can be started");
        }
        tracing::info!(address = %owner.address, "this bridge holds the link port: computers can link");
        self.report.send_replace(Role::Owner(owner));
        port::accept(listener, http::routes(&self.config, self.shared, ownership)).await;
    }

    async fn join(&self) -> Result<Joined, NotJoined> {
        let secret = self.secret().await.map_err(|error| {
            NotJoined::Broken(format!("this bridge has no secret to show: {error}"))
        })?;
        let prefix = self.shared.registry.ids.prefix();
        Joined::join(&self.config, &secret, prefix, || self.last_owner()).await
    }

    async fn be_guest(&self, joined: Joined) -> Ended {
        let (owner, line) = (joined.owner.clone(), joined.line.clone());
        tracing::info!(
            owner = owner.pid,
            "another mcp-bridge holds the link port and shares it"
        );
        let bridges = |bridges| {
            let (owner, line) = (owner.clone(), line.clone());
            self.report.send_replace(Role::Guest {
                owner,
                bridges,
                line,
            });
        };
        joined.serve(&self.shared.registry, bridges).await
    }

    async fn secret(&self) -> Result<Secret, String> {
        let Some(state) = self.state.clone() else {
            return Err("it has no state folder".to_owned());
        };
        match tokio::task::spawn_blocking(move || Secret::load(&state)).await {
            Ok(secret) => secret.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    fn last_owner(&self) -> Option<Owner> {
        holder::last_owner(self.state.as_ref()?, self.config.port)
    }
}

/// Leaves the port to a bridge that works. Nothing of this process that needs the runtime can be asked any more.
fn hung() {
    tracing::error!(
        "this process hangs; it ends itself, so that another bridge can take the link port"
    );
    std::process::exit(HUNG);
}
