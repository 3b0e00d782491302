//! Fuzzes a computer's life on the link.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_bridge_fuzz::link_session::check(data));
