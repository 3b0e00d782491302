//! The list of tools as clients get it: what it is, that all clients take it, and what it costs a model.

use std::{env, fs, path::Path};

use crate::common::{bridge::Bridge, tools::of_repository};
use mcp_bridge::tools::lint;
use rmcp::model::Tool;
use serde_json::{Value, json};

/// The environment variable that makes the committed list anew.
const UPDATE: &str = "MCP_BRIDGE_UPDATE_TOOL_LIST";

/// The most tokens that the default list may cost.
const MOST_TOKENS: usize = 4_000;

/// The most that all sets together may.
const MOST_TOKENS_OF_ALL: usize = 7_000;

async fn listed(arguments: &[&str]) -> Vec<Value> {
    let mut bridge = Bridge::start_with(|command| {
        command.args(arguments);
    });
    bridge.initialize("2025-11-25").await;
    let reply = bridge.request("tools/list", json!({})).await;
    bridge.leave().await;
    reply["result"]["tools"].as_array().unwrap().clone()
}

#[tokio::test]
async fn the_list_is_the_committed_one() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/tool-list.json");
    let list = listed(&["--toolsets", "all"]).await;
    let list = serde_json::to_string_pretty(&list).unwrap() + "\n";
    if env::var_os(UPDATE).is_some() {
        fs::write(&file, &list).unwrap();
    }
    let committed = fs::read_to_string(&file)
        .unwrap_or_default()
        .replace("\r\n", "\n");
    let differs = committed
        .lines()
        .zip(list.lines())
        .position(|(was, is)| was != is);
    assert!(
        committed == list,
        "the list of tools differs from tests/it/tool-list.json, first in line {}: if it should, run this test with \
         {UPDATE}=1 and commit what it writes",
        differs.map_or(committed.lines().count(), |line| line + 1)
    );
}

#[tokio::test]
async fn no_client_refuses_any_tool() {
    let folders = ["examples/tools", "tests/conformance/tools"].map(of_repository);
    let mut arguments = vec!["--toolsets", "all"];
    for folder in &folders {
        arguments.extend(["--tools", folder.to_str().unwrap()]);
    }
    let tools = listed(&arguments).await;
    assert!(tools.len() > 14, "{}", tools.len());
    for tool in tools {
        let definition: Tool = serde_json::from_value(tool.clone()).unwrap();
        assert_eq!(lint::check(&definition), [""; 0], "{tool}");
        for hint in [
            "readOnlyHint",
            "destructiveHint",
            "idempotentHint",
            "openWorldHint",
        ] {
            assert!(tool["annotations"][hint].is_boolean(), "{tool}");
        }
        assert!(tool["title"].is_string(), "{tool}");
    }
}

/// What a list costs a model, in tokens.
fn cost(tools: &[Value]) -> usize {
    let tokens = tiktoken_rs::o200k_base_singleton();
    let costs = tools.iter().map(|tool| {
        // What clients hand to a model of each.
        let shown = json!({
            "name": tool["name"], "description": tool["description"], "inputSchema": tool["inputSchema"],
        });
        let count = tokens.encode_with_special_tokens(&shown.to_string()).len();
        assert!(count < 700, "{} costs {count} tokens", tool["name"]);
        count
    });
    costs.sum()
}

#[tokio::test]
async fn the_default_list_costs_a_model_little() {
    let total = cost(&listed(&[]).await);
    assert!(total < MOST_TOKENS, "{total} tokens");
    assert!(total > 500, "only {total} tokens: nothing was counted");
}

#[tokio::test]
async fn all_sets_together_cost_a_model_no_more_than_it_can_bear() {
    let total = cost(&listed(&["--toolsets", "all"]).await);
    assert!(total < MOST_TOKENS_OF_ALL, "{total} tokens");
}
