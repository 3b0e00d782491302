//! Fuzzes the stdio server.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_bridge_fuzz::stdin_lines::check(data));
