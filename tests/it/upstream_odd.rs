//! MCP servers whose tools are nearly right: they are repaired before they are withheld, and what is withheld is told with
//! its reason by every way to it. They are `tests/upstream/server.py`.

use std::fs;

use serde_json::{Value, json};

use crate::common::{
    bridge::Bridge,
    is,
    servers::{Place, list, listed, server, status, upstream_tools},
    until,
};

/// The definition of a tool, as clients are shown it.
async fn definition(bridge: &mut Bridge, name: &str) -> Value {
    let listed = bridge.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == name);
    tool.unwrap_or_else(|| panic!("no {name} in {listed}"))
        .clone()
}

#[tokio::test]
async fn schemas_that_are_nearly_right_are_repaired() {
    let place = Place::with_servers(json!({ "odd": server("odd") }));
    let mut bridge = place.session().await;
    // It does not say its version either.
    listed(&mut bridge, "odd__choice").await;
    assert_eq!(
        upstream_tools(&mut bridge).await,
        [
            "odd__choice",
            "odd__no-properties",
            "odd__no-schema",
            "odd__null-properties",
            "odd__null-required",
            "odd__strange-argument",
            "odd__structured",
            "odd__text-hints",
        ]
    );
    let none = json!({"type": "object", "properties": {}});
    for (tool, schema) in [
        ("odd__no-schema", none.clone()),
        ("odd__no-properties", none.clone()),
        ("odd__null-properties", none),
        (
            "odd__null-required",
            json!({"type": "object", "properties": {"text": {"type": "string"}}}),
        ),
        (
            "odd__choice",
            json!({
                "type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
                "description": "Give either `id`, or `name`.",
            }),
        ),
    ] {
        let shown = definition(&mut bridge, tool).await;
        assert_eq!(shown["inputSchema"], schema, "{tool}");
    }
    bridge.leave().await;
}

#[tokio::test]
async fn an_annotation_that_is_a_text_is_taken_for_what_it_says() {
    let place = Place::with_servers(json!({ "odd": server("odd") }));
    let mut bridge = place.session().await;
    listed(&mut bridge, "odd__text-hints").await;
    let shown = definition(&mut bridge, "odd__text-hints").await;
    assert_eq!(
        shown["annotations"],
        json!({"readOnlyHint": true, "destructiveHint": false})
    );
    bridge.leave().await;
}

#[tokio::test]
async fn an_argument_with_a_strange_name_has_a_plain_one_and_reaches_the_server_under_its_own() {
    let place = Place::with_servers(json!({ "odd": server("odd") }));
    let mut bridge = place.session().await;
    listed(&mut bridge, "odd__strange-argument").await;
    let shown = definition(&mut bridge, "odd__strange-argument").await;
    assert_eq!(shown["inputSchema"]["required"], json!(["filter"]));
    let arguments = json!({"filter": "a", "top": 5});
    let expected = json!({"$filter": "a", "top": 5});
    for text in [
        bridge
            .call("odd__strange-argument", arguments.clone())
            .await
            .text,
        bridge
            .call(
                "call-tool",
                json!({"name": "odd__strange-argument", "arguments": arguments}),
            )
            .await
            .text,
    ] {
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    }
    bridge.leave().await;
}

#[tokio::test]
async fn structured_content_that_stands_alone_is_told_as_text_too() {
    let place = Place::with_servers(json!({ "odd": server("odd") }));
    let mut bridge = place.session().await;
    listed(&mut bridge, "odd__structured").await;
    let params = json!({"name": "odd__structured", "arguments": {}});
    let answer = bridge.request("tools/call", params).await;
    assert_eq!(answer["result"]["content"][0]["text"], "{\"n\":1}");
    assert_eq!(answer["result"]["structuredContent"], json!({"n": 1}));
    bridge.leave().await;
}

#[tokio::test]
async fn lists_that_never_end_are_taken_once_and_it_is_told() {
    for mode in ["circles", "stands-still"] {
        let place = Place::with_servers(json!({ "test": server(mode) }));
        let mut bridge = place.session().await;
        listed(&mut bridge, "test__echo").await;
        let tools = upstream_tools(&mut bridge).await;
        let mut once = tools.clone();
        once.dedup();
        assert_eq!((tools.len(), &tools), (16, &once), "{mode}");
        let state = status(&mut bridge, |state| state.contains("connected")).await;
        assert!(
            state.contains(
                "    it lists its tools without end: what came until it came again is taken"
            ),
            "{mode}: {state}"
        );
        bridge.leave().await;
    }
}

#[tokio::test]
async fn more_tools_than_are_taken_are_named() {
    let place = Place::with_servers(json!({ "test": server("many") }));
    let mut bridge = place.session().await;
    let state = status(&mut bridge, |state| state.contains("connected")).await;
    let told = "it has more tools than are taken of one server (2000, and 8 MiB): those after the first 2000 are left out";
    assert!(state.contains(told), "{state}");
    list(&mut bridge, "they are listed", |tools| tools.len() > 1_900).await;
    bridge.leave().await;
}

#[tokio::test]
async fn a_list_that_is_announced_and_refused_takes_no_tools_down() {
    let place = Place::with_servers(json!({ "odd": server("odd") }));
    let mut bridge = place.session().await;
    let state = status(&mut bridge, |state| state.contains("connected")).await;
    let told =
        "it says that it has prompts, and refuses to list them: there are no prompts after all";
    assert!(state.contains(told), "{state}");
    bridge.leave().await;
}

#[tokio::test]
async fn what_is_withheld_says_why_by_every_way_to_it() {
    let place = Place::with_servers(json!({ "odd": server("odd") }));
    let mut bridge = place.session().await;
    listed(&mut bridge, "odd__choice").await;
    let reasons = [
        (
            "unfit",
            "its input schema is of the type \"string\", not `object`",
        ),
        (
            "unreadable",
            "its definition can't be read: invalid type: string \"none\"",
        ),
    ];
    let state = status(&mut bridge, |_| true).await;
    let found = bridge.call("find-tools", json!({"query": "un"})).await.text;
    let shown = place.says(&["upstream", "list"]);
    let tools = place.says(&["upstream", "tools", "odd"]);
    for (own, reason) in reasons {
        let name = format!("odd__{own}");
        let by_status = format!("    withheld: {own}: {reason}");
        assert!(state.contains(&by_status), "{state}");
        assert!(shown.contains(&by_status), "{shown}");
        assert!(
            tools.contains(&format!("  withheld: {own}: {reason}")),
            "{tools}"
        );
        assert!(
            found.contains("Withheld, and can't be called:\n")
                && found.contains(&format!("\n{name}: {reason}")),
            "{found}"
        );
        let told = format!("The tool {name} is withheld: {reason}");
        let call = bridge.call(&name, json!({})).await;
        assert!(call.is_error && call.text.contains(&told), "{}", call.text);
        let by_name = bridge.call("call-tool", json!({ "name": name })).await;
        assert!(
            by_name.is_error && by_name.text.contains(&told),
            "{}",
            by_name.text
        );
        let output = place.run(&["upstream", "call", &name]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.code() == Some(1) && said.contains(&told),
            "{output:?}"
        );
        until("the log tells of it", async || {
            let log = log(&place);
            let is_there = log.lines().any(|line| {
                line.contains(own) && line.contains(&format!("a tool is withheld: {reason}"))
            });
            is(is_there, log)
        })
        .await;
    }
    bridge.leave().await;
}

/// All that bridges wrote to their logs.
fn log(place: &Place) -> String {
    let files = fs::read_dir(place.path("state/logs")).unwrap();
    files
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap_or_default())
        .collect()
}
