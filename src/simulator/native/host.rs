//! What the native functions of one run of a computer work on.

use std::cell::Cell;
use std::sync::Arc;

use crate::simulator::events::Events;
use crate::simulator::http::Requests;
use crate::simulator::land::Land;
use crate::simulator::options::ComputerOptions;
use crate::simulator::shared::Shared;
use crate::simulator::socket::Slots;

/// What a running program asked of the machine's power switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::simulator) enum Power {
    Off,
    Reboot,
}

/// What the native functions of one run of a computer work on.
pub(in crate::simulator) struct Host {
    pub(in crate::simulator) options: Arc<ComputerOptions>,
    pub(in crate::simulator) shared: Arc<Shared>,
    /// The world that it is in.
    pub(in crate::simulator) land: Arc<Land>,
    pub(in crate::simulator) events: Arc<Events>,
    pub(in crate::simulator) runtime: tokio::runtime::Handle,
    pub(in crate::simulator) slots: Slots,
    pub(in crate::simulator) requests: Requests,
    /// Set by `os.shutdown` and `os.reboot`; obeyed at the next yield.
    pub(in crate::simulator) power: Cell<Option<Power>>,
    /// The command line the shell runs after the start-up files.
    pub(in crate::simulator) program: String,
}
