//! One sync of a folder with one computer: looks at both sides, does what the plan says, and remembers what is alike.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use futures_util::{StreamExt, stream};
use tokio::task::spawn_blocking;

use super::{
    copies::{COPIES, copy_of, is_copy},
    digest,
    entry::Entry,
    far::{Change, Fetching, Peer, Survey, Writer, survey},
    host::{Host, Tree},
    memory::{Memory, MemoryError},
    names,
    plan::{Act, Sides, Way, plan},
    report::Report,
};

/// What a file takes of a computer's disk at least, in bytes.
const LEAST_ON_DISK: u64 = 500;

/// How many computers are synced at once.
const AT_ONCE: usize = 8;

/// How long another sync of the same folders is waited for, and how often it is looked whether it has ended.
const PATIENCE: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(50);

/// What is to be synced.
#[derive(Debug, Clone)]
pub struct Order {
    /// The folder of the host.
    pub host: Host,
    /// The computer's folder, as [`game_folder`](super::game_folder) gives it.
    pub path: String,
    /// Which way.
    pub way: Way,
    /// Whether what is gone from one side is deleted on the other.
    pub deletes: bool,
    /// The folder where the bridges of a user keep what they share.
    pub state: PathBuf,
}

/// How far a sync has come.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// The computer.
    pub name: &'a str,
    /// How many files are done.
    pub done: usize,
    /// How many there are to do.
    pub total: usize,
    /// What was done with the last one: `sent`, say.
    pub what: &'a str,
    /// Which that was.
    pub path: &'a str,
}

/// Whoever is told of each step.
pub type Teller<'a> = &'a (dyn Fn(Step<'_>) + Send + Sync);

/// Syncs, and tells each step. What goes wrong is in the report.
pub async fn sync(order: &Order, peer: &dyn Peer, tell: Teller<'_>) -> Report {
    let mut report = Report {
        name: peer.name(),
        ..Report::default()
    };
    if let Err(why) = run(order, peer, tell, &mut report).await {
        report.stopped = Some(why);
    }
    report
}

/// Syncs each of these, a few at a time.
pub async fn sync_all<'a>(
    orders: impl Iterator<Item = &'a (Order, &'a dyn Peer)>,
    tell: Teller<'_>,
) -> Vec<Report> {
    let syncs: Vec<_> = orders
        .map(|(order, peer)| sync(order, *peer, tell))
        .collect();
    stream::iter(syncs).buffered(AT_ONCE).collect().await
}

async fn run(
    order: &Order,
    peer: &dyn Peer,
    tell: Teller<'_>,
    report: &mut Report,
) -> Result<(), String> {
    if order.deletes && order.path == "/" && order.way.writes_there() {
        return Err(
            "The whole disk of a computer is not mirrored: name a folder of it.".to_owned(),
        );
    }
    let (taken, key) = (order.clone(), peer.key());
    let opened = spawn_blocking(move || {
        let folder = taken.host.path();
        let until = Instant::now() + PATIENCE;
        let memory = loop {
            match Memory::take(&taken.state, folder, &key, &taken.path, taken.way) {
                Ok(memory) => break memory,
                // Most take a second or two.
                Err(MemoryError::Busy { .. }) if Instant::now() < until => thread::sleep(AGAIN),
                Err(error) => return Err(format!("{}.", capital(&error.to_string()))),
            }
        };
        let tree = taken.host.walk().map_err(|error| format!("{error}."))?;
        Ok::<_, String>((memory, tree))
    });
    let (memory, tree) = opened.await.map_err(|error| error.to_string())??;
    let seen = survey(peer, &order.path, None).await?.unwrap_or_default();
    if seen.missing && order.way == Way::Pull {
        return Err(format!(
            "There is no folder {} on computer {}.",
            order.path,
            peer.name()
        ));
    }
    let mut round = Round {
        order,
        peer,
        tell,
        report,
        memory,
        here: tree.files.clone(),
        there: seen.files.clone(),
        done: 0,
        total: 0,
    };
    let acts = round.acts(&tree, &seen);
    round.check_room(&acts, &seen)?;
    let done = round.work(&acts).await;
    let memory = round.memory;
    let kept = spawn_blocking(move || {
        memory
            .keep()
            .map_err(|error| format!("{}.", capital(&error.to_string())))
    });
    let kept = kept.await.map_err(|error| error.to_string())?;
    done.and(kept)
}

fn capital(text: &str) -> String {
    let mut signs = text.chars();
    let first = signs.next().map(|sign| sign.to_uppercase().to_string());
    first.unwrap_or_default() + signs.as_str()
}

/// One sync that goes on.
struct Round<'a> {
    order: &'a Order,
    peer: &'a dyn Peer,
    tell: Teller<'a>,
    report: &'a mut Report,
    memory: Memory,
    here: BTreeMap<String, Entry>,
    there: BTreeMap<String, Entry>,
    done: usize,
    total: usize,
}

impl Round<'_> {
    /// What is to be done with which file. What is not synced is taken out, and told of.
    fn acts(&mut self, tree: &Tree, seen: &Survey) -> BTreeMap<String, Act> {
        let left = tree.left.iter().chain(&seen.left);
        let left = left.map(|(path, why)| (path.clone(), why.clone()));
        self.report.left.extend(left);
        // What is left out on one side is neither new nor gone there. What clashed is kept here alone.
        let is_out = |path: &str| {
            tree.left.contains_key(path)
                || seen.left.contains_key(path)
                || tree.ignored.is_file(path)
                || is_copy(path)
        };
        self.there.retain(|path, _| !is_out(path));
        self.here.retain(|path, _| !is_out(path));
        let by_lower: BTreeMap<_, _> = self
            .here
            .keys()
            .map(|path| (path.to_lowercase(), path))
            .collect();
        let twins: Vec<_> = self
            .there
            .keys()
            .filter(|path| {
                by_lower
                    .get(&path.to_lowercase())
                    .is_some_and(|here| here != path)
            })
            .cloned()
            .collect();
        for twin in twins {
            self.there.remove(&twin);
            self.here
                .retain(|path, _| path.to_lowercase() != twin.to_lowercase());
            let why = "both sides have it, in other capital and small letters";
            self.report.left.push((twin, why.to_owned()));
        }
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
            if !self.here.contains_key(&path) && !self.there.contains_key(&path) {
                self.memory.gone(&path);
            }
        }
        self.total = acts.len();
        acts
    }

    /// Whether what is to be written has room there, as far as that can be told before.
    fn check_room(&self, acts: &BTreeMap<String, Act>, seen: &Survey) -> Result<(), String> {
        let puts = acts
            .iter()
            .filter(|(_, act)| matches!(act, Act::Put { .. } | Act::Clash));
        let on_disk = |entry: &Entry| entry.size.max(LEAST_ON_DISK);
        let (mut needed, mut given) = (0, 0);
        for (path, _) in puts {
            needed += self.here.get(path).map_or(0, on_disk);
            given += self.there.get(path).map_or(0, on_disk);
        }
        if needed == 0 {
            return Ok(());
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
                 say, or delete what is there.",
                free + given
            )),
            _ => Ok(()),
        }
    }

    async fn work(&mut self, acts: &BTreeMap<String, Act>) -> Result<(), String> {
        let of = |wanted: fn(&Act) -> bool| {
            acts.iter()
                .filter(move |(_, act)| wanted(act))
                .map(|(path, _)| path.clone())
        };
        let gone_here: Vec<_> = of(|act| *act == Act::DeleteHere).collect();
        for path in gone_here {
            self.delete_here(path).await?;
        }
        let got: Vec<_> = of(|act| matches!(act, Act::Get { .. } | Act::Clash)).collect();
        let mut puts: Vec<_> =
            of(|act| matches!(act, Act::Put { .. } | Act::DeleteThere)).collect();
        let kept = self.fetch(acts, got).await?;
        puts.extend(kept);
        self.send(acts, puts).await
    }

    async fn delete_here(&mut self, path: String) -> Result<(), String> {
        let Some(was) = self.here.get(&path).map(|entry| entry.hash.clone()) else {
            return Ok(());
        };
        let (host, of) = (self.order.host.clone(), path.clone());
        let deleted = spawn_blocking(move || host.delete(&of, &was)).await;
        match deleted.map_err(|error| error.to_string())? {
            Ok(()) => {
                self.memory.gone(&path);
                self.step("deleted here", &path);
                self.report.deleted_here.push(path);
            }
            Err(why) => self.fail(path, why),
        }
        Ok(())
    }

    /// Fetches files and writes them here. Of those that clash the computer's is kept beside this machine's, and their
    /// names are given: they are to be sent.
    async fn fetch(
        &mut self,
        acts: &BTreeMap<String, Act>,
        wanted: Vec<String>,
    ) -> Result<Vec<String>, String> {
        let entries = wanted.into_iter().filter_map(|path| {
            let entry = self.there.get(&path)?.clone();
            Some((path, entry))
        });
        let mut fetching = Fetching::new(self.peer, &self.order.path, entries.collect());
        let mut clashes = Vec::new();
        while let Some(came) = fetching.next().await? {
            for (path, bytes) in came {
                let bytes = match bytes {
                    Ok(bytes) => bytes,
                    Err(why) => {
                        self.fail(path, why);
                        continue;
                    }
                };
                let length = bytes.len() as u64;
                let written = match acts.get(&path) {
                    Some(Act::Clash) => self.keep_copy(&path, bytes).await?,
                    _ => self.write_here(&path, bytes).await?.map(|()| None),
                };
                match written {
                    Ok(None) => {
                        self.report.bytes += length;
                        if let Some(entry) = self.there.get(&path) {
                            self.memory.alike(&path, &entry.hash);
                        }
                        if acts.get(&path) == Some(&(Act::Get { over_change: true })) {
                            self.report.overwritten.push(path.clone());
                        }
                        self.step("fetched", &path);
                        self.report.fetched.push(path);
                    }
                    Ok(Some(copy)) => {
                        self.report.bytes += length;
                        self.report.clashes.push((path.clone(), copy));
                        clashes.push(path);
                    }
                    Err(why) => self.fail(path, why),
                }
            }
        }
        Ok(clashes)
    }

    async fn write_here(&self, path: &str, bytes: Vec<u8>) -> Result<Result<(), String>, String> {
        let was = self.here.get(path).map(|entry| entry.hash.clone());
        let (host, path) = (self.order.host.clone(), path.to_owned());
        let written = spawn_blocking(move || host.write(&path, &bytes, was.as_deref()));
        written.await.map_err(|error| error.to_string())
    }

    /// Keeps the computer's file beside this machine's, under a name that no sync takes along.
    async fn keep_copy(
        &self,
        path: &str,
        bytes: Vec<u8>,
    ) -> Result<Result<Option<String>, String>, String> {
        let bytes = Arc::new(bytes);
        for number in 1..=COPIES {
            let copy = copy_of(path, &self.peer.key(), number);
            let (host, name, what) = (self.order.host.clone(), copy.clone(), bytes.clone());
            let written = spawn_blocking(move || match host.read(&name) {
                Ok(there) if there == *what => Some(Ok(())),
                Ok(_) => None,
                Err(_) => Some(host.write(&name, &what, None)),
            });
            if let Some(written) = written.await.map_err(|error| error.to_string())? {
                return Ok(written.map(|()| Some(copy)));
            }
        }
        Ok(Err(format!(
            "both sides have changed it, and {COPIES} copies of it are kept already"
        )))
    }

    /// Writes files there, and deletes them.
    async fn send(
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
            let change = Change { path, bytes, was };
            let told = writer.add(change).await?;
            self.sent(acts, &read, told);
        }
        let told = writer.finish().await?;
        self.sent(acts, &read, told);
        Ok(())
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
                    if acts.get(&path) == Some(&(Act::Put { over_change: true })) {
                        self.report.overwritten.push(path.clone());
                    }
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

    fn step(&mut self, what: &str, path: &str) {
        self.done += 1;
        (self.tell)(Step {
            name: &self.report.name,
            done: self.done,
            total: self.total,
            what,
            path,
        });
    }

    fn fail(&mut self, path: String, why: String) {
        self.step("not synced", &path);
        self.report.failed.push((path, why));
    }
}
