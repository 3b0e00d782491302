//! One sync of a folder with one computer: looks at both sides, does what the plan says, and remembers what is alike.

mod deciding;
mod sending;

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
    copies::{COPIES, before, copy_of},
    entry::Entry,
    far::{Fetching, Peer, survey},
    host::Host,
    memory::{Memory, MemoryError},
    plan::{Act, Over, Way},
    report::Report,
};

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
        before: before(),
        renames: Vec::new(),
        has_trash: true,
        done: 0,
        total: 0,
    };
    let mut acts = round.acts(&tree, &seen);
    round.check_mirror(&acts)?;
    round.has_trash = round.check_room(&acts, &seen)?;
    let done = round.work(&mut acts).await;
    let memory = round.memory;
    let kept = spawn_blocking(move || {
        memory
            .keep()
            .map_err(|error| format!("{}.", capital(&error.to_string())))
    });
    let kept = kept.await.map_err(|error| error.to_string())?;
    done.and(kept)
}

/// Whether what is overwritten so is kept.
fn is_kept(act: Act) -> bool {
    let over = Over::Unknown;
    act == Act::Put { over } || act == Act::Get { over }
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
    /// Where that is kept which is overwritten, below the folder.
    before: String,
    /// Files of the computer that were renamed here, but for capital letters alone: what they are called there, and are to be.
    renames: Vec<(String, String)>,
    /// Whether there is room for what goes into the computer's trash; if not, what makes room goes first.
    has_trash: bool,
    done: usize,
    total: usize,
}

impl Round<'_> {
    async fn work(&mut self, acts: &mut BTreeMap<String, Act>) -> Result<(), String> {
        self.rename(acts).await?;
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
        // What is deleted makes room.
        let mut puts: Vec<_> = of(|act| *act == Act::DeleteThere).collect();
        puts.extend(of(|act| matches!(act, Act::Put { .. })));
        if !self.has_trash {
            puts.sort_by_cached_key(|path| self.growth(path, acts.get(path)));
        }
        let kept = self.fetch(acts, got).await?;
        puts.extend(kept);
        self.send(acts, puts).await
    }

    async fn delete_here(&mut self, path: String) -> Result<(), String> {
        let Some(was) = self.here.get(&path).map(|entry| entry.hash.clone()) else {
            return Ok(());
        };
        let (host, of) = (self.order.host.clone(), path.clone());
        let keep = format!("{}/{path}", self.before);
        let deleted = spawn_blocking(move || host.delete(&of, &was, &keep)).await;
        match deleted.map_err(|error| error.to_string())? {
            Ok(()) => {
                self.memory.gone(&path);
                self.step("deleted here", &path);
                self.report.deleted_in = Some(self.before.clone());
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
                    act => {
                        let keep = self.keep_of(&path, act);
                        self.write_here(&path, bytes, keep).await?.map(|()| None)
                    }
                };
                match written {
                    Ok(None) => {
                        self.report.bytes += length;
                        if let Some(entry) = self.there.get(&path) {
                            self.memory.alike(&path, &entry.hash);
                        }
                        self.overwrote(&path, acts.get(&path));
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

    /// Where that is kept, below the folder, which is overwritten with this file; none: it is not, or in the trash.
    fn keep_of(&self, path: &str, act: Option<&Act>) -> Option<String> {
        let over = Over::Changed;
        let keeps = act.is_some_and(|act| is_kept(*act) || *act == Act::Get { over });
        keeps.then(|| format!("{}/{path}", self.before))
    }

    /// Tells what was overwritten with a file.
    fn overwrote(&mut self, path: &str, act: Option<&Act>) {
        let (Some(Act::Put { over }) | Some(Act::Get { over })) = act else {
            return;
        };
        match over {
            Over::Known => {}
            Over::Changed => {
                if matches!(act, Some(Act::Get { .. })) {
                    self.report.overwritten_in = Some(self.before.clone());
                }
                self.report.overwritten.push(path.to_owned());
            }
            Over::Unknown => {
                let place = match act {
                    Some(Act::Put { .. }) => {
                        let folder = self.order.path.trim_end_matches('/');
                        format!("{folder}/{} on the computer", self.before)
                    }
                    _ => {
                        let folder = self.order.host.path().join(&self.before);
                        format!("{} on this machine", folder.display())
                    }
                };
                self.report.kept_in = Some(place);
                self.report.kept.push(path.to_owned());
            }
        }
    }

    async fn write_here(
        &self,
        path: &str,
        bytes: Vec<u8>,
        keep: Option<String>,
    ) -> Result<Result<(), String>, String> {
        let was = self.here.get(path).map(|entry| entry.hash.clone());
        let (host, path) = (self.order.host.clone(), path.to_owned());
        let written =
            spawn_blocking(move || host.write(&path, &bytes, was.as_deref(), keep.as_deref()));
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
                Err(_) => Some(host.write(&name, &what, None, None)),
            });
            if let Some(written) = written.await.map_err(|error| error.to_string())? {
                return Ok(written.map(|()| Some(copy)));
            }
        }
        Ok(Err(format!(
            "both sides have changed it, and {COPIES} copies of it are kept already"
        )))
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
