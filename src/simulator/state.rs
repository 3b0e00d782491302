//! Whether a simulated computer is on, and what became of its program.

/// Whether a computer is on, and if not, why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It is on.
    Running,
    /// It was shut down by its program or by the host.
    Off,
    /// Its chunk, or the whole world, is not loaded: nothing of it runs.
    Unloaded,
    /// It did not yield in time and was powered off; the text is what its screen says.
    PoweredOff(String),
    /// Its operating system failed; the text is the error.
    Crashed(String),
    /// It has ended for good, and its thread with it.
    Stopped,
}

/// What became of the program that the computer was started with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramState {
    /// The shell has not come to it yet.
    Waiting,
    /// It is running.
    Running,
    /// It has ended; the shell's prompt follows.
    Ended {
        /// Whether it ended without an error.
        ok: bool,
    },
}
