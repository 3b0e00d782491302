//! Fuzzes the MCP port.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcp_bridge_fuzz::mcp_http::check(data));
