//! Fuzzes the agent's JSON codec.
#![no_main]

use std::{
    cell::Cell,
    sync::atomic::{AtomicU8, Ordering},
};

use libfuzzer_sys::fuzz_target;
use mcp_bridge_fuzz::agent_json::{self, AgentJson};
use mlua::{HookTriggers, VmState, debug::Debug};

const COUNTERS: usize = 4096;

/// How often the codec went from one line to another: libFuzzer sees no branches of interpreted code, but it takes what
/// lies in this section for more of its own counters.
#[used]
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static STEPS: [AtomicU8; COUNTERS] = [const { AtomicU8::new(0) }; COUNTERS];

thread_local! {
    static CODEC: AgentJson = observed_codec();
}

fn observed_codec() -> AgentJson {
    let codec = AgentJson::new().unwrap();
    let previous = Cell::new(0_usize);
    let note_step = move |_: &mlua::Lua, debug: &Debug<'_>| {
        let line = debug.current_line().unwrap_or_default();
        let step = previous.replace(line).wrapping_mul(613).wrapping_add(line) % COUNTERS;
        STEPS[step].fetch_add(1, Ordering::Relaxed);
        Ok(VmState::Continue)
    };
    codec
        .lua()
        .set_hook(HookTriggers::EVERY_LINE, note_step)
        .unwrap();
    codec
}

fuzz_target!(|data: &[u8]| CODEC.with(|codec| agent_json::check(codec, data)));
