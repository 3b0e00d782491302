//! Times that hold on a machine at rest, told in a run on one that may be busy.

use std::{
    collections::VecDeque,
    hint::black_box,
    process::Stdio,
    sync::{Mutex, OnceLock},
    thread,
    time::{Duration, Instant},
};

use tokio::process::Command;

use super::soon;

/// What the start and end of a process takes at most on a machine at rest.
const AT_REST: Duration = Duration::from_millis(50);

/// How often the machine's pace is felt.
const FEEL_EVERY: Duration = Duration::from_millis(150);

/// How many times are kept: those of a minute.
const KEPT: usize = 400;

/// When a small piece of work was done, and how long it took: what the machine's pace was at that moment.
#[derive(Default)]
struct Pulse(Mutex<Beats>);

#[derive(Default)]
struct Beats {
    /// The last ones.
    recent: VecDeque<(Instant, Duration)>,
    /// The quickest of all.
    best: Option<Duration>,
}

impl Pulse {
    /// The one of this process, which is felt from now on.
    fn of_machine() -> &'static Self {
        static PULSE: OnceLock<&Pulse> = OnceLock::new();
        PULSE.get_or_init(|| {
            let pulse: &Self = Box::leak(Box::default());
            thread::spawn(move || {
                loop {
                    pulse.feel();
                    thread::sleep(FEEL_EVERY);
                }
            });
            pulse
        })
    }

    /// Works for some milliseconds, which is longer than what the system gives at once to one of many.
    fn feel(&self) {
        let start = Instant::now();
        let mut number = 1_u64;
        for _ in 0..400_000 {
            number = black_box(
                number
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1),
            );
        }
        let took = start.elapsed();
        let mut beats = self.0.lock().unwrap();
        beats.best = Some(beats.best.map_or(took, |best| best.min(took)));
        beats.recent.push_back((start, took));
        if beats.recent.len() > KEPT {
            beats.recent.pop_front();
        }
    }

    /// How many times as slow as at its best the machine was at the worst moment since then.
    fn slowest_since(&self, then: Instant) -> f64 {
        let beats = self.0.lock().unwrap();
        let since = beats.recent.iter().filter(|(at, took)| *at + *took >= then);
        match (beats.best, since.map(|(_, took)| *took).max()) {
            (Some(best), Some(worst)) => worst.as_secs_f64() / best.as_secs_f64(),
            _ => 1.0,
        }
    }
}

/// Begins to feel how busy the machine is, for what is held to a time later.
pub fn watch() {
    Pulse::of_machine();
}

/// Fails the test if something that ended now took longer than it does `at_rest`, and it is not the machine that is
/// slow: how slow it was meanwhile, and what the start of a process takes now. The times themselves are measured in
/// `benches/`.
pub async fn in_time(what: &str, took: Duration, at_rest: Duration) {
    if took < at_rest {
        return;
    }
    let meanwhile = Pulse::of_machine().slowest_since(Instant::now() - took);
    let mut slowest = AT_REST;
    for _ in 0..5 {
        let start = Instant::now();
        let mut process = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"));
        process.arg("--version").stdout(Stdio::null());
        let status = soon("a process ends", process.status()).await;
        assert!(status.unwrap().success());
        slowest = slowest.max(start.elapsed());
    }
    let now = slowest.as_secs_f64() / AT_REST.as_secs_f64();
    assert!(
        took < at_rest.mul_f64(now.max(meanwhile)),
        "{what} took {took:?}, which takes less than {at_rest:?} at rest, and the machine was {meanwhile:.1} and is {now:.1} \
         times as slow"
    );
}
