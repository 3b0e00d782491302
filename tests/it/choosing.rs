//! Which tools there are, which are listed, and which can only be found: what `find-tools` shows can be called, and what
//! can't be called is named with the reason, whatever a person chose, MCP servers included.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{
    bridge::Bridge,
    servers::{Place, server, status, with},
    tools::{Tools, manifest},
    until,
};
use serde_json::json;

/// The product's own tools that only read, but for the two that stay.
const OWN_READING: [&str; 6] = [
    "get-job",
    "list-computers",
    "list-jobs",
    "probe-computers",
    "read-screen",
    "recent-errors",
];
const OWN_CHANGING: [&str; 5] = [
    "cancel-job",
    "exec-lua",
    "run-program",
    "run-script",
    "send-input",
];
/// A user's: two on the host, and two on a computer.
const USERS: [&str; 4] = ["dig", "fuel", "greet", "looks"];
/// Those of a server called `files`, which promise nothing, and of one called `core`, as ours is.
const FILES: [&str; 2] = ["files__echo", "files__pid"];
const CALLED_CORE: [&str; 1] = ["core__echo"];
/// Of a server called `My notes`: the first promises to change nothing.
const NOTES: [&str; 2] = ["text-hints", "no-schema"];
const STATUS: [&str; 1] = ["upstream-status"];

/// What becomes of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Listed,
    Found,
    /// Refused for a reason that has these words.
    Refused(&'static str),
}

const OTHERS_ONLY: Fate = Fate::Refused("--toolsets or --tools");
const READ_ONLY: Fate = Fate::Refused("--read-only");

fn notes(name: &str) -> String {
    let id = mcp_bridge::upstream::names::server_id("My notes");
    format!("{id}__{name}")
}

/// All tools, with what becomes of each group of them.
fn fates(groups: [Fate; 7]) -> BTreeMap<String, Fate> {
    let [
        reading,
        changing,
        users,
        files,
        called_core,
        notes_of,
        status,
    ] = groups;
    let named = |names: &[&str], fate| {
        let names: Vec<_> = names
            .iter()
            .map(|name| ((*name).to_owned(), fate))
            .collect();
        names
    };
    let mut all = named(&OWN_READING, reading);
    all.extend(named(&OWN_CHANGING, changing));
    all.extend(named(&USERS, users));
    all.extend(named(&FILES, files));
    all.extend(named(&CALLED_CORE, called_core));
    all.extend(NOTES.map(|name| (notes(name), notes_of)));
    all.extend(named(&STATUS, status));
    all.into_iter().collect()
}

fn tools() -> Tools {
    let tools = Tools::new();
    tools.add("greet", "return 'Hello'");
    let promise = "      mcp.annotations: { readOnlyHint: true }\n";
    tools.add_with("looks", promise, "return 'looked'");
    tools.add_on_computer("dig", "return turtle.dig()");
    tools.add_on_computer("fuel", "return turtle.getFuelLevel()");
    let fuel = manifest("fuel", "computer.lua", promise);
    tools.write("fuel/_index.yaml", &fuel);
    tools
}

fn place() -> Place {
    let chosen = |mode, tools| with(server(mode), json!({ "tools": tools }));
    Place::with_servers(json!({
        "files": chosen("good", json!(["echo", "pid"])),
        "core": chosen("good", json!(["echo"])),
        "My notes": chosen("odd", json!(NOTES)),
    }))
}

async fn start(place: &Place, tools: &Tools, arguments: &[&str]) -> Bridge {
    let mut bridge = place.bridge_with(|command| {
        command.arg("--tools").arg(tools.path()).args(arguments);
    });
    bridge.initialize("2025-11-25").await;
    bridge
}

/// The names that `find-tools` shows, and what it says of those that it does not.
fn shown(text: &str) -> (BTreeSet<String>, String) {
    let mut names = BTreeSet::new();
    let mut refused = String::new();
    for part in text.split("\n\n") {
        if part.starts_with("Refused, since ") {
            refused.push_str(part);
            refused.push('\n');
            continue;
        }
        for line in part.lines() {
            if let Some((name, _)) = line.split_once(": ")
                && !name.starts_with("Arguments")
            {
                names.insert(name.replace(" (changes nothing)", ""));
            }
        }
    }
    (names, refused)
}

/// Whether a call was not made at all.
fn was_kept(text: &str) -> bool {
    [
        "is refused",
        "was not called",
        "is withheld",
        "There is no tool",
    ]
    .iter()
    .any(|words| text.contains(words))
}

#[tokio::test]
async fn what_is_found_can_be_called_and_what_is_refused_is_named_with_the_reason_whatever_was_chosen()
 {
    use Fate::{Found, Listed};
    let (place, tools) = (place(), tools());
    let all = fates([Listed; 7]).len();
    // So that each bridge knows from the start what the servers offer.
    let mut first = start(&place, &tools, &[]).await;
    status(&mut first, |text| {
        text.matches("2 tools").count() == 2 && text.contains("1 tool\n")
    })
    .await;
    first.leave().await;
    let core_only = [
        Listed,
        Listed,
        OTHERS_ONLY,
        OTHERS_ONLY,
        OTHERS_ONLY,
        OTHERS_ONLY,
        OTHERS_ONLY,
    ];
    let core_listed = [Listed, Listed, Found, Found, Found, Found, Found];
    let few_read = [
        Listed, READ_ONLY, Listed, READ_ONLY, READ_ONLY, Listed, Listed,
    ];
    let notes_id = mcp_bridge::upstream::names::server_id("My notes");
    let by_id = format!("core,{notes_id}");
    let table: Vec<(Vec<&str>, [Fate; 7])> = vec![
        (vec![], [Listed; 7]),
        (vec!["--list", "all"], [Listed; 7]),
        (vec!["--list", "core"], core_listed),
        (
            vec!["--list", "core,files"],
            [Listed, Listed, Found, Listed, Found, Found, Listed],
        ),
        (vec!["--list", "find-tools"], [Found; 7]),
        (
            vec!["--list", "custom,My notes"],
            [Found, Found, Listed, Found, Found, Listed, Listed],
        ),
        (vec!["--toolsets", "core"], core_only),
        (
            vec!["--toolsets", "core,files"],
            [
                Listed,
                Listed,
                OTHERS_ONLY,
                Listed,
                OTHERS_ONLY,
                OTHERS_ONLY,
                Listed,
            ],
        ),
        (
            vec!["--toolsets", "core,files", "--list", "core"],
            [
                Listed,
                Listed,
                OTHERS_ONLY,
                Found,
                OTHERS_ONLY,
                OTHERS_ONLY,
                Found,
            ],
        ),
        (
            vec!["--toolsets", &by_id],
            [
                Listed,
                Listed,
                OTHERS_ONLY,
                OTHERS_ONLY,
                OTHERS_ONLY,
                Listed,
                Listed,
            ],
        ),
        (
            vec!["--toolsets", "upstream"],
            [
                OTHERS_ONLY,
                OTHERS_ONLY,
                OTHERS_ONLY,
                Listed,
                Listed,
                Listed,
                Listed,
            ],
        ),
        (
            vec![
                "--tools",
                "core__echo,dig,fuel,greet,looks",
                "--list",
                "dig",
            ],
            [
                OTHERS_ONLY,
                OTHERS_ONLY,
                Found,
                OTHERS_ONLY,
                Found,
                OTHERS_ONLY,
                OTHERS_ONLY,
            ],
        ),
        (vec!["--read-only"], few_read),
        (
            vec!["--read-only", "--list", "core"],
            [Listed, READ_ONLY, Found, READ_ONLY, READ_ONLY, Found, Found],
        ),
        (
            vec![
                "--read-only",
                "--toolsets",
                "custom,files",
                "--list",
                "core",
            ],
            [
                OTHERS_ONLY,
                READ_ONLY,
                Found,
                READ_ONLY,
                READ_ONLY,
                OTHERS_ONLY,
                Found,
            ],
        ),
    ];
    for (arguments, groups) in table {
        let mut expected = fates(groups);
        assert_eq!(expected.len(), all);
        if arguments.contains(&"--read-only") {
            // These would change something, and are not asked what.
            expected.insert("dig".to_owned(), READ_ONLY);
            expected.insert(notes("no-schema"), READ_ONLY);
        }
        if arguments.last() == Some(&"dig") {
            expected.insert("dig".to_owned(), Listed);
        }
        let mut bridge = start(&place, &tools, &arguments).await;
        let named = until("all tools are known", async || {
            let text = bridge.call("find-tools", json!({})).await.text;
            let is_whole = expected.keys().all(|name| text.contains(name.as_str()));
            if is_whole { Ok(text) } else { Err(text) }
        })
        .await;
        // Who was sent no list finds what is listed too.
        let (found, refused) = shown(&named);
        let reply = bridge.request("tools/list", json!({})).await;
        let listed: BTreeSet<_> = reply["result"]["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect();
        let left = shown(&bridge.call("find-tools", json!({})).await.text);
        assert!(listed.contains("find-tools") && listed.contains("call-tool"));
        for (name, fate) in expected {
            let what = format!("{name} with {arguments:?}");
            assert_eq!(listed.contains(&name), fate == Listed, "{what}");
            assert_eq!(left.0.contains(&name), fate == Found, "{what}: {left:?}");
            let is_refused = matches!(fate, Fate::Refused(_));
            assert_eq!(found.contains(&name), !is_refused, "{what}: {named}");
            if let Fate::Refused(why) = fate {
                let mut reasons = refused.lines().filter(|line| line.contains(why));
                let is_named = |line: &str| line.split([' ', ',']).any(|word| word == name);
                assert!(reasons.any(is_named), "{what}: {refused}");
                assert_eq!(refused, left.1, "{what}");
            }
            let given = match name.ends_with("__echo") {
                true => json!({"text": "again"}),
                false => json!({}),
            };
            let by_name = json!({"name": name, "arguments": given});
            for (tool, call) in [(name.as_str(), given), ("call-tool", by_name)] {
                let answer = bridge.call(tool, call).await;
                assert_eq!(
                    was_kept(&answer.text),
                    is_refused,
                    "{what}: {}",
                    answer.text
                );
                if let Fate::Refused(why) = fate {
                    assert!(answer.text.contains(why), "{what}: {}", answer.text);
                }
            }
        }
        bridge.leave().await;
    }
}

#[tokio::test]
async fn a_pause_keeps_what_find_tools_shows_from_being_called_and_find_tools_says_so() {
    let (place, tools) = (Place::new(), tools());
    let mut changing = start(&place, &tools, &["--list", "core"]).await;
    let mut reading = start(&place, &tools, &["--list", "core", "--read-only"]).await;
    place.says(&["pause", "--reason", "a visit"]);
    let query = json!({"query": "greet looks"});
    let found = changing.call("find-tools", query.clone()).await.text;
    assert!(
        found.contains("greet: ")
            && found.contains("looks (changes nothing): ")
            && found.contains("Those that do not say (changes nothing) are not called now: a person has paused this ")
            && found.contains(": a visit. Until `mcp-bridge resume`"),
        "{found}"
    );
    let greet = json!({"name": "greet"});
    let held = changing.call("call-tool", greet.clone()).await.text;
    assert!(
        held.contains("greet was not called: a person has paused"),
        "{held}"
    );
    let looks = changing.call("call-tool", json!({"name": "looks"})).await;
    assert_eq!(looks.text, "looked");
    // Where nothing can be changed there is nothing to hold up.
    let found = reading.call("find-tools", query).await.text;
    assert!(
        found.contains("greet (changes nothing): ") && !found.contains("paused"),
        "{found}"
    );
    let greeted = reading.call("call-tool", greet).await;
    assert_eq!(greeted.text, "Hello");
    changing.leave().await;
    reading.leave().await;
}

#[tokio::test]
async fn a_client_is_told_how_to_find_what_a_person_has_not_listed() {
    let (place, tools) = (place(), tools());
    let lists = [
        (&["--toolsets", "core,custom"][..], false),
        (&[][..], true),
        (&["--list", "core"], true),
    ];
    for (arguments, is_told) in lists {
        let mut bridge = place.bridge_with(|command| {
            command.arg("--tools").arg(tools.path()).args(arguments);
        });
        let agreed = bridge.initialize("2025-11-25").await;
        let words = agreed["instructions"].as_str().unwrap();
        let named =
            words.contains("`find-tools` and `call-tool` reach tools that are not in your list");
        assert_eq!(named, is_told, "{arguments:?}: {words}");
        bridge.leave().await;
    }
}

#[test]
fn the_list_for_a_person_tells_what_becomes_of_each_tool() {
    let (place, tools) = (place(), tools());
    let folder = tools.path().to_str().unwrap();
    let list =
        |more: &[&str]| place.says(&[&["tools", "list", "--tools", folder][..], more].concat());
    let line = |text: &str, name: &str| {
        let mut lines = text.lines();
        let start = format!("tool      {name}  [");
        lines
            .find(|line| line.starts_with(&start))
            .unwrap()
            .to_owned()
    };
    // The sets of servers are known here too, though none is started.
    let chosen = list(&["--list", "core,files,My notes,files__pid"]);
    assert!(
        line(&chosen, "exec-lua").ends_with(|c: char| c.is_ascii_digit()),
        "{chosen}"
    );
    assert!(
        line(&chosen, "greet").ends_with("(not listed, but found by find-tools)"),
        "{chosen}"
    );
    let read_only = list(&["--read-only"]);
    assert!(
        line(&read_only, "dig").ends_with("(switched off)"),
        "{read_only}"
    );
    assert!(
        line(&read_only, "greet").ends_with("(read-only: what it asks to change is refused)"),
        "{read_only}"
    );
    assert!(!line(&read_only, "looks").contains('('), "{read_only}");
    let unmet = place.run(&["tools", "list", "--tools", folder, "--list", "cor"]);
    let said = String::from_utf8(unmet.stderr).unwrap();
    assert!(
        !unmet.status.success()
            && said.contains("there is no tool or set of tools `cor`, which the settings name"),
        "{said}"
    );
}
