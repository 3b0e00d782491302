//! A server's process, and that nothing is left of it.
//!
//! Servers start helpers, and helpers outlive them. So a server runs in a process group of its own on Unix, led by a
//! copy of this program (`hold`, see `commands::hold`) that ends the group when the bridge is gone, however it went. On
//! Windows it runs in a job, which the system ends with the bridge.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use thiserror::Error;
use tokio::{
    process::{ChildStderr, ChildStdin, ChildStdout, Command},
    sync::watch,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::{entry::Program, tail::Tail};

/// Tells a bridge that a bridge started it, which then offers no servers of others: the two could start each other
/// without end. Its value is another for each process that was started, whose helpers have it too.
pub const INSIDE: &str = "MCP_BRIDGE_INSIDE";

/// How long, after a server's end, its last words may take to be read.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// How long a server has to leave by itself once nobody here knows it any more.
const TO_LEAVE: Duration = Duration::from_secs(2);

/// A server's process.
#[derive(Debug, Clone)]
pub struct Process {
    /// Its id, which is also the id of the process group on Unix.
    pub pid: u32,
    /// How it ended, once it has and all it said was read.
    ended: watch::Receiver<Option<String>>,
    /// Cancelled to make it end soon.
    hurry: CancellationToken,
}

/// A process that was just started, and its streams.
pub struct Started {
    /// The process.
    pub process: Process,
    /// What it reads.
    pub stdin: ChildStdin,
    /// What it prints.
    pub stdout: ChildStdout,
}

/// Why a process can't be started, in words that follow the server's name.
#[derive(Debug, Error)]
pub enum StartError {
    /// The folder that it is to run in is missing.
    #[error("is to run in the folder {}, which is not there", .0.display())]
    NoFolder(PathBuf),
    /// The system could not start it.
    #[error("can't be started: `{command}`: {error}")]
    System {
        /// The program.
        command: String,
        /// Why not.
        error: io::Error,
    },
}

/// Starts a server whose variables are filled in, and which is given these of ours. `folder` is what its working folder is
/// relative to; what it writes to standard error goes to `tail`.
///
/// # Errors
/// See [`StartError`].
pub fn start(
    program: &Program,
    given: &[(OsString, OsString)],
    folder: &Path,
    tail: Arc<Tail>,
) -> Result<Started, StartError> {
    let folder = folder.join(program.cwd.as_deref().unwrap_or(Path::new("")));
    if !folder.is_dir() {
        return Err(StartError::NoFolder(folder));
    }
    let cant = |error| StartError::System {
        command: program.command.clone(),
        error,
    };
    let mark = format!("{}-{}", std::process::id(), Uuid::new_v4().simple());
    let mut held = system::start(program, given, &mark, &folder).map_err(cant)?;
    let missing = || cant(io::Error::other("it has no streams"));
    let pid = held.id().ok_or_else(missing)?;
    let (Some(stdin), Some(stdout), Some(stderr)) = held.streams() else {
        return Err(missing());
    };
    let (tell, ended) = watch::channel(None);
    let hurry = CancellationToken::new();
    let hurried = hurry.clone();
    // Ends with the process.
    tokio::spawn(async move {
        let mut last_words = tokio::spawn(tail.read(stderr));
        let abandoned = async {
            tell.closed().await;
            sleep(TO_LEAVE).await;
        };
        let ended = tokio::select! {
            status = held.wait() => Some(status),
            () = hurried.cancelled() => None,
            () = abandoned => None,
        };
        let status = match ended {
            Some(status) => status,
            None => {
                held.hurry();
                held.wait().await
            }
        };
        let was_held = status.as_ref().is_ok_and(|status| status.code().is_some());
        held.sweep(pid, (!was_held).then_some(mark.as_str()));
        if timeout(LAST_WORDS, &mut last_words).await.is_err() {
            last_words.abort();
        }
        tell.send_replace(Some(match status {
            Ok(status) => how(status),
            Err(error) => error.to_string(),
        }));
    });
    Ok(Started {
        process: Process { pid, ended, hurry },
        stdin,
        stdout,
    })
}

impl Process {
    /// Waits for its end, and tells how it ended, such as `exit code 1`.
    pub async fn ended(&self) -> String {
        let mut ended = self.ended.clone();
        match ended.wait_for(Option::is_some).await {
            Ok(how) => how.clone().unwrap_or_default(),
            Err(_) => "unknown".to_owned(),
        }
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }

    /// Makes it end soon. Closing its standard input is the polite way, and comes first.
    pub fn hurry(&self) {
        self.hurry.cancel();
    }
}

fn how(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit code {code}"),
        None => status.to_string(),
    }
}

/// What is the same on all systems: the environment, in which `mark` is no other server's, the folder and the streams.
fn prepare(
    command: &mut Command,
    program: &Program,
    given: &[(OsString, OsString)],
    mark: &str,
    folder: &Path,
) {
    command
        .env_clear()
        .envs(given.iter().map(|(name, value)| (name, value)))
        .envs(&program.env)
        .env(INSIDE, mark)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
}

/// The three streams, taken once.
type Streams = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

#[cfg(unix)]
mod system {
    use std::{io, process::ExitStatus};

    use rustix::process::{Pid, Signal, kill_process, kill_process_group};
    use tokio::process::{Child, Command};

    use super::{OsString, Path, PathBuf, Program, Streams, prepare};
    use crate::upstream::itself::NAME;

    /// How often it is looked for processes of a server whose holder was killed.
    #[cfg(target_os = "linux")]
    const MOST_SWEEPS: usize = 10;

    /// The process that leads a server's group.
    pub struct Held(Child);

    pub fn start(
        program: &Program,
        given: &[(OsString, OsString)],
        mark: &str,
        folder: &Path,
    ) -> io::Result<Held> {
        let mut command = Command::new(this_program()?);
        command
            .arg0(NAME)
            .args(["hold", "--"])
            .arg(&program.command)
            .args(&program.args)
            .process_group(0);
        prepare(&mut command, program, given, mark, folder);
        command.spawn().map(Held)
    }

    /// On Linux also after the file was replaced by a newer one.
    fn this_program() -> io::Result<PathBuf> {
        if cfg!(target_os = "linux") {
            return Ok(PathBuf::from("/proc/self/exe"));
        }
        std::env::current_exe()
    }

    impl Held {
        pub fn id(&self) -> Option<u32> {
            self.0.id()
        }

        pub fn streams(&mut self) -> Streams {
            (
                self.0.stdin.take(),
                self.0.stdout.take(),
                self.0.stderr.take(),
            )
        }

        pub async fn wait(&mut self) -> io::Result<ExitStatus> {
            self.0.wait().await
        }

        /// Makes the holder end its server at once.
        pub fn hurry(&mut self) {
            if let Some(pid) = self.id().and_then(to_pid) {
                let _ = kill_process(pid, Signal::TERM);
            }
        }

        /// Ends what a holder left that was ended itself. Otherwise there is nothing. Of one that was killed, `mark` tells
        /// also those that left its group.
        pub fn sweep(&mut self, pid: u32, mark: Option<&str>) {
            if let Some(pid) = to_pid(pid) {
                let _ = kill_process_group(pid, Signal::KILL);
            }
            if let Some(mark) = mark {
                end_marked(mark);
            }
        }
    }

    /// Ends the processes that have this mark in their environment.
    #[cfg(target_os = "linux")]
    fn end_marked(mark: &str) {
        let mark = format!("{}={mark}", super::INSIDE);
        // What one starts while the others end is found the next time.
        for _ in 0..MOST_SWEEPS {
            let Ok(processes) = std::fs::read_dir("/proc") else {
                return;
            };
            let pids: Vec<_> = processes
                .filter_map(|process| {
                    let pid: i32 = process.ok()?.file_name().to_str()?.parse().ok()?;
                    // Empty for those that have ended, and not to be read for those of other users.
                    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
                    let mut variables = environment.split(|byte| *byte == 0);
                    variables
                        .any(|variable| variable == mark.as_bytes())
                        .then(|| Pid::from_raw(pid))?
                })
                .collect();
            if pids.is_empty() {
                return;
            }
            for pid in pids {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }

    /// Elsewhere nobody can see another process's environment.
    #[cfg(not(target_os = "linux"))]
    fn end_marked(_: &str) {}

    fn to_pid(pid: u32) -> Option<Pid> {
        i32::try_from(pid).ok().and_then(Pid::from_raw)
    }
}

#[cfg(windows)]
mod system {
    use std::{io, process::ExitStatus};

    use process_wrap::tokio::{ChildWrapper, CommandWrap, CreationFlags, JobObject, KillOnDrop};
    use windows::Win32::System::Threading::CREATE_NO_WINDOW;

    use super::{OsString, Path, PathBuf, Program, Streams, prepare};

    /// The job that a server runs in, which the system ends when it is dropped or the bridge is gone.
    pub struct Held(Box<dyn ChildWrapper>);

    pub fn start(
        program: &Program,
        given: &[(OsString, OsString)],
        mark: &str,
        folder: &Path,
    ) -> io::Result<Held> {
        let path = found(program, folder)?;
        let mut command = CommandWrap::with_new(path, |command| {
            command.args(&program.args);
            prepare(command, program, given, mark, folder);
        });
        command
            .wrap(CreationFlags(CREATE_NO_WINDOW))
            .wrap(JobObject)
            .wrap(KillOnDrop);
        command.spawn().map(Held)
    }

    /// The whole path, with its ending: many servers are started by a `.cmd` file, as `npx` is.
    fn found(program: &Program, folder: &Path) -> io::Result<PathBuf> {
        let path = program
            .env
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("PATH"))
            .map(|(_, value)| value.into())
            .or_else(|| std::env::var_os("PATH"));
        which::which_in(&program.command, path, folder)
            .map_err(|error| io::Error::new(io::ErrorKind::NotFound, error.to_string()))
    }

    impl Held {
        pub fn id(&self) -> Option<u32> {
            self.0.id()
        }

        pub fn streams(&mut self) -> Streams {
            (
                self.0.stdin().take(),
                self.0.stdout().take(),
                self.0.stderr().take(),
            )
        }

        /// Waits for the program itself. The job's own wait takes its first message, such as that a process began, for
        /// its end.
        pub async fn wait(&mut self) -> io::Result<ExitStatus> {
            self.0.inner_mut().wait().await
        }

        /// Ends the whole job.
        pub fn hurry(&mut self) {
            let _ = self.0.start_kill();
        }

        /// Ends what the program left: its helpers are in the job too, whatever they did to leave it.
        pub fn sweep(&mut self, _: u32, _: Option<&str>) {
            let _ = self.0.start_kill();
        }
    }
}
