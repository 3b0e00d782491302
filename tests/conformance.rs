//! MCP's own conformance suite with `mcp-bridge serve`, for the revision that most clients speak and the stateless one.
//!
//! What the suite finds beyond `tests/conformance/expected-failures.yml` fails, and so does what stands there and
//! passes: the suite itself sees to both.

mod common;

use std::{collections::BTreeMap, fs, path::Path, process::Stdio, time::Duration};

use common::{registries::node_clients, served::Served};
use serde_json::Value;
use tokio::time::timeout;

/// How long the suite may take. It takes seconds; this only counts when something is broken.
const SUITE_TIME: Duration = Duration::from_secs(5 * 60);

/// The two reasons there are not to pass.
const REASONS: [&str; 2] = ["fixture comes with custom tools", "not offered"];

fn expected_failures() -> &'static Path {
    Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/conformance/expected-failures.yml"
    ))
}

#[tokio::test]
async fn the_bridge_conforms_to_2025_11_25() {
    conforms("2025-11-25", 20).await;
}

#[tokio::test]
async fn the_bridge_conforms_to_2026_07_28() {
    conforms("2026-07-28", 60).await;
}

/// Runs what the suite demands of a revision. At least so many of its checks must pass, so that a suite that finds
/// nothing to check is no success.
async fn conforms(revision: &str, passing: usize) {
    let clients = node_clients().await;
    let bridge = Served::start().await;
    let results = tempfile::tempdir().unwrap();
    let mut command = clients.node();
    command
        .arg(clients.conformance())
        .args(["server", "--url", &format!("http://{}/mcp", bridge.address)])
        .args(["--requirements", revision, "--expected-failures"])
        .arg(expected_failures())
        .arg("-o")
        .arg(results.path())
        .current_dir(results.path())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = match timeout(SUITE_TIME, command.output()).await {
        Ok(output) => output.unwrap(),
        Err(_) => panic!("no end after {SUITE_TIME:?}: {command:?}"),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let summary = said.split("=== SUMMARY ===").nth(1).unwrap_or(&said);
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{}\n{summary}\n{problem}\n{}",
        output.status,
        failures(results.path())
    );
    let passed = count(results.path(), "SUCCESS");
    assert!(passed >= passing, "only {passed} checks passed:\n{summary}");
}

/// All checks that the suite wrote down, with the scenario's folder.
fn checks(results: &Path) -> Vec<(String, Value)> {
    let mut checks = Vec::new();
    for scenario in fs::read_dir(results).unwrap() {
        let scenario = scenario.unwrap();
        let Ok(text) = fs::read_to_string(scenario.path().join("checks.json")) else {
            continue;
        };
        let name = scenario.file_name().into_string().unwrap();
        let list: Vec<Value> = serde_json::from_str(&text).unwrap();
        checks.extend(list.into_iter().map(|check| (name.clone(), check)));
    }
    checks
}

fn count(results: &Path, status: &str) -> usize {
    let checks = checks(results);
    checks
        .iter()
        .filter(|(_, check)| check["status"] == status)
        .count()
}

fn failures(results: &Path) -> String {
    let failed = checks(results)
        .into_iter()
        .filter(|(_, check)| check["status"] == "FAILURE");
    failed
        .map(|(scenario, check)| format!("{scenario} {}: {}\n", check["id"], check["errorMessage"]))
        .collect()
}

#[test]
fn every_expected_failure_has_its_reason() {
    let text = fs::read_to_string(expected_failures()).unwrap();
    let mut lines = text.lines().filter(|line| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with('#')
    });
    assert_eq!(lines.next(), Some("server:"));
    let mut reasons = BTreeMap::new();
    for line in lines {
        let entry = line
            .strip_prefix("  - ")
            .unwrap_or_else(|| panic!("no entry: {line}"));
        let (check, reason) = entry
            .split_once(" # ")
            .unwrap_or_else(|| panic!("no reason: {line}"));
        assert!(
            check.split_once(':').is_some(),
            "a whole scenario is excused, not a check: {check}"
        );
        let kind = reason.split_once(':').map_or(reason, |(kind, _)| kind);
        assert!(REASONS.contains(&kind), "no reason there is: {line}");
        assert_eq!(reasons.insert(check, kind), None, "twice: {check}");
    }
}
