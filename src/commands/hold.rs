//! `mcp-bridge hold -- PROGRAM ARGUMENTS`: runs a program and leaves nothing of it behind. Not for people: the bridge
//! starts the MCP servers that it manages through it.
//!
//! A process that is ended by SIGKILL can't tidy up after itself, so somebody else must. This is the leader of the
//! process group that the program runs in, and lives until that is empty. It shares the program's standard input with
//! it, never reads it, and sees when the bridge's end of that pipe is closed: then the program is asked to leave, and
//! ended. What is said about it goes to standard error, which the bridge reads.

use std::{
    ffi::OsString,
    fs::OpenOptions,
    io,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{ExitCode, ExitStatus},
    thread,
    time::Duration,
};

use clap::Args;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{
        Pid, Signal, WaitOptions, getpid, getppid, kill_current_process_group, setpgid, wait,
    },
};
use thiserror::Error;
use tokio::{
    sync::mpsc::{self, UnboundedReceiver, UnboundedSender},
    time::{Instant, timeout_at},
};

use super::{console, signals::LeaveSignals};
use crate::settings::Folders;

/// How long the program has to leave by itself once its input has ended.
const TO_LEAVE: Duration = Duration::from_secs(1);

/// How long it, and what it started, have after they were asked by SIGTERM.
const TO_TERMINATE: Duration = Duration::from_millis(700);

/// How long is spent on what does not even end by SIGKILL, at once.
const TO_SWEEP: Duration = Duration::from_secs(2);

/// How often the bridge's life is looked for in another way than by the pipe, which other processes could hold open.
const PARENT_CHECK: Timespec = Timespec {
    tv_sec: 2,
    tv_nsec: 0,
};

/// The exit code when the program can't be started, as of shells.
const NOT_STARTED: u8 = 127;

/// What happens meanwhile.
enum Event {
    /// The bridge is gone, or has closed the program's input.
    InputEnded,
    /// The bridge asks for haste.
    Hurry,
    /// The program ended.
    Ended(ExitStatus),
    /// No process that the program started is left either.
    NothingLeft,
}

/// Run a program and leave nothing of it behind; the bridge starts servers through it
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Hold {
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    command: Vec<OsString>,
}

impl Hold {
    /// Runs the program until nothing of it is left, and exits as it did.
    pub fn run(self, _: &Folders) -> ExitCode {
        match hold(&self.command) {
            Ok(code) => ExitCode::from(code),
            Err(problem) => {
                console::note(&format!("mcp-bridge: {problem}"));
                ExitCode::from(NOT_STARTED)
            }
        }
    }
}

/// Why a program does not run.
#[derive(Debug, Error)]
enum NotHeld {
    #[error("hold: which program?")]
    NoProgram,
    #[error("the holder of a server failed: {0}")]
    Failed(io::Error),
    #[error("`{program}` can't be started: {error}{}", where_looked(.program, .error))]
    NotStarted { program: String, error: io::Error },
}

/// What to do about a program that is not found.
fn where_looked(program: &str, error: &io::Error) -> String {
    if error.kind() != io::ErrorKind::NotFound {
        String::new()
    } else if !program.contains('/') {
        format!(
            ". It was looked for in PATH, which is {}; programs started from a desktop often have a short one. Give \
             the whole path as `command`, or set PATH in the entry's `env`",
            std::env::var("PATH").unwrap_or_default()
        )
    } else if Path::new(program).exists() {
        ". The file is there; what its first line names as its interpreter is not".to_owned()
    } else {
        String::new()
    }
}

fn hold(command: &[OsString]) -> Result<u8, NotHeld> {
    let [program, arguments @ ..] = command else {
        return Err(NotHeld::NoProgram);
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(NotHeld::Failed)?;
    // Before there is anything to leave behind.
    let signals = {
        let _inside = runtime.enter();
        LeaveSignals::listen().map_err(NotHeld::Failed)?
    };
    // Already so when the bridge started this.
    let _ = setpgid(None, None);
    adopt_orphans();

    let child = std::process::Command::new(program)
        .args(arguments)
        .spawn()
        .map_err(|error| NotHeld::NotStarted {
            program: program.to_string_lossy().into_owned(),
            error,
        })?;
    let child = Pid::from_child(&child);
    // The bridge waits for the end of the program's output, not of ours.
    if let Ok(nothing) = OpenOptions::new().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(nothing);
    }
    let (tell, events) = mpsc::unbounded_channel();
    let reaper = tell.clone();
    thread::spawn(move || reap(child, &reaper));
    let watcher = tell.clone();
    thread::spawn(move || watch_input(&watcher));
    let code = runtime.block_on(until_nothing_is_left(events, signals, tell));
    // Threads still wait for what does not come.
    runtime.shutdown_background();
    Ok(code)
}

async fn until_nothing_is_left(
    mut events: UnboundedReceiver<Event>,
    mut signals: LeaveSignals,
    tell: UnboundedSender<Event>,
) -> u8 {
    // From now on the signal that asks the whole group does not end this process.
    tokio::spawn(async move {
        loop {
            signals.next().await;
            if tell.send(Event::Hurry).is_err() {
                return;
            }
        }
    });
    let mut end = None;
    let mut nothing_left = false;

    // Until something ends, or is to end.
    let patience = match events.recv().await {
        Some(Event::InputEnded) => TO_LEAVE,
        Some(Event::Ended(status)) => {
            end = Some(status);
            Duration::ZERO
        }
        Some(Event::Hurry | Event::NothingLeft) | None => Duration::ZERO,
    };
    let until = Instant::now() + patience;
    while end.is_none() {
        match timeout_at(until, events.recv()).await {
            Ok(Some(Event::Ended(status))) => end = Some(status),
            Ok(Some(Event::NothingLeft)) => nothing_left = true,
            Ok(Some(Event::Hurry)) | Ok(None) | Err(_) => break,
            Ok(Some(Event::InputEnded)) => {}
        }
    }
    // Helpers of the program end with it, but may not have noticed yet.
    let mut asked = false;
    let until = Instant::now() + TO_TERMINATE;
    while !nothing_left {
        if !asked {
            asked = true;
            let _ = kill_current_process_group(Signal::TERM);
        }
        match timeout_at(until, events.recv()).await {
            Ok(Some(Event::Ended(status))) => end = Some(status),
            Ok(Some(Event::NothingLeft)) => nothing_left = true,
            Ok(Some(Event::Hurry | Event::InputEnded)) => {}
            Ok(None) | Err(_) => break,
        }
    }
    if !nothing_left {
        sweep(&mut events, &mut end).await;
    }
    end.map_or(0, |status| {
        let code = status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        u8::try_from(code).unwrap_or(u8::MAX)
    })
}

/// Collects whoever ends: the program, and orphans of it that became our children.
fn reap(child: Pid, tell: &UnboundedSender<Event>) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => {
                let _ = tell.send(Event::Ended(ExitStatus::from_raw(status.as_raw())));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // There are no children any more.
            Err(_) => break,
        }
    }
    let _ = tell.send(Event::NothingLeft);
}

/// Waits until the other end of the program's standard input is closed. Nothing is read: that is the program's.
fn watch_input(tell: &UnboundedSender<Event>) {
    let parent = getppid();
    let stdin = std::io::stdin();
    loop {
        let mut watched = [PollFd::new(&stdin, PollFlags::HUP)];
        match poll(&mut watched, Some(&PARENT_CHECK)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break,
        }
        let over = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
        if watched[0].revents().intersects(over) || getppid() != parent {
            break;
        }
    }
    let _ = tell.send(Event::InputEnded);
}

/// Makes orphans of the program children of this process, also those that left its group.
#[cfg(target_os = "linux")]
fn adopt_orphans() {
    let _ = rustix::process::set_child_subreaper(Some(getpid()));
}

#[cfg(not(target_os = "linux"))]
fn adopt_orphans() {}

/// Ends all that is left: every child, and in turn the children that each leaves to us.
#[cfg(target_os = "linux")]
async fn sweep(events: &mut UnboundedReceiver<Event>, end: &mut Option<ExitStatus>) {
    let until = Instant::now() + TO_SWEEP;
    let pause = Duration::from_millis(5);
    while Instant::now() < until {
        for child in children() {
            let _ = rustix::process::kill_process(child, Signal::KILL);
        }
        match timeout_at(Instant::now() + pause, events.recv()).await {
            Ok(Some(Event::Ended(status))) => *end = Some(status),
            Ok(Some(Event::NothingLeft) | None) => return,
            Ok(Some(_)) | Err(_) => {}
        }
    }
    let _ = kill_current_process_group(Signal::KILL);
}

/// The processes whose parent this is, zombies left out.
#[cfg(target_os = "linux")]
fn children() -> Vec<Pid> {
    let this = getpid().as_raw_nonzero().get();
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            let pid: i32 = name.to_str()?.parse().ok()?;
            // `pid (name) state ppid …`, where the name may hold anything.
            let facts = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let mut facts = facts.rsplit_once(')')?.1.split_whitespace();
            let alive = facts.next()? != "Z";
            let parent: i32 = facts.next()?.parse().ok()?;
            (alive && parent == this)
                .then(|| Pid::from_raw(pid))
                .flatten()
        })
        .collect()
}

/// Ends the whole group, this process included.
#[cfg(not(target_os = "linux"))]
async fn sweep(_: &mut UnboundedReceiver<Event>, _: &mut Option<ExitStatus>) {
    let _ = kill_current_process_group(Signal::KILL);
}
