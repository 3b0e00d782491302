//! Ends a process whose runtime hangs: it holds the link port, and no other bridge could take it.

use std::{
    io,
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// How often the runtime shows that it is alive, and how often that is looked at.
const BEAT: Duration = Duration::from_secs(1);

/// How many looks in a row have to find it hanging. They are counted by the watching thread, so a process that was
/// stopped, or a machine that slept, has that much time after it woke up.
const BEATS: u32 = 10;

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
        .stack_size(256 * 1024)
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
}
