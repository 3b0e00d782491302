//! A pause: in all bridges, at once, until it is lifted.

use serde_json::json;

use super::User;
use crate::common::{
    bridge::ToolAnswer,
    computer::{Computer, version_1_agent},
    is, until,
};

fn is_paused(answer: &ToolAnswer, what: &str) {
    let begun = format!("{what}: a person has paused this ");
    assert!(
        answer.is_error
            && answer.text.contains(&begun)
            && answer.text.contains("looking at the base")
            && answer.text.contains("do not try again"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn a_pause_holds_in_all_bridges_at_once_and_for_those_that_start_later() {
    let user = User::new();
    let (mut own, mut guest) = (user.bridge().await, user.bridge().await);
    let served = user.served().await;
    let mut over_http = served.client("2025-11-25").await;
    let agent = Computer::link(user.port.address(), 12, Some("base")).await;
    let agent = agent.serve(version_1_agent(12, "base"));
    over_http.linked(12).await;
    assert_eq!(guest.lua(12, "return 1 + 1").await, "=> 2");

    let said = user
        .enters(&["pause", "--reason", "looking at the base"])
        .await
        .well();
    assert!(said.contains("mcp-bridge resume"), "{said}");
    let code = json!({"computerId": 12, "code": "return 1"});
    let mut late = user.bridge().await;
    for bridge in [&mut own, &mut guest, &mut late] {
        let exec = bridge.call("exec-lua", code.clone()).await;
        is_paused(&exec, "exec-lua was not called");
        let call = json!({"name": "exec-lua", "arguments": code});
        let called = bridge.call("call-tool", call).await;
        is_paused(&called, "exec-lua was not called");
        let script = json!({"code": "return 1"});
        let script = bridge.call("run-script", script).await;
        is_paused(&script, "run-script was not called");
        // What only reads goes on, and tells of the pause.
        let computers = bridge.call("list-computers", json!({})).await;
        assert!(
            !computers.is_error && computers.text.contains("looking at the base"),
            "{}",
            computers.text
        );
        let paused = computers.structured.unwrap()["paused"].take();
        assert!(paused.as_str().unwrap().ends_with("looking at the base"));
        let found = bridge.call("find-tools", json!({"query": "lua"})).await;
        assert!(!found.is_error, "{}", found.text);
        let probed = bridge.call("probe-computers", json!({})).await;
        assert!(probed.text.contains("pong from 12"), "{}", probed.text);
    }
    let exec = over_http.call("exec-lua", code.clone()).await;
    is_paused(&exec, "exec-lua was not called");
    let status = user.enters(&["status"]).await.well();
    assert!(status.contains("looking at the base"), "{status}");

    let said = user.enters(&["resume"]).await.well();
    assert!(said.contains("lifted"), "{said}");
    assert_eq!(over_http.lua(12, "return 2 + 2").await, "=> 4");
    for bridge in [&mut own, &mut guest, &mut late] {
        assert_eq!(bridge.lua(12, "return 2 + 2").await, "=> 4");
        let computers = bridge.call("list-computers", json!({})).await;
        assert!(!computers.text.contains("paused"), "{}", computers.text);
    }
    let said = user.enters(&["resume"]).await.well();
    assert_eq!(said, "Nothing was paused.\n");
    agent.abort();
    for bridge in [guest, late, own] {
        bridge.leave().await;
    }
}

#[tokio::test]
async fn what_runs_when_a_pause_begins_goes_on_but_a_script_begins_nothing_more() {
    let user = User::new();
    let mut bridge = user.bridge().await;
    let mut computer = user.computer(4).await;
    let code = json!({"computerId": 4, "code": "long()"});
    let long = bridge.start_call("exec-lua", code).await;
    let running = computer.request().await;
    computer.accept(&running).await;
    let code = "
        local first = computers.exec({4}, 'first()')[4]
        local _, again = pcall(computers.exec, {4}, 'second()')
        local called = computers.call({4}, 'exec-lua', {code = 'third()'})[4]
        return first.ok, tostring(again), called.error";
    let script = bridge.start_call("run-script", json!({"code": code})).await;
    let first = computer.request().await;
    user.enters(&["pause"]).await.well();
    computer.respond(&first, json!({"values": []})).await;
    let script = bridge.answer(script).await;
    for part in [
        "true\n",
        "computers.exec was not done: a person has paused this",
        "exec-lua was not called: a person has paused this",
    ] {
        assert!(script.text.contains(part), "{}", script.text);
    }
    computer.respond(&running, json!({"returns": []})).await;
    let long = bridge.answer(long).await;
    assert!(!long.is_error, "{}", long.text);
    bridge.leave().await;
}

#[tokio::test]
async fn what_waits_for_a_computer_that_is_away_does_not_begin_in_a_pause() {
    let user = User::new();
    let mut bridge = user.bridge().await;
    drop(user.computer(4).await);
    bridge
        .computer(4, |computer| computer["linked"] == false)
        .await;
    let code = json!({"computerId": 4, "code": "first()", "timeoutMs": 60_000});
    let exec = bridge.start_call("exec-lua", code).await;
    let code = json!({"code": "return computers.exec({4}, 'second()')[4].error"});
    let script = bridge.start_call("run-script", code).await;
    until("both wait", async || {
        let jobs = bridge
            .call("list-jobs", json!({"computerId": 4}))
            .await
            .text;
        is(jobs.contains("first()") && jobs.contains("second()"), jobs)
    })
    .await;
    user.enters(&["pause"]).await.well();
    let mut back = user.computer(4).await;
    let exec = bridge.answer(exec).await;
    assert!(
        exec.is_error
            && exec
                .text
                .starts_with("The code was not run: a person has paused this"),
        "{}",
        exec.text
    );
    let script = bridge.answer(script).await.text;
    assert!(
        script.contains("the code was not run: a person has paused this"),
        "{script}"
    );
    user.enters(&["resume"]).await.well();
    let code = json!({"computerId": 4, "code": "third()"});
    let third = bridge.start_call("exec-lua", code).await;
    let request = back.request().await;
    assert_eq!(request["params"]["code"], "third()");
    back.respond(&request, json!({"returns": []})).await;
    assert!(!bridge.answer(third).await.is_error);
    bridge.leave().await;
}

#[tokio::test]
async fn a_pause_that_can_not_be_written_is_said_to_be_none() {
    let user = User::new();
    std::fs::create_dir(user.state.path().join("paused.json")).unwrap();
    for command in ["pause", "resume"] {
        let entered = user.enters(&[command]).await;
        assert!(!entered.is_well, "{command}: {}", entered.said);
        let said = &entered.said;
        assert!(said.contains("the pause can't be"), "{said}");
    }
}
