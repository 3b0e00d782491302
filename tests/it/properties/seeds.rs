//! The seeds of the fuzz targets, which hold every input that once was a finding.

use std::{cell::Cell, fs, panic, path::Path, sync::Once};

use super::targets::{
    agent_json::{self, AgentJson},
    config, link_frames, link_http, link_session, mcp_http, stdin_lines,
};

thread_local! {
    static PANICKED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a target on each of its seeds. A panic anywhere on this thread counts, in a task that nobody waits for too.
fn replay(target: &str, check: impl Fn(&[u8])) {
    static NOTICE_PANICS: Once = Once::new();
    NOTICE_PANICS.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            PANICKED.set(true);
            report(panic);
        }));
    });
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fuzz/corpus")
        .join(target);
    let mut seeds = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        // What a run of the fuzzer found on this machine has no extension.
        if file.extension().is_some() {
            let seed = fs::read(&file).unwrap();
            check(&seed);
            assert!(!PANICKED.get(), "a panic at {}", file.display());
            seeds += 1;
        }
    }
    assert!(seeds >= 5, "{target} has only {seeds} seeds");
}

#[test]
fn the_agents_json_stands_every_seed() {
    let codec = AgentJson::new().unwrap();
    replay("agent_json", |seed| agent_json::check(&codec, seed));
}

#[test]
fn settings_stand_every_seed() {
    replay("config", config::check);
}

#[test]
fn frames_stand_every_seed() {
    replay("link_frames", link_frames::check);
}

#[test]
fn the_link_port_stands_every_seed() {
    replay("link_http", link_http::check);
}

#[test]
fn a_computers_life_on_the_link_stands_every_seed() {
    replay("link_session", link_session::check);
}

#[test]
fn the_mcp_port_stands_every_seed() {
    replay("mcp_http", mcp_http::check);
}

#[test]
fn the_stdio_server_stands_every_seed() {
    replay("stdin_lines", stdin_lines::check);
}

#[test]
fn every_target_has_seeds_and_is_run_and_told_of() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file| fs::read_to_string(root.join(file)).unwrap();
    let names = |folder| {
        let entries = fs::read_dir(root.join("tests/fuzz").join(folder)).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().path())
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    let targets = names("fuzz_targets");
    assert_eq!(names("corpus"), targets);
    assert_eq!(names("dictionaries"), targets);
    let run = format!("targets=({})", targets.join(" "));
    assert!(read(".ci/fuzz").contains(&run), "not run as {run}");
    let (manifest, paper) = (read("tests/fuzz/Cargo.toml"), read("CONTRIBUTING.md"));
    for target in &targets {
        assert!(
            manifest.contains(&format!("name = \"{target}\"")),
            "{target}"
        );
        assert!(paper.contains(&format!("| `{target}` |")), "{target}");
    }
}
