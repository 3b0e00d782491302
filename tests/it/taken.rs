//! What clients misread, and what models send that is not what a schema says: it is taken right all the same.

use std::fs;

use crate::common::{
    bridge::{Bridge, ToolAnswer},
    computer::Computer,
    is,
    servers::{Place, server},
    tools::manifest,
    until,
};
use mcp_bridge::{
    link::agent,
    simulator::{self, ComputerOptions},
};
use serde_json::{Value, json};
use tokio::runtime::Handle;

/// Starts a simulated computer that links to the bridge.
async fn simulated(bridge: &mut Bridge, id: u64, label: Option<&str>) -> simulator::Computer {
    let port = bridge.link_port().await;
    let mut options = ComputerOptions::new(id).with_file("mcp-computer.lua", agent::program());
    options.label = label.map(str::to_owned);
    let program = format!("mcp-computer ws://{port}");
    let computer = simulator::Computer::start(options, &program, &Handle::current()).unwrap();
    bridge.linked(id).await;
    computer
}

// Answers.

/// Whether a text is what Gemini CLI takes for structured content that is none: all of it JSON, and no object.
fn is_bare_value(text: &str) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|value| !value.is_object())
}

/// The first text of a reply to `tools/call`, as Gemini CLI looks at it.
fn first_text(reply: &Value) -> &str {
    let result = &reply["result"];
    assert!(result.get("structuredContent").is_none(), "{reply}");
    let text = result["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{reply}"))
}

#[tokio::test]
async fn no_answer_of_ours_is_a_bare_value() {
    let mut bridge = Bridge::initialized().await;
    let _computer = simulated(&mut bridge, 1, None).await;
    for (code, on_computer, on_host) in [
        ("return 1 + 1", "=> 2", "=> 2"),
        ("return true", "=> true", "=> true"),
        ("return nil", "=> nil", "=> nil"),
        ("return 'x'", "=> \"x\"", "=> x"),
        ("return '\"x\"'", "=> \"\\\"x\\\"\"", "=> \"x\""),
        ("return 2, '3'", "=> 2\n=> \"3\"", "=> 2\n=> 3"),
        ("return { 1, 2 }", "=> { 1, 2 }", "=> [1,2]"),
        ("return '{}'", "=> \"{}\"", "=> {}"),
        ("print('a') return 2", "a\n=> 2", "a\n=> 2"),
        ("print('a')", "a\n", "a\n"),
        ("print('{\"a\":1}') local x", "{\"a\":1}\n", "{\"a\":1}\n"),
        (
            "print(2) local x",
            "2\nThe code returned nothing.",
            "2\nThe code returned nothing.",
        ),
        (
            "write('[1, \"x\"]') local x",
            "[1, \"x\"]\nThe code returned nothing.",
            "[1, \"x\"]\nThe code returned nothing.",
        ),
    ] {
        let exec_lua = json!({"name": "exec-lua", "arguments": {"code": code}});
        let run_script = json!({"name": "run-script", "arguments": {"code": code}});
        for (call, shown) in [
            (exec_lua.clone(), on_computer),
            (
                json!({"name": "call-tool", "arguments": exec_lua}),
                on_computer,
            ),
            (run_script, on_host),
        ] {
            let reply = bridge.request("tools/call", call.clone()).await;
            assert_eq!(first_text(&reply), shown, "{call}");
            assert!(!is_bare_value(shown));
        }
    }
    // Without a line of the script's own there is no traceback.
    let failed = bridge
        .call(
            "run-script",
            json!({"code": "return load('error(2, 0)', '=other')()"}),
        )
        .await;
    assert!(
        failed.is_error && failed.text == "The script threw 2",
        "{}",
        failed.text
    );
    // A job is shown with what it is in front.
    let code = "repeat sleep(0.05) until fs.exists('/go') return 2";
    let job = json!({"code": code, "timeoutMs": 1_000});
    let running = bridge.call("exec-lua", job).await.text;
    let job = running.split("as job ").nth(1).unwrap().split('.').next();
    bridge.lua(1, "fs.open('/go', 'w').close()").await;
    let shown = bridge
        .call("get-job", json!({"jobId": job, "waitMs": 10_000}))
        .await;
    assert!(shown.text.ends_with(".\n=> 2"), "{}", shown.text);
    bridge.leave().await;
}

#[tokio::test]
async fn gemini_cli_is_shown_bare_values_of_other_peoples_tools_with_a_mark_and_nobody_else_is() {
    let place = Place::with_servers(json!({ "test": server("good") }));
    let tools = place.path("config/tools");
    fs::create_dir_all(&tools).unwrap();
    for (name, kind, returned) in [
        ("two", "function.lua", "2"),
        ("list", "computer.lua", "{ 1, 2 }"),
        ("text", "function.lua", "'two'"),
        ("no", "function.lua", "nil, 7"),
    ] {
        let folder = tools.join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("_index.yaml"), manifest(name, kind, "")).unwrap();
        let handler = format!("return {{ call = function() return {returned} end }}");
        fs::write(folder.join("handler.lua"), handler).unwrap();
    }
    for (client, mark) in [("gemini-cli-mcp-client", "=> "), ("tests", "")] {
        for is_stateless in [false, true] {
            let mut bridge = place.bridge();
            let info = json!({"name": client, "version": "0.61.0"});
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": info,
            });
            if !is_stateless {
                let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
                bridge.request("initialize", params).await;
                bridge
                    .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
                    .await;
            }
            let call = |name: &str, arguments: Value| {
                let mut call = json!({"name": name, "arguments": arguments});
                if is_stateless {
                    call["_meta"] = meta.clone();
                }
                call
            };
            let listing = bridge
                .request("tools/call", call("list-computers", json!({})))
                .await;
            let port = listing["result"]["structuredContent"]["linkPort"]
                .as_str()
                .unwrap();
            let mut computer = Computer::link_v2(port.parse().unwrap(), 1).await;
            let answers = tokio::spawn(async move {
                let request = computer.request().await;
                computer.accept(&request).await;
                computer
                    .respond(&request, json!({"values": [[1, 2]]}))
                    .await;
                computer
            });
            let list = bridge.request("tools/call", call("list", json!({}))).await;
            assert_eq!(first_text(&list), format!("{mark}[1,2]"), "{client}");
            answers.await.unwrap();
            let two = bridge.request("tools/call", call("two", json!({}))).await;
            assert_eq!(first_text(&two), format!("{mark}2"), "{client}");
            let no = bridge.request("tools/call", call("no", json!({}))).await;
            assert_eq!(first_text(&no), format!("{mark}7"), "{client}");
            assert!(ToolAnswer::of(&no).is_error);
            let text = bridge.request("tools/call", call("text", json!({}))).await;
            assert_eq!(first_text(&text), "two");
            for (said, shown) in [
                ("true", format!("{mark}true")),
                ("{\"a\":1}", "{\"a\":1}".to_owned()),
            ] {
                let echo = json!({"name": "test__echo", "arguments": {"text": said}});
                let echo = call("call-tool", echo);
                // The server may just be starting.
                until("the server's tool answers", async || {
                    let reply = bridge.request("tools/call", echo.clone()).await;
                    let text = first_text(&reply).to_owned();
                    is(!text.starts_with("There is no tool"), text)
                })
                .await;
                let reply = bridge.request("tools/call", echo).await;
                assert_eq!(first_text(&reply), shown, "{client}");
            }
            bridge.leave().await;
        }
    }
}
