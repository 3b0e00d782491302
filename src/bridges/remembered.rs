//! Computers over the end of all bridges: whoever holds the link port keeps in a file what it knows of them, so that the
//! next one knows their labels, and sees when a number has changed hands meanwhile.

use std::{
    cmp::Reverse,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::message::Introduction;
use crate::{
    base::store,
    computers::{Presence, registry::Registry},
};

/// For how long a computer is known that does not come back.
const KNOWN_FOR: Duration = Duration::from_secs(31 * 24 * 3600);

/// How often the file is written, if anything has changed.
const EVERY: Duration = Duration::from_secs(10);

/// How many computers are kept: those on which code was to run, and those heard of last.
const MOST: usize = 1_000;

/// Why a computer is gone that was linked when its bridge wrote this.
const BRIDGE_ENDED: &str = "the mcp-bridge that it was linked to ended";

/// One computer, as the file has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    introduction: Introduction,
    /// When it left.
    since: SystemTime,
    /// Why, as a sentence's end.
    why: String,
}

/// The computers that are remembered.
pub struct Remembered {
    file: PathBuf,
    registry: Arc<Registry>,
    /// The hash of what was written last, but for moments.
    written: String,
}

impl Remembered {
    /// Enters the computers of the file that are not known yet. Blocks.
    pub fn load(file: PathBuf, registry: Arc<Registry>) -> Self {
        let now = SystemTime::now();
        let kept: Vec<Kept> = store::read(&file).unwrap_or_default();
        for Kept {
            introduction,
            since,
            why,
        } in kept.into_iter().take(MOST)
        {
            let key = introduction.computer_id;
            let is_old = now.duration_since(since).is_ok_and(|age| age > KNOWN_FOR);
            if is_old || registry.get(key).is_some() {
                continue;
            }
            registry.enter_gone(introduction.facts(), since, why);
            if let (Some(change), Some(computer)) = (introduction.changed_hands, registry.get(key))
            {
                computer.changed_hands(change);
            }
        }
        Self {
            file,
            registry,
            written: String::new(),
        }
    }

    /// Writes the file whenever something has changed, for ever.
    pub async fn keep(&mut self) {
        loop {
            sleep(EVERY).await;
            self.write();
        }
    }

    /// Writes the file, if something has changed. It is small: this does not block for long.
    pub fn write(&mut self) {
        let now = SystemTime::now();
        let mut all = self.registry.while_still(|computers| {
            computers
                .map(|computer| {
                    let (since, why) = match computer.presence() {
                        Presence::Linked(_) => (now, BRIDGE_ENDED.to_owned()),
                        Presence::Left { since, why } => (since, why),
                    };
                    let introduction = Introduction {
                        known: Vec::new(),
                        ..Introduction::of(computer, None)
                    };
                    let kept = Kept {
                        introduction,
                        since,
                        why,
                    };
                    (computer.was_used(), kept)
                })
                .collect::<Vec<_>>()
        });
        all.sort_by_key(|(used, kept)| Reverse((*used, kept.introduction.last_seen)));
        let mut all: Vec<_> = all.into_iter().take(MOST).map(|(_, kept)| kept).collect();
        all.sort_by_key(|kept| kept.introduction.computer_id);
        let hash = hash(&all);
        if hash == self.written {
            return;
        }
        // Where it can't be written now it may be the next time.
        match store::write(&self.file, &all) {
            Ok(()) => self.written = hash,
            Err(error) => {
                tracing::warn!(file = %self.file.display(), %error, "the computers can't be remembered");
            }
        }
    }
}

/// What changes seldom of these computers.
fn hash(all: &[Kept]) -> String {
    let facts: Vec<_> = all
        .iter()
        .map(|kept| {
            let Introduction {
                computer_id,
                label,
                boot,
                key_mark,
                changed_hands,
                ..
            } = &kept.introduction;
            (computer_id, label, boot, key_mark, changed_hands, &kept.why)
        })
        .collect();
    store::hash(&serde_json::to_vec(&facts).unwrap_or_default())
}
