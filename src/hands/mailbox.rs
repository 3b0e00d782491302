//! How questions come to the bridges that run, and answers back: small files in the folder that a user's bridges share.
//!
//! A bridge that runs holds the lock of a file of its own, so it is known who is to answer, also of one that is frozen.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::message::{Question, Told};
use crate::base::{
    inbox::{self, Inbox},
    private, store,
};

/// How often a command looks for answers.
const LOOK: Duration = Duration::from_millis(10);

/// How often a bridge tries to lock its own file, if a command looks at it just then.
const LOCK_TRIES: u32 = 20;

/// That this bridge runs, for as long as this is kept, and until the process ends.
pub struct Presence {
    /// What the bridge is called in questions and answers.
    pub name: String,
    file: PathBuf,
    _lock: File,
}

impl Presence {
    /// Makes this bridge known.
    ///
    /// # Errors
    /// The folder can't be written.
    pub fn begin(shared: &Path) -> io::Result<Self> {
        // Two processes can have the same id: in two containers, say.
        let random = uuid::Uuid::new_v4().simple().to_string();
        let name = format!("{}-{}", std::process::id(), &random[..8]);
        let file = bridges(shared).join(format!("{name}.lock"));
        for _ in 0..LOCK_TRIES {
            if let Some(lock) = store::try_lock(&file)? {
                return Ok(Self {
                    name,
                    file,
                    _lock: lock,
                });
            }
            thread::sleep(LOOK);
        }
        Err(io::ErrorKind::WouldBlock.into())
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

/// The questions, as one bridge sees them.
pub struct Questions {
    shared: PathBuf,
    inbox: Inbox,
}

impl Questions {
    /// Only what is asked from now on is new.
    ///
    /// # Errors
    /// The folder can't be made.
    pub fn new(shared: &Path) -> io::Result<Self> {
        private::make_folder(&asked(shared))?;
        Ok(Self {
            shared: shared.to_owned(),
            inbox: Inbox::new(asked(shared)),
        })
    }

    /// The folder in which a question appears.
    pub fn folder(&self) -> PathBuf {
        asked(&self.shared)
    }

    /// What was asked since the last time, with the questions' names.
    pub fn take(&mut self) -> Vec<(String, Question)> {
        let taken = self.inbox.take();
        if !taken.is_empty() {
            // What a command that was killed left behind.
            let answers = fs::read_dir(answered(&self.shared));
            for entry in answers.into_iter().flatten().filter_map(Result::ok) {
                if inbox::is_old(&entry) {
                    let _ = fs::remove_dir_all(entry.path());
                }
            }
        }
        taken
    }
}

/// Answers a question for the bridge of this name.
///
/// # Errors
/// The folder can't be written.
pub fn answer(shared: &Path, question: &str, bridge: &str, told: &Told) -> io::Result<()> {
    let file = answered(shared)
        .join(question)
        .join(format!("{bridge}.json"));
    store::write(&file, told)
}

/// What came of a question.
#[derive(Debug, Default)]
pub struct Round {
    /// What each bridge answered, by its name.
    pub told: BTreeMap<String, Told>,
    /// The process ids of those that run and did not answer.
    pub silent: Vec<u32>,
}

/// Asks all bridges that run, and waits until each has answered or the patience ends. A question with orders is for those
/// only that have some.
///
/// # Errors
/// The folder can't be written.
pub fn ask(shared: &Path, question: &Question, patience: Duration) -> io::Result<Round> {
    let mut open = present(shared);
    open.retain(|bridge| question.is_for(bridge));
    let mut round = Round::default();
    if open.is_empty() {
        return Ok(round);
    }
    let name = inbox::leave(&asked(shared), question)?;
    let answers = answered(shared).join(&name);
    let until = Instant::now() + patience;
    loop {
        open.retain(|bridge| {
            let told = answers.join(format!("{bridge}.json"));
            match told.exists().then(|| store::read(&told)).flatten() {
                Some(told) => {
                    round.told.insert(bridge.clone(), told);
                    false
                }
                // Of one that has gone no answer comes.
                None => store::is_locked(&bridges(shared).join(format!("{bridge}.lock"))),
            }
        });
        if open.is_empty() || Instant::now() >= until {
            break;
        }
        thread::sleep(LOOK);
    }
    let _ = fs::remove_file(asked(shared).join(&name));
    let _ = fs::remove_dir_all(&answers);
    round.silent = open.iter().filter_map(|bridge| pid_of(bridge)).collect();
    Ok(round)
}

/// The names of the bridges that run and can be asked.
pub fn present(shared: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(bridges(shared)) else {
        return Vec::new();
    };
    let mut present = Vec::new();
    for entry in entries.filter_map(Result::ok) {
        let file = entry.file_name();
        let name = file.to_str().and_then(|file| file.strip_suffix(".lock"));
        let Some(name) = name else { continue };
        if store::is_locked(&entry.path()) {
            present.push(name.to_owned());
        } else if inbox::is_old(&entry) {
            // Not one that is about to be locked.
            let _ = fs::remove_file(entry.path());
        }
    }
    present.sort();
    present
}

fn pid_of(bridge: &str) -> Option<u32> {
    bridge.split('-').next()?.parse().ok()
}

fn bridges(shared: &Path) -> PathBuf {
    shared.join("hands").join("bridges")
}

fn asked(shared: &Path) -> PathBuf {
    shared.join("hands").join("asked")
}

fn answered(shared: &Path) -> PathBuf {
    shared.join("hands").join("answered")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hands::message::Answer;

    fn told(pid: u32) -> Told {
        Told {
            pid,
            client: None,
            version: "1".to_owned(),
            answer: Answer::Jobs {
                calls: Vec::new(),
                jobs: Vec::new(),
            },
        }
    }

    #[test]
    fn each_bridge_that_runs_is_waited_for_and_one_that_says_nothing_is_told_of() {
        let shared = tempfile::tempdir().unwrap();
        let shared = shared.path();
        let patience = Duration::from_secs(20);
        assert!(
            ask(shared, &Question::Jobs, patience)
                .unwrap()
                .told
                .is_empty()
        );
        let mut questions = Questions::new(shared).unwrap();
        let [answers, is_frozen, leaves] = [(); 3].map(|()| Presence::begin(shared).unwrap());
        let name = answers.name.clone();
        let round = thread::scope(|scope| {
            let asking = scope.spawn(|| ask(shared, &Question::Jobs, Duration::from_secs(2)));
            let (question, _) = loop {
                if let Some(question) = questions.take().pop() {
                    break question;
                }
                thread::sleep(LOOK);
            };
            drop(leaves);
            answer(shared, &question, &name, &told(7)).unwrap();
            asking.join().unwrap().unwrap()
        });
        assert_eq!((round.told.len(), round.told[&name].pid), (1, 7));
        assert_eq!(round.silent, [std::process::id()]);
        drop((answers, is_frozen));
        assert_eq!(present(shared), [""; 0]);
        assert_eq!(fs::read_dir(asked(shared)).unwrap().count(), 0);
        assert_eq!(fs::read_dir(answered(shared)).unwrap().count(), 0);
        // Orders are only for those who have some.
        let round = ask(shared, &Question::Stop(BTreeMap::new()), patience).unwrap();
        assert!(round.told.is_empty() && round.silent.is_empty());
    }
}
