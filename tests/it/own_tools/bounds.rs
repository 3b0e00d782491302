//! What our tools in Lua answer is never more than clients take, however much there is.

use std::{collections::BTreeSet, fs};

use mcp_bridge::link::agent;
use serde_json::{Value, json};

use super::SETS;
use crate::common::{bridge::Bridge, linked::of_version, tools::of_repository};

/// The longest answer, in characters: about 10,000 tokens, from which on some clients cut or refuse it.
const LONGEST: usize = 40_000;

/// The longest error, in characters: a client cuts longer ones in the middle.
const LONGEST_ERROR: usize = 11_000;

/// Calls that have as much to tell as can be, for each tool.
fn worst() -> Vec<(&'static str, Value)> {
    let calls = |method: &str| {
        let call = json!({"name": "x", "method": method});
        json!({"calls": vec![call; 100]})
    };
    let long = "n".repeat(90);
    vec![
        ("list-files", json!({"path": "many"})),
        ("list-files", json!({"path": "/**"})),
        ("list-files", json!({"path": "x".repeat(20_000)})),
        ("read-file", json!({"path": "lines"})),
        ("read-file", json!({"path": "bytes"})),
        ("read-file", json!({"path": "y".repeat(20_000)})),
        ("search-files", json!({"query": "find me", "context": 20})),
        ("search-files", json!({"query": "(", "pattern": true})),
        (
            "write-file",
            json!({"path": "/rom/x", "content": "\u{1}\"".repeat(30_000)}),
        ),
        (
            "edit-file",
            json!({"path": "lines", "edits": [{"find": "me", "replace": "you".repeat(50), "all": true}]}),
        ),
        (
            "edit-file",
            json!({"path": "lines", "edits": [{"find": "you", "replace": ""}]}),
        ),
        (
            "manage-files",
            json!({"action": "copy", "path": format!("many/{long}1"), "to": "z"}),
        ),
        ("manage-files", json!({"action": "undo"})),
        (
            "copy-files",
            json!({"from": 1, "path": "/many", "to": [1, 7], "toPath": "y".repeat(5_000)}),
        ),
        ("list-peripherals", json!({})),
        ("call-peripheral", calls("much")),
        ("call-peripheral", calls("nested")),
        ("call-peripheral", calls("fails")),
        ("call-peripheral", calls("lacks")),
        ("list-items", json!({})),
        ("move-items", json!({"to": "nowhere"})),
        ("move-items", json!({"to": format!("mod:{long}_1")})),
        ("redstone", json!({"set": {"left": 1}})),
        (
            "redstone",
            json!({"bundled": {"left": ["x".repeat(20_000)]}}),
        ),
        ("read-redstone", json!({})),
        ("wait-event", json!({"event": "much", "timeoutMs": 60_000})),
        (
            "wait-event",
            json!({"event": "x".repeat(20_000), "timeoutMs": 100}),
        ),
        (
            "power",
            json!({"action": "turn-on", "neighbour": "x".repeat(20_000)}),
        ),
        (
            "power",
            json!({"action": "turn-on", "neighbour": "nowhere"}),
        ),
        ("rednet", json!({"action": "receive"})),
        ("settings", json!({"action": "list"})),
        (
            "settings",
            json!({"action": "get", "name": "x".repeat(20_000)}),
        ),
        (
            "lookup",
            json!({"query": "turtle peripheral fs event name computer since"}),
        ),
        ("lookup", json!({"query": "xyzzy"})),
    ]
}

/// The tools of our sets in Lua.
fn tools() -> BTreeSet<String> {
    let manifests = SETS.iter().map(|set| {
        let file = of_repository(&format!("lua/tools/{set}/_index.yaml"));
        fs::read_to_string(file).unwrap()
    });
    let names = manifests.flat_map(|manifest| {
        let names = manifest
            .lines()
            .filter_map(|line| line.trim().strip_prefix("mcp.name: "));
        names.map(str::to_owned).collect::<Vec<_>>()
    });
    names.collect()
}

#[tokio::test]
async fn no_answer_is_longer_than_clients_take_however_much_there_is() {
    let worst = worst();
    let tried: BTreeSet<_> = worst.iter().map(|(tool, _)| (*tool).to_owned()).collect();
    assert_eq!(
        tried,
        tools(),
        "each tool has a call here that has much to tell"
    );

    let mut bridge = Bridge::initialized().await;
    let _computer = of_version(&mut bridge, 1, "1.113.1", agent::program()).await;
    let crowded = fs::read_to_string(of_repository("tests/it/own_tools/crowded.lua")).unwrap();
    bridge.lua(1, &crowded).await;
    let events = "local much = ('\\1\\255\"'):rep(20000) for i = 1, 6000 do sleep(0.1) os.queueEvent('much', much, {much}) end";
    let call = json!({"code": events, "timeoutMs": 50});
    bridge.call("exec-lua", call).await;
    for (tool, mut arguments) in worst {
        if !["copy-files", "lookup"].contains(&tool) {
            arguments["computerId"] = 1.into();
        }
        let answer = bridge.call(tool, arguments.clone()).await;
        let length = answer.text.chars().count();
        let most = if answer.is_error {
            LONGEST_ERROR
        } else {
            LONGEST
        };
        assert!(
            length <= most,
            "{tool} {arguments:.200} answered {length} characters: {:.300}",
            answer.text
        );
        // Some clients take any of these for a broken protocol.
        let json = serde_json::from_str::<Value>(&answer.text);
        assert!(
            json.as_ref().map_or(true, Value::is_object),
            "{tool} answered bare JSON: {:.300}",
            answer.text
        );
    }
    bridge.leave().await;
}
