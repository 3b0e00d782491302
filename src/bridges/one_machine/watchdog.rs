//! Ends a process whose runtime hangs: it holds the link port, and no other bridge could take it.

use std::{
    io, process,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
        mpsc::sync_channel,
    },
    thread,
    time::Duration,
};

/// How often the runtime shows that it is alive, and how often that is looked at.
const BEAT: Duration = Duration::from_secs(1);

/// How many looks in a row have to find it hanging. They are counted by the watching thread, so a process that was
/// stopped, or a machine that slept, has that much time after it woke up.
const BEATS: u32 = 10;

/// How long it may take to tell why the process ends.
pub const TO_TELL: Duration = Duration::from_millis(500);

/// How long it may then take to end it as others do.
const TO_END: Duration = Duration::from_secs(1);

/// How much stack the threads have that do no more than this.
const STACK: usize = 256 * 1024;

/// Watches the present runtime for as long as it lives, and does `hangs` once when it hangs: when none of its threads
/// gets to anything for ten seconds.
///
/// # Errors
/// The system has no thread left.
pub fn start(hangs: impl FnOnce() + Send + 'static) -> io::Result<()> {
    watch(BEAT, hangs)
}

fn watch(beat: Duration, hangs: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let pulse = Arc::new(AtomicU64::new(0));
    let watched = Arc::downgrade(&pulse);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(beat).await;
            pulse.fetch_add(1, Ordering::Relaxed);
        }
    });
    thread::Builder::new()
        .name("watchdog".to_owned())
        .stack_size(STACK)
        .spawn(move || {
            if !lives_to_its_end(beat, &watched) {
                hangs();
            }
        })
        .map(drop)
}

/// Whether the runtime came to its end without hanging before.
fn lives_to_its_end(beat: Duration, watched: &Weak<AtomicU64>) -> bool {
    let mut last = None;
    let mut missed = 0;
    while missed < BEATS {
        thread::sleep(beat);
        let Some(pulse) = watched.upgrade() else {
            return true;
        };
        let now = Some(pulse.load(Ordering::Relaxed));
        missed = if now == last { missed + 1 } else { 0 };
        last = now;
    }
    false
}

/// Ends this process, after `tell` has told why, or did not get to that within a moment: what the process hangs in may be
/// what is told with, such as the disk of its log.
pub fn end(code: i32, tell: impl FnOnce() + Send + 'static) -> ! {
    tell_for_a_moment(TO_TELL, tell);
    // A process that ends as others do waits for those of its threads that are at the same.
    let ended = thread::Builder::new().stack_size(STACK).spawn(|| {
        thread::sleep(TO_END);
        process::abort()
    });
    drop(ended);
    process::exit(code)
}

/// Does it on a thread of its own, which is waited for no longer than that.
fn tell_for_a_moment(moment: Duration, tell: impl FnOnce() + Send + 'static) {
    let (told, wait) = sync_channel(1);
    let telling = thread::Builder::new().stack_size(STACK).spawn(move || {
        tell();
        let _ = told.try_send(());
    });
    if telling.is_ok() {
        let _ = wait.recv_timeout(moment);
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Instant};

    use super::*;

    const QUICK: Duration = Duration::from_millis(20);

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap()
    }

    #[test]
    fn a_runtime_whose_threads_all_hang_is_noticed() {
        let runtime = runtime();
        let (told, hangs) = mpsc::channel();
        let (release, wait) = mpsc::channel::<()>();
        let wait = Arc::new(std::sync::Mutex::new(wait));
        runtime.block_on(async {
            watch(QUICK, move || told.send(()).unwrap()).unwrap();
        });
        let start = Instant::now();
        for _ in 0..2 {
            let wait = wait.clone();
            runtime.spawn(async move {
                // Blocks a thread of the runtime, as no code should.
                let _ = wait.lock().unwrap().recv();
            });
        }
        hangs.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(start.elapsed() >= QUICK * BEATS);
        drop(release);
    }

    #[test]
    fn a_runtime_that_lives_or_has_ended_does_not_hang() {
        let runtime = runtime();
        let (told, hangs) = mpsc::channel::<()>();
        runtime.block_on(async {
            watch(QUICK, move || told.send(()).unwrap()).unwrap();
            tokio::time::sleep(QUICK * BEATS * 3).await;
        });
        drop(runtime);
        // The watching thread is gone too, and with it the sender.
        assert_eq!(
            hangs.recv_timeout(Duration::from_secs(20)),
            Err(mpsc::RecvTimeoutError::Disconnected)
        );
    }

    #[test]
    fn why_is_told_before_the_end_and_the_end_does_not_wait_for_what_hangs() {
        let (tell, told) = mpsc::channel();
        tell_for_a_moment(Duration::from_secs(60), move || tell.send(()).unwrap());
        assert_eq!(told.try_recv(), Ok(()));
        let (_release, hangs) = mpsc::channel::<()>();
        let start = Instant::now();
        tell_for_a_moment(QUICK, move || {
            let _ = hangs.recv();
        });
        assert!(start.elapsed() >= QUICK);
    }
}
