//! The tools that are written in Rust, since they need the bridge itself: one file for each, which is named here twice. What
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
use typed::named;

/// All of them. Scripts run in `host`, and a computer has `probe_time` to answer a probe.
pub fn all(host: &Arc<HostHandler>, probe_time: Duration) -> Natives {
    Natives::from([
        named(call_tool::CallTool),
        named(cancel_job::CancelJob),
        named(exec_lua::ExecLua),
        named(find_tools::FindTools),
        named(get_job::GetJob),
        named(list_computers::ListComputers),
        named(list_jobs::ListJobs),
        named(probe_computers::ProbeComputers { time: probe_time }),
        named(run_script::RunScript { host: host.clone() }),
    ])
}
