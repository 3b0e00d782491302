//! Fuzzes the link port.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_bridge_fuzz::link_http::check(data));
