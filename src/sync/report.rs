//! What came of a sync, and how it is told.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::{Value, json};

use crate::base::excerpt::shortened;

/// How many names of files a list shows in short.
pub(super) const SHOWN: usize = 12;

/// How much is said of why a computer could not be asked on, in characters.
const WHY: usize = 1_000;

/// What came of one sync with one computer.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Report {
    /// What the computer is called.
    pub name: String,
    /// Files that were written there.
    pub sent: Vec<String>,
    /// Files that were written here.
    pub fetched: Vec<String>,
    /// Files that were deleted there.
    pub deleted_there: Vec<String>,
    /// Files that were deleted here.
    pub deleted_here: Vec<String>,
    /// Below which folder here those are kept.
    pub deleted_in: Option<String>,
    /// Files that were renamed there, but for capital letters alone: what they were called, and are.
    pub renamed: Vec<(String, String)>,
    /// The path there of a file that was deleted or overwritten, and is in the computer's trash; none: none is.
    pub in_trash: Option<String>,
    /// Files whose contents it has not, though they are lost by this sync.
    pub gone: Vec<String>,
    /// Files that both sides had changed, with the name under which the computer's is kept here.
    pub clashes: Vec<(String, String)>,
    /// Files that were overwritten, though they had changed there, or here, since the last sync.
    pub overwritten: Vec<String>,
    /// Below which folder here those are kept; none: they were there.
    pub overwritten_in: Option<String>,
    /// Files that were overwritten, though no sync knew what was there: that is kept.
    pub kept: Vec<String>,
    /// Where, for a person.
    pub kept_in: Option<String>,
    /// Files that were deleted on one side and stay on the other.
    pub stay: Vec<String>,
    /// Files that are not synced, and why.
    pub left: Vec<(String, String)>,
    /// Files that were to be synced and were not, and why.
    pub failed: Vec<(String, String)>,
    /// Whether the computer was asked to write anything.
    pub has_asked: bool,
    /// How many were alike already.
    pub alike: usize,
    /// How many bytes went either way.
    pub bytes: u64,
    /// Why it ended before all was done; whole sentences.
    pub stopped: Option<String>,
}

impl Report {
    /// Whether all that was to be done was done.
    pub fn is_well(&self) -> bool {
        self.failed.is_empty() && self.stopped.is_none()
    }

    /// Whether anything was changed.
    pub fn has_changed(&self) -> bool {
        [
            &self.sent,
            &self.fetched,
            &self.deleted_there,
            &self.deleted_here,
        ]
        .iter()
        .any(|list| !list.is_empty())
            || !self.renamed.is_empty()
    }

    /// What there is to tell, in lines; of long lists the beginning.
    pub fn words(&self) -> String {
        self.words_with(SHOWN)
    }

    /// All of it, in lines.
    pub fn words_in_full(&self) -> String {
        self.words_with(usize::MAX)
    }

    /// Whether the words leave out what the full ones tell.
    pub fn is_cut(&self) -> bool {
        let lists = [
            &self.sent,
            &self.fetched,
            &self.deleted_there,
            &self.deleted_here,
            &self.overwritten,
            &self.kept,
            &self.stay,
            &self.gone,
        ];
        let pairs = [&self.left, &self.failed, &self.clashes, &self.renamed];
        lists.iter().any(|list| list.len() > SHOWN) || pairs.iter().any(|list| list.len() > SHOWN)
    }

    /// All of it for programs: of what was not synced the names by the reasons.
    pub fn fields(&self) -> Value {
        let pairs = |list: &[(String, String)], second: &str| -> Vec<Value> {
            let pairs = list.iter();
            pairs
                .map(|(path, other)| json!({"path": path, second: other}))
                .collect()
        };
        let mut fields = json!({
            "computer": self.name, "alike": self.alike, "bytes": self.bytes, "clashes": pairs(&self.clashes, "kept"),
            "renamed": pairs(&self.renamed, "to"), "gone": self.gone,
            "sent": self.sent, "fetched": self.fetched, "deletedThere": self.deleted_there,
            "deletedHere": self.deleted_here, "overwritten": self.overwritten, "overwrittenAndKept": self.kept,
            "keptIn": self.kept_in, "left": self.stay, "notSynced": by_reason(&self.left),
            "failed": by_reason(&self.failed), "stopped": self.stopped,
        });
        if let Some(fields) = fields.as_object_mut() {
            fields.retain(|_, value| match value {
                Value::Null => false,
                Value::Array(list) => !list.is_empty(),
                Value::Object(fields) => !fields.is_empty(),
                _ => true,
            });
        }
        fields
    }

    /// The same, with so many names of each list.
    pub(super) fn words_with(&self, shown: usize) -> String {
        let mut counts = Vec::new();
        let mut count = |list: &[String], what: &str| {
            if !list.is_empty() {
                counts.push(format!("{} {what}", list.len()));
            }
        };
        count(&self.sent, "sent");
        count(&self.fetched, "fetched");
        count(&self.deleted_there, "deleted on the computer");
        count(&self.deleted_here, "deleted on this machine");
        if !self.renamed.is_empty() {
            counts.push(format!("{} renamed on the computer", self.renamed.len()));
        }
        if self.bytes > 0 {
            counts.push(format!("{} bytes", self.bytes));
        }
        counts.push(format!("{} alike already", self.alike));
        let mut words = format!("Computer {}: {}.", self.name, counts.join(", "));
        let mut lines = |what: &str, list: &[String]| {
            if !list.is_empty() {
                let _ = write!(words, "\n{what}: {}.", names(list, shown));
            }
        };
        lines("Sent", &self.sent);
        lines("Fetched", &self.fetched);
        lines("Deleted on the computer", &self.deleted_there);
        if let Some(place) = &self.deleted_in {
            lines(
                &format!("Deleted on this machine, and kept in {place}"),
                &self.deleted_here,
            );
        }
        let overwritten = "Overwritten though changed since the last sync";
        match &self.overwritten_in {
            Some(place) => {
                let what = format!("{overwritten}, and kept in {place}");
                lines(&what, &self.overwritten);
            }
            None => lines(overwritten, &self.overwritten),
        }
        if let Some(place) = &self.kept_in {
            let what = format!(
                "Overwritten, though no sync had brought what was there, which is kept in {place}"
            );
            lines(&what, &self.kept);
        }
        lines(
            "Deleted on one side since the last sync, and left on the other (delete takes them away there too)",
            &self.stay,
        );
        if let Some(path) = &self.in_trash {
            let call = json!({"action": "undo", "path": path});
            let _ = write!(
                words,
                "\nWhat was there is in the computer's /.trash for a while: manage-files {call} brings a file back, and with `to` \
                 beside what is there now."
            );
        }
        let mut lines = |what: &str, list: &[String]| {
            if !list.is_empty() {
                let _ = write!(words, "\n{what}: {}.", names(list, shown));
            }
        };
        lines(
            "Gone for good, since the computer's trash takes 50 files, 250000 bytes, and no room that the sync needs",
            &self.gone,
        );
        let renamed: Vec<_> = self
            .renamed
            .iter()
            .map(|(from, to)| format!("{from} to {to}"))
            .collect();
        lines("Renamed on the computer", &renamed);
        for (path, kept) in self.clashes.iter().take(shown) {
            let _ = write!(
                words,
                "\nBoth sides had changed {path}: this machine's is on both now, and the computer's is kept here as {kept}."
            );
        }
        reasons(&mut words, "Not synced", &self.left, shown);
        reasons(&mut words, "Failed", &self.failed, shown);
        if self.clashes.len() > shown {
            let _ = write!(
                words,
                "\nSo it is with {} more.",
                self.clashes.len() - shown
            );
        }
        if let Some(why) = &self.stopped {
            let why = shortened(why, WHY);
            let begun = if self.has_changed() || self.has_asked {
                " What is told here as done is done; the next sync goes on from there."
            } else {
                " Nothing was changed."
            };
            let _ = write!(words, "\nStopped: {why}{begun}");
        }
        words
    }
}

fn names(list: &[String], most: usize) -> String {
    let mut shown = list
        .iter()
        .take(most)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    if list.len() > most {
        let _ = write!(shown, " and {} more", list.len() - most);
    }
    shown
}

fn reasons(words: &mut String, what: &str, list: &[(String, String)], most: usize) {
    for (path, why) in list.iter().take(most) {
        let _ = write!(words, "\n{what}: {path}: {why}.");
    }
    if list.len() > most {
        let _ = write!(words, "\n{what}: {} more.", list.len() - most);
    }
}

fn by_reason(list: &[(String, String)]) -> BTreeMap<&str, Vec<&str>> {
    let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (path, why) in list {
        reasons.entry(why).or_default().push(path);
    }
    reasons
}
