//! How much memory a process has, as the system tells.

use std::{
    env,
    fmt::Display,
    io::{self, Write},
    process::Command,
    time::Duration,
};

use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep},
};

/// A mebibyte, in KiB.
pub const MIB: u64 = 1024;

/// How often the memory of a process is looked at to find the most that it had.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The memory of a process that is in use, in KiB. None where the system does not tell.
pub fn resident(pid: u32) -> Option<u64> {
    if let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) {
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        return line.split_whitespace().nth(1)?.parse().ok();
    }
    // macOS has no such file.
    let arguments = ["-o", "rss=", "-p", &pid.to_string()];
    let told = Command::new("ps").args(arguments).output().ok()?;
    String::from_utf8_lossy(&told.stdout).trim().parse().ok()
}

/// Tells a figure to whoever runs the long form of a test.
pub fn tell(figure: impl Display) {
    if env::var_os("MCP_BRIDGE_TEST_TIMES").is_some() {
        // Nobody may be there to read it.
        let _ = writeln!(io::stderr(), "{figure}");
    }
}

/// Finds the most memory that a process has, until it is asked for that.
pub struct Peak {
    end: watch::Sender<bool>,
    looking: JoinHandle<u64>,
}

impl Peak {
    pub fn of(pid: u32) -> Self {
        let (end, ended) = watch::channel(false);
        let looking = tokio::spawn(async move {
            let mut most = 0;
            while !*ended.borrow() {
                most = most.max(resident(pid).unwrap_or_default());
                sleep(LOOK_EVERY).await;
            }
            most
        });
        Self { end, looking }
    }

    /// The most so far, in KiB; 0 where the system does not tell.
    pub async fn most(self) -> u64 {
        let _ = self.end.send(true);
        self.looking.await.unwrap()
    }
}

/// Waits until a process has less memory than that, in KiB, and returns how long it took; the memory that it has
/// instead if that takes longer than `within`.
pub async fn back_under(pid: u32, most: u64, within: Duration) -> Result<Duration, u64> {
    let start = Instant::now();
    loop {
        let has = resident(pid).unwrap_or_default();
        if has < most {
            return Ok(start.elapsed());
        }
        if start.elapsed() > within {
            return Err(has);
        }
        sleep(LOOK_EVERY).await;
    }
}
