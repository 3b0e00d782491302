//! Who has a number: what is kept of the key that its computer showed, and that the number changed hands.

use std::{
    net::SocketAddr,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// For how long lists tell that a number changed hands. By then whoever has it is the one that is known.
const LISTED_FOR: Duration = Duration::from_secs(24 * 3600);

/// For how long answers tell so after the first one that did: other clients of the same bridge are to see it too.
const SAID_FOR: Duration = Duration::from_secs(5 * 60);

/// How many bytes of a key's hash are kept. Nobody can look for a second key with the same ones.
const MARK_BYTES: usize = 16;

/// What is kept of a computer's key: enough to know it again, and not to show it. Empty if the agent showed none.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct KeyMark(String);

impl KeyMark {
    /// The mark of a key, or of none.
    pub fn of(key: Option<&str>) -> Self {
        let Some(key) = key else {
            return Self(String::new());
        };
        let hash = Sha256::digest(key);
        Self(
            hash.iter()
                .take(MARK_BYTES)
                .map(|byte| format!("{byte:02x}"))
                .collect(),
        )
    }

    fn is_of_none(&self) -> bool {
        self.0.is_empty()
    }
}

/// A number is another computer's than before, by its key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeOfHands {
    /// When the new one linked.
    pub since: SystemTime,
    /// Where the former one linked from.
    pub former: SocketAddr,
}

/// Who has a number, across links and changes of the bridge that holds the port.
#[derive(Debug, Default)]
pub struct Holder {
    /// The last one's mark; none while nobody has shown a key.
    mark: Option<KeyMark>,
    change: Option<ChangeOfHands>,
    /// When an answer first told of the change.
    said_at: Option<Instant>,
}

impl Holder {
    /// Notes who has linked: none where the bridge that holds the port doesn't tell. Whether that is somebody else than
    /// before, who came from `former`.
    pub fn linked(&mut self, mark: Option<&KeyMark>, former: SocketAddr) -> bool {
        // The first key of a number is no change: its agent may just be newer than the last time.
        let Some(mark) = mark.filter(|mark| self.mark.is_some() || !mark.is_of_none()) else {
            return false;
        };
        let changed = self.mark.as_ref().is_some_and(|last| last != mark);
        if changed {
            self.note(ChangeOfHands {
                since: SystemTime::now(),
                former,
            });
        }
        self.mark = Some(mark.clone());
        changed
    }

    /// Notes that it changed hands, as the bridge that holds the port tells.
    pub fn note(&mut self, change: ChangeOfHands) {
        if self.change.as_ref() != Some(&change) {
            self.change = Some(change);
            self.said_at = None;
        }
    }

    /// The last change, while lists are to tell of it.
    pub fn listed(&self) -> Option<&ChangeOfHands> {
        self.change.as_ref().filter(|change| {
            SystemTime::now()
                .duration_since(change.since)
                .unwrap_or_default()
                < LISTED_FOR
        })
    }

    /// The last change, if an answer of this moment is to tell of it.
    pub fn say(&mut self) -> Option<&ChangeOfHands> {
        let change = self.change.as_ref()?;
        let first = *self.said_at.get_or_insert_with(Instant::now);
        (first.elapsed() < SAID_FOR).then_some(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from() -> SocketAddr {
        "10.0.0.5:4711".parse().unwrap()
    }

    /// Whether each of these keys, of one link after the other, is somebody else's than the last.
    fn changes(keys: &[Option<&str>]) -> Vec<bool> {
        let mut holder = Holder::default();
        let linked = |key: &Option<&str>| holder.linked(Some(&KeyMark::of(*key)), from());
        keys.iter().map(linked).collect()
    }

    #[test]
    fn a_number_changes_hands_when_another_key_is_shown_or_none_any_more() {
        assert_eq!(changes(&[Some("a"), Some("a")]), [false, false]);
        assert_eq!(changes(&[Some("a"), Some("b")]), [false, true]);
        assert_eq!(
            changes(&[Some("a"), None, None, Some("a")]),
            [false, true, false, true]
        );
    }

    #[test]
    fn an_agent_that_begins_to_show_a_key_is_the_same_computer() {
        assert_eq!(changes(&[None, None, Some("a")]), [false, false, false]);
    }

    #[test]
    fn a_bridge_that_tells_no_key_changes_nothing() {
        let mut holder = Holder::default();
        assert!(!holder.linked(Some(&KeyMark::of(Some("a"))), from()));
        assert!(!holder.linked(None, from()));
        assert!(holder.linked(Some(&KeyMark::of(Some("b"))), from()));
    }

    #[test]
    fn a_mark_does_not_show_its_key() {
        let mark = KeyMark::of(Some("k3v9hq2m"));
        assert_eq!(mark.0.len(), 2 * MARK_BYTES);
        assert!(!mark.0.contains("k3v9") && mark != KeyMark::of(None));
    }

    #[tokio::test(start_paused = true)]
    async fn answers_tell_of_a_change_until_five_minutes_after_the_first() {
        let mut holder = Holder::default();
        holder.linked(Some(&KeyMark::of(Some("a"))), from());
        assert!(holder.say().is_none());
        holder.linked(Some(&KeyMark::of(Some("b"))), from());
        tokio::time::advance(SAID_FOR * 2).await;
        assert!(holder.say().is_some());
        tokio::time::advance(SAID_FOR / 2).await;
        assert!(holder.say().is_some());
        tokio::time::advance(SAID_FOR).await;
        assert!(holder.say().is_none() && holder.listed().is_some());
        // A guest hears of the same change again whenever its line is new.
        let change = holder.listed().cloned().unwrap();
        holder.note(change);
        assert!(holder.say().is_none());
    }
}
