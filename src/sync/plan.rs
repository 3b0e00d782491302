//! What a sync is to do, by what is here, what is there, and what both were when they were last alike. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::entry::Entry;

/// Which way files go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// From the host to the computer.
    Push,
    /// From the computer to the host.
    Pull,
    /// Whichever has changed goes to the other.
    Both,
}

impl Way {
    /// Whether files of the computer may be written.
    pub fn writes_there(self) -> bool {
        self != Self::Pull
    }

    /// Whether files of the host may be written.
    pub fn writes_here(self) -> bool {
        self != Self::Push
    }
}

/// What is overwritten with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Nothing, or what the last sync left there.
    Known,
    /// What has changed there since the last sync.
    Changed,
    /// What no sync has seen before: it is kept.
    Unknown,
}

/// What is done with one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// It goes to the computer.
    Put {
        /// What the computer had.
        over: Over,
    },
    /// It comes from the computer.
    Get {
        /// What the host had.
        over: Over,
    },
    /// It is deleted on the computer.
    DeleteThere,
    /// It is deleted on the host.
    DeleteHere,
    /// Both have changed.
    Clash,
    /// It was deleted on the host, and stays on the computer.
    StaysThere,
    /// It was deleted on the computer, and stays on the host.
    StaysHere,
}

/// What both sides have.
#[derive(Debug, Clone, Copy)]
pub struct Sides<'a> {
    /// The files of the host.
    pub here: &'a BTreeMap<String, Entry>,
    /// The files of the computer.
    pub there: &'a BTreeMap<String, Entry>,
    /// The hashes that both had when they were last alike.
    pub last: &'a BTreeMap<String, String>,
}

/// What is to be done, and how many files are alike already.
pub fn plan(sides: Sides<'_>, way: Way, deletes: bool) -> (BTreeMap<String, Act>, usize) {
    let paths: BTreeSet<_> = sides.here.keys().chain(sides.there.keys()).collect();
    let mut acts = BTreeMap::new();
    let mut alike = 0;
    for path in paths {
        let here = sides.here.get(path).map(|entry| entry.hash.as_str());
        let there = sides.there.get(path).map(|entry| entry.hash.as_str());
        let last = sides.last.get(path).map(String::as_str);
        if here == there {
            alike += 1;
        } else if let Some(act) = act(here, there, last, way, deletes) {
            acts.insert(path.clone(), act);
        }
    }
    (acts, alike)
}

/// What becomes of a file that is not the same on both sides.
fn act(
    here: Option<&str>,
    there: Option<&str>,
    last: Option<&str>,
    way: Way,
    deletes: bool,
) -> Option<Act> {
    let over = |now: Option<&str>| match (now, last) {
        (Some(_), None) => Over::Unknown,
        (Some(now), Some(last)) if now != last => Over::Changed,
        _ => Over::Known,
    };
    match (way, here, there) {
        (_, None, None) => None,
        (Way::Push, Some(_), _) => Some(Act::Put { over: over(there) }),
        // Whoever asks that what is not here be deleted there means a mirror.
        (Way::Push, None, Some(_)) if deletes => Some(Act::DeleteThere),
        (Way::Push, None, Some(_)) => last.map(|_| Act::StaysThere),
        (Way::Pull, _, Some(_)) => Some(Act::Get { over: over(here) }),
        // Of the host only that is deleted which a sync has brought, and nobody has changed since.
        (Way::Pull, Some(_), None) if here != last => None,
        (Way::Pull | Way::Both, Some(_), None) if here == last => Some(match deletes {
            true => Act::DeleteHere,
            false => Act::StaysHere,
        }),
        (Way::Both, None, Some(_)) if there == last => Some(match deletes {
            true => Act::DeleteThere,
            false => Act::StaysThere,
        }),
        (Way::Both, Some(_), Some(_)) if last.is_none() => Some(Act::Clash),
        (Way::Both, Some(_), Some(_)) if here == last => Some(Act::Get { over: Over::Known }),
        (Way::Both, Some(_), Some(_)) if there == last => Some(Act::Put { over: Over::Known }),
        (Way::Both, Some(_), Some(_)) => Some(Act::Clash),
        // What was deleted on one side and changed on the other is what was changed.
        (_, Some(_), None) => Some(Act::Put { over: Over::Known }),
        (_, None, Some(_)) => Some(Act::Get { over: Over::Known }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(way: Way, deletes: bool) -> Vec<Option<Act>> {
        const OLD: Option<&str> = Some("old");
        const A: Option<&str> = Some("a");
        const B: Option<&str> = Some("b");
        [
            (A, None, None),
            (None, A, None),
            (A, B, None),
            (OLD, A, OLD),
            (A, OLD, OLD),
            (A, B, OLD),
            (OLD, None, OLD),
            (None, OLD, OLD),
            (A, None, OLD),
            (None, A, OLD),
        ]
        .map(|(here, there, last)| act(here, there, last, way, deletes))
        .to_vec()
    }

    #[test]
    fn a_push_makes_the_computer_what_the_host_is() {
        let put = Some(Act::Put { over: Over::Known });
        let over = Some(Act::Put {
            over: Over::Changed,
        });
        let unknown = Some(Act::Put {
            over: Over::Unknown,
        });
        let stays = Some(Act::StaysThere);
        assert_eq!(
            decided(Way::Push, false),
            [put, None, unknown, over, put, over, put, stays, put, stays]
        );
        let gone = Some(Act::DeleteThere);
        assert_eq!(
            decided(Way::Push, true),
            [put, gone, unknown, over, put, over, put, gone, put, gone]
        );
    }

    #[test]
    fn a_pull_deletes_only_what_a_sync_brought_and_only_if_asked() {
        let get = Some(Act::Get { over: Over::Known });
        let over = Some(Act::Get {
            over: Over::Changed,
        });
        let unknown = Some(Act::Get {
            over: Over::Unknown,
        });
        assert_eq!(
            decided(Way::Pull, false),
            [
                None,
                get,
                unknown,
                get,
                over,
                over,
                Some(Act::StaysHere),
                get,
                None,
                get
            ]
        );
        assert_eq!(
            decided(Way::Pull, true),
            [
                None,
                get,
                unknown,
                get,
                over,
                over,
                Some(Act::DeleteHere),
                get,
                None,
                get
            ]
        );
    }

    #[test]
    fn both_ways_take_whichever_has_changed_and_lose_nothing() {
        let put = Some(Act::Put { over: Over::Known });
        let get = Some(Act::Get { over: Over::Known });
        let clash = Some(Act::Clash);
        let (here, there) = (Some(Act::StaysHere), Some(Act::StaysThere));
        assert_eq!(
            decided(Way::Both, false),
            [put, get, clash, get, put, clash, here, there, put, get]
        );
        let (here, there) = (Some(Act::DeleteHere), Some(Act::DeleteThere));
        assert_eq!(
            decided(Way::Both, true),
            [put, get, clash, get, put, clash, here, there, put, get]
        );
    }
}
