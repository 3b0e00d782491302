//! Whether what could change something may begin at this moment: not while a person's pause is there, nor while that can't
//! be seen.
//!
//! Each such call has it looked at: once when it comes, and once before what it asks of a computer is sent, which may be
//! later. A pause then holds from the moment on when `mcp-bridge pause` has ended, in every bridge. Whoever watched the file
//! instead, or looked at it now and then, would let a call pass that comes right after the pause.
//!
//! The disk that has the file may hang, and the thread that all calls share must not wait for it. So that thread only asks
//! what needs no disk: Linux says, in about the time that a look takes, that a file isn't there if it keeps that in mind,
//! and tells where it would have to look. What it writes or removes itself it keeps in mind too, so this is never older
//! than a look. In all other cases a thread beside looks, which takes some 15 µs, and only this call waits for it.

use std::{
    fmt, mem,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::{sync::watch, task::spawn_blocking, time::timeout};

use super::pause::{self, Paused};
use crate::base::{files, text::one_line};

/// How long a call waits for the disk.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where a person's pause is looked for; nowhere by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pause(Option<Arc<Looker>>);

/// Why nothing may begin that could change something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    /// A person has paused it.
    Paused(Paused),
    /// Whether a person has can't be seen: the disk with this file does not answer.
    Unknown(Arc<Path>),
}

impl Hold {
    /// What a model is told whose call is not made, after what was not done: a sentence without its full stop.
    pub(super) fn told(&self) -> String {
        match self {
            Self::Paused(paused) => paused.told(),
            Self::Unknown(path) => format!(
                "whether a person has paused this can't be read, since the disk with {} does not answer. Until it does, \
                 nothing is called that could change something; what only reads goes on. Tell your user that this disk \
                 hangs, and try again in a while",
                one_line(&path.to_string_lossy())
            ),
        }
    }
}

impl Pause {
    /// The pause of the user whose bridges share this folder.
    pub fn of(shared: &Path) -> Self {
        let looker = Looker {
            path: pause::file(shared).into(),
            is_surely_absent: files::is_surely_absent,
            look: Box::new(Paused::read),
            patience: PATIENCE,
            looks: Mutex::default(),
            seen: watch::Sender::default(),
        };
        Self(Some(Arc::new(looker)))
    }

    /// Why nothing may begin at this moment that could change something, if so.
    pub async fn now(&self) -> Option<Hold> {
        let looker = self.0.as_ref()?;
        if (looker.is_surely_absent)(&looker.path) {
            return None;
        }
        looker.looked().await
    }
}

/// What looks, and waits for the disk.
type Look = dyn Fn(&Path) -> Option<Paused> + Send + Sync;

/// Looks for a pause, in a thread beside.
struct Looker {
    path: Arc<Path>,
    /// Whether it is known without a disk that it isn't there.
    is_surely_absent: fn(&Path) -> bool,
    look: Box<Look>,
    patience: Duration,
    looks: Mutex<Looks>,
    /// What the last look saw.
    seen: watch::Sender<Seen>,
}

/// The looks there have been. There is one at a time, so that a disk that hangs holds one thread.
#[derive(Default)]
struct Looks {
    /// How many were begun.
    begun: u64,
    /// Since when the last one goes on, unless it has ended.
    since: Option<Instant>,
    /// Whether another one is to follow it.
    again: bool,
}

#[derive(Default)]
struct Seen {
    /// By which look, from 1.
    number: u64,
    paused: Option<Paused>,
}

impl Looker {
    /// What a look sees that begins now or later.
    async fn looked(self: &Arc<Self>) -> Option<Hold> {
        let mut seen = self.seen.subscribe();
        if let Some(number) = self.begin()
            && let Ok(Ok(seen)) =
                timeout(self.patience, seen.wait_for(|seen| seen.number >= number)).await
        {
            return seen.paused.clone().map(Hold::Paused);
        }
        Some(Hold::Unknown(self.path.clone()))
    }

    /// Has a look begin, and gives its number; none while one takes too long.
    fn begin(self: &Arc<Self>) -> Option<u64> {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(since) = looks.since {
            if since.elapsed() >= self.patience {
                return None;
            }
            // The one that goes on may have looked before the pause began.
            looks.again = true;
            return Some(looks.begun + 1);
        }
        looks.begun += 1;
        looks.since = Some(Instant::now());
        let looker = self.clone();
        spawn_blocking(move || while looker.look_once() {});
        Some(looks.begun)
    }

    /// Looks, and tells whether another look has begun by that.
    fn look_once(&self) -> bool {
        let paused = (self.look)(&self.path);
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        let number = looks.begun;
        let again = mem::take(&mut looks.again);
        looks.begun += u64::from(again);
        looks.since = again.then(Instant::now);
        // Before another look can end.
        self.seen.send_replace(Seen { number, paused });
        again
    }
}

impl fmt::Debug for Looker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.fmt(f)
    }
}

impl PartialEq for Looker {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for Looker {}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        sync::mpsc::{Receiver, Sender, channel},
    };

    use futures_util::future::poll_immediate;
    use tokio::task::yield_now;

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    /// A pause whose looks see what is sent.
    fn seeing(patience: Duration) -> (Pause, Sender<Option<Paused>>) {
        let (see, seen): (_, Receiver<Option<Paused>>) = channel();
        let seen = Mutex::new(seen);
        let looker = Looker {
            path: Path::new("paused.json").into(),
            is_surely_absent: |_| false,
            look: Box::new(move |_| seen.lock().unwrap().recv_timeout(LONG).unwrap()),
            patience,
            looks: Mutex::default(),
            seen: watch::Sender::default(),
        };
        (Pause(Some(Arc::new(looker))), see)
    }

    #[tokio::test]
    async fn it_is_seen_from_its_beginning_until_it_is_lifted() {
        let shared = tempfile::tempdir().unwrap();
        let pause = Pause::of(shared.path());
        for _ in 0..3 {
            assert_eq!(pause.now().await, None);
            let begun = Paused::begin(shared.path(), None).unwrap();
            assert_eq!(pause.now().await, Some(Hold::Paused(begun)));
            assert!(Paused::lift(shared.path()).unwrap());
        }
        assert_eq!(pause.now().await, None);
        assert_eq!(Pause::default().now().await, None);
    }

    #[tokio::test]
    async fn whoever_comes_while_a_look_goes_on_is_told_what_the_next_one_sees() {
        let (pause, see) = seeing(LONG);
        let (mut first, mut second) = (pin!(pause.now()), pin!(pause.now()));
        assert_eq!(poll_immediate(&mut first).await, None);
        assert_eq!(poll_immediate(&mut second).await, None);
        see.send(None).unwrap();
        assert_eq!(first.await, None);
        assert_eq!(poll_immediate(&mut second).await, None);
        see.send(Some(Paused::default())).unwrap();
        assert_eq!(second.await, Some(Hold::Paused(Paused::default())));
    }

    #[tokio::test]
    async fn a_disk_that_hangs_is_waited_for_once_and_holds_up_nothing_else() {
        let (pause, see) = seeing(Duration::from_millis(50));
        let held = pause.now().await.unwrap();
        assert_eq!(held, Hold::Unknown(Path::new("paused.json").into()));
        let told = held.told();
        assert!(
            told.starts_with("whether a person has paused this can't be read")
                && told.contains("paused.json does not answer"),
            "{told}"
        );
        let again = poll_immediate(pin!(pause.now())).await;
        assert_eq!(again, Some(Some(held)), "it is known by now");
        // It answers again, and all that come then are told.
        for _ in 0..100 {
            see.send(None).unwrap();
        }
        while pause.now().await.is_some() {
            yield_now().await;
        }
    }
}
