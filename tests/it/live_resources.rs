//! Resources of a user's own that change by themselves: who follows one is told, in both eras, and not too often.

use std::{fs, time::Duration};

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::common::{bridge::Bridge, computer::Computer, servers::Place};

/// The parameters of a request of the stateless era.
fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

const UPDATED: &str = "notifications/resources/updated";

const MANIFEST: &str = "version: \"1.0\"
namespace: farm
entries:
  - name: report
    kind: resource
    source: file://report.lua
    meta:
      mcp.uri: farm://report
  - name: clock
    kind: resource
    meta:
      mcp.uri: farm://clock
      mcp.text: tick
      mcp.watch: 1
  - name: fleet
    kind: resource
    source: file://fleet.lua
    meta:
      mcp.uri: farm://fleet/{kind}
      mcp.watch: [computers]
  - name: harvest
    kind: function.lua
    source: file://harvest.lua
    meta:
      mcp.tool: true
      mcp.name: harvest
";

fn place() -> Place {
    let place = Place::new();
    let folder = place.path("config/tools/farm");
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in [
        ("_index.yaml", MANIFEST),
        (
            "report.lua",
            "return { call = function() return 'wheat: ' .. (store.get('wheat') or 0) end }",
        ),
        (
            "fleet.lua",
            "return { call = function() return #computers.list() .. ' computers' end }",
        ),
        (
            "harvest.lua",
            "return { call = function(arguments) store.set('wheat', arguments.wheat) for _ = 1, arguments.times or 1 do \
             resources.changed('farm://report') end return 'harvested' end }",
        ),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    place
}

/// The URI of the next update.
async fn updated(bridge: &mut Bridge) -> String {
    let told = bridge
        .message(UPDATED, |message| message["method"] == UPDATED)
        .await;
    told["params"]["uri"].as_str().unwrap().to_owned()
}

fn told_so_far(bridge: &Bridge) -> usize {
    let lines = bridge.printed();
    lines.iter().filter(|line| line.contains(UPDATED)).count()
}

async fn read(bridge: &mut Bridge, uri: &str) -> Value {
    let reply = bridge.request("resources/read", json!({"uri": uri})).await;
    reply["result"]["contents"][0]["text"].clone()
}

#[tokio::test]
async fn a_session_is_told_when_a_handler_says_so_and_not_for_each_time() {
    let place = place();
    let mut bridge = place.session().await;
    assert_eq!(read(&mut bridge, "farm://report").await, "wheat: 0");
    bridge.call("harvest", json!({"wheat": 1})).await;
    bridge
        .request("resources/subscribe", json!({"uri": "farm://report"}))
        .await;
    let answer = bridge
        .call("harvest", json!({"wheat": 5, "times": 2000}))
        .await;
    assert!(!answer.is_error, "{}", answer.text);
    assert_eq!(updated(&mut bridge).await, "farm://report");
    assert_eq!(read(&mut bridge, "farm://report").await, "wheat: 5");
    // What came after the first is told once more at most.
    sleep(Duration::from_millis(1200)).await;
    assert!(told_so_far(&bridge) <= 3, "{}", told_so_far(&bridge));
    let before = told_so_far(&bridge);
    bridge
        .request("resources/unsubscribe", json!({"uri": "farm://report"}))
        .await;
    bridge.call("harvest", json!({"wheat": 6})).await;
    sleep(Duration::from_millis(700)).await;
    assert_eq!(told_so_far(&bridge), before);
    bridge.leave().await;
}

#[tokio::test]
async fn a_resource_is_told_of_with_time_and_with_computers() {
    let place = place();
    let mut bridge = place.session().await;
    let port = bridge.link_port().await;
    for uri in ["farm://clock", "farm://fleet/all"] {
        bridge
            .request("resources/subscribe", json!({"uri": uri}))
            .await;
    }
    assert_eq!(updated(&mut bridge).await, "farm://clock");
    assert_eq!(updated(&mut bridge).await, "farm://clock");
    bridge
        .request("resources/unsubscribe", json!({"uri": "farm://clock"}))
        .await;
    let linked = Computer::link(port, 7, Some("miner")).await;
    let is_fleet = |message: &Value| message["params"]["uri"] == "farm://fleet/all";
    bridge.message(UPDATED, is_fleet).await;
    assert_eq!(read(&mut bridge, "farm://fleet/all").await, "1 computers");
    drop(linked);
    bridge.message(UPDATED, is_fleet).await;
    bridge.leave().await;
}

#[tokio::test]
async fn a_stateless_client_that_listens_is_told_too() {
    let place = place();
    let mut bridge = place.bridge();
    bridge.request("resources/list", modern(json!({}))).await;
    let filter =
        json!({"notifications": {"resourceSubscriptions": ["farm://report", "farm://clock"]}});
    let subscription = bridge.ask("subscriptions/listen", modern(filter)).await;
    let granted = bridge
        .message("what acknowledges the subscription", |message| {
            message["method"] == "notifications/subscriptions/acknowledged"
        })
        .await;
    assert!(granted["params"].is_object(), "{granted}");
    assert_eq!(updated(&mut bridge).await, "farm://clock");
    bridge
        .ask(
            "tools/call",
            modern(json!({"name": "harvest", "arguments": {"wheat": 3}})),
        )
        .await;
    let is_report = |message: &Value| message["params"]["uri"] == "farm://report";
    let told = timeout(Duration::from_secs(20), bridge.message(UPDATED, is_report)).await;
    assert!(told.is_ok(), "{subscription}");
    bridge.leave().await;
}

#[test]
fn a_watch_that_is_none_is_told_with_its_line() {
    let place = place();
    let file = place.path("config/tools/farm/_index.yaml");
    for (watch, said) in [
        ("0", "not 0"),
        ("often", "not \"often\""),
        ("[computers, 100000]", "not 100000"),
        ("{ every: 5 }", "not"),
    ] {
        fs::write(
            &file,
            MANIFEST.replace("mcp.watch: 1", &format!("mcp.watch: {watch}")),
        )
        .unwrap();
        let output = place.run(&["tools", "check"]);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            text.contains("_index.yaml:14: `mcp.watch` must be a number of seconds from 1 to 86400, or `computers`")
                && text.contains(said),
            "{watch}: {text}"
        );
    }
}
