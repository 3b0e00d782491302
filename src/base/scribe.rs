//! What is written beside what the bridge does, such as its log: by a thread of its own, each file's lines in order.
//! Whoever has something to write waits for nothing, neither for a disk that hangs nor for somebody who reads no more.
//!
//! What waits in a [`Pile`] has a bound. What comes beyond it is dropped and counted, and the pile's [`Pen`] tells of it.

use std::{
    collections::VecDeque,
    mem,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// The one that writes files.
pub static FILES: Scribe = Scribe::new("files", None);

/// The one that writes to standard error, which may be read by nobody for ever. It is there when it is needed.
pub static STDERR: Scribe = Scribe::new("stderr", Some(Duration::from_secs(1)));

/// How long a process that ends waits for what it has not written yet.
const AT_THE_END: Duration = Duration::from_millis(300);

/// How long the first line of a burst waits for those after it, where a pile gathers. Meanwhile what it tells of goes on,
/// and the lines after it wake no thread: to wake one costs more than to write the line.
const GATHERED_FOR: Duration = Duration::from_millis(20);

/// How often is looked meanwhile whether there is haste.
const LOOKS: u32 = 10;

/// How much stack a scribe has: its pens do little.
const STACK: usize = 512 * 1024;

/// How the lines of a pile are written.
pub trait Pen: Send + 'static {
    /// A line.
    type Line: Send + 'static;

    /// What a line takes of the room of its pile.
    fn room(line: &Self::Line) -> usize;

    /// Writes these lines, after which so many were dropped.
    fn write(&mut self, lines: Vec<Self::Line>, dropped: u64);
}

/// A thread that writes one pile after another.
pub struct Scribe {
    name: &'static str,
    /// How long it waits for more before it ends; for ever if there is none.
    patience: Option<Duration>,
    desk: Mutex<Desk>,
    /// Something was laid on the desk.
    news: Condvar,
    /// The desk is empty.
    rest: Condvar,
    /// How many piles there are that don't gather, and how many wait for the desk to be empty.
    haste: AtomicUsize,
}

struct Desk {
    piles: VecDeque<Arc<dyn Waiting>>,
    /// Whether the thread runs, and whether it writes.
    runs: bool,
    writes: bool,
}

/// A pile of whatever lines.
trait Waiting: Send + Sync {
    fn gathers(&self) -> bool;

    /// Writes what is in it.
    fn write(&self);
}

/// Lines that wait for being written to one place.
pub struct Pile<P: Pen> {
    scribe: &'static Scribe,
    most: usize,
    gathers: bool,
    heap: Mutex<Heap<P::Line>>,
    pen: Mutex<P>,
}

struct Heap<L> {
    lines: Vec<L>,
    room: usize,
    dropped: u64,
    /// Whether it lies on the desk.
    is_handed_in: bool,
}

impl<P: Pen> Pile<P> {
    /// An empty one, for so much at most. If it `gathers`, it waits a moment after its first line for more.
    pub fn new(scribe: &'static Scribe, most: usize, gathers: bool, pen: P) -> Arc<Self> {
        Arc::new(Self {
            scribe,
            most,
            gathers,
            heap: Mutex::new(Heap::default()),
            pen: Mutex::new(pen),
        })
    }

    /// Adds a line, if there is room.
    pub fn add(self: &Arc<Self>, line: P::Line) {
        let mut heap = lock(&self.heap);
        let room = heap.room + P::room(&line);
        // What comes after one that was dropped is dropped too, so that it is known where lines are missing.
        if heap.dropped > 0 || (room > self.most && !heap.lines.is_empty()) {
            heap.dropped += 1;
            return;
        }
        heap.room = room;
        heap.lines.push(line);
        if !mem::replace(&mut heap.is_handed_in, true) {
            drop(heap);
            self.scribe.take(self.clone());
        }
    }
}

impl<P: Pen> Waiting for Pile<P> {
    fn gathers(&self) -> bool {
        self.gathers
    }

    fn write(&self) {
        let heap = mem::take(&mut *lock(&self.heap));
        lock(&self.pen).write(heap.lines, heap.dropped);
    }
}

impl<L> Default for Heap<L> {
    fn default() -> Self {
        Self {
            lines: Vec::new(),
            room: 0,
            dropped: 0,
            is_handed_in: false,
        }
    }
}

impl Scribe {
    /// One whose thread has this name, and ends when it had nothing to write for so long.
    pub const fn new(name: &'static str, patience: Option<Duration>) -> Self {
        Self {
            name,
            patience,
            desk: Mutex::new(Desk {
                piles: VecDeque::new(),
                runs: false,
                writes: false,
            }),
            news: Condvar::new(),
            rest: Condvar::new(),
            haste: AtomicUsize::new(0),
        }
    }

    /// Waits until all is written that there is, so long at most. Tells whether it is.
    pub fn flush(&self, longest: Duration) -> bool {
        let until = Instant::now() + longest;
        self.haste.fetch_add(1, Ordering::Relaxed);
        let mut desk = lock(&self.desk);
        let is_written = loop {
            if !desk.runs || (desk.piles.is_empty() && !desk.writes) {
                break true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break false;
            }
            let waited = self.rest.wait_timeout(desk, left);
            desk = waited.unwrap_or_else(PoisonError::into_inner).0;
        };
        drop(desk);
        self.haste.fetch_sub(1, Ordering::Relaxed);
        is_written
    }

    /// Takes a pile that is to be written.
    fn take(&'static self, pile: Arc<dyn Waiting>) {
        if !pile.gathers() {
            self.haste.fetch_add(1, Ordering::Relaxed);
        }
        let mut desk = lock(&self.desk);
        desk.piles.push_back(pile);
        if desk.runs {
            drop(desk);
            self.news.notify_one();
            return;
        }
        let thread = thread::Builder::new()
            .name(self.name.to_owned())
            .stack_size(STACK);
        desk.runs = thread.spawn(move || self.run()).is_ok();
        if !desk.runs {
            // The system has no thread left: it is written here, which is better than not at all.
            let piles = mem::take(&mut desk.piles);
            drop(desk);
            piles.iter().for_each(|pile| self.write(pile));
        }
    }

    fn run(&self) {
        let _end = Ends(self);
        while let Some(pile) = self.next() {
            if pile.gathers() {
                self.gather();
            }
            self.write(&pile);
        }
    }

    /// Waits for a pile; none when it has waited long enough.
    fn next(&self) -> Option<Arc<dyn Waiting>> {
        let mut desk = lock(&self.desk);
        desk.writes = false;
        loop {
            if let Some(pile) = desk.piles.pop_front() {
                desk.writes = true;
                return Some(pile);
            }
            self.rest.notify_all();
            let Some(patience) = self.patience else {
                let waited = self.news.wait(desk);
                desk = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let waited = self.news.wait_timeout(desk, patience);
            let (waited, over) = waited.unwrap_or_else(PoisonError::into_inner);
            desk = waited;
            if over.timed_out() && desk.piles.is_empty() {
                // Said under the lock: what is laid down from now on has a new thread.
                desk.runs = false;
                return None;
            }
        }
    }

    /// Lets a pile grow for a moment, unless there is haste.
    fn gather(&self) {
        for _ in 0..LOOKS {
            if self.haste.load(Ordering::Relaxed) > 0 {
                return;
            }
            thread::sleep(GATHERED_FOR / LOOKS);
        }
    }

    fn write(&self, pile: &Arc<dyn Waiting>) {
        if !pile.gathers() {
            self.haste.fetch_sub(1, Ordering::Relaxed);
        }
        pile.write();
    }
}

/// The end of a scribe's thread, also by a panic of a pen: the next line has a new one.
struct Ends<'a>(&'a Scribe);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        if !thread::panicking() {
            return;
        }
        let mut desk = lock(&self.0.desk);
        desk.runs = false;
        desk.writes = false;
        self.0.rest.notify_all();
    }
}

/// Sees to it, when it is dropped, that all is written that waits, or as much as a moment allows: a process has this where
/// its end begins.
#[must_use]
pub struct WrittenAtTheEnd;

impl Drop for WrittenAtTheEnd {
    fn drop(&mut self) {
        FILES.flush(AT_THE_END);
        STDERR.flush(AT_THE_END);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing that is locked is ever left half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    /// Tells what it is to write, once it may.
    struct Told {
        may: Receiver<()>,
        told: Sender<(Vec<u32>, u64)>,
    }

    impl Pen for Told {
        type Line = u32;

        fn room(_: &u32) -> usize {
            1
        }

        fn write(&mut self, lines: Vec<u32>, dropped: u64) {
            self.may.recv_timeout(LONG).unwrap();
            self.told.send((lines, dropped)).unwrap();
        }
    }

    struct Watched {
        scribe: &'static Scribe,
        pile: Arc<Pile<Told>>,
        may: Sender<()>,
        told: Receiver<(Vec<u32>, u64)>,
    }

    fn watched(patience: Option<Duration>, gathers: bool) -> Watched {
        let scribe: &Scribe = Box::leak(Box::new(Scribe::new("test", patience)));
        let (may, wait) = channel();
        let (tell, told) = channel();
        let pen = Told {
            may: wait,
            told: tell,
        };
        let pile = Pile::new(scribe, 3, gathers, pen);
        Watched {
            scribe,
            pile,
            may,
            told,
        }
    }

    #[test]
    fn nobody_waits_for_what_hangs_and_what_finds_no_room_is_counted() {
        let Watched {
            scribe,
            pile,
            may,
            told,
        } = watched(None, false);
        pile.add(0);
        // It is being written, and takes none of the room any more.
        while scribe.haste.load(Ordering::Relaxed) > 0 {
            thread::yield_now();
        }
        while !lock(&pile.heap).lines.is_empty() {
            thread::yield_now();
        }
        for line in 1..10 {
            pile.add(line);
        }
        assert!(!scribe.flush(Duration::from_millis(10)));
        may.send(()).unwrap();
        may.send(()).unwrap();
        assert!(scribe.flush(LONG));
        assert_eq!(told.recv_timeout(LONG), Ok((vec![0], 0)));
        assert_eq!(told.recv_timeout(LONG), Ok((vec![1, 2, 3], 6)));
        // There is room again.
        may.send(()).unwrap();
        pile.add(10);
        assert_eq!(told.recv_timeout(LONG), Ok((vec![10], 0)));
    }

    #[test]
    fn what_gathers_is_written_in_one_piece_and_at_once_where_there_is_haste() {
        let Watched {
            scribe,
            pile,
            may,
            told,
        } = watched(None, true);
        // A machine under load may part what is added in a row, but not each time.
        let in_one_piece = (0..100).any(|_| {
            pile.add(1);
            pile.add(2);
            may.send(()).unwrap();
            may.send(()).unwrap();
            assert!(scribe.flush(LONG));
            told.try_iter().any(|(lines, _)| lines == [1, 2])
        });
        assert!(in_one_piece);
    }

    #[test]
    fn one_without_patience_ends_and_comes_again() {
        let Watched {
            scribe,
            pile,
            may,
            told,
        } = watched(Some(Duration::from_millis(1)), false);
        for line in 0..5 {
            may.send(()).unwrap();
            pile.add(line);
            assert_eq!(told.recv_timeout(LONG), Ok((vec![line], 0)));
            while lock(&scribe.desk).runs {
                thread::yield_now();
            }
        }
        assert!(scribe.flush(Duration::ZERO));
    }

    #[test]
    fn after_the_panic_of_a_pen_others_are_written() {
        let Watched {
            scribe,
            pile,
            may,
            told,
        } = watched(None, false);
        struct Panics;
        impl Pen for Panics {
            type Line = ();
            fn room(_: &()) -> usize {
                1
            }
            fn write(&mut self, _: Vec<()>, _: u64) {
                panic!("as a pen should not");
            }
        }
        Pile::new(scribe, 1, false, Panics).add(());
        assert!(scribe.flush(LONG));
        may.send(()).unwrap();
        pile.add(1);
        assert_eq!(told.recv_timeout(LONG), Ok((vec![1], 0)));
    }
}
