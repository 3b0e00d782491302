//! Fuzzes the link's frames.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_bridge_fuzz::link_frames::check(data));
