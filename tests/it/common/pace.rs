//! Times that hold on a machine at rest, told in a run on one that may be busy.

use std::{
    process::Stdio,
    time::{Duration, Instant},
};

use tokio::process::Command;

use super::soon;

/// What the start and end of a process takes at most on a machine at rest.
const AT_REST: Duration = Duration::from_millis(50);

/// Fails the test if something took longer than it does `at_rest`, and it is not the machine that is slow: how slow it
/// is, is what the start of a process takes now. The times themselves are measured in `benches/`.
pub async fn in_time(what: &str, took: Duration, at_rest: Duration) {
    if took < at_rest {
        return;
    }
    let mut slowest = AT_REST;
    for _ in 0..5 {
        let start = Instant::now();
        let mut process = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"));
        process.arg("--version").stdout(Stdio::null());
        let status = soon("a process ends", process.status()).await;
        assert!(status.unwrap().success());
        slowest = slowest.max(start.elapsed());
    }
    let slowness = slowest.as_secs_f64() / AT_REST.as_secs_f64();
    assert!(
        took < at_rest.mul_f64(slowness),
        "{what} took {took:?}, which takes less than {at_rest:?} at rest, and the machine is {slowness:.1} times as slow"
    );
}
