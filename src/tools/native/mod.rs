//! The tools that are written in Rust, since they need the bridge itself: one file for each, and a line in [`all`]. What
//! clients are shown of them, and the bounds and defaults of their arguments, stand in the manifests of `lua/tools/`.

mod call_tool;
mod cancel_job;
mod exec_lua;
mod find_tools;
mod get_job;
mod list_computers;
mod list_jobs;
mod probe_computers;
mod run_script;
mod typed;

use std::{sync::Arc, time::Duration};

use super::{entry::Natives, host::HostHandler};
use call_tool::CallTool;
use cancel_job::CancelJob;
use exec_lua::ExecLua;
use find_tools::FindTools;
use get_job::GetJob;
use list_computers::ListComputers;
use list_jobs::ListJobs;
use probe_computers::ProbeComputers;
use run_script::RunScript;
use typed::named;

/// All of them. Scripts run in `host`, and a computer has `probe_time` to answer a probe.
pub fn all(host: &Arc<HostHandler>, probe_time: Duration) -> Natives {
    Natives::from([
        named(CallTool),
        named(CancelJob),
        named(ExecLua),
        named(FindTools),
        named(GetJob),
        named(ListComputers),
        named(ListJobs),
        named(ProbeComputers { time: probe_time }),
        named(RunScript { host: host.clone() }),
    ])
}
