//! What holds for any input: of the agent's JSON, the link's frames and strings, and the settings.
//!
//! The fuzz targets' own seeds and findings are replayed here too.

#[path = "../../fuzz/src/lib.rs"]
mod targets;

mod agent_json;
mod frames;
mod seeds;
mod settings;
mod strings;

use proptest::test_runner::Config;

use crate::common::rounds;

/// How many cases each property is tried with, in a run of everyday length. What fails is printed, and is to become a seed or a test of its own.
fn cases() -> Config {
    Config {
        failure_persistence: None,
        ..Config::with_cases(rounds(512))
    }
}
