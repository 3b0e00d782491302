//! Bad MCP servers behind the bridge: those that die, keep silent, flood or print rubbish. They are
//! `tests/upstream/server.py`, as bad as each test needs it.

use std::fs;

use crate::common::{
    bridge::Bridge,
    is,
    servers::{Place, file, list, listed, server, status, upstream_tools, with},
    until,
};
use serde_json::{Map, Value, json};

/// A bad server, and a good one beside it, which must notice nothing.
async fn beside_a_good_one(bad: Value) -> (Place, Bridge) {
    let place = Place::with_servers(json!({ "bad": bad, "good": server("good") }));
    let mut bridge = place.session().await;
    listed(&mut bridge, "good__echo").await;
    (place, bridge)
}

async fn good_still_works(mut bridge: Bridge) {
    assert_eq!(
        bridge
            .call("good__echo", json!({"text": "here"}))
            .await
            .text,
        "here"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_server_that_dies_in_mid_call_is_answered_for_once_and_started_again() {
    let (_place, mut bridge) = beside_a_good_one(server("good")).await;
    listed(&mut bridge, "bad__die").await;
    let pid = bridge.call("bad__pid", json!({})).await.text;
    let id = bridge.start_call("bad__die", json!({})).await;
    let answer = bridge.answer(id).await;
    assert!(answer.is_error, "{}", answer.text);
    for part in [
        "The server `bad` ended (exit code 3)",
        "unknown",
        "these are my last words",
    ] {
        assert!(answer.text.contains(part), "no `{part}` in {}", answer.text);
    }
    let again = bridge.call("bad__pid", json!({})).await;
    assert!(!again.is_error && again.text != pid, "{}", again.text);
    let mark = format!("\"id\":{id},");
    assert_eq!(
        bridge
            .printed()
            .iter()
            .filter(|line| line.contains(&mark))
            .count(),
        1
    );
    good_still_works(bridge).await;
}

#[tokio::test]
async fn a_server_that_never_answers_initialize_is_failed_at_its_deadline() {
    let (_place, mut bridge) =
        beside_a_good_one(with(server("mute"), json!({"startTimeoutMs": 500}))).await;
    let state = status(&mut bridge, |state| state.contains("bad: failed")).await;
    assert!(
        state.contains("did not answer `initialize`") && state.contains("0.5 s"),
        "{state}"
    );
    assert!(
        upstream_tools(&mut bridge)
            .await
            .iter()
            .all(|name| name.starts_with("good__"))
    );
    good_still_works(bridge).await;
}

#[tokio::test]
async fn a_server_that_dies_at_its_start_is_failed_with_its_last_words_and_tried_again_ever_later()
{
    let place = Place::new();
    place.write(
        "config/mcp.json",
        &json!({"mcpServers": {"bad": place.server("dies", &["STARTS"])}}),
    );
    let mut bridge = place.session().await;
    let state = status(&mut bridge, |state| {
        state.contains("bad: failed") && state.contains("started again in 4 s")
    })
    .await;
    assert!(
        state.contains("ended before it answered `initialize` (exit code 7)"),
        "{state}"
    );
    assert!(state.contains("stderr: I can't go on"), "{state}");
    assert_eq!(place.lines("starts").len(), 3);
    bridge.leave().await;
}

#[tokio::test]
async fn a_server_that_stopped_working_loses_its_tools_and_a_call_says_why() {
    let place = Place::new();
    let program = place.path("server");
    fs::copy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/upstream/server.py"),
        &program,
    )
    .unwrap();
    let entry = json!({"command": crate::common::servers::PYTHON, "args": [program]});
    place.write("config/mcp.json", &json!({"mcpServers": {"test": entry}}));
    let mut bridge = place.session().await;
    listed(&mut bridge, "test__die").await;
    fs::write(&program, "import sys\nsys.exit('broken now')").unwrap();
    bridge.call("test__die", json!({})).await;
    // It was there a moment ago.
    assert!(
        upstream_tools(&mut bridge)
            .await
            .contains(&"test__echo".to_owned())
    );
    list(&mut bridge, "its tools are gone", <[_]>::is_empty).await;
    let answer = bridge.call("test__echo", json!({"text": "x"})).await;
    assert!(
        answer.is_error && answer.text.contains("broken now"),
        "{}",
        answer.text
    );
    assert!(
        answer.text.contains("mcp-bridge upstream restart test"),
        "{}",
        answer.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_said_with_where_it_was_looked_for() {
    let (_place, mut bridge) =
        beside_a_good_one(json!({"command": "no-such-program-anywhere"})).await;
    let state = status(&mut bridge, |state| state.contains("bad: failed")).await;
    assert!(
        state.contains("`no-such-program-anywhere` can't be started"),
        "{state}"
    );
    good_still_works(bridge).await;
}

#[tokio::test]
async fn a_server_that_floods_standard_error_works_all_the_same() {
    let (place, mut bridge) = beside_a_good_one(server("floods")).await;
    listed(&mut bridge, "bad__flood").await;
    assert_eq!(
        bridge
            .call("bad__flood", json!({"lines": 300_000}))
            .await
            .text,
        "flooded"
    );
    let log: u64 = fs::read_dir(place.path("state/logs"))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(log < 200_000, "the log has {log} bytes");
    good_still_works(bridge).await;
}

#[tokio::test]
async fn a_server_that_prints_rubbish_works_all_the_same_and_it_is_told() {
    let (_place, mut bridge) = beside_a_good_one(server("rubbish")).await;
    listed(&mut bridge, "bad__echo").await;
    assert_eq!(
        bridge.call("bad__echo", json!({"text": "x"})).await.text,
        "x"
    );
    let state = status(&mut bridge, |_| true).await;
    assert!(
        state.contains("lines that are no messages, the last: DEBUG: got a line"),
        "{state}"
    );
    good_still_works(bridge).await;
}

#[tokio::test]
async fn what_a_server_prints_that_never_speaks_mcp_is_told_while_it_starts_and_when_it_fails() {
    let failing = with(server("garbage"), json!({"startTimeoutMs": 1_500}));
    let place = Place::with_servers(json!({ "failing": failing, "slow": server("garbage") }));
    let mut bridge = place.session().await;
    let (told, begins) = ("lines that are no messages, the last: ", r"\x00garbage");
    // What is told of a server, from where it is named to the end of the line that says what it prints.
    let about = |text: &str, name: &str| {
        let from = text.find(name)?;
        let (before, after) = text[from..].split_once(told)?;
        let last = after.lines().next()?;
        Some(format!("{before}{last}"))
    };
    for command in [&["upstream", "list"][..], &["doctor", "servers"]] {
        let name = match command[0] {
            "doctor" => "the MCP server slow has been starting for ",
            _ => "slow: starting for ",
        };
        until("another process tells of it", async || {
            let output = place.run(command);
            let said = String::from_utf8(output.stdout).unwrap();
            let is_told = about(&said, name).is_some_and(|about| {
                // Long lines are cut.
                about.contains(" printed ") && about.contains(begins) && about.ends_with('…')
            });
            is(is_told, said)
        })
        .await;
    }
    let state = status(&mut bridge, |state| {
        about(state, "failing: failed").is_some_and(|about| about.contains(begins))
    })
    .await;
    assert!(about(&state, "slow: starting for ").is_some(), "{state}");
    let answer = bridge.call("failing__any", json!({})).await;
    assert!(
        about(&answer.text, "The server `failing` did not answer")
            .is_some_and(|about| about.contains("\nIt printed ") && about.contains(begins)),
        "{}",
        answer.text
    );
    let listed: Value = serde_json::from_str(&place.says(&["upstream", "list", "--json"])).unwrap();
    let printed = &listed["bridges"][0]["servers"][1]["printed"];
    assert!(
        printed["lines"].as_u64() > Some(0) && printed["last"].is_string(),
        "{listed}"
    );
    bridge.leave().await;
}

/// So many servers that never answer, each with a minute to start, and a good one that comes after all of them.
fn behind_mute_ones(count: usize) -> Place {
    let mute = (0..count).map(|number| (format!("mute{number}"), server("mute")));
    let mut servers: Map<_, _> = mute.collect();
    servers.insert("zgood".to_owned(), server("good"));
    Place::with_servers(Value::Object(servers))
}

#[tokio::test]
async fn servers_that_never_answer_hold_up_no_other() {
    let place = behind_mute_ones(18);
    let mut bridge = place.session().await;
    // There are more than start at once.
    let state = status(&mut bridge, |state| state.contains(": starting")).await;
    assert!(state.contains(": waiting"), "{state}");
    listed(&mut bridge, "zgood__echo").await;
    let state = bridge.call("upstream-status", json!({})).await.text;
    assert!(!state.contains(": failed"), "{state}");
    assert!(state.contains("zgood: connected"), "{state}");
    bridge.leave().await;
}

#[tokio::test]
async fn a_tool_of_a_server_that_nobody_has_listed_is_waited_for() {
    let place = behind_mute_ones(6);
    let mut bridge = place.session().await;
    let here = bridge.call("zgood__echo", json!({"text": "here"})).await;
    assert_eq!(here.text, "here");
    let place = behind_mute_ones(6);
    let mut other = place.session().await;
    let arguments = json!({"name": "zgood__echo", "arguments": {"text": "there"}});
    assert_eq!(other.call("call-tool", arguments).await.text, "there");

    // What the server turns out not to have is unknown.
    let params = json!({"name": "zgood__nothing", "arguments": {}});
    let error = &bridge.request("tools/call", params).await["error"];
    assert_eq!(error["message"], "Unknown tool: zgood__nothing");
    bridge.leave().await;
    other.leave().await;
}

#[tokio::test]
async fn a_tool_of_a_server_that_does_not_come_up_is_answered_with_the_reason() {
    let late = with(server("mute"), json!({"startTimeoutMs": 500}));
    let place = Place::with_servers(json!({ "late": late, "dead": server("dies") }));
    let mut bridge = place.session().await;
    for (tool, words) in [
        (
            "late__any",
            "The server `late` did not answer `initialize` or list its tools within 0.5 s",
        ),
        (
            "dead__any",
            "The server `dead` ended before it answered `initialize` (exit code 7)",
        ),
    ] {
        let answer = bridge.call(tool, json!({})).await;
        assert!(
            answer.is_error && answer.text.contains(words),
            "{}",
            answer.text
        );
    }
    bridge.leave().await;
}

#[tokio::test]
async fn a_call_to_a_server_that_is_taken_away_is_answered_at_once() {
    let place = behind_mute_ones(1);
    let mut bridge = place.session().await;
    let call = bridge.start_call("mute0__any", json!({})).await;
    status(&mut bridge, |state| state.contains("mute0: starting")).await;
    place.write("config/mcp.json", &json!({ "mcpServers": {} }));
    let answer = bridge.answer(call).await;
    let file = place.path("config/mcp.json");
    assert_eq!(
        answer.text,
        format!(
            "This call did not reach the server `mute0`, since its entry was taken out of {}.",
            file.display()
        )
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_call_whose_server_is_let_go_meanwhile_is_told_who_did_it_and_why() {
    let names = ["restarted", "changed", "off", "out"];
    let all = names.map(|name| (name.to_owned(), server("good")));
    let mut servers: Map<_, _> = all.into_iter().collect();
    servers.insert("good".to_owned(), server("good"));
    let place = Place::with_servers(Value::Object(servers.clone()));
    let mut bridge = place.session().await;
    listed(&mut bridge, "good__echo").await;
    let mut running = Vec::new();
    for name in names {
        listed(&mut bridge, &format!("{name}__wait")).await;
        let marks = json!({"begun": place.path(name), "go": place.path("never")});
        let call = bridge.start_call(&format!("{name}__wait"), marks).await;
        file(&place.path(name)).await;
        running.push(call);
    }
    // They wait for those.
    let mut waiting = Vec::new();
    for name in ["changed", "out"] {
        let params = json!({
            "name": format!("{name}__pid"), "arguments": {}, "_meta": {"progressToken": name}
        });
        waiting.push((name, bridge.ask("tools/call", params).await));
        let waits = |message: &Value| message["params"]["progressToken"] == name;
        bridge.message("it says that it waits", waits).await;
    }
    place.says(&["upstream", "restart", "restarted"]);
    servers["changed"]["callTimeoutMs"] = json!(60_000);
    servers["off"]["enabled"] = json!(false);
    servers.remove("out");
    place.write("config/mcp.json", &json!({ "mcpServers": servers }));
    let file = place.path("config/mcp.json").display().to_string();
    let why = |name: &str| match name {
        "restarted" => {
            "a person asked for it to be started anew (`mcp-bridge upstream restart`)".to_owned()
        }
        "changed" => format!("its entry in {file} was changed"),
        "off" => format!("it is switched off in {file}"),
        _ => format!("its entry was taken out of {file}"),
    };
    for (name, call) in names.into_iter().zip(running) {
        let answer = bridge.answer(call).await;
        assert!(answer.is_error, "{name}");
        assert_eq!(
            answer.text,
            format!(
                "mcp-bridge ended the server `{name}` before it answered this call, since {}. Whether it did what was \
                 asked is unknown.",
                why(name)
            )
        );
    }
    for (name, call) in waiting {
        assert_eq!(
            bridge.answer(call).await.text,
            format!(
                "This call did not reach the server `{name}`, since {}.",
                why(name)
            )
        );
    }
    // It is there as it is configured now.
    let pid = bridge.call("changed__pid", json!({})).await;
    assert!(!pid.is_error, "{}", pid.text);
    good_still_works(bridge).await;
}
