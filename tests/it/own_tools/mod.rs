//! The product's own tools in Lua, each with the real agent on a simulated computer: what they do, what they refuse, and
//! how they say it.

mod bounds;
mod copying;
mod steps;

use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions, Kind, Land},
};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::common::{
    bridge::Bridge,
    is,
    linked::{linked, of_version},
    until,
};

/// The agent of 1.0.0, as its bridge served it.
const RELEASED: &str = include_str!("../released/mcp-computer-1.0.0.lua");

/// An agent of protocol version 1.
const VERSION_1: &str = include_str!("version-1.lua");

/// The sets of tools in Lua.
const SETS: [&str; 5] = [
    "computer-files",
    "game-notes",
    "inventories",
    "peripherals",
    "world",
];

/// Takes the steps of a file with agents of every age, in games of several versions.
async fn everywhere(file: &str) {
    let mut bridge = Bridge::initialized().await;
    let agents = [
        ("1.113.1", agent::program()),
        ("1.101", agent::program()),
        ("1.89", agent::program()),
        ("1.113.1", RELEASED.to_owned()),
        ("1.113.1", VERSION_1.to_owned()),
    ];
    for (id, (version, agent)) in (1..).zip(agents) {
        let _computer = of_version(&mut bridge, id, version, &agent).await;
        let is_version_1 = agent == VERSION_1;
        steps::take(&mut bridge, id, file, is_version_1).await;
    }
    bridge.leave().await;
}

#[tokio::test]
async fn files_are_listed_read_written_edited_searched_and_managed() {
    everywhere("files.toml").await;
}

#[tokio::test]
async fn peripherals_are_listed_and_called_and_items_counted_and_moved_in_few_ticks() {
    everywhere("peripherals.toml").await;
}

#[tokio::test]
async fn signals_events_power_rednet_and_settings_are_at_hand() {
    everywhere("world.toml").await;
}

#[tokio::test]
async fn what_reboots_or_shuts_down_answers_before() {
    let mut bridge = Bridge::initialized().await;
    let computer = of_version(&mut bridge, 1, "1.113.1", &agent::program()).await;
    let call = json!({"action": "reboot", "computerId": 1});
    let answer = bridge.call("power", call).await;
    assert!(!answer.is_error, "{}", answer.text);
    assert_eq!(
        answer.text,
        "os.reboot was called: the computer goes down now."
    );
    until("the computer has booted anew", async || {
        is(computer.boots() == 2, computer.boots())
    })
    .await;
    bridge.linked(1).await;
    bridge.leave().await;
}

#[tokio::test]
async fn notes_are_found_by_words_names_and_errors_and_what_came_later_is_marked() {
    let mut bridge = Bridge::initialized().await;
    for (query, first) in [
        ("how do I dig forward", "turtle.dig, digUp, digDown: "),
        (
            "turtle.refuel",
            "turtle.refuel, getFuelLevel, getFuelLimit: ",
        ),
        (
            "startup.lua:3: Too long without yielding",
            "Too long without yielding: ",
        ),
        ("rednet.send", "rednet: "),
        ("redstone event", "Events: redstone, "),
        ("Domain not permitted", "http.get, http.post: "),
    ] {
        let answer = bridge.call("lookup", json!({"query": query})).await;
        assert!(answer.text.starts_with(first), "{query}: {}", answer.text);
    }
    let call = json!({"query": "hasType", "version": "1.89.2"});
    let answer = bridge.call("lookup", call).await;
    let mark = "peripheral.hasType, several types (NOT in 1.89.2: it came with 1.99): ";
    assert!(answer.text.starts_with(mark), "{}", answer.text);
    let call = json!({"query": "hasType", "version": "1.113"});
    let answer = bridge.call("lookup", call).await;
    assert!(
        answer.text.contains("(since CC:Tweaked 1.99)"),
        "{}",
        answer.text
    );
    let answer = bridge.call("lookup", json!({"query": "xyzzy"})).await;
    assert!(
        answer
            .text
            .starts_with("There is no note on that. There are these:\n"),
        "{}",
        answer.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_turtle_moves_what_it_carries_over_a_wired_network() {
    let mut bridge = Bridge::initialized().await;
    let mut options = ComputerOptions::new(1).with_file("mcp-computer.lua", agent::program());
    options.kind = Kind::Turtle;
    let _turtle = linked(&mut bridge, options, "").await;
    steps::take(&mut bridge, 1, "turtle.toml", false).await;
    bridge.leave().await;
}

#[tokio::test]
async fn where_nothing_may_be_changed_what_reads_runs_and_the_rest_is_refused() {
    let mut bridge = Bridge::start_with(|command| {
        command.arg("--read-only");
    });
    bridge.initialize("2025-11-25").await;
    let _computer = of_version(&mut bridge, 1, "1.113.1", &agent::program()).await;
    for (tool, arguments) in [
        ("list-files", json!({})),
        ("read-file", json!({"path": "mcp-computer.lua"})),
        ("search-files", json!({"query": "x"})),
        ("list-peripherals", json!({})),
        ("wait-event", json!({"timeoutMs": 50})),
        ("read-redstone", json!({})),
        ("lookup", json!({"query": "turtle"})),
    ] {
        let answer = bridge.call(tool, arguments).await;
        assert!(
            !answer.text.contains("--read-only"),
            "{tool}: {}",
            answer.text
        );
    }
    for (tool, arguments) in [
        ("write-file", json!({"path": "x", "content": ""})),
        (
            "edit-file",
            json!({"path": "x", "edits": [{"find": "x", "replace": ""}]}),
        ),
        (
            "manage-files",
            json!({"action": "delete", "path": "mcp-computer.lua"}),
        ),
        (
            "call-peripheral",
            json!({"calls": [{"name": "left", "method": "x"}]}),
        ),
        ("move-items", json!({"to": "left"})),
        ("redstone", json!({})),
        ("power", json!({"action": "reboot"})),
        ("rednet", json!({"action": "receive"})),
        ("settings", json!({"action": "list"})),
    ] {
        let answer = bridge.call(tool, arguments).await;
        assert!(
            answer.is_error && answer.text.contains("--read-only"),
            "{tool}: {}",
            answer.text
        );
    }
    bridge.leave().await;
}

#[tokio::test]
async fn a_storage_of_forty_chests_is_counted_and_sorted_by_two_calls() {
    let mut world = String::from(
        "[[computer]]\nid = 1\nat = [0, 64, 6]\nfacing = \"south\"\nnetwork = \"base\"\n",
    );
    for place in 0..40 {
        let chest = format!(
            "[[block]]\nblock = \"chest\"\nat = [{}, 64, 2]\nnetwork = \"base\"\n",
            2 * place
        );
        world.push_str(&chest);
        if place < 30 {
            world.push_str("items = [{ item = \"cobblestone\", count = 9 }, { item = \"coal\", count = 20 }]\n");
        }
    }
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let (land, residents) = Land::read(&world).unwrap();
    land.set_clock_speed(10.0);
    let program = format!("mcp-computer ws://{port}");
    let mut computers = Vec::new();
    for resident in residents {
        let mut options = resident.options;
        options.clock_speed = 10.0;
        let options = options.with_file("mcp-computer.lua", agent::program());
        computers.push(Computer::start_in(&land, options, &program, &Handle::current()).unwrap());
    }
    bridge.linked(1).await;
    let items = async |bridge: &mut Bridge, query: &str| -> Value {
        let answer = bridge.call("list-items", json!({"query": query})).await;
        assert!(!answer.is_error, "{}", answer.text);
        serde_json::from_str(&answer.text).unwrap()
    };
    let all = items(&mut bridge, "").await;
    assert_eq!(all["inventories"], 40, "{all}");
    assert_eq!(all["items"][0]["name"], "minecraft:coal", "{all}");
    assert_eq!(all["items"][0]["count"], 600, "{all}");
    assert_eq!(all["items"][1]["count"], 270, "{all}");
    let call = json!({"item": "coal", "to": "minecraft:chest_39"});
    let moved = bridge.call("move-items", call).await;
    assert!(
        moved
            .text
            .starts_with("600 coal moved to minecraft:chest_39. From "),
        "{}",
        moved.text
    );
    let coal = items(&mut bridge, "coal").await;
    let places = coal["items"][0]["places"].as_object().unwrap();
    assert_eq!(
        places.keys().collect::<Vec<_>>(),
        ["minecraft:chest_39"],
        "{coal}"
    );
    bridge.leave().await;
}
