//! Lua that handlers share: they `require` it from the folder of tools. With those on computers it goes along, to agents of
//! every age. What is wrong with it takes no tool away.

use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

use mcp_bridge::link::agent;
use serde_json::json;

use crate::common::{
    bridge::Bridge,
    computer, is,
    linked::of_version,
    pace::in_time,
    tools::{Tools, manifest},
    until,
};

/// The agent of 1.0.0, as its bridge served it.
const RELEASED: &str = include_str!("released/mcp-computer-1.0.0.lua");

/// A handler that needs two modules, of which one needs another.
const HANDLER: &str = "local items = require(\"lib.items\")\nlocal own = require 'words'\n\n\
    local function call(arguments)\n  if arguments.fails then return items.fails() end\n\
    \x20 if arguments.own then local there = require('cc.' .. 'none') return there end\n\
    \x20 return own .. items.text(arguments.count) .. tostring(require('words') == own)\nend\n\nreturn { call = call }\n";

/// A folder of tools with it.
fn tools() -> Tools {
    let tools = Tools::new();
    tools.write(
        "farm/_index.yaml",
        &manifest("count", "computer.lua", "      mcp.inputSchema: { properties: { count: { type: integer }, fails: { type: boolean }, own: { type: boolean } } }\n"),
    );
    tools.write("farm/handler.lua", HANDLER);
    tools.write(
        "lib/items.lua",
        "-- Shared ]] by all.\nlocal plural = require('lib/plural')\n\nreturn {\n  text = function(count)\n\
         \x20   return json.encode({ count }) .. plural(count)\n  end,\n  fails = function()\n    local nothing\n\
         \x20   return nothing.x\n  end,\n}\n",
    );
    tools.write(
        "lib/plural.lua",
        "return function(count) return count == 1 and ' item ' or ' items ' end -- the end",
    );
    tools.write("farm/words.lua", "return 'There are '");
    // Nothing requires it.
    tools.write("lib/broken.lua", "return {");
    tools
}

#[tokio::test]
async fn what_a_handler_requires_goes_along_to_agents_of_every_age_and_errors_name_its_file() {
    let tools = tools();
    let mut bridge = tools.bridge(&[]).await;
    let port = bridge.link_port().await;
    let agent = agent::program();
    let mut computers = Vec::new();
    for (id, version, agent) in [
        (1, "1.80", agent.as_str()),
        (2, "1.113.1", &agent),
        (3, "1.89", RELEASED),
    ] {
        computers.push(of_version(&mut bridge, id, version, agent).await);
    }
    let old = computer::version_1_agent(4, "old");
    let serving = computer::Computer::link(port, 4, Some("old"))
        .await
        .serve(old);
    bridge.linked(4).await;
    for id in 1..=4 {
        let call = json!({"computerId": id, "count": 3});
        let answer = bridge.call("count", call).await;
        assert_eq!(answer.text, "There are [3] items true", "computer {id}");
        let call = json!({"computerId": id, "fails": true});
        let answer = bridge.call("count", call).await;
        let place = "lib/items.lua:10: attempt to index";
        assert!(
            answer.is_error && answer.text.contains(place),
            "computer {id}: {}",
            answer.text
        );
        // What is not there is the computer's own affair, and whoever requires it is blamed.
        let call = json!({"computerId": id, "own": true});
        let answer = bridge.call("count", call).await;
        let place = if id == 4 { ":6: " } else { "handler.lua:6: " };
        assert!(
            answer.is_error && answer.text.contains(place) && answer.text.contains("cc.none"),
            "computer {id}: {}",
            answer.text
        );
        // No line is told that no file has.
        assert!(
            id != 2 || answer.text.contains("\trequire:"),
            "{}",
            answer.text
        );
    }
    serving.abort();
    bridge.leave().await;
}

#[tokio::test]
async fn a_module_that_changes_is_sent_anew_and_a_broken_one_leaves_the_last_good_version() {
    let tools = tools();
    tools.add("mark", "return 'before'");
    let mut bridge = tools.bridge(&[]).await;
    let _computer = of_version(&mut bridge, 1, "1.113.1", &agent::program()).await;
    let call = json!({"computerId": 1, "count": 1});
    assert_eq!(
        bridge.call("count", call.clone()).await.text,
        "There are [1] item true"
    );
    tools.write("farm/words.lua", "return 'Now there are '");
    let counted = async |bridge: &mut Bridge| bridge.call("count", call.clone()).await.text;
    until("the changed module is used", async || {
        let text = counted(&mut bridge).await;
        is(text == "Now there are [1] item true", text)
    })
    .await;
    tools.write("lib/plural.lua", "return function() return ' plural ' end");
    // What it throws there is only known there.
    let broken = BROKEN.iter().filter(|one| **one != Some(THROWS));
    for (number, broken) in broken.enumerate() {
        put(&tools, "farm/words.lua", *broken);
        mark(&tools, &mut bridge, &format!("seen {number}")).await;
        let text = counted(&mut bridge).await;
        // The other may have been seen before this one was.
        let is_last = ["item", "plural"].map(|word| format!("Now there are [1] {word} true"));
        assert!(is_last.contains(&text), "{broken:?}: {text}");
    }
    let told = logged(&bridge);
    for part in [
        "words.lua:1: unexpected symbol",
        "words.lua is no UTF-8 text",
        "there is no module 'words'",
        "if the computer's own is meant now, write _G.require",
    ] {
        assert!(told.contains(part), "no {part} in {told}");
    }
    tools.write("farm/words.lua", "return 'At last '");
    until("the mended module is used", async || {
        let text = counted(&mut bridge).await;
        is(text == "At last [1] plural true", text)
    })
    .await;
    bridge.leave().await;
}

const THROWS: &[u8] = b"error('thrown')";

/// What a shared file can be for a while: no Lua, Lua that throws when it is loaded, no text, away.
const BROKEN: [Option<&[u8]>; 4] = [
    Some(b"return ("),
    Some(THROWS),
    Some(b"return '\xff'"),
    None,
];

/// Writes a file, or removes it.
fn put(tools: &Tools, name: &str, content: Option<&[u8]>) {
    let file = tools.path().join(name);
    match content {
        Some(content) => fs::write(file, content).unwrap(),
        None => fs::remove_file(file).unwrap(),
    }
}

/// Waits until all that was written before is known to the bridge, by a tool that says this from then on.
async fn mark(tools: &Tools, bridge: &mut Bridge, word: &str) {
    tools.add("mark", &format!("return '{word}'"));
    until("the folder was looked at again", async || {
        let text = bridge.call("mark", json!({})).await.text;
        is(text == word, text)
    })
    .await;
}

/// What the bridge has logged.
fn logged(bridge: &Bridge) -> String {
    let files = fs::read_dir(bridge.folder.path().join("state/logs")).unwrap();
    files
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .collect::<String>()
        .replace('\\', "/")
}

/// A handler on the host that requires `lib/words.lua`.
fn on_host(name: &str) -> Tools {
    let tools = Tools::new();
    tools.write(
        &format!("{name}/_index.yaml"),
        &manifest(name, "function.lua", ""),
    );
    tools.write(
        &format!("{name}/handler.lua"),
        "local words = require('lib.words')\nreturn { call = function() return words.text end }",
    );
    fs::create_dir(tools.path().join("lib")).unwrap();
    tools
}

#[tokio::test]
async fn on_the_host_too_a_broken_module_leaves_the_last_good_version_and_is_told() {
    let tools = on_host("say");
    tools.write("lib/words.lua", "return { text = 'first' }");
    tools.add("mark", "return 'begun'");
    let mut bridge = tools.bridge(&[]).await;
    mark(&tools, &mut bridge, "begins").await;
    for (number, broken) in BROKEN.iter().enumerate() {
        put(&tools, "lib/words.lua", *broken);
        // Not for a moment either.
        let said = bridge.call("say", json!({})).await.text;
        assert_eq!(said, "first", "{broken:?}");
        mark(&tools, &mut bridge, &format!("seen {number}")).await;
        let said = bridge.call("say", json!({})).await.text;
        assert_eq!(said, "first", "{broken:?}");
    }
    let told = logged(&bridge);
    for part in [
        "lib/words.lua:1: unexpected symbol",
        "lib/words.lua:1: thrown",
        "lib/words.lua is no UTF-8 text",
        "handler.lua:1: throws when it is loaded: require: there is no module 'lib.words'",
    ] {
        assert!(told.contains(part), "no {part} in {told}");
    }
    tools.write("lib/words.lua", "return { text = 'second' }");
    until("the mended module is used", async || {
        let said = bridge.call("say", json!({})).await.text;
        is(said == "second", said)
    })
    .await;
    let lines = bridge.printed();
    let changes = lines.iter().filter(|line| line.contains("list_changed"));
    assert_eq!(changes.count(), 0);
    bridge.leave().await;
}

#[tokio::test]
async fn what_could_never_work_without_its_module_is_there_within_a_second_once_that_is() {
    for broken in BROKEN {
        let tools = on_host("say");
        if broken.is_some() {
            put(&tools, "lib/words.lua", broken);
        }
        tools.add("mark", "return 'begun'");
        let mut bridge = tools.bridge(&[]).await;
        mark(&tools, &mut bridge, "begins").await;
        let reply = bridge.request("tools/list", json!({})).await;
        assert!(!reply.to_string().contains("\"say\""), "{broken:?}");
        tools.write("lib/words.lua", "return { text = 'there' }");
        let start = Instant::now();
        loop {
            let reply = bridge
                .request("tools/call", json!({"name": "say", "arguments": {}}))
                .await;
            if reply["result"]["content"][0]["text"] == "there" {
                break;
            }
            let what = format!("the tool, after {broken:?}: {reply}");
            in_time(&what, start.elapsed(), Duration::from_secs(1)).await;
        }
        bridge.leave().await;
    }
}

/// What `tools check` says of a folder, and whether all is well.
fn check(tools: &Tools) -> (bool, String) {
    let state = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"))
        .args(["tools", "check"])
        .arg(tools.path())
        .env("MCP_BRIDGE_STATE_DIR", state.path())
        .env("MCP_BRIDGE_CONFIG_DIR", state.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).replace('\\', "/");
    (output.status.success(), text)
}

#[tokio::test]
async fn what_is_wrong_with_a_module_is_told_with_its_file_and_line() {
    let tools = tools();
    let (is_well, told) = check(&tools);
    assert!(is_well, "{told}");
    tools.write("lib/plural.lua", "local a\nreturn {\n  oops oops\n}");
    let (is_well, told) = check(&tools);
    assert!(
        !is_well && told.contains("lib/plural.lua:3: '}' expected"),
        "{told}"
    );

    tools.write("lib/plural.lua", "local a\nreturn require('lib.itmes')");
    let (is_well, told) = check(&tools);
    let doubt = "lib/plural.lua:2: there is no module 'lib.itmes': there is no farm/lib/itmes.lua, nor \
                 farm/lib/itmes/init.lua, nor lib/itmes.lua, nor lib/itmes/init.lua. So the computer's own `require` is \
                 asked for it when the handler runs there; if that is meant, write _G.require";
    assert!(!is_well && told.contains(doubt), "{told}");
    assert_eq!(told.matches("lib.itmes").count(), 1, "{told}");

    // What is the game's, or is said to be the computer's, is looked for there alone.
    let own = "local a = pcall(function() return require('cc.expect'), _G.require('lib.itmes') end) \
               return function() return ' ' end";
    tools.write("lib/plural.lua", own);
    let (is_well, told) = check(&tools);
    assert!(is_well, "{told}");

    tools.write(
        "lib/plural.lua",
        &format!("return '{}'", "x".repeat(1_048_000)),
    );
    let (is_well, told) = check(&tools);
    let bound = "bytes with the modules that it requires; it may have 1048576";
    assert!(
        !is_well && told.contains("farm/handler.lua: it has ") && told.contains(bound),
        "{told}"
    );
}
