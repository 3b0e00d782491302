//! The tools that are written in Rust, since they need the bridge itself: one file for each. What clients are shown of
//! them stands in the manifests of `lua/tools/`.

mod call_tool;
mod cancel_job;
mod exec_lua;
mod find_tools;
mod get_job;
mod list_computers;
mod list_jobs;
mod probe_computers;
mod run_script;

use std::{sync::Arc, time::Duration};

use super::{
    entry::{Handler, Natives},
    host::HostHandler,
};
use call_tool::CallTool;
use cancel_job::CancelJob;
use exec_lua::ExecLua;
use find_tools::FindTools;
use get_job::GetJob;
use list_computers::ListComputers;
use list_jobs::ListJobs;
use probe_computers::ProbeComputers;
use run_script::RunScript;

/// All of them. Scripts run in `host`, and a computer has `probe_time` to answer a probe.
pub fn all(host: &Arc<HostHandler>, probe_time: Duration) -> Natives {
    let all: [(_, Arc<dyn Handler>); 9] = [
        ("call-tool", Arc::new(CallTool)),
        ("cancel-job", Arc::new(CancelJob)),
        ("exec-lua", Arc::new(ExecLua)),
        ("find-tools", Arc::new(FindTools)),
        ("get-job", Arc::new(GetJob)),
        ("list-computers", Arc::new(ListComputers)),
        ("list-jobs", Arc::new(ListJobs)),
        ("probe-computers", Arc::new(ProbeComputers::new(probe_time))),
        ("run-script", Arc::new(RunScript { host: host.clone() })),
    ];
    all.into()
}
