//! Parses the command line and starts a command; nothing else.
fn main() {}
