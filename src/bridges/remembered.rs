//! Computers over the end of all bridges: whoever holds the link port keeps in a file what it knows of them, so that the
//! next one knows their labels, and sees when a number has changed hands meanwhile.

use std::{
    cmp::Reverse,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use tokio::{
    task::{JoinHandle, spawn_blocking},
    time::{Instant, sleep},
};

use super::message::Introduction;
use crate::{
    base::store,
    computers::{Presence, registry::Registry},
};

/// For how long a computer is known that does not come back.
const KNOWN_FOR: Duration = Duration::from_secs(31 * 24 * 3600);

/// How often the file is written, if anything has changed.
const EVERY: Duration = Duration::from_secs(10);

/// How often its time of change is moved on, while nothing else changes and a computer is linked. That is well within the
/// time for which computers that left are waited for.
const BEAT: Duration = Duration::from_secs(30);

/// How many computers are kept: those on which code was to run, and those heard of last.
const MOST: usize = 1_000;

/// Why a computer is gone that was linked when its bridge wrote this.
const BRIDGE_ENDED: &str = "the mcp-bridge that it was linked to ended";

/// One computer, as the file has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    introduction: Introduction,
    /// When it left; of one that was linked, when this was written: it left no sooner than the file was changed last.
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
    /// What is being written, which what comes after it waits for: the file is to have the last.
    writing: Option<JoinHandle<Option<String>>>,
    /// When the file's time of change was moved on last.
    touched: Instant,
}

impl Remembered {
    /// Enters the computers of the file that are not known yet. Blocks.
    pub fn load(file: PathBuf, registry: Arc<Registry>) -> Self {
        let now = SystemTime::now();
        let kept: Vec<Kept> = store::read(&file).unwrap_or_default();
        let alive = store::changed(&file);
        for Kept {
            introduction,
            since,
            why,
        } in kept.into_iter().take(MOST)
        {
            let key = introduction.computer_id;
            let since = match alive {
                Some(alive) if why == BRIDGE_ENDED => since.max(alive.min(now)),
                _ => since,
            };
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
            writing: None,
            touched: Instant::now(),
        }
    }

    /// Writes the file whenever something has changed, for ever.
    pub async fn keep(&mut self) {
        loop {
            sleep(EVERY).await;
            self.write(BEAT).await;
        }
    }

    /// Writes the file a last time, as this bridge ends.
    pub async fn leave(&mut self) {
        self.write(Duration::ZERO).await;
    }

    /// Writes the file, if something has changed, where that keeps nobody waiting: its disk may be slow. If nothing has,
    /// and it was not touched for `beat`, its time of change tells that linked computers still were.
    ///
    /// Dropped before its end, what it had begun to write is written, and the next one waits for that.
    async fn write(&mut self, beat: Duration) {
        self.written_before().await;
        let all = self.all();
        let hash = hash(&all);
        let is_written = hash == self.written;
        let is_due = self.touched.elapsed() >= beat;
        if is_written && !(is_due && all.iter().any(|kept| kept.why == BRIDGE_ENDED)) {
            return;
        }
        self.touched = Instant::now();
        let file = self.file.clone();
        let write = move || {
            match is_written {
                true => store::touch(&file),
                false => store::write(&file, &all),
            }
            .map_err(|error| {
                tracing::warn!(file = %file.display(), %error, "the computers can't be remembered");
            })
        };
        // Where it can't be written now it may be the next time.
        self.writing = Some(spawn_blocking(move || write().ok().map(|()| hash)));
        self.written_before().await;
    }

    /// Waits until what is being written is written.
    async fn written_before(&mut self) {
        if let Some(writing) = &mut self.writing {
            self.written = writing.await.ok().flatten().unwrap_or_default();
            self.writing = None;
        }
    }

    /// The computers as they are now, in order of their numbers.
    fn all(&self) -> Vec<Kept> {
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
        all
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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::{
        computers::Facts,
        wire::{
            frame::{self, AgentFrame},
            text::TextMode,
        },
    };

    fn facts(label: &str) -> Facts {
        let hello = format!(r#"{{"type":"hello","computerId":7,"computerLabel":"{label}"}}"#);
        match frame::read(&hello, TextMode::Plain) {
            Ok(AgentFrame::Hello(hello)) => Facts::new(&hello, "127.0.0.1:1".parse().unwrap()),
            other => panic!("{other:?}"),
        }
    }

    /// The labels by which the computers are known to whoever comes next.
    fn known(file: &std::path::Path) -> Vec<Option<String>> {
        let registry = Arc::new(Registry::default());
        Remembered::load(file.to_owned(), registry.clone());
        let all = registry.all();
        all.iter()
            .map(|computer| computer.facts().label.clone())
            .collect()
    }

    #[tokio::test]
    async fn the_file_has_the_last_even_if_what_was_written_before_was_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("computers.json");
        let registry = Arc::new(Registry::default());
        let mut remembered = Remembered::load(file.clone(), registry.clone());
        for round in 0..20 {
            for (label, is_waited_for) in [("first", false), ("last", true)] {
                let label = format!("{label} {round}");
                registry.enter_gone(facts(&label), SystemTime::now(), label.clone());
                if is_waited_for {
                    remembered.write(BEAT).await;
                    assert_eq!(known(&file), [Some(label)]);
                } else {
                    // It goes on elsewhere: the thread that asks for it does not do it.
                    assert!(remembered.write(BEAT).now_or_never().is_none());
                }
            }
        }
    }

    #[tokio::test]
    async fn a_linked_computer_left_when_its_bridge_was_there_last_and_not_when_that_last_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("computers.json");
        let minutes = |count: u64| Duration::from_secs(60 * count);
        let long_ago = SystemTime::now() - minutes(60);
        let kept = |why: &str| {
            let registry = Registry::default();
            registry.enter_gone(facts("miner"), long_ago, why.to_owned());
            let computers = registry.all();
            let introduction = Introduction::of(&computers[0], None);
            [Kept {
                introduction,
                since: long_ago,
                why: why.to_owned(),
            }]
        };
        let gone_for = || {
            let registry = Arc::new(Registry::default());
            let remembered = Remembered::load(file.clone(), registry.clone());
            let since = registry.all()[0].gone_since().unwrap();
            (remembered, since.elapsed().unwrap())
        };
        store::write(&file, &kept(BRIDGE_ENDED)).unwrap();
        assert!(gone_for().1 < minutes(1));
        store::write(&file, &kept("its agent closed the link")).unwrap();
        assert!(gone_for().1 > minutes(59));

        // What a bridge with a linked computer leaves behind, though nothing has changed since it wrote.
        store::write(&file, &kept(BRIDGE_ENDED)).unwrap();
        let stamp = |file: &std::path::Path| {
            let file = std::fs::File::options().write(true).open(file).unwrap();
            file.set_modified(long_ago).unwrap();
        };
        let (mut remembered, _) = gone_for();
        remembered.write(BEAT).await;
        stamp(&file);
        let changed = || store::changed(&file).unwrap().elapsed().unwrap();
        remembered.write(BEAT).await;
        assert!(changed() > minutes(59));
        remembered.leave().await;
        assert!(changed() < minutes(1));
    }
}
