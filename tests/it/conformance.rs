//! MCP's own conformance suite with `mcp-bridge serve`, for the revision that most clients speak and the stateless one; and
//! with the bridge as the client of the suite's servers, for the revision that it speaks to servers.
//!
//! What the suite finds beyond `tests/conformance/expected-failures.yml`, or `expected-client-failures.yml`, fails, and so
//! does what stands there and passes: the suite itself sees to both.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use crate::common::{registries::node_clients, served::Served, tools::Tools};
use mcp_bridge::base::logging;
use serde_json::Value;
use tokio::{process::Command, time::timeout};

/// How long the suite may take. It takes seconds; this only counts when something is broken.
const SUITE_TIME: Duration = Duration::from_secs(5 * 60);

/// The only reason there is not to pass.
const REASON: &str = "not offered";

/// A file of the tests with the suite.
fn file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    folder.join(name)
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
    // What the suite wants to find are a user's own tools, prompts and resources.
    let tools = Tools::copy_of("tests/conformance/tools");
    let bridge = Served::start_with(|command| {
        command.arg("--tools").arg(tools.path());
    })
    .await;
    let changes = tokio::spawn(change_when_asked(bridge.folder.path().join("state"), tools));
    let results = tempfile::tempdir().unwrap();
    let mut command = clients.node();
    command
        .arg(clients.conformance())
        .args(["server", "--url", &format!("http://{}/mcp", bridge.address)])
        .args(["--requirements", revision, "--expected-failures"])
        .arg(file("expected-failures.yml"));
    passes(command, results.path(), passing).await;
    changes.abort();
}

#[tokio::test]
async fn the_bridge_conforms_as_a_client_to_2025_11_25() {
    let clients = node_clients().await;
    let results = tempfile::tempdir().unwrap();
    // The suite runs it in a shell.
    let client = format!(
        "\"{}\" \"{}\"",
        clients.node.display(),
        file("client.mjs").display()
    );
    let mut command = clients.node();
    command
        .arg(clients.conformance())
        .args(["client", "--command", &client])
        // All at once, each with a bridge of its own.
        .args(["--timeout", "120000"])
        .args(["--requirements", "2025-11-25", "--expected-failures"])
        .arg(file("expected-client-failures.yml"))
        .env("MCP_BRIDGE", env!("CARGO_BIN_EXE_mcp-bridge"));
    passes(command, results.path(), 6).await;
}

/// Runs the suite, which writes down what it finds in `results`.
async fn passes(mut command: Command, results: &Path, passing: usize) {
    command
        .arg("-o")
        .arg(results)
        .current_dir(results)
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
        failures(results)
    );
    let passed = count(results, "SUCCESS");
    assert!(passed >= passing, "only {passed} checks passed:\n{summary}");
}

/// Adds a tool or a prompt whenever a tool of the suite asks for it in the log of the bridge.
async fn change_when_asked(state: PathBuf, tools: Tools) {
    let (mut tool_changes, mut prompt_changes) = (0, 0);
    loop {
        let log = logging::newest_file(&state).and_then(|file| fs::read_to_string(file).ok());
        let asked = |what: &str| log.as_deref().unwrap_or_default().matches(what).count();
        if asked("trigger: tools") > tool_changes {
            tool_changes += 1;
            tools.add(&format!("extra{tool_changes}"), "return 'extra'");
        }
        if asked("trigger: prompts") > prompt_changes {
            prompt_changes += 1;
            tools.write(
                "prompts/_index.yaml",
                &format!(
                    "entries:\n  - name: extra\n    kind: prompt\n    meta: {{ mcp.name: extra{prompt_changes}, mcp.description: More., mcp.text: hi }}\n"
                ),
            );
        }
        // A file tells nobody when it grows.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
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
    for (name, side) in [
        ("expected-failures.yml", "server:"),
        ("expected-client-failures.yml", "client:"),
    ] {
        let text = fs::read_to_string(file(name)).unwrap();
        let mut lines = text.lines().filter(|line| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with('#')
        });
        assert_eq!(lines.next(), Some(side));
        let mut reasons = BTreeMap::new();
        for line in lines {
            let entry = line
                .strip_prefix("  - ")
                .unwrap_or_else(|| panic!("no entry: {line}"));
            let (check, reason) = entry
                .split_once(" # ")
                .unwrap_or_else(|| panic!("no reason: {line}"));
            // Of what the bridge does not do as a client nothing passes.
            assert!(
                side == "client:" || check.split_once(':').is_some(),
                "a whole scenario is excused, not a check: {check}"
            );
            let kind = reason.split_once(':').map_or(reason, |(kind, _)| kind);
            assert_eq!(kind, REASON, "no reason there is: {line}");
            assert_eq!(reasons.insert(check, kind), None, "twice: {check}");
        }
    }
}
