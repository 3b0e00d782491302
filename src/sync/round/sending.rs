//! What a sync has done on the computer: renames, writes and deletes.

use std::collections::{BTreeMap, BTreeSet};

use tokio::task::spawn_blocking;

use super::Round;
use crate::sync::{
    digest,
    far::{Change, Old, Writer},
    plan::{Act, Over},
};

/// How many files are renamed at once.
const RENAMES: usize = 50;

impl Round<'_> {
    /// Renames files there. Of one that could not be renamed nothing else is done.
    pub(super) async fn rename(&mut self, acts: &mut BTreeMap<String, Act>) -> Result<(), String> {
        let renames = std::mem::take(&mut self.renames);
        self.report.has_asked |= !renames.is_empty();
        let mut writer = Writer::new(self.peer, &self.order.path);
        let mut stopped = None;
        for some in renames.chunks(RENAMES) {
            for (from, to) in some {
                let was = self.there.get(to).map_or("", |entry| entry.hash.as_str());
                writer.rename(from, to, was);
            }
            let told = match stopped {
                None => writer.finish().await,
                Some(why) => Err(why),
            };
            match told {
                Ok(told) => {
                    for ((from, to), (_, renamed)) in some.iter().zip(told) {
                        self.renamed(acts, from, to, renamed);
                    }
                    stopped = None;
                }
                Err(why) => {
                    some.iter()
                        .for_each(|(from, to)| self.memory.renamed(to, from));
                    stopped = Some(why);
                }
            }
        }
        stopped.map_or(Ok(()), Err)
    }

    fn renamed(
        &mut self,
        acts: &mut BTreeMap<String, Act>,
        from: &str,
        to: &str,
        renamed: Result<(), String>,
    ) {
        match renamed {
            Ok(()) => {
                self.step("renamed there", to);
                let names = (from.to_owned(), to.to_owned());
                self.report.renamed.push(names);
            }
            Err(why) => {
                acts.remove(to);
                self.memory.renamed(to, from);
                self.fail(from.to_owned(), why);
            }
        }
    }

    /// Writes files there, and deletes them.
    pub(super) async fn send(
        &mut self,
        acts: &BTreeMap<String, Act>,
        paths: Vec<String>,
    ) -> Result<(), String> {
        let mut writer = Writer::new(self.peer, &self.order.path);
        self.report.has_asked |= !paths.is_empty();
        // What was read of each: it may have changed since it was looked at.
        let mut read = BTreeMap::new();
        for path in paths {
            let was = self.there.get(&path).map(|entry| entry.hash.clone());
            let bytes = match acts.get(&path) {
                Some(Act::DeleteThere) => None,
                _ => {
                    let (host, name) = (self.order.host.clone(), path.clone());
                    let bytes = spawn_blocking(move || host.read(&name)).await;
                    match bytes.map_err(|error| error.to_string())? {
                        Ok(bytes) => Some(bytes),
                        Err(error) => {
                            self.fail(path, error.to_string());
                            continue;
                        }
                    }
                }
            };
            if let Some(bytes) = &bytes {
                read.insert(path.clone(), (digest::of(bytes), bytes.len() as u64));
            }
            let keep = self.keep_of(&path, acts.get(&path));
            let trash = match acts.get(&path) {
                // What somebody has changed there is overwritten only where it can be kept.
                Some(Act::Put { over }) => *over == Over::Changed,
                act => act == Some(&Act::DeleteThere) && self.has_trash,
            };
            let change = Change {
                path,
                bytes,
                was,
                keep,
                trash,
            };
            match writer.add(change).await {
                Ok(told) => self.sent(acts, &read, told),
                Err(why) => {
                    self.old(writer.old());
                    return Err(why);
                }
            }
        }
        let told = writer.finish().await;
        let told = told.map(|told| self.sent(acts, &read, told));
        self.old(writer.old());
        told
    }

    /// Tells what became of what files there were, that is lost there by this sync.
    fn old(&mut self, old: Old) {
        let report = &mut self.report;
        let lost: BTreeSet<_> = report
            .deleted_there
            .iter()
            .chain(&report.overwritten)
            .cloned()
            .collect();
        let first = old.in_trash.intersection(&lost).next();
        let folder = self.order.path.trim_end_matches('/');
        report.in_trash = first.map(|path| format!("{folder}/{path}"));
        report.gone = old.gone.intersection(&lost).cloned().collect();
    }

    fn sent(
        &mut self,
        acts: &BTreeMap<String, Act>,
        read: &BTreeMap<String, (String, u64)>,
        told: Vec<(String, Result<(), String>)>,
    ) {
        for (path, written) in told {
            match (written, read.get(&path)) {
                (Err(why), _) => self.fail(path, why),
                (Ok(()), Some((hash, size))) => {
                    self.memory.alike(&path, hash);
                    self.report.bytes += size;
                    self.overwrote(&path, acts.get(&path));
                    self.step("sent", &path);
                    self.report.sent.push(path);
                }
                (Ok(()), None) => {
                    self.memory.gone(&path);
                    self.step("deleted there", &path);
                    self.report.deleted_there.push(path);
                }
            }
        }
    }
}
