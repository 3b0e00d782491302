//! How Lua of ours gets to computers: a handler's source is sent to an agent once, and called by its hash from then on, for
//! as long as the agent keeps it; where an agent keeps none, all goes as one chunk of plain code.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::json;
use tokio::{
    sync::OwnedMutexGuard,
    time::{Instant, timeout},
};

use super::{
    Context,
    computer::{Asked, Errand, Ran},
    plain_chunk::{Piece, with_helpers},
};
use crate::{
    base::store,
    computers::{Boot, Computer, ComputerKey, ErrorKind, Facts},
};

/// What an agent tells in its hello if it gives handlers `json`, `log` and `progress`.
const TELLS: &str = "tells";

/// What it tells if it keeps handlers' sources, and says so when it lacks one.
const HANDLERS: &str = "handlers";

/// What it tells if it keeps [`MUCH`] of them, in bytes; else it is [`LITTLE`].
const LARGE_HANDLERS: &str = "largeHandlers";
const MUCH: usize = 1024 * 1024;
const LITTLE: usize = 256 * 1024;

/// From so many bytes on an agent is asked by the hash alone first, even if it is not known to have the source: another
/// bridge may have sent it, or this user's bridge before it was started anew. What is shorter is quicker sent along.
const WORTH_ASKING: usize = 4 * 1024;

/// How often one call asks at most: by the hash; by the hash once more, if another call sent the source meanwhile; with
/// the source. None of them runs but the last.
const ATTEMPTS: usize = 3;

/// Of how many sources it is remembered of an agent whether it has them.
const SOURCES: usize = 256;

/// What agents are known to take and to keep.
#[derive(Debug, Default)]
pub struct Couriers {
    known: Mutex<HashMap<ComputerKey, Known>>,
}

/// What one start of an agent is known to take and to keep.
#[derive(Debug, Default)]
struct Known {
    boot: Option<Boot>,
    /// Whether it runs no handlers at all.
    runs_none: bool,
    /// By their hashes.
    sources: HashMap<String, Source>,
}

/// A source, as far as it concerns one agent.
#[derive(Debug, Default)]
struct Source {
    /// Whether the agent is known to have it.
    is_there: bool,
    /// Whose turn it is to find out, and to send it.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Couriers {
    /// Runs Lua on a computer, for `time` at most; then it is stopped.
    pub async fn run(
        &self,
        context: Context<'_>,
        computer: &Arc<Computer>,
        piece: Piece<'_>,
        time: Duration,
    ) -> Ran {
        let errand = Errand {
            context,
            computer,
            piece,
            time,
            deadline: Instant::now() + time,
        };
        let facts = computer.facts();
        if let Some(boot) = &facts.boot {
            let agent = Agent {
                couriers: self,
                key: computer.key,
                boot,
                facts: &facts,
            };
            if !agent.look(|known| known.runs_none)
                && let Some(ran) = agent.ship(errand).await
            {
                return ran;
            }
        }
        errand.run_plain().await
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ComputerKey, Known>> {
        // Nothing that holds the lock can panic.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One start of an agent that may run handlers.
struct Agent<'a> {
    couriers: &'a Couriers,
    key: ComputerKey,
    boot: &'a Boot,
    facts: &'a Facts,
}

impl Agent<'_> {
    /// Runs it as a handler; none if the agent knows no handlers.
    async fn ship(&self, errand: Errand<'_>) -> Option<Ran> {
        let piece = errand.piece;
        let source = if self.facts.can(TELLS) {
            Cow::Borrowed(piece.source)
        } else {
            with_helpers(piece)
        };
        let room = if self.facts.can(LARGE_HANDLERS) {
            MUCH
        } else {
            LITTLE
        };
        let is_kept = piece.is_kept && source.len() <= room;
        let hash = is_kept.then(|| store::hash(source.as_bytes()));
        let asks_first = self.facts.can(HANDLERS) && source.len() >= WORTH_ASKING;
        // Held until the agent has the source: whoever else wants to send it waits for that.
        let turn = Mutex::default();
        let mut is_wanted = false;
        for attempt in 1..=ATTEMPTS {
            let is_there = match &hash {
                Some(hash) => self.find_out(hash, errand.deadline, &turn).await,
                None => false,
            };
            let with_source = !is_there && (is_wanted || !asks_first) || attempt == ATTEMPTS;
            let mut params = json!({ "name": piece.name, "arguments": piece.arguments });
            if let Some(method) = piece.method {
                params["method"] = json!(method);
            }
            if let Some(hash) = &hash {
                params["hash"] = json!(hash);
            }
            if with_source || hash.is_none() {
                params["source"] = json!(source);
            }
            if piece.exclusive {
                params["exclusive"] = json!(true);
            }
            let on_taken = || {
                if let Some(hash) = &hash {
                    self.note(hash, true);
                }
                let_go(&turn);
            };
            let Asked { ran, refusal } = errand.run_handler(&params, &on_taken).await;
            match (&hash, refusal) {
                (_, Some(ErrorKind::Unsupported)) => {
                    self.look(|known| known.runs_none = true);
                    return None;
                }
                // It did not run.
                (Some(hash), Some(ErrorKind::SourceWanted)) if !with_source => {
                    self.note(hash, false);
                    is_wanted = true;
                }
                (hash, refusal) => {
                    if let Some(hash) = hash
                        && (ran.end.is_ok() || refusal.is_some())
                    {
                        self.note(hash, true);
                    }
                    return Some(ran);
                }
            }
        }
        None
    }

    /// Whether the agent has a source, as far as is known. If not, it is this caller's turn to find out; one who has
    /// waited for it for half of what is left of their time goes on without.
    async fn find_out(
        &self,
        hash: &str,
        deadline: Instant,
        turn: &Mutex<Option<OwnedMutexGuard<()>>>,
    ) -> bool {
        let look = || {
            self.source(hash, |source| {
                (!source.is_there).then(|| source.turn.clone())
            })
        };
        let Some(others) = look() else {
            return true;
        };
        if held(turn).is_some() {
            return false;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if let Ok(mine) = timeout(left / 2, others.lock_owned()).await {
            *held(turn) = Some(mine);
        }
        let is_there = look().is_none();
        if is_there {
            let_go(turn);
        }
        is_there
    }

    fn note(&self, hash: &str, is_there: bool) {
        self.source(hash, |source| source.is_there = is_there);
    }

    fn source<T>(&self, hash: &str, look: impl FnOnce(&mut Source) -> T) -> T {
        self.look(|known| {
            if known.sources.len() >= SOURCES && !known.sources.contains_key(hash) {
                known.sources.clear();
            }
            look(known.sources.entry(hash.to_owned()).or_default())
        })
    }

    fn look<T>(&self, look: impl FnOnce(&mut Known) -> T) -> T {
        let mut known = self.couriers.lock();
        let known = known.entry(self.key).or_default();
        if known.boot.as_ref() != Some(self.boot) {
            *known = Known {
                boot: Some(self.boot.clone()),
                ..Known::default()
            };
        }
        look(known)
    }
}

fn held<T>(turn: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that holds the lock can panic.
    turn.lock().unwrap_or_else(PoisonError::into_inner)
}

fn let_go(turn: &Mutex<Option<OwnedMutexGuard<()>>>) {
    held(turn).take();
}
