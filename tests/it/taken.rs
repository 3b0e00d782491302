//! What clients misread, and what models send that is not what a schema says: it is taken right all the same.

use std::fs;

use crate::common::{
    bridge::{Bridge, ToolAnswer},
    computer::Computer,
    is,
    linked::linked,
    servers::{Place, server},
    tools::{Tools, manifest},
    until,
};
use mcp_bridge::{
    link::agent,
    simulator::{self, ComputerOptions},
};
use serde_json::{Value, json};

/// Starts a simulated computer that links to the bridge.
async fn simulated(bridge: &mut Bridge, id: u64, label: Option<&str>) -> simulator::Computer {
    let mut options = ComputerOptions::new(id).with_file("mcp-computer.lua", agent::program());
    options.label = label.map(str::to_owned);
    linked(bridge, options, "").await
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

// Arguments.

#[tokio::test]
async fn arguments_are_taken_as_models_send_them() {
    let tools = Tools::new();
    let schema = "      mcp.inputSchema: { type: object, properties: { n: { type: integer }, yes: { type: boolean }, \
                  map: { type: object }, list: { type: array, items: { type: number } }, text: { type: string } }, \
                  additionalProperties: false }\n";
    let returned = "return json.encode({ arguments.n, arguments.yes, arguments.map, arguments.list, arguments.text })";
    tools.add_with("typed", schema, returned);
    tools.add_on_computer("where", "return os.getComputerID()");
    tools.add_with(
        "any",
        "      mcp.inputSchema: { type: object, properties: { n: { type: string } } }\n",
        "return json.encode(arguments)",
    );
    let mut bridge = tools.bridge(&[]).await;
    let _one = simulated(&mut bridge, 7, Some("base")).await;
    let _other = simulated(&mut bridge, 8, Some("farm")).await;
    for (call, shown) in [
        (
            json!({"name": "exec-lua", "arguments": {"computerId": "7", "code": "os.getComputerID()"}}),
            "=> 7",
        ),
        (
            json!({"name": "exec-lua", "arguments": {"computerId": "farm", "code": "os.getComputerID()"}}),
            "=> 8",
        ),
        (
            json!({"name": "exec-lua", "arguments": {"computerId": "Farm ", "code": "1"}}),
            "=> 1",
        ),
        (
            json!({"name": "exec-lua", "arguments": {"computerId": "8 (Label: farm)", "code": "1"}}),
            "=> 1",
        ),
        (
            json!({"name": "exec-lua", "arguments": {"computer_id": 8, "code": 7}}),
            "=> 7",
        ),
        (
            json!({"name": "exec-lua", "arguments": {
                "computerId": 8.0, "code": "1", "timeoutMs": "5000", "exclusive": "true", "onTimeout": "Cancel",
                "where": "", "wait_for_previous": false, "toolCallId": "call_1"}}),
            "=> 1",
        ),
        (
            json!({"name": "exec-lua", "arguments": "{\"computerId\": 7, \"code\": \"1\"}"}),
            "=> 1",
        ),
        (
            json!({"name": "call-tool", "arguments":
                {"name": "exec-lua", "arguments": "{\"computerId\": \"8\", \"code\": \"1\"}"}}),
            "=> 1",
        ),
        (
            json!({"name": "list-jobs", "arguments": {"computerId": "9"}}),
            "No jobs.",
        ),
        (
            json!({"name": "list-jobs", "arguments": {"computerId": 9, "cursor": 1, "action": "x"}}),
            "There is no argument `cursor`",
        ),
        (
            json!({"name": "where", "arguments": {"computerId": "farm"}}),
            "8",
        ),
        (
            json!({"name": "where", "arguments": {"computerId": "7"}}),
            "7",
        ),
        (
            json!({"name": "typed", "arguments": {
                "n": "7", "yes": "True", "map": "{\"a\": 1}", "list": "[1, 0.5]", "text": 8, "wait_for_previous": true}}),
            "[7,true,{\"a\":1},[1,0.5],\"8\"]",
        ),
        (
            json!({"name": "any", "arguments": {"n": "7", "wait_for_previous": true}}),
            "{\"n\":\"7\",\"wait_for_previous\":true}",
        ),
        (json!({"name": "any", "arguments": []}), "{}"),
    ] {
        let reply = bridge.request("tools/call", call.clone()).await;
        assert!(first_text(&reply).starts_with(shown), "{call}: {reply}");
        let is_whole = first_text(&reply) == shown || shown.starts_with("There is no");
        assert!(is_whole, "{call}: {reply}");
        assert!(reply["result"].get("resultType").is_none(), "{reply}");
    }
    bridge.leave().await;
}

#[tokio::test]
async fn what_is_refused_names_the_nearest_right_form_and_what_there_is() {
    let tools = Tools::new();
    tools.add_with(
        "closed",
        "      mcp.inputSchema: { type: object, properties: { fuel: { type: integer } }, additionalProperties: false }\n",
        "return 'x'",
    );
    let mut bridge = tools.bridge(&[]).await;
    let port = bridge.link_port().await;
    let _one = Computer::link(port, 7, Some("farm")).await;
    let _other = Computer::link(port, 8, Some("mine")).await;
    // Offline ones are meant by their labels too.
    drop(Computer::link(port, 9, Some("mine")).await);
    bridge
        .computer(9, |computer| computer["linked"] == false)
        .await;
    drop(Computer::link(port, 10, Some("far away")).await);
    bridge
        .computer(10, |computer| computer["linked"] == false)
        .await;
    for (tool, arguments, said) in [
        (
            "exec-lua",
            json!({"code": "1", "timeout": 5}),
            "There is no argument `timeout`; did you mean `timeoutMs`? There are: computerId, code, timeoutMs, ",
        ),
        (
            "exec-lua",
            json!({"script": "1"}),
            "There is no argument `script`. There are: computerId, code, ",
        ),
        (
            "exec-lua",
            json!({"computerId": 7}),
            "`code` is missing; it must be a string.",
        ),
        (
            "exec-lua",
            json!({"code": "1", "timeoutMs": "5s"}),
            "`timeoutMs` must be a whole number from 1 to 600000, not \"5s\".",
        ),
        (
            "exec-lua",
            json!({"code": "1", "computerId": "frm"}),
            "No computer has the label \"frm\"; did you mean 7 (Label: farm)? Linked now: 7 (Label: farm), 8 (Label: mine).",
        ),
        (
            "exec-lua",
            json!({"code": "1", "computerId": "mine"}),
            "Several computers have the label \"mine\", so give the number: 8 (Label: mine); 9 (Label: mine), offline.",
        ),
        (
            "exec-lua",
            json!({"code": "1", "computerId": "far away"}),
            "computer 10 (Label: far away): ",
        ),
        (
            "exec-lua",
            json!({"code": "1", "computerId": [7]}),
            "`computerId` must be a computer's number, such as 12, or its label, not [7].",
        ),
        (
            "closed",
            json!({"feul": 1}),
            "There is no argument `feul`; did you mean `fuel`? There are: fuel.",
        ),
        (
            "closed",
            json!({"fuel": "much"}),
            "`fuel` must be a whole number, not \"much\".",
        ),
        (
            "call-tool",
            json!({"name": "exec_lua"}),
            "There is no tool `exec_lua`; did you mean `exec-lua`? find-tools shows",
        ),
        (
            "list-computers",
            json!({"all": true}),
            "There is no argument `all`.",
        ),
        (
            "run-script",
            json!({"code": "computers.exec(7, '1', { timeout = 5 })"}),
            "options: There is no option `timeout`; did you mean `timeoutMs`? There are: timeoutMs, exclusive, arguments.",
        ),
        (
            "run-script",
            json!({"code": "computers.call({ 7 }, 'list-jobs', {}, { exclusive = true })"}),
            "options: There is no option `exclusive`. There are: timeoutMs.",
        ),
        (
            "run-script",
            json!({"code": "computers.exec('frm', '1')"}),
            "No computer has the label \"frm\"",
        ),
    ] {
        let refused = bridge.call(tool, arguments.clone()).await;
        assert!(
            refused.is_error && refused.text.contains(said),
            "{arguments}: {}",
            refused.text
        );
    }
    bridge.leave().await;
}

#[tokio::test]
async fn code_is_taken_without_what_surely_is_no_lua() {
    let mut bridge = Bridge::initialized().await;
    let _computer = simulated(&mut bridge, 7, Some("farm")).await;
    for tool in ["exec-lua", "run-script"] {
        for (code, shown) in [
            ("```lua\nreturn 1 + 1\n```", "=> 2"),
            ("\u{feff}return 1 + 1", "=> 2"),
            ("#!/usr/bin/env lua\nreturn 1 + 1", "=> 2"),
            ("`1 + 1`", "=> 2"),
            // As an expression.
            ("1 + 1", "=> 2"),
            ("1 + 1 -- two", "=> 2"),
            ("1, nil", "=> 1\n=> nil"),
            ("#'ab'", "=> 2"),
            ("local x = 2\nreturn x", "=> 2"),
            (
                "",
                "ran to its end; it printed nothing and returned nothing.",
            ),
        ] {
            let answer = bridge.call(tool, json!({"code": code})).await;
            assert!(
                !answer.is_error && answer.text.ends_with(shown),
                "{tool} {code}: {}",
                answer.text
            );
        }
        // Lines keep their numbers.
        let failed = bridge
            .call(tool, json!({"code": "```lua\nlocal x\nerror('at 3')\n```"}))
            .await;
        assert!(
            failed.is_error && failed.text.contains(":3: at 3"),
            "{tool}: {}",
            failed.text
        );
        let wrong = bridge
            .call(tool, json!({"code": "#!/bin/lua\nx = = 1"}))
            .await;
        assert!(
            wrong.is_error && wrong.text.contains(":2:"),
            "{tool}: {}",
            wrong.text
        );
    }
    for (code, shown) in [
        ("computers.exec(7, '6 * 7')", "=> 42"),
        (
            "computers.exec('farm', '6 * 7', { timeoutMs = '5000' })",
            "=> 42",
        ),
        (
            "computers.exec({ 'farm' }, '6 * 7').farm.returns[1]",
            "=> 42",
        ),
        ("computers.call('farm', 'list-jobs')", "=> "),
    ] {
        let answer = bridge.call("run-script", json!({"code": code})).await;
        assert!(
            !answer.is_error && answer.text.starts_with(shown),
            "{code}: {}",
            answer.text
        );
    }
    let failed = bridge
        .call("run-script", json!({"code": "computers.exec(9, '1')"}))
        .await;
    assert!(
        failed.is_error && failed.text.contains("script:1:"),
        "{}",
        failed.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn arguments_that_can_be_no_object_are_refused_with_what_there_is() {
    let mut bridge = Bridge::initialized().await;
    for (given, kind) in [
        (json!("not an object"), "a text that is no JSON object"),
        (json!(5), "a number"),
        (json!([{"code": "1"}]), "a list"),
    ] {
        let call = json!({"name": "exec-lua", "arguments": given});
        let refused = bridge.request("tools/call", call).await["error"]["message"].clone();
        let told = refused.as_str().unwrap();
        for part in [
            "`arguments` must be an object",
            kind,
            "`code`",
            "`computerId`",
        ] {
            assert!(told.contains(part), "no {part} in {told}");
        }
    }
    bridge.leave().await;
}
