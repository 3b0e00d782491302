//! The product's own tools in Lua, each with the real agent on a simulated computer: what they do, what they refuse, and
//! how they say it.

mod steps;

use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use serde_json::json;
use tokio::runtime::Handle;

use crate::common::bridge::Bridge;

/// The agent of 1.0.0, as its bridge served it.
const RELEASED: &str = include_str!("../released/mcp-computer-1.0.0.lua");

/// An agent of protocol version 1.
const VERSION_1: &str = include_str!("version-1.lua");

/// A computer of this version of the game with this agent, linked.
async fn simulated(bridge: &mut Bridge, id: u64, version: &str, agent: &str) -> Computer {
    let mut options = ComputerOptions::new(id).with_file("mcp-computer.lua", agent);
    options.version = version.parse().unwrap();
    started(bridge, options).await
}

/// A computer with an agent, linked.
async fn started(bridge: &mut Bridge, mut options: ComputerOptions) -> Computer {
    let port = bridge.link_port().await;
    let id = options.id;
    options.clock_speed = 10.0;
    let program = format!("mcp-computer ws://{port}");
    let computer = Computer::start(options, &program, &Handle::current()).unwrap();
    bridge.linked(id).await;
    computer
}

/// Takes the steps of a file with agents of every age, in games of several versions.
async fn everywhere(file: &str) {
    let mut bridge = Bridge::initialized().await;
    let agents = [
        ("1.113.1", agent::program()),
        ("1.101", agent::program()),
        ("1.89", agent::program()),
        ("1.113.1", RELEASED.to_owned()),
        ("1.113.1", VERSION_1.to_owned()),
    ];
    for (id, (version, agent)) in (1..).zip(agents) {
        let _computer = simulated(&mut bridge, id, version, &agent).await;
        let is_version_1 = agent == VERSION_1;
        steps::take(&mut bridge, id, file, is_version_1).await;
    }
    bridge.leave().await;
}

#[tokio::test]
async fn files_are_listed_read_written_edited_searched_and_managed() {
    everywhere("files.toml").await;
}

#[tokio::test]
async fn where_nothing_may_be_changed_what_reads_runs_and_the_rest_is_refused() {
    let mut bridge = Bridge::start_with(|command| {
        command.arg("--read-only");
    });
    bridge.initialize("2025-11-25").await;
    let _computer = simulated(&mut bridge, 1, "1.113.1", &agent::program()).await;
    for (tool, arguments) in [
        ("list-files", json!({})),
        ("read-file", json!({"path": "mcp-computer.lua"})),
        ("search-files", json!({"query": "x"})),
    ] {
        let answer = bridge.call(tool, arguments).await;
        assert!(
            !answer.text.contains("--read-only"),
            "{tool}: {}",
            answer.text
        );
    }
    for (tool, arguments) in [
        ("write-file", json!({"path": "x", "content": ""})),
        (
            "edit-file",
            json!({"path": "x", "edits": [{"find": "x", "replace": ""}]}),
        ),
        (
            "manage-files",
            json!({"action": "delete", "path": "mcp-computer.lua"}),
        ),
    ] {
        let answer = bridge.call(tool, arguments).await;
        assert!(
            answer.is_error && answer.text.contains("--read-only"),
            "{tool}: {}",
            answer.text
        );
    }
    bridge.leave().await;
}
