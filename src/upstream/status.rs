//! How the servers are: what a bridge knows of its own, and what it leaves in the state folder for other processes.

use std::{
    fs, mem,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use crate::base::{
    scribe::{FILES, Pen, Pile},
    store,
};

/// How often a bridge says that it still runs, where nothing else tells.
pub const HEARTBEAT: Duration = Duration::from_secs(10);

/// How the servers of one bridge are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The bridge's process id.
    pub pid: u32,
    /// The folder that it runs in, whose configuration it follows.
    pub folder: PathBuf,
    /// Its servers, in order of their names.
    pub servers: Vec<Row>,
    /// What else there is to know: what is shadowed, wrong, or waits for the user.
    pub notes: Vec<String>,
}

/// How one server is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// What public names of its things begin with.
    pub id: String,
    /// `stopped`, `starting`, `connected`, `failed` or `disabled`.
    pub state: String,
    /// Since when.
    pub since: SystemTime,
    /// The id of its process, and of its process group on Unix.
    pub pid: Option<u32>,
    /// How many tools of it are offered; none if it was never listed.
    pub tools: Option<usize>,
    /// The file that it is configured in.
    pub file: PathBuf,
    /// What went wrong last, or why it is disabled.
    pub error: Option<String>,
    /// The last lines it wrote to standard error before that.
    pub last_words: Vec<String>,
    /// What of its environment it may have lacked, as a sentence; nothing if nothing.
    #[serde(default)]
    pub lacked: String,
    /// When it is started again.
    pub retry_at: Option<SystemTime>,
    /// Tools that are withheld, each with the reason.
    pub withheld: Vec<(String, String)>,
    /// What is odd about what it offers, each in words that follow its name.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// How many lines it printed that are no messages, and the last of them.
    pub rubbish: Option<(u64, String)>,
    /// How many requests to restart it were followed.
    pub restarts: u32,
}

/// The file in which this bridge tells how its servers are. Removed when it is dropped. It is written where that holds up
/// nobody.
pub struct StatusFile {
    next: Arc<Mutex<Next>>,
    pile: Arc<Pile<Writer>>,
}

/// What is to be done to the file next.
#[derive(Default)]
struct Next {
    report: Option<Report>,
    beats: bool,
    ends: bool,
}

struct Writer {
    file: PathBuf,
    next: Arc<Mutex<Next>>,
}

impl StatusFile {
    /// The file of this process; not yet written.
    pub fn new(state: &Path) -> Self {
        let file = folder(state).join(format!("{}.json", std::process::id()));
        let next = Arc::<Mutex<Next>>::default();
        let writer = Writer {
            file,
            next: next.clone(),
        };
        // However often it is to be written meanwhile: what counts is the last.
        let pile = Pile::new(&FILES, 1, false, writer);
        Self { next, pile }
    }

    /// Writes it.
    pub fn write(&self, report: Report) {
        lock(&self.next).report = Some(report);
        self.pile.add(());
    }

    /// Says that what was written still holds.
    pub fn beat(&self) {
        lock(&self.next).beats = true;
        self.pile.add(());
    }
}

impl Drop for StatusFile {
    fn drop(&mut self) {
        lock(&self.next).ends = true;
        self.pile.add(());
    }
}

impl Pen for Writer {
    type Line = ();

    fn room(_: &()) -> usize {
        1
    }

    fn write(&mut self, _: Vec<()>, _: u64) {
        let next = mem::take(&mut *lock(&self.next));
        if next.ends {
            let _ = fs::remove_file(&self.file);
        } else if let Some(report) = next.report {
            if let Err(error) = store::write(&self.file, &report) {
                tracing::debug!(%error, "the state of the servers can't be written down");
            }
        } else if next.beats {
            // Where it can't be said now it is said the next time.
            let _ = store::touch(&self.file);
        }
    }
}

fn lock(next: &Mutex<Next>) -> MutexGuard<'_, Next> {
    // It is never left half changed.
    next.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the bridges that run now told last. Files of bridges that are gone are removed.
pub fn running(state: &Path) -> Vec<Report> {
    let Ok(entries) = fs::read_dir(folder(state)) else {
        return Vec::new();
    };
    let mut reports: Vec<Report> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let pid = entry
                .file_name()
                .to_str()?
                .strip_suffix(".json")?
                .parse()
                .ok()?;
            if !is_alive(pid, &entry) {
                let _ = fs::remove_file(entry.path());
                return None;
            }
            store::read(&entry.path())
        })
        .collect();
    reports.sort_by_key(|report| report.pid);
    reports
}

#[cfg(unix)]
fn is_alive(pid: u32, _: &fs::DirEntry) -> bool {
    use rustix::process::{Pid, test_kill_process};
    i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn is_alive(_: u32, entry: &fs::DirEntry) -> bool {
    entry
        .metadata()
        .and_then(|facts| facts.modified())
        .ok()
        .and_then(|beat| beat.elapsed().ok())
        .is_some_and(|age| age < HEARTBEAT * 3)
}

fn folder(state: &Path) -> PathBuf {
    super::kept::folder(state).join("running")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    fn report(pid: u32) -> Report {
        Report {
            pid,
            folder: "/".into(),
            servers: Vec::new(),
            notes: vec!["n".into()],
        }
    }

    #[test]
    fn what_a_running_bridge_told_is_read_until_it_leaves() {
        let state = tempfile::tempdir().unwrap();
        let file = StatusFile::new(state.path());
        let told = report(std::process::id());
        file.write(report(1));
        file.write(told.clone());
        file.beat();
        assert!(FILES.flush(LONG));
        assert_eq!(running(state.path()), std::slice::from_ref(&told));
        file.write(told);
        drop(file);
        assert!(FILES.flush(LONG));
        assert_eq!(running(state.path()), []);
    }

    #[test]
    fn whoever_tells_waits_for_no_disk() {
        /// Writes when it is allowed to.
        struct Hangs(Receiver<()>);
        impl Pen for Hangs {
            type Line = ();
            fn room(_: &()) -> usize {
                1
            }
            fn write(&mut self, _: Vec<()>, _: u64) {
                let _ = self.0.recv_timeout(LONG);
            }
        }
        let state = tempfile::tempdir().unwrap();
        let file = StatusFile::new(state.path());
        let (may, wait) = channel();
        Pile::new(&FILES, 1, false, Hangs(wait)).add(());
        let told = report(std::process::id());
        file.write(told.clone());
        assert_eq!(running(state.path()), []);
        may.send(()).unwrap();
        assert!(FILES.flush(LONG));
        assert_eq!(running(state.path()), [told]);
    }

    #[cfg(unix)]
    #[test]
    fn what_a_bridge_told_that_is_gone_is_forgotten() {
        let state = tempfile::tempdir().unwrap();
        let mut gone = std::process::Command::new("true").spawn().unwrap();
        gone.wait().unwrap();
        let file = folder(state.path()).join(format!("{}.json", gone.id()));
        store::write(&file, &report(gone.id())).unwrap();
        assert_eq!(running(state.path()), []);
        assert!(!file.exists());
    }
}
