//! The tools that are written in Rust, since they need the bridge itself: one file for each, which is named here twice. What
//! clients are shown of them, and the bounds and defaults of their arguments, stand in the manifests of `lua/tools/`.

mod call_tool;
mod cancel_job;
mod exec_lua;
mod find_tools;
mod found;
mod get_job;
mod kept;
mod list_computers;
mod list_jobs;
mod probe_computers;
mod read_screen;
mod recent_errors;
mod run_program;
mod run_script;
mod running;
mod send_input;
mod sync_folder;
mod typed;
mod update_agent;

use std::{sync::Arc, time::Duration};

pub(super) use list_computers::in_fields;

use super::{entry::Natives, kit::Kit, screen::beside::Beside, syncing::Errands};
use kept::Kept;
use typed::named;

/// All of them. Scripts run where the kit's Lua does, and a computer has `probe_time` to answer a probe.
pub fn all(kit: &Kit, probe_time: Duration) -> Natives {
    let sync = sync_folder::SyncFolder {
        place: kit.sync.clone(),
        errands: Errands::default(),
    };
    let kept = &Arc::<Kept>::default();
    let beside = Arc::<Beside>::default();
    Natives::from([
        named(call_tool::CallTool { kept: kept.clone() }, kept),
        named(cancel_job::CancelJob, kept),
        named(exec_lua::ExecLua, kept),
        named(find_tools::FindTools, kept),
        named(get_job::GetJob { kept: kept.clone() }, kept),
        named(list_computers::ListComputers, kept),
        named(list_jobs::ListJobs, kept),
        named(probe_computers::ProbeComputers { time: probe_time }, kept),
        named(
            read_screen::ReadScreen {
                beside: beside.clone(),
            },
            kept,
        ),
        named(recent_errors::RecentErrors, kept),
        named(run_program::RunProgram, kept),
        named(
            run_script::RunScript {
                host: kit.host.clone(),
            },
            kept,
        ),
        named(send_input::SendInput { beside }, kept),
        named(sync, kept),
        named(update_agent::UpdateAgent, kept),
    ])
}
