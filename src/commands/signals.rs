//! How the system asks a process to leave: the one module that knows signals.

use std::io;

/// Lets a write beyond the limit on a file's size (`ulimit -f`) fail as one on a full disk does. Otherwise the system ends
/// the process for it, whatever the file.
#[cfg(unix)]
pub fn outlive_file_limit() {
    let signal = rustix::process::Signal::XFSZ.as_raw();
    // Nobody looks at the flag: it is enough that the signal has a handler, which, unlike being ignored, is not passed on
    // to the programs that this one starts.
    if let Err(error) = signal_hook::flag::register(signal, std::sync::Arc::default()) {
        super::console::note(&format!(
            "mcp-bridge: a limit on the size of files may end it: {error}"
        ));
    }
}

/// Windows has no such limit.
#[cfg(not(unix))]
pub fn outlive_file_limit() {}

/// Signals that ask this process to leave, listened to from the moment this is made.
#[cfg(unix)]
pub struct LeaveSignals {
    signals: [(tokio::signal::unix::Signal, &'static str); 3],
}

#[cfg(unix)]
impl LeaveSignals {
    /// Starts listening; from now on these signals no longer end the process by themselves.
    ///
    /// # Errors
    /// The system refuses.
    pub fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            signals: [
                (signal(SignalKind::interrupt())?, "SIGINT"),
                (signal(SignalKind::terminate())?, "SIGTERM"),
                (signal(SignalKind::hangup())?, "SIGHUP"),
            ],
        })
    }

    /// Waits for the first one, and tells its name.
    pub async fn next(&mut self) -> &'static str {
        let [(interrupt, first), (terminate, second), (hangup, third)] = &mut self.signals;
        tokio::select! {
            _ = interrupt.recv() => first,
            _ = terminate.recv() => second,
            _ = hangup.recv() => third,
        }
    }
}

/// Console events that ask this process to leave, listened to from the moment this is made.
#[cfg(windows)]
pub struct LeaveSignals {
    ctrl_c: tokio::signal::windows::CtrlC,
    ctrl_break: tokio::signal::windows::CtrlBreak,
    ctrl_close: tokio::signal::windows::CtrlClose,
    ctrl_logoff: tokio::signal::windows::CtrlLogoff,
    ctrl_shutdown: tokio::signal::windows::CtrlShutdown,
}

#[cfg(windows)]
impl LeaveSignals {
    /// Starts listening; from now on these events no longer end the process by themselves.
    ///
    /// # Errors
    /// The system refuses.
    pub fn listen() -> io::Result<Self> {
        use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_logoff, ctrl_shutdown};
        Ok(Self {
            ctrl_c: ctrl_c()?,
            ctrl_break: ctrl_break()?,
            ctrl_close: ctrl_close()?,
            ctrl_logoff: ctrl_logoff()?,
            ctrl_shutdown: ctrl_shutdown()?,
        })
    }

    /// Waits for the first one, and tells its name.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.ctrl_c.recv() => "Ctrl+C",
            _ = self.ctrl_break.recv() => "Ctrl+Break",
            _ = self.ctrl_close.recv() => "the console's close",
            _ = self.ctrl_logoff.recv() => "the user's logoff",
            _ = self.ctrl_shutdown.recv() => "the system's shutdown",
        }
    }
}
