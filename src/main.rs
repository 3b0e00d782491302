//! Parses the command line and starts a command; nothing else.

use std::process::ExitCode;

use clap::Parser;
use mcp_bridge::commands::CommandLine;

fn main() -> ExitCode {
    CommandLine::parse().run()
}
