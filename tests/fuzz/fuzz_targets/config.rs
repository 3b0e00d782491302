//! Fuzzes the settings.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_bridge_fuzz::config::check(data));
