//! Tools as a user writes them: manifests and Lua handlers in folders, run through the real binary.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use crate::common::{
    bridge::Bridge,
    computer, is,
    linked::linked,
    pace::in_time,
    soon,
    tools::{Tools, manifest, of_repository},
    until,
};
use futures_util::{FutureExt, future::BoxFuture};
use include_dir::{Dir, DirEntry, File};
use mcp_bridge::{
    commands::computers,
    link::agent,
    settings::{Config, Flags},
    simulator::{Computer, ComputerOptions, Kind},
    tools::{
        Catalogue, Client, Context, Level, Listener, Notes, Step, builtin, host::Workers, kit::Kit,
        policy::Policy, source::fixed, text_of,
    },
};
use serde_json::{Value, json};

/// Starts a simulated computer that links to the bridge.
async fn simulated(bridge: &mut Bridge, id: u64, kind: Kind, version: &str) -> Computer {
    let mut options = ComputerOptions::new(id).with_file("mcp-computer.lua", agent::program());
    options.kind = kind;
    options.version = version.parse().unwrap();
    options.clock_speed = 20.0;
    options.label = Some(format!("c{id}"));
    linked(bridge, options, "").await
}

/// The names of the tools that are listed.
async fn listed(bridge: &mut Bridge) -> Vec<String> {
    let reply = bridge.request("tools/list", json!({})).await;
    let tools = reply["result"]["tools"].as_array().unwrap();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    tools.iter().map(name).collect()
}

/// Waits for one notification of this method, and that no second one follows at once.
async fn told(bridge: &mut Bridge, method: &str) {
    let fits = |message: &Value| message["method"] == method;
    bridge.message(method, fits).await;
}

fn told_so_far(bridge: &Bridge, method: &str) -> usize {
    let lines = bridge.printed();
    lines
        .iter()
        .filter(|line| line.contains(&format!("\"{method}\"")))
        .count()
}

async fn ok(bridge: &mut Bridge, tool: &str, arguments: Value) -> String {
    let answer = bridge.call(tool, arguments.clone()).await;
    assert!(!answer.is_error, "{tool} {arguments}: {}", answer.text);
    answer.text
}

async fn error(bridge: &mut Bridge, tool: &str, arguments: Value) -> String {
    let answer = bridge.call(tool, arguments.clone()).await;
    assert!(answer.is_error, "{tool} {arguments}: {}", answer.text);
    answer.text
}

const CHANGED: &str = "notifications/tools/list_changed";

// The examples.

#[tokio::test]
async fn the_examples_in_the_existing_format_do_what_they_say() {
    let mut bridge = Bridge::start_with(|command| {
        command.arg("--tools").arg(of_repository("examples/tools"));
    });
    bridge.initialize("2025-11-25").await;
    let names = listed(&mut bridge).await;
    for name in ["greet", "echo", "get_weather", "fuel", "fleet"] {
        assert!(names.contains(&name.to_owned()), "{names:?}");
    }
    for (tool, arguments, said) in [
        ("greet", json!({}), "Hello, World!"),
        ("greet", json!({"name": "Ada"}), "Hello, Ada!"),
        ("greet", json!({"name": null}), "Hello, World!"),
        ("echo", json!({"text": "hello"}), "Echo: hello"),
        (
            "get_weather",
            json!({"location": "Paris"}),
            "Weather in Paris: 18°C, Partly Cloudy, Humidity: 72%",
        ),
        (
            "get_weather",
            json!({"location": "New York"}),
            "Weather in New York: 22°C, Sunny, Humidity: 55%",
        ),
        (
            "get_weather",
            json!({"location": "Tokyo"}),
            "Weather in Tokyo: 25°C, Rainy, Humidity: 85%",
        ),
        (
            "get_weather",
            json!({"location": "London"}),
            "Weather in London: 14°C, Overcast, Humidity: 80%",
        ),
        (
            "get_weather",
            json!({"location": "Batumi"}),
            "Weather in Batumi: 24°C, Humid, Humidity: 88%",
        ),
        (
            "get_weather",
            json!({"location": "Nowhere"}),
            "Weather in Nowhere: 20°C, Clear, Humidity: 60%",
        ),
    ] {
        assert_eq!(ok(&mut bridge, tool, arguments).await, said);
    }
    bridge.leave().await;
}

#[tokio::test]
async fn the_examples_for_computers_do_what_they_say_in_every_version() {
    let mut bridge = Bridge::start_with(|command| {
        command.arg("--tools").arg(of_repository("examples/tools"));
    });
    bridge.initialize("2025-11-25").await;
    assert_eq!(
        ok(&mut bridge, "fleet", json!({})).await,
        "No computer is linked."
    );
    let mut computers = Vec::new();
    for (number, version) in ["1.89", "1.101", "1.113"].into_iter().enumerate() {
        let id = 10 * number as u64;
        computers.push(simulated(&mut bridge, id + 1, Kind::Turtle, version).await);
        computers.push(simulated(&mut bridge, id + 2, Kind::Computer, version).await);
        // Twice: the second time the handler is there already.
        for _ in 0..2 {
            let fuel = ok(
                &mut bridge,
                "fuel",
                json!({"computerId": id + 1, "reserve": 5}),
            )
            .await;
            let fuel: Value = serde_json::from_str(&fuel).unwrap();
            assert_eq!(
                fuel["blocks"].as_i64().unwrap(),
                (fuel["level"].as_i64().unwrap() - 5).max(0),
                "{fuel}"
            );
            let none = error(&mut bridge, "fuel", json!({"computerId": id + 2})).await;
            assert_eq!(none, "Only turtles burn fuel; this computer isn't one.");
        }
    }
    let several = error(&mut bridge, "fuel", json!({})).await;
    assert!(several.contains("say which with `computerId`"), "{several}");
    let report = ok(&mut bridge, "fleet", json!({})).await;
    let lines: Vec<_> = report.lines().collect();
    assert_eq!(lines.len(), 6, "{report}");
    assert!(
        lines[0].starts_with("1 (c1): turtle, ") && lines[0].contains(" bytes free, fuel "),
        "{report}"
    );
    assert!(
        lines[1].starts_with("2 (c2): computer, ") && lines[1].ends_with(" bytes free"),
        "{report}"
    );
    bridge.leave().await;
}

// Handlers.

#[tokio::test]
async fn what_a_handler_returns_is_shown_as_text_or_passed_through() {
    let tools = Tools::new();
    tools.add("string", "return 'a\\nb'");
    tools.add("number", "return 2");
    tools.add("table", "return { b = { 1, 2 }, a = true }");
    tools.add("nothing", "");
    tools.add("reason", "return nil, 'no fuel'");
    tools.add(
        "content",
        "return { content = { { type = 'text', text = 'a' }, { type = 'image', data = 'AA==', mimeType = 'image/png' } }, \
         isError = true }",
    );
    tools.add("wrong", "return { content = { { type = 'picture' } } }");
    tools.add("throws", "local x = nil\nreturn x.y");
    let mut bridge = tools.bridge(&[]).await;
    assert_eq!(ok(&mut bridge, "string", json!({})).await, "a\nb");
    assert_eq!(ok(&mut bridge, "number", json!({})).await, "2");
    assert_eq!(
        ok(&mut bridge, "table", json!({})).await,
        "{\"a\":true,\"b\":[1,2]}"
    );
    assert!(
        ok(&mut bridge, "nothing", json!({}))
            .await
            .contains("returned nothing")
    );
    assert_eq!(error(&mut bridge, "reason", json!({})).await, "no fuel");
    let reply = bridge
        .request("tools/call", json!({"name": "content", "arguments": {}}))
        .await;
    assert_eq!(
        (
            &reply["result"]["content"][1]["mimeType"],
            &reply["result"]["isError"]
        ),
        (&json!("image/png"), &json!(true)),
        "{reply}"
    );
    let wrong = error(&mut bridge, "wrong", json!({})).await;
    assert!(wrong.contains("content[1] of type \"picture\""), "{wrong}");
    let thrown = error(&mut bridge, "throws", json!({})).await;
    assert!(
        thrown.starts_with("handler.lua:2: attempt to index local 'x' (a nil value)")
            && thrown.contains("stack traceback:\n\thandler.lua:2: in function"),
        "{thrown}"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn structured_content_is_what_the_schema_promises_or_an_error() {
    let tools = Tools::new();
    let schema = "      mcp.outputSchema: { type: object, properties: { level: { type: integer } }, required: [level] }\n";
    tools.add_with("right", schema, "return { level = 7 }");
    tools.add_with(
        "beside",
        schema,
        "return { content = { 'seven' }, structuredContent = { level = 7 } }",
    );
    tools.add_with("wrong", schema, "return { level = 'high' }");
    tools.add_with("none", schema, "return 'seven'");
    tools.add_with("fails", schema, "error('no')");
    tools.add_with(
        "empty",
        "      mcp.outputSchema: { type: object, properties: { lost: { type: array, items: {} }, by_id: { type: object } } }\n",
        "return { lost = {}, by_id = json.array({}) }",
    );
    let mut bridge = tools.bridge(&[]).await;
    for (name, text) in [("right", "{\"level\":7}"), ("beside", "seven")] {
        let answer = bridge.call(name, json!({})).await;
        assert_eq!(
            (answer.text.as_str(), answer.structured),
            (text, Some(json!({"level": 7})))
        );
    }
    let empty = bridge.call("empty", json!({})).await;
    assert_eq!(
        (empty.text.as_str(), empty.structured),
        (
            "{\"by_id\":{},\"lost\":[]}",
            Some(json!({"lost": [], "by_id": {}}))
        )
    );
    let wrong = error(&mut bridge, "wrong", json!({})).await;
    assert!(
        wrong.contains("`level` must be a whole number, not \"high\""),
        "{wrong}"
    );
    let none = error(&mut bridge, "none", json!({})).await;
    assert!(none.contains("promises structured content"), "{none}");
    assert!(error(&mut bridge, "fails", json!({})).await.contains("no"));
    bridge.leave().await;
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_told_before_a_handler_runs() {
    let tools = Tools::new();
    tools.add_with(
        "order",
        "      mcp.inputSchema:\n        type: object\n        properties:\n          item: { type: string, enum: [coal, iron] }\n          \
         count: { type: integer, minimum: 1 }\n          tags: { type: array, items: { type: string } }\n        required: \
         [item]\n        additionalProperties: false\n",
        "error('it ran')",
    );
    let mut bridge = tools.bridge(&[]).await;
    for (arguments, said) in [
        (json!({}), "`item` is missing."),
        (
            json!({"item": 7}),
            "`item` must be \"coal\" or \"iron\", not 7.",
        ),
        (
            json!({"item": "coal", "count": 0}),
            "`count` must be at least 1, not 0.",
        ),
        (
            json!({"item": "coal", "count": "many"}),
            "`count` must be a whole number, not \"many\".",
        ),
        (
            json!({"item": "coal", "tags": ["a", {}]}),
            "`tags[1]` must be a string, not {}.",
        ),
        (
            json!({"item": "coal", "cuont": 1}),
            "There is no argument `cuont`; did you mean `count`? There are: item, count, tags.",
        ),
    ] {
        let text = error(&mut bridge, "order", arguments).await;
        assert!(text.contains(said), "{text}");
        assert!(!text.contains("it ran"), "{text}");
    }
    let ran = error(&mut bridge, "order", json!({"item": "coal", "count": null})).await;
    assert!(ran.contains("it ran"), "{ran}");
    bridge.leave().await;
}

#[tokio::test]
async fn a_handler_tells_its_progress_and_logs() {
    let tools = Tools::new();
    tools.add(
        "steps",
        "progress('first', 0, 2) progress('second', 1, 2) progress('third', 2, 2) log.warn('careful') log.debug('unseen') \
         print('printed') return 'done'",
    );
    let mut bridge = tools.bridge(&[]).await;
    let call = json!({"name": "steps", "arguments": {}, "_meta": {"progressToken": "p"}});
    let reply = bridge.request("tools/call", call).await;
    assert_eq!(reply["result"]["content"][0]["text"], "done");
    for (progress, message) in [(0.0, "first"), (1.0, "second"), (2.0, "third")] {
        let told = bridge
            .message(message, |told| told["method"] == "notifications/progress")
            .await;
        let params = &told["params"];
        assert_eq!(
            (
                &params["message"],
                params["progress"].as_f64(),
                params["total"].as_f64()
            ),
            (&json!(message), Some(progress), Some(2.0))
        );
    }
    let logged = bridge
        .message("the log", |told| told["method"] == "notifications/message")
        .await;
    assert_eq!(
        logged["params"],
        json!({"level": "warning", "logger": "handler.lua", "data": "careful"})
    );
    assert_eq!(told_so_far(&bridge, "notifications/message"), 1);
    bridge.leave().await;
}

#[tokio::test]
async fn what_handlers_print_is_in_the_log() {
    let tools = Tools::new();
    tools.add("here", "print('on the host') return 'here'");
    tools.add_on_computer("there", "print('in the game') return 'there'");
    let mut bridge = tools.bridge(&[]).await;
    let _computer = simulated(&mut bridge, 5, Kind::Computer, "1.113").await;
    for tool in ["here", "there"] {
        assert_eq!(ok(&mut bridge, tool, json!({})).await, tool);
    }
    until("both are logged", async || {
        let files = std::fs::read_dir(bridge.folder.path().join("state/logs")).unwrap();
        let log: String = files
            .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
            .collect();
        let logged = log.contains("printed: on the host") && log.contains("printed: in the game");
        is(logged, log)
    })
    .await;
    bridge.leave().await;
}

// Changes.

#[tokio::test]
async fn a_change_shows_within_a_second_and_the_list_is_told_of_once() {
    let tools = Tools::new();
    tools.add("one", "return 'first'");
    let mut bridge = tools.bridge(&[]).await;
    assert!(listed(&mut bridge).await.contains(&"one".to_owned()));
    assert_eq!(ok(&mut bridge, "one", json!({})).await, "first");

    let start = Instant::now();
    for name in ["two", "three", "four"] {
        tools.add(name, "return 'new'");
    }
    tools.remove("one");
    told(&mut bridge, CHANGED).await;
    in_time("the change", start.elapsed(), Duration::from_secs(1)).await;
    let names = listed(&mut bridge).await;
    assert!(
        !names.contains(&"one".to_owned()) && names.contains(&"four".to_owned()),
        "{names:?}"
    );
    assert_eq!(ok(&mut bridge, "two", json!({})).await, "new");

    // A handler alone changes no list.
    tools.write(
        "two/handler.lua",
        "return { call = function() return 'newer' end }",
    );
    let start = Instant::now();
    while ok(&mut bridge, "two", json!({})).await != "newer" {
        in_time("the change", start.elapsed(), Duration::from_secs(1)).await;
    }
    assert_eq!(told_so_far(&bridge, CHANGED), 1);
    bridge.leave().await;
}

#[tokio::test]
async fn a_folder_that_comes_later_is_found() {
    let mut bridge = Bridge::initialized().await;
    assert!(!listed(&mut bridge).await.contains(&"late".to_owned()));
    let folder = bridge.folder.path().join("config/tools/late");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("handler.lua"),
        "return { call = function() return 'late' end }",
    )
    .unwrap();
    std::fs::write(
        folder.join("_index.yaml"),
        manifest("late", "function.lua", ""),
    )
    .unwrap();
    told(&mut bridge, CHANGED).await;
    assert_eq!(ok(&mut bridge, "late", json!({})).await, "late");
    bridge.leave().await;
}

#[tokio::test]
async fn a_subscription_is_told_of_tools_where_servers_of_others_are_off() {
    let tools = Tools::new();
    let mut bridge = tools.start(&["--upstream", "off"]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    bridge.request("tools/list", json!({"_meta": meta})).await;
    let filter = json!({"notifications": {"toolsListChanged": true}, "_meta": meta});
    bridge.ask("subscriptions/listen", filter).await;
    told(&mut bridge, "notifications/subscriptions/acknowledged").await;
    tools.add("one", "return 1");
    told(&mut bridge, CHANGED).await;
    bridge.leave().await;
}

#[tokio::test]
async fn a_client_of_the_stateless_era_is_told_by_its_subscription() {
    let meta = |mut params: Value| {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        params
    };
    let tools = Tools::new();
    let mut bridge = tools.start(&[]);
    bridge.request("server/discover", meta(json!({}))).await;
    bridge.request("tools/list", meta(json!({}))).await;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let subscription = bridge.ask("subscriptions/listen", meta(filter)).await;
    told(&mut bridge, "notifications/subscriptions/acknowledged").await;
    tools.add("one", "return 1");
    let change = bridge
        .message(CHANGED, |message| message["method"] == CHANGED)
        .await;
    assert_eq!(
        change["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        json!(subscription)
    );
    // Prompts were not asked for, and a log needs a level of its own.
    tools.write(
        "prompt/_index.yaml",
        "entries:\n  - name: p\n    kind: prompt\n    meta: { mcp.prompt.name: p, mcp.prompt.text: hi }\n",
    );
    tools.add("two", "log('unasked') return 2");
    told(&mut bridge, CHANGED).await;
    bridge
        .request("tools/call", meta(json!({"name": "two", "arguments": {}})))
        .await;
    assert_eq!(
        told_so_far(&bridge, "notifications/prompts/list_changed"),
        0
    );
    assert_eq!(told_so_far(&bridge, "notifications/message"), 0);
    bridge.leave().await;
}

#[tokio::test]
async fn a_broken_entry_takes_no_other_down_and_its_last_good_version_goes_on() {
    let tools = Tools::new();
    for name in ["good", "bad", "marker"] {
        tools.add(name, "return 'first'");
    }
    let mut bridge = tools.bridge(&[]).await;
    assert_eq!(ok(&mut bridge, "bad", json!({})).await, "first");
    for (number, (file, text)) in [
        ("bad/handler.lua", "return {"),
        ("bad/handler.lua", ""),
        ("bad/handler.lua", "error('no')"),
        ("bad/handler.lua", "return { cal = print }"),
        ("bad/_index.yaml", "entries: ["),
        ("bad/_index.yaml", ""),
        (
            "bad/_index.yaml",
            "entries:\n  - name: bad\n    kind: function.lua\n    meta: { mcp.tool: true }\n",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        tools.write(file, text);
        // What comes after it was read after it.
        let marker = format!("marker{number}");
        tools.write(
            "marker/handler.lua",
            &format!("return {{ call = function() return '{marker}' end }}"),
        );
        let start = Instant::now();
        while ok(&mut bridge, "marker", json!({})).await != marker {
            let what = format!("what comes after {file} with {text}");
            in_time(&what, start.elapsed(), Duration::from_secs(2)).await;
        }
        assert_eq!(
            ok(&mut bridge, "bad", json!({})).await,
            "first",
            "{file}: {text}"
        );
        assert_eq!(ok(&mut bridge, "good", json!({})).await, "first");
    }
    assert_eq!(told_so_far(&bridge, CHANGED), 0);
    bridge.leave().await;
}

#[tokio::test]
async fn prompts_and_resources_take_what_was_given_and_fail_with_their_handlers_reason() {
    let tools = Tools::new();
    tools.write(
        "things/_index.yaml",
        r#"
entries:
  - name: base
    kind: prompt
    meta:
      mcp.prompt.type: template
      mcp.arguments: [{name: mood}]
      mcp.text: "Be {{mood}}."
  - name: plan
    kind: prompt
    meta:
      mcp.arguments: [{name: what, required: true}, {name: tone}]
      mcp.extend: [base]
      mcp.text: "{{what}}, {{tone}}, {{other}}"
  - name: refusing
    kind: prompt
    source: file://handler.lua
    method: refuse
    meta: {}
  - name: notes
    kind: resource
    meta: {mcp.uri: "notes://{farm}{?day}", mcp.text: "{{farm}}: {{day}}"}
  - name: files
    kind: resource
    source: file://handler.lua
    method: echo
    meta: {mcp.uri: "files://{+path}"}
  - name: lost
    kind: resource
    source: file://handler.lua
    method: refuse
    meta: {mcp.uri: "a://lost"}
  - name: nothing
    kind: resource
    source: file://handler.lua
    method: nothing
    meta: {mcp.uri: "a://nothing"}
"#,
    );
    tools.write(
        "things/handler.lua",
        "return { refuse = function() return nil, 'the barn is locked' end, nothing = function() end,\n\
         echo = function(given) return given.path end }",
    );
    let mut bridge = tools.bridge(&[]).await;
    let said = |reply: &Value| -> String {
        let result = &reply["result"];
        let contents = result["contents"].as_array().into_iter().flatten();
        let messages = result["messages"].as_array().into_iter().flatten();
        let texts = contents.map(|one| &one["text"]);
        let texts: Vec<_> = texts
            .chain(messages.map(|one| &one["content"]["text"]))
            .chain([&reply["error"]["message"]])
            .filter_map(Value::as_str)
            .collect();
        texts.join(" | ")
    };
    for (name, arguments, text) in [
        (
            "plan",
            json!({"what": "a barn"}),
            "Be . | a barn, , {{other}}",
        ),
        (
            "plan",
            json!({"what": "a barn", "tone": null, "mood": "calm"}),
            "Be calm. | a barn, , {{other}}",
        ),
        ("refusing", json!({}), "the barn is locked"),
    ] {
        let get = json!({"name": name, "arguments": arguments});
        assert_eq!(said(&bridge.request("prompts/get", get).await), text);
    }
    for (uri, text) in [
        ("notes://north?day=4%2F5", "north: 4/5"),
        ("notes://north", "north: "),
        ("files://a/b%20c?d", "a/b c?d"),
        ("a://lost", "the barn is locked"),
        (
            "a://nothing",
            "The handler must return a text, a table with `text` or `blob` (base64), or a table with `contents`.",
        ),
        (
            "notes://north?hour=4",
            "Unknown resource: notes://north?hour=4",
        ),
    ] {
        let read = json!({"uri": uri});
        assert_eq!(said(&bridge.request("resources/read", read).await), text);
    }
    bridge.leave().await;
}

/// Calls the tool `steady` every ten milliseconds while there are to be more calls than so many, and returns how many
/// calls a second that were.
async fn steady_calls(bridge: &mut Bridge, more: impl Fn(u32) -> bool) -> f64 {
    let start = Instant::now();
    let mut calls = 0;
    while more(calls) {
        let text = ok(bridge, "steady", json!({})).await;
        assert!(text.starts_with("steady "), "{text}");
        calls += 1;
        let due = start + Duration::from_millis(10) * calls;
        tokio::time::sleep(due.saturating_duration_since(Instant::now())).await;
    }
    f64::from(calls) / start.elapsed().as_secs_f64()
}

#[tokio::test]
async fn edits_without_end_fail_no_call() {
    const EDITS: usize = 200;
    let tools = Tools::new();
    tools.add("steady", "return 'steady 0'");
    let mut bridge = tools.bridge(&[]).await;
    assert_eq!(ok(&mut bridge, "steady", json!({})).await, "steady 0");
    let before = steady_calls(&mut bridge, |calls| calls < 100).await;
    let path = tools.path().to_path_buf();
    let editor = tokio::task::spawn_blocking(move || {
        for edit in 1..=EDITS {
            let handler = format!("return {{ call = function() return 'steady {edit}' end }}");
            std::fs::write(path.join("steady/handler.lua"), handler).unwrap();
            if edit % 5 == 0 {
                let folder = path.join(format!("tool{}", edit % 3));
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(folder.join("handler.lua"), "return { call = print }").unwrap();
                let name = format!("extra{edit}");
                std::fs::write(
                    folder.join("_index.yaml"),
                    manifest(&name, "function.lua", ""),
                )
                .unwrap();
            }
            let meta = format!("      mcp.description: Edit {edit}.\n");
            std::fs::write(
                path.join("steady/_index.yaml"),
                manifest("steady", "function.lua", &meta),
            )
            .unwrap();
            // As fast as somebody's editor and formatter might, with calls in between.
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let rate = steady_calls(&mut bridge, |_| !editor.is_finished()).await;
    editor.await.unwrap();
    let calm = before.min(steady_calls(&mut bridge, |calls| calls < 100).await);
    assert!(
        rate > 0.6 * calm,
        "only {rate} calls a second, and {calm} without edits"
    );

    // The list is right at the end.
    let start = Instant::now();
    loop {
        let reply = bridge.request("tools/list", json!({})).await;
        let tools = reply["result"]["tools"].as_array().unwrap().clone();
        let named = |name: &str| tools.iter().find(|tool| tool["name"] == name);
        if named("steady").unwrap()["description"] == format!("Edit {EDITS}.")
            && ["extra200", "extra195", "extra190"]
                .iter()
                .all(|name| named(name).is_some())
        {
            break;
        }
        in_time(
            &format!("the end of {reply}"),
            start.elapsed(),
            Duration::from_secs(2),
        )
        .await;
    }
    assert_eq!(
        ok(&mut bridge, "steady", json!({})).await,
        format!("steady {EDITS}")
    );
    assert!(told_so_far(&bridge, CHANGED) > 0);
    bridge.leave().await;
}

// Sets, names, and read-only.

#[tokio::test]
async fn read_only_refuses_whatever_may_change_something_on_every_path() {
    let tools = Tools::new();
    tools.add_with(
        "looks",
        "      mcp.annotations: { readOnlyHint: true }\n",
        "return 'looked'",
    );
    tools.add_on_computer("changes", "return 'changed'");
    tools.add_on_computer("measures", "return 'measured'");
    let promise = "      mcp.annotations: { readOnlyHint: true }\n";
    let measures = manifest("measures", "computer.lua", promise);
    tools.write("measures/_index.yaml", &measures);
    tools.add_with("sneaks", promise, "return computers.exec(1, 'return 1')");
    // These promise nothing; what they ask to change is refused, and not what only reads.
    tools.add("execs", "return computers.exec(1, 'return 1')");
    tools.add("asks", "return computers.call(1, 'measures')");
    tools.add("passes-on", "return computers.call(1, 'changes')");
    tools.add("calls", "return tools.call('changes', { computerId = 1 })");
    tools.add("keeps", "store.set('a', 1)");
    tools.add(
        "copes",
        "local ok, why = pcall(computers.exec, {1}, 'return 1')
         return #computers.list() .. ' computer, ' .. tostring(ok) .. ': ' .. tostring(why)",
    );
    let mut bridge = tools.bridge(&["--read-only"]).await;
    let _turtle = simulated(&mut bridge, 1, Kind::Turtle, "1.113").await;
    let reply = bridge.request("tools/list", json!({})).await;
    for tool in reply["result"]["tools"].as_array().unwrap() {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    }
    let names = listed(&mut bridge).await;
    for name in ["looks", "measures", "execs", "asks", "copes", "call-tool"] {
        assert!(names.contains(&name.to_owned()), "{name}: {names:?}");
    }
    assert_eq!(ok(&mut bridge, "asks", json!({})).await, "measured");
    let coped = ok(&mut bridge, "copes", json!({})).await;
    assert!(
        coped.starts_with("1 computer, false: ")
            && coped.contains("computers.exec is refused: this bridge was started read-only")
            && coped.contains("computers.call goes on with tools that promise to change nothing"),
        "{coped}"
    );
    assert_eq!(ok(&mut bridge, "looks", json!({})).await, "looked");
    assert_eq!(
        ok(&mut bridge, "call-tool", json!({"name": "looks"})).await,
        "looked"
    );
    for (tool, arguments) in [
        ("changes", json!({})),
        ("exec-lua", json!({"code": "1"})),
        ("cancel-job", json!({"jobId": "x"})),
        ("run-script", json!({"code": "return 1"})),
        ("call-tool", json!({"name": "changes"})),
        (
            "call-tool",
            json!({"name": "exec-lua", "arguments": {"code": "1"}}),
        ),
        (
            "call-tool",
            json!({"name": "run-script", "arguments": {"code": "return 1"}}),
        ),
        ("sneaks", json!({})),
        ("execs", json!({})),
        ("passes-on", json!({})),
        ("calls", json!({})),
        ("call-tool", json!({"name": "execs"})),
    ] {
        let refused = error(&mut bridge, tool, arguments).await;
        assert!(
            refused.contains("refused") && refused.contains("--read-only"),
            "{tool}: {refused}"
        );
    }
    let kept = error(&mut bridge, "keeps", json!({})).await;
    assert!(
        kept.contains("store.set: ") && kept.contains("--read-only"),
        "{kept}"
    );
    // A client that never listed is told of all.
    let mut unlisted = tools.bridge(&["--read-only"]).await;
    let found = ok(
        &mut unlisted,
        "find-tools",
        json!({"query": "changes looks"}),
    )
    .await;
    assert!(
        found.contains("looks (changes nothing)")
            && !found.contains("changes:")
            && found.contains("(readOnlyHint: true): changes"),
        "{found}"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn sets_and_names_say_which_tools_there_are() {
    let tools = Tools::new();
    tools.add_with("dig", "      mcp.toolset: mining\n", "return 'dug'");
    tools.add_with("sow", "      mcp.toolset: farming\n", "return 'sown'");
    tools.add("plain", "return 'plain'");
    for (arguments, there, not_there) in [
        (vec![], vec!["dig", "sow", "plain", "exec-lua"], vec![]),
        (
            vec!["--toolsets", "mining,custom"],
            vec!["dig", "plain", "find-tools", "call-tool"],
            vec!["sow", "exec-lua"],
        ),
        (
            vec!["--toolsets", "all"],
            vec!["dig", "sow", "plain", "exec-lua"],
            vec![],
        ),
        (
            vec!["--tools", "sow,list-computers"],
            vec!["sow", "list-computers", "find-tools", "call-tool"],
            vec!["dig", "plain", "exec-lua"],
        ),
        (
            vec!["--tools", "exec-lua", "--toolsets", "farming"],
            vec!["sow", "exec-lua"],
            vec!["dig", "plain", "list-computers"],
        ),
        (
            vec!["--tools", "run-script"],
            vec!["run-script"],
            vec!["sow", "exec-lua"],
        ),
    ] {
        let mut bridge = tools.bridge(&arguments).await;
        let names = listed(&mut bridge).await;
        for name in there {
            assert!(names.contains(&name.to_owned()), "{arguments:?}: {names:?}");
        }
        for name in not_there {
            assert!(
                !names.contains(&name.to_owned()),
                "{arguments:?}: {names:?}"
            );
            for (tool, call) in [(name, json!({})), ("call-tool", json!({"name": name}))] {
                let refused = error(&mut bridge, tool, call).await;
                assert!(refused.contains("is refused"), "{refused}");
            }
        }
        if !names.contains(&"exec-lua".to_owned()) {
            // A script of the client's own is no way around that.
            let script =
                json!({"name": "run-script", "arguments": {"code": "computers.exec(1, '1')"}});
            let refused = error(&mut bridge, "call-tool", script).await;
            assert!(refused.contains("refused"), "{refused}");
        }
        if names.contains(&"sow".to_owned()) {
            assert_eq!(ok(&mut bridge, "sow", json!({})).await, "sown");
        }
        bridge.leave().await;
    }
}

#[tokio::test]
async fn tools_that_came_later_are_found_and_called_by_the_two_that_stay() {
    let tools = Tools::new();
    let mut bridge = tools.bridge(&[]).await;
    listed(&mut bridge).await;
    tools.add_with(
        "harvest-field",
        "      mcp.description: Harvest a field of wheat.\n      mcp.inputSchema: { properties: { field: { type: integer } }, required: [field] }\n",
        "return 'field ' .. arguments.field",
    );
    told(&mut bridge, CHANGED).await;
    let found = ok(&mut bridge, "find-tools", json!({"query": "wheat"})).await;
    assert!(
        found.starts_with(
            "harvest-field: Harvest a field of wheat.\nArguments: {\"type\":\"object\""
        ),
        "{found}"
    );
    let all = ok(&mut bridge, "find-tools", json!({})).await;
    assert!(
        all.contains("harvest-field: ") && all.contains("exec-lua: "),
        "{all}"
    );
    let none = ok(&mut bridge, "find-tools", json!({"query": "zeppelin"})).await;
    assert!(
        none.contains("No tool has any of these words: zeppelin"),
        "{none}"
    );
    let call = json!({"name": "harvest-field", "arguments": {"field": 3}});
    assert_eq!(ok(&mut bridge, "call-tool", call).await, "field 3");
    let wrong = json!({"name": "harvest-field", "arguments": {"field": "north"}});
    assert!(
        error(&mut bridge, "call-tool", wrong)
            .await
            .contains("`field` must be a whole number")
    );
    let unknown = error(&mut bridge, "call-tool", json!({"name": "nope"})).await;
    assert!(
        unknown.contains("There is no tool `nope`. find-tools"),
        "{unknown}"
    );
    let itself = error(&mut bridge, "call-tool", json!({"name": "call-tool"})).await;
    assert!(itself.contains("can't call itself"), "{itself}");
    bridge.leave().await;
}

// Scripts and computers.

#[tokio::test]
async fn a_script_drives_many_computers_in_one_call() {
    let tools = Tools::new();
    tools.add_on_computer(
        "where",
        "return { id = os.getComputerID(), said = arguments.text }",
    );
    let mut bridge = tools.bridge(&[]).await;
    let mut computers = Vec::new();
    for id in 1..=4 {
        computers.push(simulated(&mut bridge, id, Kind::Computer, "1.113").await);
    }
    let script = r#"
        local ids = {}
        for _, computer in ipairs(computers.list()) do ids[#ids + 1] = computer.id end
        local sum = 0
        local answers = computers.exec(ids, function(id) return "return os.getComputerID() * " .. id end)
        for _, id in ipairs(ids) do sum = sum + answers[id].returns[1] end
        local a, b, c = computers.exec(2, "return 'x', nil, { 1, { y = ... } }", { arguments = { 7 } })
        local ok, problem = pcall(computers.exec, 3, "print('before') error('no coal')")
        local failed = computers.exec({ 4 }, "print('printed') error('stop')")[4]
        local where = computers.call(1, "where", { text = "hi" })
        local all = computers.call({ 1, 2 }, "where", function(id) return { text = "n" .. id } end)
        print(sum, a, b, c[2].y, where.id, where.said, all[2].returns[1].said)
        print(ok, problem)
        print(failed.ok, failed.output, failed.error)
        return #ids
    "#;
    let text = ok(&mut bridge, "run-script", json!({"code": script})).await;
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "30\tx\tnil\t7\t1\thi\tn2", "{text}");
    assert!(
        lines[1].starts_with("false\truntime error on computer 3 (Label: c3): exec-lua:1: no coal"),
        "{text}"
    );
    assert!(
        text.contains("false\tprinted\n\truntime error on computer 4"),
        "{text}"
    );
    assert_eq!(lines.last(), Some(&"=> 4"), "{text}");

    for (code, said) in [
        ("computers.exec(9, '1')", "Computer 9 is not linked."),
        ("computers.call(1, 'nope')", "there is no tool `nope`"),
        (
            "computers.call(1, 'list-jobs', { a = 1 })",
            "There is no argument `a`.",
        ),
        (
            "computers.call(1, 'probe-computers')",
            "takes no computerId",
        ),
        (
            "computers.exec(1, 'while true do sleep(1) end', { timeoutMs = 300 })",
            "had not ended after 300 ms, and was stopped",
        ),
    ] {
        let text = error(&mut bridge, "run-script", json!({"code": code})).await;
        assert!(text.contains(said), "{code}: {text}");
    }
    let jobs = ok(&mut bridge, "list-jobs", json!({})).await;
    assert!(!jobs.contains("running for"), "{jobs}");
    bridge.leave().await;
}

#[tokio::test]
async fn a_call_that_is_given_up_stops_what_it_started_on_computers() {
    let tools = Tools::new();
    tools.add_with(
        "waits",
        "      mcp.timeoutMs: 60000\n",
        "progress('begun') return computers.exec(1, 'while true do sleep(1) end', { timeoutMs = 60000 })",
    );
    let mut bridge = tools.bridge(&[]).await;
    let _computer = simulated(&mut bridge, 1, Kind::Computer, "1.113").await;
    let call = json!({"name": "waits", "arguments": {}, "_meta": {"progressToken": "p"}});
    let id = bridge.ask("tools/call", call).await;
    told(&mut bridge, "notifications/progress").await;
    let running = |text: &str| text.contains("running for");
    let start = Instant::now();
    while !running(&ok(&mut bridge, "list-jobs", json!({})).await) {
        assert!(start.elapsed() < crate::common::PATIENCE);
    }
    bridge
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}))
        .await;
    while running(&ok(&mut bridge, "list-jobs", json!({})).await) {
        assert!(start.elapsed() < crate::common::PATIENCE);
    }
    bridge.leave().await;
}

#[tokio::test]
async fn a_computers_handler_is_shipped_once_for_each_start_of_its_agent() {
    let tools = Tools::new();
    tools.add_on_computer("shout", "return arguments.text:upper()");
    let mut bridge = tools.bridge(&[]).await;
    let port = bridge.link_port().await;
    let mut computer = computer::Computer::link_v2(port, 5).await;
    bridge.linked(5).await;
    let call = |text: &str| json!({"computerId": 5, "text": text});

    let id = bridge.start_call("shout", call("a")).await;
    let first = computer.request().await;
    assert_eq!(first["method"], "run-handler");
    let params = &first["params"];
    assert!(
        params["source"].as_str().unwrap().contains("upper"),
        "{first}"
    );
    assert_eq!(
        (&params["name"], &params["method"], &params["arguments"]),
        (
            &json!("handler.lua"),
            &json!("call"),
            &json!([{"text": "a"}])
        )
    );
    computer.accept(&first).await;
    computer.respond(&first, json!({"values": ["A"]})).await;
    assert_eq!(bridge.answer(id).await.text, "A");

    let id = bridge.start_call("shout", call("b")).await;
    let second = computer.request().await;
    assert_eq!(second["params"]["hash"], params["hash"]);
    assert!(second["params"].get("source").is_none(), "{second}");
    computer.accept(&second).await;
    // It has no room for it any more.
    computer
        .send(&json!({"type": "response", "id": second["id"], "ok": false,
                      "error": {"kind": "source-wanted", "message": "gone"}}))
        .await;
    let third = computer.request().await;
    assert_eq!(third["params"]["source"], params["source"]);
    computer.accept(&third).await;
    computer.respond(&third, json!({"values": ["B"]})).await;
    assert_eq!(bridge.answer(id).await.text, "B");

    // An agent that knows no handlers gets plain code, from then on.
    let id = bridge.start_call("shout", call("c")).await;
    let fourth = computer.request().await;
    computer.accept(&fourth).await;
    computer
        .send(&json!({"type": "response", "id": fourth["id"], "ok": false,
                      "error": {"kind": "unsupported", "message": "unknown method"}}))
        .await;
    let mut id = id;
    for (answer, said) in [(r#"["C"]"#, "C"), (r#"["\u00c3\u00a4"]"#, "ä")] {
        let plain = computer.request().await;
        assert_eq!(plain["method"], "exec-lua");
        computer.accept(&plain).await;
        let returned = json!({"returns": [{"type": "string", "value": answer}], "outputBytes": 0});
        computer.respond(&plain, returned).await;
        assert_eq!(bridge.answer(id).await.text, said);
        id = bridge.start_call("shout", call("next")).await;
    }
    bridge.leave().await;
}

#[tokio::test]
async fn a_computers_handler_runs_on_an_agent_of_version_1_as_one_chunk() {
    let tools = Tools::new();
    tools.add_on_computer(
        "mirror",
        "print('on the way') return { given = arguments, list = { 1, 2.5, false }, bytes = 'ä\\0\"\\\\' }",
    );
    tools.add_on_computer("fails", "\nerror('no ' .. arguments.what)");
    tools.add_on_computer("reason", "return nil, 'a reason'");
    let mut bridge = tools.bridge(&[]).await;
    let port = bridge.link_port().await;
    let agent = computer::version_1_agent(7, "old");
    let serving = computer::Computer::link(port, 7, Some("old"))
        .await
        .serve(agent);
    bridge.linked(7).await;
    let given = json!({"text": "ü\n\"", "n": -1.5, "list": ["a", {"b": true}]});
    let mut arguments = given.clone();
    arguments["computerId"] = json!(7);
    let text = ok(&mut bridge, "mirror", arguments).await;
    assert_eq!(
        serde_json::from_str::<Value>(&text).unwrap(),
        json!({"given": given, "list": [1, 2.5, false], "bytes": "ä\0\"\\"})
    );
    let failed = error(&mut bridge, "fails", json!({"what": "coal"})).await;
    assert!(failed.contains("2: no coal"), "{failed}");
    assert_eq!(error(&mut bridge, "reason", json!({})).await, "a reason");
    let large = json!({"text": "x".repeat(200_000)});
    let refused = error(&mut bridge, "mirror", large).await;
    assert!(
        refused.contains("too-large error on computer 7 (Label: old)")
            && refused.contains("at most 131072 bytes"),
        "{refused}"
    );
    let sum = json!({"code": "return computers.exec(7, 'return ...', { arguments = { 'ö', 2 } })"});
    assert_eq!(ok(&mut bridge, "run-script", sum).await, "=> ö\n=> 2");
    serving.abort();
    bridge.leave().await;
}

// Prompts and resources.

#[tokio::test]
async fn the_fixtures_of_the_conformance_suite_are_tools_prompts_and_resources_of_a_users_own() {
    let mut bridge = Bridge::start_with(|command| {
        command
            .arg("--tools")
            .arg(of_repository("tests/conformance/tools"));
    });
    bridge.initialize("2025-11-25").await;
    for (tool, kinds) in [
        ("test_simple_text", json!(["text"])),
        ("test_image_content", json!(["image"])),
        ("test_audio_content", json!(["audio"])),
        ("test_embedded_resource", json!(["resource"])),
        (
            "test_multiple_content_types",
            json!(["text", "image", "resource"]),
        ),
        ("test_tool_with_logging", json!(["text"])),
        ("test_tool_with_progress", json!(["text"])),
        ("test_error_handling", json!(["text"])),
    ] {
        let call = json!({"name": tool, "arguments": {}, "_meta": {"progressToken": "p"}});
        let reply = bridge.request("tools/call", call).await;
        let content = reply["result"]["content"].as_array().unwrap();
        let found: Vec<_> = content.iter().map(|block| block["type"].clone()).collect();
        assert_eq!(json!(found), kinds, "{reply}");
        assert_eq!(
            reply["result"]["isError"] == true,
            tool == "test_error_handling",
            "{reply}"
        );
    }
    assert_eq!(told_so_far(&bridge, "notifications/message"), 3);
    assert_eq!(told_so_far(&bridge, "notifications/progress"), 3);

    let resources = bridge.request("resources/list", json!({})).await;
    let resources = resources["result"]["resources"].as_array().unwrap().iter();
    let is_its = |uri: &Value| uri.as_str().unwrap().starts_with("test://");
    assert_eq!(resources.filter(|one| is_its(&one["uri"])).count(), 3);
    let templates = bridge.request("resources/templates/list", json!({})).await;
    let templates = templates["result"]["resourceTemplates"].as_array().unwrap();
    let templates: Vec<_> = templates.iter().map(|one| &one["uriTemplate"]).collect();
    assert!(
        templates.contains(&&json!("test://template/{id}/data")),
        "{templates:?}"
    );
    for (uri, field, said) in [
        (
            "test://static-text",
            "text",
            "This is the content of the static text resource.",
        ),
        ("test://static-binary", "blob", "iVBOR"),
        (
            "test://template/123/data",
            "text",
            "\"data\":\"Data for ID: 123\"",
        ),
    ] {
        let reply = bridge.request("resources/read", json!({"uri": uri})).await;
        let contents = &reply["result"]["contents"][0];
        assert!(
            contents["uri"] == uri && contents[field].as_str().unwrap().contains(said),
            "{reply}"
        );
        assert!(contents["mimeType"].is_string(), "{reply}");
    }
    let unknown = bridge
        .request("resources/read", json!({"uri": "test://nope"}))
        .await;
    assert_eq!(
        (&unknown["error"]["code"], &unknown["error"]["data"]["uri"]),
        (&json!(-32002), &json!("test://nope"))
    );

    let prompts = bridge.request("prompts/list", json!({})).await;
    let prompts = prompts["result"]["prompts"].as_array().unwrap().iter();
    let is_its = |name: &Value| name.as_str().unwrap().starts_with("test_");
    assert_eq!(prompts.filter(|one| is_its(&one["name"])).count(), 4);
    let get = json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": "a", "arg2": "{{arg1}}"}});
    let prompt = bridge.request("prompts/get", get).await;
    assert_eq!(
        prompt["result"]["messages"][0]["content"]["text"],
        "Prompt with arguments: arg1='a', arg2='{{arg1}}'"
    );
    let get = json!({"name": "test_prompt_with_embedded_resource", "arguments": {"resourceUri": "test://x"}});
    let prompt = bridge.request("prompts/get", get).await;
    assert_eq!(
        prompt["result"]["messages"][0]["content"]["resource"]["uri"],
        "test://x"
    );
    let get = json!({"name": "test_prompt_with_arguments", "arguments": {"arg1": "a"}});
    let missing = bridge.request("prompts/get", get).await;
    assert!(
        missing["error"]["message"]
            .as_str()
            .unwrap()
            .contains("needs the argument `arg2`")
    );
    let complete = json!({
        "ref": {"type": "ref/prompt", "name": "test_prompt_with_arguments"},
        "argument": {"name": "arg1", "value": "PAR"},
    });
    let completion = bridge.request("completion/complete", complete).await;
    assert_eq!(
        completion["result"]["completion"]["values"],
        json!(["paris", "park", "party"])
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_watched_resource_that_changes_is_told_of() {
    let tools = Tools::new();
    let resource = |text: &str| {
        format!(
            "entries:\n  - name: r\n    kind: resource\n    meta: {{ mcp.uri: \"notes://farm\", mcp.text: {text} }}\n"
        )
    };
    tools.write("notes/_index.yaml", &resource("wheat"));
    let mut bridge = tools.bridge(&[]).await;
    bridge.request("resources/list", json!({})).await;
    bridge
        .request("resources/subscribe", json!({"uri": "notes://farm"}))
        .await;
    tools.write("notes/_index.yaml", &resource("carrots"));
    let told = bridge
        .message("the update", |message| {
            message["method"] == "notifications/resources/updated"
        })
        .await;
    assert_eq!(told["params"]["uri"], "notes://farm");
    let read = bridge
        .request("resources/read", json!({"uri": "notes://farm"}))
        .await;
    assert_eq!(read["result"]["contents"][0]["text"], "carrots");
    assert_eq!(
        told_so_far(&bridge, "notifications/resources/list_changed"),
        0
    );
    bridge.leave().await;
}

#[tokio::test]
async fn prompts_of_the_existing_format_extend_each_other() {
    let tools = Tools::new();
    tools.write(
        "prompts/_index.yaml",
        r#"
entries:
  - name: base
    kind: function.lua
    source: file://static.lua
    method: get
    meta:
      mcp.prompt: true
      mcp.prompt.name: "base_instruction"
      mcp.prompt.type: "template"
      mcp.prompt.messages:
        - role: "user"
          content: "You are a {{role}}."
  - name: assistant
    kind: function.lua
    source: file://static.lua
    method: get
    meta:
      mcp.prompt: true
      mcp.prompt.name: "coding_assistant"
      mcp.prompt.description: "Get help"
      mcp.prompt.extend:
        - id: "base_instruction"
          arguments:
            role: "{{level}} developer"
      mcp.prompt.messages:
        - role: "user"
          content: "Question: {{question}}"
  - name: review
    kind: function.lua
    source: file://review.lua
    method: get
    meta:
      mcp.prompt: true
      mcp.prompt.name: "code_review"
"#,
    );
    tools.write(
        "prompts/review.lua",
        "return { get = function(arguments) return { messages = { { role = 'user', content = { type = 'text', text = \
         'Review ' .. arguments.code } } } } end }",
    );
    let mut bridge = tools.bridge(&[]).await;
    let listed = bridge.request("prompts/list", json!({})).await;
    let prompts = listed["result"]["prompts"].as_array().unwrap();
    let names: Vec<_> = prompts
        .iter()
        .map(|prompt| prompt["name"].as_str().unwrap())
        .filter(|name| name.contains('_'))
        .collect();
    assert_eq!(names, ["code_review", "coding_assistant"]);
    let texts = |reply: &Value| -> Vec<String> {
        let messages = reply["result"]["messages"].as_array().unwrap();
        let text = |message: &Value| message["content"]["text"].as_str().unwrap().to_owned();
        messages.iter().map(text).collect()
    };
    let get =
        json!({"name": "coding_assistant", "arguments": {"question": "Why?", "level": "senior"}});
    let reply = bridge.request("prompts/get", get).await;
    assert_eq!(
        texts(&reply),
        ["You are a senior developer.", "Question: Why?"]
    );
    let get = json!({"name": "code_review", "arguments": {"code": "x = 1"}});
    assert_eq!(
        texts(&bridge.request("prompts/get", get).await),
        ["Review x = 1"]
    );
    let template = bridge
        .request("prompts/get", json!({"name": "base_instruction"}))
        .await;
    assert_eq!(template["error"]["code"], -32602);
    bridge.leave().await;
}

/// What a new folder of `lua/tools/` could be: one set, a tool for each place where Lua runs, a prompt and a resource.
const NEW_SET: Dir<'static> = Dir::new(
    "",
    &[DirEntry::Dir(Dir::new(
        "greetings",
        &[
            DirEntry::File(File::new("greetings/_index.yaml", GREETINGS.as_bytes())),
            DirEntry::File(File::new(
                "greetings/greet.lua",
                b"return { here = function(arguments) return 'Hello, ' .. arguments.name end,\n\
                  there = function(arguments) return 'Good day, ' .. arguments.name end }",
            )),
        ],
    ))],
);

const GREETINGS: &str = "
entries:
  - name: here
    kind: function.lua
    source: file://greet.lua
    method: here
    meta:
      mcp.tool: true
      mcp.name: greet
      mcp.inputSchema: &name { properties: { name: { type: string } }, required: [name] }
  - name: there
    kind: computer.lua
    source: file://greet.lua
    method: there
    meta: { mcp.tool: true, mcp.name: greet_from_computer, mcp.inputSchema: *name }
  - name: nowhere
    kind: computer.lua
    source: file://forgotten.lua
    meta: { mcp.tool: true, mcp.name: forgotten }
  - { name: letter, kind: prompt, meta: { mcp.prompt.name: letter, mcp.prompt.text: Dear friend } }
  - { name: words, kind: resource, meta: { mcp.uri: 'words://all', mcp.text: Hello } }
";

/// A client that is told nothing.
struct Nobody;

impl Listener for Nobody {
    fn listens(&self) -> bool {
        false
    }

    fn tell(&self, _: Step) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }

    fn log(&self, _: Level, _: &str, _: String) -> BoxFuture<'_, ()> {
        std::future::ready(()).boxed()
    }
}

#[tokio::test]
async fn a_built_in_set_with_lua_handlers_needs_its_files_alone() {
    let file = "link_host = '127.0.0.1'\nlink_port = 0";
    let config =
        Config::resolve(&Flags::default(), |_| None, "config.toml".as_ref(), file).unwrap();
    let kit = Kit::new(Workers::of(PathBuf::from(env!("CARGO_BIN_EXE_mcp-bridge"))));
    let (offer, problems) = builtin::offer_of(&NEW_SET, &kit, config.probe_timeout);
    let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "mcp-bridge's own lua/tools/greetings/_index.yaml:16: greetings/forgotten.lua is not there, or is no UTF-8 text"
        ]
    );
    let fleet = computers::start(&config.link, None);
    fleet.want();
    let port = soon("the link port opens", fleet.port()).await;
    let linked = computer::Computer::link(port.owner.unwrap().address, 12, None).await;
    let agent = linked.serve(computer::version_1_agent(12, "x"));
    let catalogue = Catalogue::start(vec![fixed(offer.clone())], Policy::default());
    let others = catalogue.open_for(Client::Anyone);
    let view = others.now();
    let prompts: Vec<_> = view.prompts().map(|prompt| prompt.name.as_str()).collect();
    let resources: Vec<_> = view.resources().map(|one| one.uri.as_str()).collect();
    assert_eq!((prompts, resources), (vec!["letter"], vec!["words://all"]));
    let context = Context {
        fleet: &fleet,
        others: &others,
        listener: &Nobody,
        notes: &Notes::default(),
        call: None,
        stand_in: None,
        depth: 0,
    };
    let call = async |number: usize, arguments: Value| {
        let tool = &offer.tools[number];
        assert_eq!((tool.set(), tool.is_listed()), ("greetings", false));
        let arguments = arguments.as_object().unwrap().clone();
        text_of(&soon("an answer", tool.call(context, arguments)).await)
    };
    assert_eq!(call(0, json!({"name": "Ada"})).await, "Hello, Ada");
    assert_eq!(call(0, json!({})).await, "`name` is missing.");
    let on_it = json!({"computerId": 12, "name": "Ada"});
    assert_eq!(call(1, on_it).await, "Good day, Ada");
    let elsewhere = call(1, json!({"computerId": 13, "name": "Ada"})).await;
    assert!(
        elsewhere.contains("Computer 13 is not linked."),
        "{elsewhere}"
    );
    agent.abort();
}

#[tokio::test]
async fn a_handler_on_the_host_that_looks_for_the_game_is_told_where_that_is() {
    let tools = Tools::new();
    tools.add("digs", "return turtle.dig()");
    tools.add("slips", "return no_such_thing.dig()");
    let mut bridge = tools.bridge(&[]).await;
    let told = error(&mut bridge, "digs", json!({})).await;
    assert!(
        told.contains("global 'turtle' (a nil value)")
            && told.ends_with(
                "`turtle` is there on computers in the game only, and this handler runs on the host: give its entry \
                 `kind: computer.lua`, or run Lua there by `computers.exec`."
            ),
        "{told}"
    );
    let told = error(&mut bridge, "slips", json!({})).await;
    assert!(!told.contains("in the game only"), "{told}");
    bridge.leave().await;
}
