//! What a client is told when it connects: instructions that are true, tools that it does not know yet, and no list that
//! is always empty.

use crate::common::{bridge::Bridge, served::Served, tools::Tools};
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use serde_json::{Value, json};
use tokio::runtime::Handle;

/// Lets a bridge have no tools but those that are listed by themselves.
const LISTED_ONLY: [&str; 4] = ["--upstream", "off", "--toolsets", "core,custom"];

const CHANGED: &str = "notifications/tools/list_changed";

const PROMPT: &str = "entries:\n  - name: p\n    kind: prompt\n    meta: { mcp.prompt.name: p, mcp.prompt.text: hi }\n";

fn stateless(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

async fn find(bridge: &mut Bridge, arguments: Value) -> String {
    bridge.call("find-tools", arguments).await.text
}

#[tokio::test]
async fn what_the_instructions_say_of_programs_and_globals_is_so() {
    let mut bridge = Bridge::start();
    let told = bridge.initialize("2025-11-25").await["instructions"].clone();
    let told = told.as_str().unwrap();
    let queue = r#"os.queueEvent("paste", "yes") os.queueEvent("key", keys.enter)"#;
    for words in [
        queue,
        "shell.run(",
        "/startup/zz-mcp-computer.lua",
        "shell.run(\"/mcp-computer.lua\")",
        "settings.set",
        "`run-program`",
        "`mcp-computer --shell`",
        "Globals",
        "never as instructions",
    ] {
        assert!(told.contains(words), "no `{words}` in: {told}");
    }
    let port = bridge.link_port().await;
    let ask = "write('Sure? ') local answer = read() print(... .. ' said ' .. answer)";
    let mut computers = Vec::new();
    // As the bridge serves it.
    let program = agent::program_for(Some(&port.to_string()));
    for (id, version) in [(1, "1.79"), (2, "1.89"), (3, "1.113")] {
        let mut options = ComputerOptions::new(id)
            .with_file("mcp-computer.lua", program.clone())
            .with_file("see.lua", "print('x is ' .. tostring(x))")
            .with_file("startup/a.lua", "fs.open('/ran', 'w').close()")
            .with_file(
                "startup/zz-mcp-computer.lua",
                format!("shell.run('/mcp-computer ws://{port}')"),
            )
            .with_file("startup/zzz.lua", "fs.open('/never', 'w').close()");
        options.version = version.parse().unwrap();
        computers.push(Computer::start(options, "", &Handle::current()).unwrap());
        bridge.linked(id).await;
        let write =
            format!("local file = fs.open('ask.lua', 'w') file.write({ask:?}) file.close()");
        bridge.lua(id, &write).await;
        let answered = bridge
            .lua(id, &format!("{queue} shell.run('ask.lua', 'Steve')"))
            .await;
        assert_eq!(answered, "Sure? yes\nSteve said yes\n", "{version}");
        asks_as_a_job(&mut bridge, id, ask).await;
        assert_eq!(
            bridge.lua(id, "x = 5 shell.run('see.lua') return x").await,
            "x is nil\n=> 5"
        );
        assert_eq!(bridge.lua(id, "return x").await, "=> nil");
        let ran = "return fs.exists('/ran'), fs.exists('/never')";
        assert_eq!(bridge.lua(id, ran).await, "=> true\n=> false", "{version}");
        let kept = "settings.set('kept', 4711)";
        bridge.lua(id, kept).await;
        assert_eq!(bridge.lua(id, "settings.get('kept')").await, "=> 4711");
        // It comes back by the startup that they name.
        let startup = r#"local file = fs.open("/startup/zz-mcp-computer.lua", "w")
            file.write('shell.run("/mcp-computer.lua")') file.close()"#;
        bridge.lua(id, startup).await;
        bridge.lua(id, "fs.delete('/ran') os.reboot()").await;
        assert_eq!(bridge.lua(id, ran).await, "=> true\n=> false", "{version}");
    }
    bridge.leave().await;
}

/// Writes a program, runs it, sees what it asks, and answers it.
async fn asks_as_a_job(bridge: &mut Bridge, id: u64, program: &str) {
    let file = json!({"computerId": id, "path": "/asks.lua", "content": program});
    let written = bridge.call("write-file", file).await;
    assert!(!written.is_error, "{}", written.text);
    let run = json!({"computerId": id, "command": "asks Eve", "timeoutMs": 1000});
    let left = bridge.call("run-program", run).await.text;
    let job = left.split_once("as job ").expect(&left).1;
    let job = job.split(['.', ' ', ',']).next().unwrap();
    let target = format!("job {job}");
    let seen = json!({"computerId": id, "target": target});
    let seen = bridge.call("read-screen", seen).await.text;
    assert!(seen.contains("Sure?"), "{seen}");
    let steps = json!([{"do": "type", "text": "no"}, {"do": "key", "text": "enter"}]);
    let typed = json!({"computerId": id, "target": target, "steps": steps});
    bridge.call("send-input", typed).await;
    let ended = json!({"jobId": job, "waitMs": 10_000});
    let ended = bridge.call("get-job", ended).await.text;
    assert!(ended.contains("Eve said no"), "{ended}");
}

#[tokio::test]
async fn find_tools_tells_only_of_what_the_client_was_not_sent() {
    let tools = Tools::new();
    tools.add("harvest", "return 1");
    let mut bridge = tools.bridge(&LISTED_ONLY).await;
    // Who never listed knows none.
    let all = find(&mut bridge, json!({})).await;
    assert!(
        all.contains("harvest: ") && all.contains("exec-lua: "),
        "{all}"
    );
    bridge.request("tools/list", json!({})).await;
    assert!(
        find(&mut bridge, json!({}))
            .await
            .starts_with("There are no tools besides those in your list.")
    );
    // Other words would find no more.
    assert!(
        find(&mut bridge, json!({"query": "harvest"}))
            .await
            .starts_with("There are no tools besides those in your list.")
    );
    // A list of the other era is nobody's, and a call of that era knows of no list.
    let call = stateless(json!({"name": "find-tools", "arguments": {}}));
    let reply = bridge.request("tools/call", call).await;
    let text = reply["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("harvest: ") && text.contains("exec-lua: "),
        "{text}"
    );
    // What the list has become since, it was not sent.
    tools.add("sow", "return 2");
    bridge
        .message(CHANGED, |message| message["method"] == CHANGED)
        .await;
    bridge.request("tools/list", stateless(json!({}))).await;
    let all = find(&mut bridge, json!({})).await;
    assert!(all.contains("sow: ") && all.contains("exec-lua: "), "{all}");
    bridge.request("tools/list", json!({})).await;
    assert!(
        find(&mut bridge, json!({}))
            .await
            .starts_with("There are no tools besides those in your list.")
    );
    // A client that begins anew has no list.
    bridge.initialize("2025-11-25").await;
    assert!(find(&mut bridge, json!({})).await.contains("exec-lua: "));
    bridge.leave().await;
}

#[tokio::test]
async fn a_client_that_keeps_its_first_list_finds_what_came_later() {
    let tools = Tools::new();
    let mut bridge = tools.start(&LISTED_ONLY);
    let client = json!({"name": "claude-ai", "version": "0.1.0"});
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    bridge.request("initialize", hello).await;
    bridge
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .await;
    bridge.request("tools/list", json!({})).await;
    assert!(
        find(&mut bridge, json!({}))
            .await
            .starts_with("There are no tools besides")
    );
    tools.add("sow", "return 2");
    bridge
        .message(CHANGED, |message| message["method"] == CHANGED)
        .await;
    bridge.request("tools/list", json!({})).await;
    assert!(find(&mut bridge, json!({})).await.contains("sow: "));
    bridge.leave().await;
}

#[tokio::test]
async fn over_http_each_session_has_its_own_list_and_the_stateless_era_none() {
    let bridge = Served::start_with(|command| {
        command.args(LISTED_ONLY);
    })
    .await;
    let mut one = bridge.client("2025-11-25").await;
    let mut other = bridge.client("2025-11-25").await;
    let mut none = bridge.stateless();
    for client in [&mut one, &mut none] {
        client.request("tools/list", json!({})).await;
    }
    let find = async |client: &mut crate::common::served::Client| {
        client.call("find-tools", json!({})).await.text
    };
    assert!(
        find(&mut one)
            .await
            .starts_with("There are no tools besides")
    );
    assert!(find(&mut other).await.contains("exec-lua: "));
    assert!(find(&mut none).await.contains("exec-lua: "));
}

/// Whether prompts and resources are advertised.
fn advertised(told: &Value) -> [bool; 2] {
    ["prompts", "resources"].map(|kind| told["capabilities"][kind]["listChanged"] == true)
}

#[tokio::test]
async fn what_there_is_of_our_own_is_advertised_from_the_beginning() {
    let tools = Tools::new();
    let mut bridge = tools.start(&["--upstream", "off"]);
    let discovered = bridge
        .request("server/discover", stateless(json!({})))
        .await["result"]
        .clone();
    let agreed = bridge.initialize("2025-11-25").await;
    for told in [discovered, agreed] {
        let capabilities = &told["capabilities"];
        assert_eq!(advertised(&told), [true, true], "{capabilities}");
        assert!(capabilities["completions"].is_object(), "{capabilities}");
        assert_eq!(capabilities["tools"]["listChanged"], true);
    }
    bridge.leave().await;
}

#[tokio::test]
async fn a_prompt_is_told_of_to_clients_that_connected_before_it_was_there() {
    let tools = Tools::new();
    let mut bridge = tools.start(&["--upstream", "off"]);
    bridge.initialize("2025-11-25").await;
    bridge.request("prompts/list", json!({})).await;
    let filter = stateless(json!({"notifications": {"promptsListChanged": true}}));
    let subscription = bridge.ask("subscriptions/listen", filter).await;
    let acknowledged = "notifications/subscriptions/acknowledged";
    bridge
        .message(acknowledged, |message| message["method"] == acknowledged)
        .await;
    tools.write("p/_index.yaml", PROMPT);
    const PROMPTS: &str = "notifications/prompts/list_changed";
    for by_subscription in [false, true] {
        bridge
            .message(PROMPTS, |message| {
                let id = &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
                message["method"] == PROMPTS && (*id == json!(subscription)) == by_subscription
            })
            .await;
    }
    let prompts = bridge.request("prompts/list", json!({})).await;
    let prompts = prompts["result"]["prompts"].as_array().unwrap();
    assert!(
        prompts.iter().any(|prompt| prompt["name"] == "p"),
        "{prompts:?}"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_cursor_that_was_never_given_is_refused_in_words() {
    let mut bridge = Bridge::initialized().await;
    for method in [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ] {
        for cursor in [
            json!("bogus"),
            json!(5),
            json!({}),
            json!("x".repeat(5_000)),
        ] {
            let reply = bridge.request(method, json!({"cursor": cursor})).await;
            assert_eq!(reply["error"]["code"], -32602, "{method}: {reply}");
            let words = reply["error"]["message"].as_str().unwrap();
            assert!(
                words.contains("one page") && words.len() < 300,
                "{method}: {words}"
            );
        }
        for none in [json!({}), json!({"cursor": null}), json!({"cursor": ""})] {
            let reply = bridge.request(method, none).await;
            assert!(reply["result"].is_object(), "{method}: {reply}");
        }
    }
    bridge.leave().await;
}
