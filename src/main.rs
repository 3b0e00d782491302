//! Parses the command line and starts a command; nothing else.

use std::process::ExitCode;

use mcp_bridge::commands::CommandLine;
use mimalloc::MiMalloc;

/// What many links held goes back to the system when they go: the system's own allocators on Linux keep most of it.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    CommandLine::of_process().run()
}
