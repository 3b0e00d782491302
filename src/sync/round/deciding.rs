//! What a sync does with each file, and whether it may at all.

use std::collections::{BTreeMap, BTreeSet};

use super::{Round, is_kept};
use crate::sync::{
    copies::{LEFT_OUT, is_copy},
    entry::Entry,
    far::Survey,
    host::Tree,
    names,
    plan::{Act, Over, Sides, plan},
};

/// What a file takes of a computer's disk at least, in bytes.
const LEAST_ON_DISK: u64 = 500;

impl Round<'_> {
    /// What is to be done with which file. What is not synced is taken out, and told of.
    pub(super) fn acts(&mut self, tree: &Tree, seen: &Survey) -> BTreeMap<String, Act> {
        let left = tree.left.iter().chain(&seen.left);
        // What is left out on one side is neither new nor gone there, nor is what is below it: a link may lead to a folder.
        let left_out: BTreeSet<_> = left.clone().map(|(path, _)| path.to_lowercase()).collect();
        let is_left = |path: &str| {
            let path = path.to_lowercase();
            above(&path).any(|folder| left_out.contains(folder)) || left_out.contains(&path)
        };
        for (path, why) in left {
            // Nobody wonders where that is.
            if tree.ignored.is_file(path) {
                continue;
            }
            let all = self.here.keys().chain(self.there.keys());
            let below = all.filter(|file| is_below(file, path)).count();
            let why = match below {
                0 => why.clone(),
                1 => format!("{why}, so one file below it is left as it is"),
                _ => format!("{why}, so {below} files below it are left as they are"),
            };
            self.report.left.push((path.clone(), why));
        }
        let is_out = |path: &str| is_left(path) || tree.ignored.is_file(path);
        self.there.retain(|path, _| !is_out(path));
        self.here.retain(|path, _| !is_out(path));
        // What clashed is kept here alone.
        let all = self.here.keys().chain(self.there.keys());
        let copies: BTreeSet<_> = all.filter(|path| is_copy(path)).cloned().collect();
        for copy in copies {
            self.here.remove(&copy);
            self.there.remove(&copy);
            self.report.left.push((copy, LEFT_OUT.to_owned()));
        }
        let twins = self.take_out_twins();
        self.take_out_files_for_folders();
        let sides = Sides {
            here: &self.here,
            there: &self.there,
            last: self.memory.files(),
        };
        let (mut acts, alike) = plan(sides, self.order.way, self.order.deletes);
        self.report.alike = alike;
        let same: Vec<_> = self
            .here
            .iter()
            .filter(|(path, entry)| self.there.get(*path) == Some(entry))
            .map(|(path, entry)| (path.clone(), entry.hash.clone()))
            .collect();
        for (path, hash) in same {
            self.memory.alike(&path, &hash);
        }
        let report = &mut self.report;
        acts.retain(|path, act| {
            let why = match act {
                Act::StaysHere | Act::StaysThere => {
                    report.stay.push(path.clone());
                    return false;
                }
                Act::Get { .. } | Act::DeleteHere => names::unsafe_here(path),
                Act::Clash => names::unsafe_here(path).map(|_| {
                    "both sides have changed it, and the computer's may not be written here: push or delete it to decide"
                }),
                Act::Put { .. } | Act::DeleteThere => None,
            };
            if let Some(why) = why {
                // Whoever wants both alike has to decide something.
                let list = match act {
                    Act::Clash => &mut report.failed,
                    _ => &mut report.left,
                };
                list.push((path.clone(), why.to_owned()));
            }
            why.is_none()
        });
        let last: Vec<_> = self.memory.files().keys().cloned().collect();
        for path in last {
            let is_gone = !self.here.contains_key(&path) && !self.there.contains_key(&path);
            // Which of two names a sync knows tells later which side has renamed it.
            if is_gone && !twins.contains(&path.to_lowercase()) {
                self.memory.gone(&path);
            }
        }
        self.total = acts.len() + self.renames.len();
        acts
    }

    /// Sees to files that both sides have, in other capital and small letters: what was renamed here is to be renamed there,
    /// and all others are taken out, and given in small letters.
    fn take_out_twins(&mut self) -> BTreeSet<String> {
        let by_lower: BTreeMap<_, _> = self
            .here
            .keys()
            .map(|path| (path.to_lowercase(), path.clone()))
            .collect();
        let twin = |there: &String| {
            let here = by_lower.get(&there.to_lowercase())?;
            (here != there).then(|| (there.clone(), here.clone()))
        };
        let twins: Vec<_> = self.there.keys().filter_map(twin).collect();
        let mut taken_out = BTreeSet::new();
        for (there, here) in twins {
            let Some(entry) = self.there.remove(&there) else {
                continue;
            };
            // A folder of other letters can't be told from itself where the game takes both for one.
            let is_renamed = self.order.way.writes_there()
                && self.memory.files().contains_key(&there)
                && above(&there).eq(above(&here));
            if is_renamed {
                self.memory.renamed(&there, &here);
                self.there.insert(here.clone(), entry);
                self.renames.push((there, here));
                continue;
            }
            self.here.remove(&here);
            taken_out.insert(here.to_lowercase());
            let why = format!(
                "this machine has it as {here}, in other capital and small letters, which may be one file in the game: give it \
                 the same name on both"
            );
            self.report.left.push((there, why));
        }
        taken_out
    }

    /// Takes out what is a file on one side and a folder on the other, with what is in that: somebody has to decide.
    fn take_out_files_for_folders(&mut self) {
        let folders = |files: &BTreeMap<String, Entry>| -> BTreeSet<String> {
            let all = files.keys().flat_map(|path| above(path));
            all.map(str::to_owned).collect()
        };
        let (here, there) = (folders(&self.here), folders(&self.there));
        let files_here = self.here.keys().filter(|path| there.contains(*path));
        let files_there = self.there.keys().filter(|path| here.contains(*path));
        let is_here = |path: &String| (path.clone(), "this machine", "the computer");
        let is_there = |path: &String| (path.clone(), "the computer", "this machine");
        let odd: Vec<_> = files_here
            .map(is_here)
            .chain(files_there.map(is_there))
            .collect();
        for (path, has_file, has_folder) in odd {
            let is_other = |file: &String| *file != path && !is_below(file, &path);
            self.here.retain(|file, _| is_other(file));
            self.there.retain(|file, _| is_other(file));
            let why = format!(
                "it is a file on {has_file} and a folder on {has_folder}, so neither was touched: rename or delete one of them"
            );
            self.report.failed.push((path, why));
        }
    }

    /// Whether what is deleted is not all there is, for want of a source: an empty folder is a wrong one, or one that is
    /// not mounted, more often than it is meant.
    pub(super) fn check_mirror(&self, acts: &BTreeMap<String, Act>) -> Result<(), String> {
        let count = |wanted| acts.values().filter(|act| **act == wanted).count();
        let machine = self.order.host.path().display().to_string();
        let machine = (machine, "this machine".to_owned());
        let computer = format!("computer {}", self.peer.name());
        let computer = (self.order.path.clone(), computer);
        let ((empty, whose), (full, of), files) =
            match (self.here.is_empty(), self.there.is_empty()) {
                (true, false) => (machine, computer, count(Act::DeleteThere)),
                (false, true) => (computer, machine, count(Act::DeleteHere)),
                _ => return Ok(()),
            };
        if files == 0 {
            return Ok(());
        }
        Err(format!(
            "{empty} of {whose} has no file that is synced, and a mirror of it would delete all {files} of {full} of {of}. If \
             that is meant, delete them there yourself; if not, name the right folder."
        ))
    }

    /// By how much a computer's disk gets fuller, in bytes, by what is done with a file there.
    pub(super) fn growth(&self, path: &str, act: Option<&Act>) -> i64 {
        let size = |files: &BTreeMap<String, Entry>| {
            files.get(path).map_or(0, |entry| on_disk(entry) as i64)
        };
        match act {
            Some(Act::DeleteThere) => -size(&self.there),
            Some(Act::Put { over: Over::Known }) => size(&self.here) - size(&self.there),
            // What was there is kept.
            _ => size(&self.here),
        }
    }

    /// Whether what is to be written has room there, as far as that can be told before; and whether what goes for it may
    /// be kept there.
    pub(super) fn check_room(
        &self,
        acts: &BTreeMap<String, Act>,
        seen: &Survey,
    ) -> Result<bool, String> {
        let puts = acts
            .iter()
            .filter(|(_, act)| matches!(act, Act::Put { .. } | Act::Clash));
        let (mut needed, mut given) = (0, 0);
        for (path, act) in puts {
            needed += self.here.get(path).map_or(0, on_disk);
            // What is kept gives no room.
            if !is_kept(*act) {
                given += self.there.get(path).map_or(0, on_disk);
            }
        }
        if needed == 0 {
            return Ok(true);
        }
        let (name, path) = (self.peer.name(), &self.order.path);
        if seen.read_only {
            return Err(format!("{path} of computer {name} is read-only."));
        }
        let gone = acts.iter().filter(|(_, act)| **act == Act::DeleteThere);
        given += gone
            .filter_map(|(path, _)| self.there.get(path))
            .map(on_disk)
            .sum::<u64>();
        match seen.free {
            Some(free) if needed > free + given => Err(format!(
                "The files take {needed} bytes of computer {name}, and {} are free for them: leave some out, by a .gitignore \
                 say, or delete what is there, such as its /.trash.",
                free + given
            )),
            Some(free) => Ok(needed <= free),
            None => Ok(true),
        }
    }
}

/// What a file takes of a computer's disk, in bytes.
fn on_disk(entry: &Entry) -> u64 {
    entry.size.max(LEAST_ON_DISK)
}

/// The folders that a path lies in.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// Whether a file lies below a folder.
fn is_below(file: &str, folder: &str) -> bool {
    file.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}
