//! MCP servers of others behind the bridge: their tools, when they run, and calls to them. The servers are
//! `tests/upstream/server.py`.

use std::{fs, time::Duration};

use crate::common::{
    bridge::Bridge,
    is,
    servers::{Place, file, list, listed, server, status, upstream_tools, with},
    until,
};
use serde_json::{Value, json};

// Lists and names.

#[tokio::test]
async fn tools_of_a_server_are_offered_under_its_name_and_called_by_that() {
    let place = Place::with_servers(json!({ "test": server("good") }));
    let mut bridge = place.session().await;
    listed(&mut bridge, "test__echo").await;
    let echo = bridge.call("test__echo", json!({"text": "é\n"})).await;
    assert_eq!((echo.text.as_str(), echo.is_error), ("é\n", false));
    let failed = bridge.call("test__fail", json!({})).await;
    assert_eq!((failed.text.as_str(), failed.is_error), ("it failed", true));
    // An error of the request stays one.
    let refused = bridge
        .request(
            "tools/call",
            json!({"name": "test__refuse", "arguments": {}}),
        )
        .await;
    assert_eq!(
        refused["error"],
        json!({"code": -32000, "message": "it refuses"})
    );
    let unknown = bridge
        .request("tools/call", json!({"name": "test__none", "arguments": {}}))
        .await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    bridge.leave().await;
}

#[tokio::test]
async fn names_and_schemas_that_break_clients_are_mended_or_withheld() {
    let place = Place::with_servers(json!({ "My Server": server("good") }));
    let mut bridge = place.session().await;
    let state = status(&mut bridge, |state| state.contains("connected")).await;
    assert!(
        state.contains(
            "withheld: bad-schema: its input schema is of the type \"string\", not `object`"
        ),
        "{state}"
    );
    let tools = list(&mut bridge, "tools are listed", |tools| !tools.is_empty()).await;
    let dotted = tools
        .iter()
        .find(|name| name.contains("__bad_name_"))
        .unwrap_or_else(|| panic!("{tools:?}"));
    assert!(dotted.starts_with("My-Server-"), "{dotted}");
    assert_eq!(bridge.call(dotted, json!({})).await.text, "called bad.name");
    assert!(
        !tools.iter().any(|name| name.ends_with("__bad-schema")),
        "{tools:?}"
    );

    let listed = bridge.request("tools/list", json!({})).await;
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert!(
            name.len() <= 47
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)),
            "{name}"
        );
        assert_eq!(tool["inputSchema"]["type"], "object");
        if name.ends_with("__bad-output") {
            assert!(tool.get("outputSchema").is_none(), "{tool}");
        }
    }
    let withheld = dotted.replace(&dotted[dotted.find("__").unwrap()..], "__bad-schema");
    let answer = bridge.call(&withheld, json!({})).await;
    assert!(
        answer.is_error && answer.text.contains("is withheld"),
        "{}",
        answer.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn an_entry_can_offer_some_tools_only_or_be_switched_off() {
    let place = Place::with_servers(json!({
        "some": with(server("good"), json!({"tools": ["echo", "pid"]})),
        "none": with(place_independent(), json!({"enabled": false})),
    }));
    let mut bridge = place.session().await;
    listed(&mut bridge, "some__echo").await;
    assert_eq!(
        upstream_tools(&mut bridge).await,
        ["some__echo", "some__pid"]
    );
    let state = status(&mut bridge, |_| true).await;
    assert!(
        state.contains("none: disabled; it is switched off in"),
        "{state}"
    );
    bridge.leave().await;
}

/// A server that would be noticed if it ever ran.
fn place_independent() -> Value {
    json!({"command": "no-such-program-anywhere"})
}

#[tokio::test]
async fn nothing_is_offered_where_it_is_switched_off_or_nothing_is_configured() {
    let place = Place::with_servers(json!({ "test": server("good") }));
    let mut off = place.bridge_with(|command| {
        command.args(["--upstream", "off"]);
    });
    off.initialize("2025-11-25").await;
    let mut none = Place::new().session().await;
    for bridge in [&mut off, &mut none] {
        let tools = bridge.request("tools/list", json!({})).await.to_string();
        assert!(
            !tools.contains("test__") && !tools.contains("upstream-status"),
            "{tools}"
        );
    }
    off.leave().await;
    none.leave().await;
}

/// The names of the prompts of servers, as they are listed.
fn of_server(prompts: &Value) -> Vec<&str> {
    let prompts = prompts["result"]["prompts"].as_array().unwrap().iter();
    let names = prompts.map(|prompt| prompt["name"].as_str().unwrap());
    names.filter(|name| name.contains("__")).collect()
}

#[tokio::test]
async fn prompts_pass_through_under_the_servers_name() {
    let place = Place::with_servers(json!({ "test": server("good") }));
    let mut bridge = place.session().await;
    listed(&mut bridge, "test__echo").await;
    let prompts = bridge.request("prompts/list", json!({})).await;
    assert_eq!(of_server(&prompts), ["test__greet"]);
    let filled = bridge
        .request(
            "prompts/get",
            json!({"name": "test__greet", "arguments": {"who": "you"}}),
        )
        .await;
    assert_eq!(
        filled["result"]["messages"][0]["content"]["text"],
        "Hello, you"
    );
    let unknown = bridge
        .request("prompts/get", json!({"name": "test__none"}))
        .await;
    assert_eq!(unknown["error"]["code"], -32602);
    bridge.leave().await;
}

/// The parameters of a request of the era without a handshake.
fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

/// Waits until a client of that era is offered `test__echo`.
async fn listed_without_a_handshake(bridge: &mut Bridge) {
    until("the tool is listed", async || {
        let listed = bridge.request("tools/list", modern(json!({}))).await;
        is(listed.to_string().contains("test__echo"), listed)
    })
    .await;
}

#[tokio::test]
async fn a_client_without_a_handshake_is_served_the_same() {
    let place = Place::with_servers(json!({ "test": server("good") }));
    let mut bridge = place.bridge();
    listed_without_a_handshake(&mut bridge).await;
    let call = modern(json!({"name": "test__echo", "arguments": {"text": "x"}}));
    let answer = bridge.request("tools/call", call).await;
    let expected = json!({"resultType": "complete", "content": [{"type": "text", "text": "x"}]});
    assert_eq!(answer["result"]["content"], expected["content"]);
    assert_eq!(
        answer["result"]["resultType"], expected["resultType"],
        "{answer}"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_subscription_tells_of_new_prompts_of_a_server() {
    const CHANGED: &str = "notifications/prompts/list_changed";
    let place = Place::with_servers(json!({ "test": server("good") }));
    let mut bridge = place.bridge();
    listed_without_a_handshake(&mut bridge).await;
    let filter = json!({"notifications": {"promptsListChanged": true}});
    let subscription = bridge.ask("subscriptions/listen", modern(filter)).await;
    bridge
        .message("the subscription", |message| {
            message["method"] == "notifications/subscriptions/acknowledged"
        })
        .await;
    let call = modern(json!({"name": "test__teach", "arguments": {"name": "part"}}));
    bridge.request("tools/call", call).await;
    let told = bridge
        .message("the change", |message| message["method"] == CHANGED)
        .await;
    assert_eq!(
        told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        json!(subscription)
    );
    let prompts = bridge.request("prompts/list", modern(json!({}))).await;
    assert_eq!(of_server(&prompts), ["test__greet", "test__part"]);
    bridge.leave().await;
}

// When servers run.

#[tokio::test]
async fn a_server_that_was_listed_before_starts_at_its_first_call() {
    let place = Place::new();
    place.write(
        "config/mcp.json",
        &json!({"mcpServers": {"test": place.server("good", &["STARTS"])}}),
    );
    let mut first = place.session().await;
    listed(&mut first, "test__echo").await;
    first.leave().await;
    assert_eq!(place.lines("starts").len(), 1);

    let mut second = place.session().await;
    // In the first answer already.
    assert!(
        upstream_tools(&mut second)
            .await
            .contains(&"test__echo".to_owned())
    );
    let state = status(&mut second, |_| true).await;
    assert!(
        state.contains("test: stopped") && state.contains("16 tools"),
        "{state}"
    );
    assert_eq!(place.lines("starts").len(), 1);
    assert_eq!(
        second.call("test__echo", json!({"text": "x"})).await.text,
        "x"
    );
    assert_eq!(place.lines("starts").len(), 2);
    second.leave().await;
}

#[tokio::test]
async fn a_probe_starts_no_server() {
    let place = Place::new();
    place.write(
        "config/mcp.json",
        &json!({"mcpServers": {"test": place.server("good", &["STARTS"])}}),
    );
    for _ in 0..5 {
        let mut probe = place.session().await;
        assert!(upstream_tools(&mut probe).await.is_empty());
        probe.leave().await;
    }
    assert!(place.lines("starts").is_empty());
}

#[tokio::test]
async fn an_idle_server_is_stopped_and_keeps_its_tools() {
    let place = Place::new();
    let idle = with(
        place.server("good", &["STARTS"]),
        json!({"idleTimeoutMs": 300}),
    );
    place.write("config/mcp.json", &json!({"mcpServers": {"test": idle}}));
    let mut bridge = place.session().await;
    listed(&mut bridge, "test__echo").await;
    status(&mut bridge, |state| state.contains("test: stopped")).await;
    assert!(
        upstream_tools(&mut bridge)
            .await
            .contains(&"test__echo".to_owned())
    );
    let pid = bridge.call("test__pid", json!({})).await.text;
    assert_eq!(place.lines("starts").last(), Some(&pid));
    bridge.leave().await;
}

#[tokio::test]
async fn twenty_servers_do_not_keep_a_client_waiting() {
    let servers: serde_json::Map<_, _> =
        (0..20).map(|n| (format!("s{n}"), server("mute"))).collect();
    let many = Place::with_servers(Value::Object(servers));
    let none = Place::with_servers(json!({}));
    let (mut with_many, mut with_none) = (Vec::new(), Vec::new());
    for _ in 0..9 {
        // In turn, so that whatever else the machine does slows both down.
        for (place, times) in [(&many, &mut with_many), (&none, &mut with_none)] {
            let mut bridge = place.bridge();
            // Its answer shows that the process runs; what is measured is the answer to `initialize`.
            bridge.request("ping", json!({})).await;
            let start = std::time::Instant::now();
            bridge.initialize("2025-11-25").await;
            times.push(start.elapsed());
            bridge.leave().await;
        }
    }
    for times in [&mut with_many, &mut with_none] {
        times.sort();
    }
    let (many, none) = (with_many[4], with_none[4]);
    // If it waited for one of them, it would be hundreds of times; ten are what the start of twenty processes costs.
    assert!(
        many < none * 10 + Duration::from_millis(10),
        "{with_many:?} but {with_none:?} without"
    );
}

// Calls.

#[tokio::test]
async fn progress_comes_in_order_before_the_answer_and_under_the_clients_token() {
    let place = Place::with_servers(json!({ "test": server("good") }));
    let mut bridge = place.session().await;
    listed(&mut bridge, "test__steps").await;
    let before = bridge.printed().len();
    let params = json!({"name": "test__steps", "arguments": {"count": 40}, "_meta": {"progressToken": "mine"}});
    let answer = bridge.request("tools/call", params).await;
    assert_eq!(answer["result"]["content"][0]["text"], "done");
    let steps: Vec<Value> = bridge.printed()[before..]
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .take_while(|message: &Value| message["id"] != answer["id"])
        .filter(|message| message["method"] == "notifications/progress")
        .map(|message| message["params"].clone())
        .collect();
    let all: Vec<_> = (0..40)
        .map(|step| json!({"progressToken": "mine", "progress": step as f64, "total": 40.0, "message": format!("step {step}")}))
        .collect();
    // A client is told ten times a second at most, and of the last in any case.
    let mut later = all.iter();
    let in_order = steps.iter().all(|step| later.any(|one| one == step));
    assert!(
        in_order && steps.first() == all.first() && steps.last() == all.last(),
        "{steps:?}"
    );

    // Who does not ask for it hears nothing.
    let before = bridge.printed().len();
    bridge.call("test__steps", json!({"count": 3})).await;
    assert!(!bridge.printed()[before..].concat().contains("progress"));
    bridge.leave().await;
}

#[tokio::test]
async fn a_clients_cancel_reaches_the_server_and_frees_its_place() {
    let place = Place::new();
    place.write(
        "config/mcp.json",
        &json!({"mcpServers": {"test": place.server("good", &["HEARD"])}}),
    );
    let mut bridge = place.session().await;
    listed(&mut bridge, "test__wait").await;
    let (begun, go) = (place.path("begun"), place.path("never"));
    let id = bridge
        .start_call("test__wait", json!({"begun": begun, "go": go}))
        .await;
    file(&begun).await;
    bridge.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})).await;
    // One at a time: this one could not run otherwise.
    assert_eq!(
        bridge
            .call("test__echo", json!({"text": "next"}))
            .await
            .text,
        "next"
    );
    let heard = place.lines("heard");
    let message = |method: &str| -> Value {
        let line = heard
            .iter()
            .find(|line| line.contains(method))
            .unwrap_or_else(|| panic!("no {method}: {heard:?}"));
        serde_json::from_str(line).unwrap()
    };
    let call = message("\"wait\"");
    assert_eq!(
        message("notifications/cancelled")["params"]["requestId"],
        call["id"]
    );
    assert!(
        !bridge
            .printed()
            .iter()
            .any(|line| line.contains(&format!("\"id\":{id},")))
    );
    bridge.leave().await;
}

#[tokio::test]
async fn calls_run_one_at_a_time_unless_the_entry_says_otherwise() {
    let place = Place::with_servers(json!({
        "single": server("good"),
        "many": with(server("good"), json!({"parallel": true})),
    }));
    let mut bridge = place.session().await;
    listed(&mut bridge, "single__wait").await;
    listed(&mut bridge, "many__wait").await;
    for (server, second_begins) in [("single", false), ("many", true)] {
        let mark = |name: &str| place.path(&format!("{server}-{name}"));
        let arguments = |name: &str| json!({"begun": mark(name), "go": mark("go")});
        let first = bridge
            .start_call(&format!("{server}__wait"), arguments("first"))
            .await;
        file(&mark("first")).await;
        let second = bridge
            .start_call(&format!("{server}__wait"), arguments("second"))
            .await;
        if second_begins {
            file(&mark("second")).await;
        } else {
            // Whatever reaches the server at all does so before what is asked of it later by another way.
            bridge.request("ping", json!({})).await;
            assert!(!mark("second").exists());
        }
        fs::write(mark("go"), "").unwrap();
        for id in [first, second] {
            assert_eq!(bridge.answer(id).await.text, "went");
        }
    }
    bridge.leave().await;
}

#[tokio::test]
async fn a_call_that_waits_for_another_says_so() {
    let place = Place::with_servers(json!({ "test": server("good") }));
    let mut bridge = place.session().await;
    listed(&mut bridge, "test__wait").await;
    let mark = |name: &str| place.path(name);
    let arguments = |name: &str| json!({"begun": mark(name), "go": mark("go")});
    let first = bridge.start_call("test__wait", arguments("first")).await;
    file(&mark("first")).await;
    let params = json!({
        "name": "test__wait", "arguments": arguments("second"), "_meta": {"progressToken": "second"}
    });
    let second = bridge.ask("tools/call", params).await;
    let told = bridge
        .message("progress", |message| {
            message["method"] == "notifications/progress"
        })
        .await;
    assert_eq!(
        told["params"]["message"],
        "waits for another call of the server `test`, which takes one at a time"
    );
    fs::write(mark("go"), "").unwrap();
    for id in [first, second] {
        assert_eq!(bridge.answer(id).await.text, "went");
    }
    bridge.leave().await;
}

#[tokio::test]
async fn what_waits_for_a_server_does_not_begin_in_a_pause() {
    let place = Place::new();
    let tool = |name: &str, reads: bool| {
        json!({
            "name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": reads},
        })
    };
    place.write(
        "tools",
        &json!([tool("wait", false), tool("echo", false), tool("pid", true)]),
    );
    let mut late = place.server("given", &["TOOLS", "AWAITS"]);
    late["env"]["HEARD"] = json!(place.path("late-heard"));
    let servers = json!({
        "busy": place.server("given", &["TOOLS", "HEARD"]),
        // Each call waits for its start, none for another.
        "late": with(late, json!({"parallel": true})),
    });
    place.write("config/mcp.json", &json!({ "mcpServers": servers }));
    let awaits = place.path("awaits");
    fs::write(&awaits, "").unwrap();
    let mut before = place.session().await;
    listed(&mut before, "busy__echo").await;
    listed(&mut before, "late__echo").await;
    before.leave().await;
    fs::remove_file(&awaits).unwrap();

    let mut bridge = place.session().await;
    let marks = json!({"begun": place.path("begun"), "go": place.path("go")});
    let running = bridge.start_call("busy__wait", marks).await;
    file(&place.path("begun")).await;
    let mut calls = Vec::new();
    for name in ["busy__echo", "busy__pid", "late__echo", "late__pid"] {
        let params = json!({
            "name": name, "arguments": {"text": "PAUSED"}, "_meta": {"progressToken": name}
        });
        calls.push((name, bridge.ask("tools/call", params).await));
        let waits = |message: &Value| message["params"]["progressToken"] == name;
        bridge.message("it says that it waits", waits).await;
    }
    place.says(&["pause", "--reason", "looking at the base"]);
    for name in ["go", "awaits"] {
        fs::write(place.path(name), "").unwrap();
    }
    assert_eq!(bridge.answer(running).await.text, "went");
    for (name, call) in calls {
        let answer = bridge.answer(call).await;
        let (server, tool) = name.split_once("__").unwrap();
        let refused = format!("The server `{server}` was not called: a person has paused this ");
        assert_eq!(
            (answer.is_error, answer.text.starts_with(&refused)),
            (tool == "echo", tool == "echo"),
            "{name}: {}",
            answer.text
        );
        assert!(
            tool != "echo" || answer.text.contains("looking at the base"),
            "{}",
            answer.text
        );
    }
    for name in ["heard", "late-heard"] {
        let heard = place.lines(name).join("\n");
        assert!(
            heard.contains("\"pid\"") && !heard.contains("\"echo\""),
            "{name}: {heard}"
        );
    }
    place.says(&["resume"]);
    let echo = bridge.call("busy__echo", json!({"text": "again"})).await;
    assert_eq!(echo.text, "again");
    bridge.leave().await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_answered_at_its_deadline_and_cancelled() {
    let place = Place::new();
    let hasty = with(
        place.server("good", &["HEARD"]),
        json!({"callTimeoutMs": 700}),
    );
    place.write("config/mcp.json", &json!({"mcpServers": {"test": hasty}}));
    let mut bridge = place.session().await;
    listed(&mut bridge, "test__wait").await;
    let begun = place.path("begun");
    let answer = bridge
        .call(
            "test__wait",
            json!({"begun": begun, "go": place.path("never")}),
        )
        .await;
    assert!(
        answer.is_error && answer.text.contains("within 0.7 s"),
        "{}",
        answer.text
    );
    until("the server hears of it", async || {
        let heard = place.lines("heard").join("\n");
        is(heard.contains("notifications/cancelled"), heard)
    })
    .await;
    assert_eq!(
        bridge
            .call("test__echo", json!({"text": "still"}))
            .await
            .text,
        "still"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_burst_of_changes_is_one_notification_and_the_list_is_right() {
    let place = Place::with_servers(json!({ "test": server("good") }));
    let mut bridge = place.session().await;
    listed(&mut bridge, "test__add").await;
    let before = bridge.printed().len();
    bridge.call("test__add", json!({"name": "new-one"})).await;
    bridge
        .message("the change", |message| {
            message["method"] == "notifications/tools/list_changed"
        })
        .await;
    assert!(
        upstream_tools(&mut bridge)
            .await
            .contains(&"test__new-one".to_owned())
    );
    assert_eq!(
        bridge.call("test__new-one", json!({})).await.text,
        "called new-one"
    );
    let count = bridge.printed()[before..]
        .iter()
        .filter(|line| line.contains("tools/list_changed"))
        .count();
    assert_eq!(count, 1);
    bridge.leave().await;
}

#[tokio::test]
async fn large_answers_pass_and_what_is_too_large_is_said() {
    let place =
        Place::with_servers(json!({ "test": with(server("good"), json!({"parallel": true})) }));
    let mut bridge = place.session().await;
    listed(&mut bridge, "test__big").await;
    let big = bridge.call("test__big", json!({"bytes": 5_000_000})).await;
    assert_eq!((big.text.len(), big.is_error), (5_000_000, false));
    let bigger = bridge.call("test__big", json!({"bytes": 12_000_000})).await;
    assert!(
        bigger.is_error && bigger.text.contains("too-large"),
        "{}",
        bigger.text
    );
    let long = bridge
        .call("test__long", json!({"bytes": 17 * 1024 * 1024}))
        .await;
    assert!(
        long.is_error && long.text.contains("16 MiB"),
        "{}",
        long.text
    );
    assert_eq!(
        bridge
            .call("test__echo", json!({"text": "still"}))
            .await
            .text,
        "still"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn what_a_server_asks_of_its_client_is_refused_cleanly() {
    let place = Place::with_servers(json!({ "test": server("good") }));
    let mut bridge = place.session().await;
    listed(&mut bridge, "test__roots").await;
    let answer = bridge.call("test__roots", json!({})).await.text;
    assert!(answer.contains("-32601"), "{answer}");
    bridge.leave().await;
}

#[tokio::test]
async fn a_server_is_given_no_variables_but_its_own_and_what_programs_need() {
    let place = Place::with_servers(json!({
        "plain": server("good"),
        "all": with(server("good"), json!({"inheritEnv": true})),
        "other": with(server("good"), json!({"env": {"KEY": "${OTHER_KEY}"}})),
    }));
    let mut bridge = place.bridge_with(|command| {
        command
            .env("FARM_KEY", "a secret")
            .env("OTHER_KEY", "other's secret")
            .env("https_proxy", "http://127.0.0.1:9")
            .env("CC_LINK_TOKEN", "the bridge's secret");
    });
    bridge.initialize("2025-11-25").await;
    for (server, name, value) in [
        ("plain", "FARM_KEY", "None"),
        ("plain", "OTHER_KEY", "None"),
        ("plain", "https_proxy", "http://127.0.0.1:9"),
        ("all", "FARM_KEY", "a secret"),
        ("all", "OTHER_KEY", "None"),
        ("all", "CC_LINK_TOKEN", "None"),
        ("other", "KEY", "other's secret"),
        ("other", "FARM_KEY", "None"),
    ] {
        let tool = format!("{server}__variable");
        let found = bridge.call(&tool, json!({"name": name})).await.text;
        assert_eq!(found, value, "{server}: {name}");
    }
    bridge.leave().await;
}

#[tokio::test]
async fn a_server_that_dies_for_want_of_a_variable_is_told_with_its_name() {
    let place = Place::with_servers(json!({ "needy": server("needs") }));
    let mut bridge = place.bridge_with(|command| {
        command.env("FARM_KEY", "a secret").env("OTHER_KEY", "x");
    });
    bridge.initialize("2025-11-25").await;
    let answer = bridge.call("needy__echo", json!({"text": "x"})).await;
    let told = "Of mcp-bridge's environment it was not given FARM_KEY. If it needs one, its entry gives it: `\"env\": \
                {\"FARM_KEY\": \"${FARM_KEY}\"}`.";
    assert!(
        answer.is_error && answer.text.contains(told) && !answer.text.contains("a secret"),
        "{}",
        answer.text
    );
    let state = status(&mut bridge, |state| state.contains("needy: failed")).await;
    assert!(state.contains(told), "{state}");

    // As it says.
    let entry = with(server("needs"), json!({"env": {"FARM_KEY": "${FARM_KEY}"}}));
    place.write("config/mcp.json", &json!({"mcpServers": {"needy": entry}}));
    listed(&mut bridge, "needy__echo").await;
    bridge.leave().await;
}

#[tokio::test]
async fn a_servers_environment_is_its_entrys_without_the_bridges_secrets() {
    let entry = with(
        server("good"),
        json!({"env": {"MINE": "${GIVEN} and ${NONE:-x}"}}),
    );
    let place = Place::with_servers(json!({
        "test": entry,
        "lacking": with(server("good"), json!({"env": {"MINE": "${MISSING_TOKEN}"}})),
    }));
    let mut bridge = place.bridge_with(|command| {
        command
            .env("GIVEN", "a")
            .env("CC_LINK_TOKEN", "secret")
            .env_remove("MISSING_TOKEN");
    });
    bridge.initialize("2025-11-25").await;
    listed(&mut bridge, "test__variable").await;
    for (name, value) in [
        ("MINE", "a and x"),
        ("CC_LINK_TOKEN", "None"),
        ("MCP_BRIDGE_STATE_DIR", "None"),
    ] {
        assert_eq!(
            bridge
                .call("test__variable", json!({"name": name}))
                .await
                .text,
            value,
            "{name}"
        );
    }
    let state = status(&mut bridge, |state| state.contains("lacking: failed")).await;
    assert!(state.contains("MISSING_TOKEN"), "{state}");
    bridge.leave().await;
}
