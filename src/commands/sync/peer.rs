//! Computers as this command asks them: through whichever bridge runs.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use anyhow::Context as _;
use futures_util::{FutureExt, future::BoxFuture};
use serde_json::Value;
use tokio::task::spawn_blocking;

use crate::{
    base::text::one_line,
    computers::ComputerKey,
    hands::{
        mailbox,
        message::{Answer, ComputerRow, Question, SyncErrand},
    },
    settings::Folders,
    sync::{Errand, Peer},
    tools::syncing::TIME_WITH_PLAYER,
};

/// How long bridges have to tell which computers there are.
const TO_ANSWER: Duration = Duration::from_secs(4);

/// How long a bridge has for one errand: longer than it gives the computer.
const TO_RUN: Duration = TIME_WITH_PLAYER.saturating_add(Duration::from_secs(15));

/// The computers that bridges of this version tell of.
pub struct Known {
    shared: PathBuf,
    bridges: Vec<OfBridge>,
}

/// What one bridge tells.
struct OfBridge {
    name: String,
    linked: Vec<ComputerRow>,
}

impl Known {
    /// Asks which there are.
    pub fn ask(folders: &Folders) -> anyhow::Result<Self> {
        let shared = folders.shared.clone();
        let bridges = bridges(&shared)?;
        anyhow::ensure!(
            !bridges.is_empty(),
            "No mcp-bridge of this version runs that could be asked. Start your MCP client, or `mcp-bridge serve`."
        );
        Ok(Self { shared, bridges })
    }

    /// The one that is called so, by its number or its label.
    pub fn peer(&self, called: &str) -> anyhow::Result<ThroughBridge> {
        let is_it = |row: &&ComputerRow| {
            let label = row
                .name
                .split_once(" (Label: ")
                .and_then(|(_, label)| label.strip_suffix(')'));
            row.computer.to_string() == called || label.is_some_and(|label| label == called)
        };
        let meant = self.bridges.iter().map(|bridge| {
            let rows: Vec<_> = bridge.linked.iter().filter(is_it).collect();
            (bridge, rows)
        });
        let Some((bridge, rows)) = meant.into_iter().find(|(_, rows)| !rows.is_empty()) else {
            let all = self.bridges.iter().flat_map(|bridge| &bridge.linked);
            let names: BTreeSet<_> = all.map(|row| (row.computer, row.name.as_str())).collect();
            let names: Vec<_> = names.into_iter().map(|(_, name)| name).collect();
            let linked = match names.is_empty() {
                true => {
                    "No computer is linked now: start `mcp-computer` on it in the game.".to_owned()
                }
                false => format!("Linked now: {}.", names.join(", ")),
            };
            anyhow::bail!("No computer {} is linked. {linked}", one_line(called));
        };
        let [row] = rows.as_slice() else {
            anyhow::bail!(
                "Several computers have the label {}: give the number.",
                one_line(called)
            );
        };
        Ok(ThroughBridge {
            shared: self.shared.clone(),
            computer: row.computer,
            name: row.name.clone(),
            bridge: Mutex::new(Some(bridge.name.clone())),
        })
    }
}

/// The bridges of this version and the computers that are linked to each: first those that may change something there, and
/// of them those that know the most.
fn bridges(shared: &std::path::Path) -> anyhow::Result<Vec<OfBridge>> {
    let round = mailbox::ask(shared, &Question::Computers, TO_ANSWER)
        .with_context(|| format!("the bridges can't be asked: {}", shared.display()))?;
    let own = round
        .told
        .into_iter()
        .filter(|(_, told)| told.version == env!("CARGO_PKG_VERSION"));
    let mut known: Vec<_> = own
        .filter_map(|(name, told)| match told.answer {
            Answer::Computers {
                computers: mut linked,
                read_only,
                ..
            } => {
                linked.retain(|row| row.left.is_none());
                Some((read_only, OfBridge { name, linked }))
            }
            _ => None,
        })
        .collect();
    known.sort_by_key(|(read_only, bridge)| (*read_only, Reverse(bridge.linked.len())));
    Ok(known.into_iter().map(|(_, bridge)| bridge).collect())
}

/// A computer.
pub struct ThroughBridge {
    shared: PathBuf,
    computer: ComputerKey,
    name: String,
    /// The bridge that is asked; none if that has gone.
    bridge: Mutex<Option<String>>,
}

impl ThroughBridge {
    /// The bridge to ask: another where the one before has gone.
    async fn bridge(&self) -> Result<String, String> {
        let known = self
            .bridge
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some(bridge) = known {
            return Ok(bridge);
        }
        let shared = self.shared.clone();
        let found = spawn_blocking(move || bridges(&shared)).await;
        let found = found.map_err(|error| error.to_string())?;
        let found = found.map_err(|error| format!("{error:#}."))?;
        let knows_it = |bridge: &&OfBridge| {
            let mut linked = bridge.linked.iter();
            linked.any(|row| row.computer == self.computer)
        };
        // One that does not know the computer says what became of it.
        let bridge = found.iter().find(knows_it).or(found.first());
        let bridge = bridge.ok_or("No mcp-bridge runs any more that could be asked.")?;
        *self.bridge.lock().unwrap_or_else(PoisonError::into_inner) = Some(bridge.name.clone());
        Ok(bridge.name.clone())
    }
}

impl Peer for ThroughBridge {
    fn key(&self) -> String {
        self.computer.to_string()
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn ask(&self, errand: Errand) -> BoxFuture<'_, Result<Value, String>> {
        async move {
            let changes = errand.changes;
            let bridge = self.bridge().await?;
            let order = SyncErrand {
                computer: self.computer,
                errand,
            };
            let question = Question::Sync(BTreeMap::from([(bridge, order)]));
            let shared = self.shared.clone();
            let asked = spawn_blocking(move || mailbox::ask(&shared, &question, TO_RUN)).await;
            let round = asked
                .map_err(|error| error.to_string())?
                .map_err(|error| format!("The bridge can't be asked: {error}."))?;
            match round.told.into_values().next().map(|told| told.answer) {
                Some(Answer::Synced(answer)) => answer,
                _ => {
                    *self.bridge.lock().unwrap_or_else(PoisonError::into_inner) = None;
                    Err(match changes {
                        true => "The mcp-bridge that was asked has gone or hangs: it is not known whether the last files \
                                 were written."
                            .to_owned(),
                        false => "The mcp-bridge that was asked has gone or hangs.".to_owned(),
                    })
                }
            }
        }
        .boxed()
    }
}
