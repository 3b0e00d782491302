//! Nothing is left of a managed server, whatever ends it or the bridge: no process of its group, and on Linux none that
//! left the group either.

use std::process::Command;

use crate::common::{
    bridge::Bridge,
    is,
    servers::{Place, file, listed, status},
    soon, until,
};
use serde_json::json;

/// The processes that run, each with its group; zombies left out.
fn processes() -> Vec<(u32, u32)> {
    let output = Command::new("ps")
        .args(["-A", "-o", "pid=,pgid=,stat="])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (pid, group, state) = (words.next()?, words.next()?, words.next()?);
            (!state.starts_with('Z')).then(|| (pid.parse().unwrap(), group.parse().unwrap()))
        })
        .collect()
}

/// Which of these processes run, or any of these groups.
fn left(groups: &[u32], pids: &[u32]) -> Vec<(u32, u32)> {
    let of_ours = |&(pid, group): &(u32, u32)| groups.contains(&group) || pids.contains(&pid);
    processes().into_iter().filter(of_ours).collect()
}

async fn nothing_is_left(what: &str, groups: &[u32], pids: &[u32]) {
    until(&format!("nothing is left after {what}"), async || {
        let left = left(groups, pids);
        is(left.is_empty(), format!("{left:?}"))
    })
    .await;
}

/// The process groups of the servers that run, as the bridge tells.
async fn groups(bridge: &mut Bridge, servers: usize) -> Vec<u32> {
    let connected = |state: &str| state.matches(": connected").count() == servers;
    let state = status(bridge, connected).await;
    state
        .split(", pid ")
        .skip(1)
        .map(|rest| rest.split(',').next().unwrap().parse().unwrap())
        .collect()
}

fn send(signal: &str, pid: u32) {
    let sent = Command::new("kill")
        .args(["-s", signal, &pid.to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

/// A good server with helpers and one that ignores the end of its input and SIGTERM, both running.
async fn with_helpers() -> (Place, Bridge, Vec<u32>, Vec<u32>) {
    let place = Place::new();
    let files = &["STARTS", "HELPERS"];
    let servers = json!({"good": place.server("helpers", files), "stubborn": place.server("stubborn", files)});
    place.write("config/mcp.json", &json!({ "mcpServers": servers }));
    let mut bridge = place.session().await;
    let groups = groups(&mut bridge, 2).await;
    listed(&mut bridge, "good__echo").await;
    listed(&mut bridge, "stubborn__echo").await;
    let mut pids: Vec<u32> = place
        .lines("helpers")
        .iter()
        .map(|pid| pid.parse().unwrap())
        .collect();
    assert_eq!(pids.len(), if cfg!(target_os = "linux") { 6 } else { 4 });
    pids.extend(
        place
            .lines("starts")
            .iter()
            .map(|pid| pid.parse::<u32>().unwrap()),
    );
    // The test would see them.
    let running = left(&groups, &pids);
    assert!(
        running.len() >= pids.len() + groups.len(),
        "{running:?} of {pids:?} in {groups:?}"
    );
    (place, bridge, groups, pids)
}

#[tokio::test]
async fn nothing_is_left_after_the_bridge_left() {
    let (_place, bridge, groups, pids) = with_helpers().await;
    bridge.leave().await;
    nothing_is_left("an exit", &groups, &pids).await;
}

#[tokio::test]
async fn nothing_is_left_after_the_bridge_was_ended_by_a_signal() {
    for signal in ["TERM", "INT", "HUP"] {
        let (_place, mut bridge, groups, pids) = with_helpers().await;
        send(signal, bridge.pid());
        assert!(bridge.ended().await.success());
        nothing_is_left(signal, &groups, &pids).await;
    }
}

#[tokio::test]
async fn nothing_is_left_after_the_bridge_was_killed() {
    let (_place, bridge, groups, pids) = with_helpers().await;
    bridge.kill().await;
    nothing_is_left("SIGKILL", &groups, &pids).await;
}

#[tokio::test]
async fn nothing_is_left_after_the_bridge_was_killed_in_mid_call() {
    let (place, mut bridge, groups, pids) = with_helpers().await;
    let begun = place.path("begun");
    bridge
        .start_call(
            "good__wait",
            json!({"begun": begun, "go": place.path("never")}),
        )
        .await;
    file(&begun).await;
    bridge.kill().await;
    nothing_is_left("SIGKILL in mid-call", &groups, &pids).await;
}

#[tokio::test]
async fn nothing_is_left_of_a_server_that_was_starting_when_the_bridge_was_killed() {
    let place = Place::new();
    place.write(
        "config/mcp.json",
        &json!({"mcpServers": {"mute": place.server("mute", &["STARTS"])}}),
    );
    let bridge = place.session().await;
    let pid: u32 = until("the server tells its process id", async || {
        let lines = place.lines("starts");
        let first = lines.first().and_then(|line| line.parse().ok());
        first.ok_or(format!("{lines:?}"))
    })
    .await;
    let group = processes()
        .into_iter()
        .find(|&(one, _)| one == pid)
        .unwrap()
        .1;
    bridge.kill().await;
    nothing_is_left("SIGKILL at a start", &[group], &[pid]).await;
}

#[tokio::test]
async fn nothing_is_left_of_a_server_that_died_by_itself_or_was_killed() {
    let (place, mut bridge, groups_before, pids) = with_helpers().await;
    assert!(bridge.call("good__die", json!({})).await.is_error);
    let stubborn: u32 = place
        .lines("starts")
        .iter()
        .map(|pid| pid.parse().unwrap())
        .find(|pid| {
            // The other one has died.
            left(&[], &[*pid]).len() == 1
        })
        .unwrap();
    send("KILL", stubborn);
    nothing_is_left("their deaths", &groups_before, &pids).await;
    // Both are started again.
    let groups = groups(&mut bridge, 2).await;
    assert!(groups.iter().all(|group| !groups_before.contains(group)));
    bridge.leave().await;
}

#[tokio::test]
async fn what_holds_a_server_may_be_killed_and_all_of_it_ends_all_the_same() {
    let (place, mut bridge, groups, pids) = with_helpers().await;
    for holder in &groups {
        send("KILL", *holder);
    }
    let known: &[u32] = if cfg!(target_os = "linux") {
        &pids
    } else {
        &[]
    };
    nothing_is_left("the holders' deaths", &groups, known).await;
    let state = status(&mut bridge, |state| {
        state.matches(": connected").count() == 2
    })
    .await;
    assert!(
        !groups
            .iter()
            .any(|group| state.contains(&format!("pid {group},"))),
        "{state}"
    );
    bridge.leave().await;
    if !cfg!(target_os = "linux") {
        // Those that left their group had nobody who knew them.
        for pid in place.lines("helpers") {
            let _ = Command::new("kill").args(["-s", "KILL", &pid]).status();
        }
    }
}

#[tokio::test]
async fn a_restart_leaves_nothing_of_what_ran_before() {
    let (place, mut bridge, before, pids) = with_helpers().await;
    for server in ["good", "stubborn"] {
        let said = place.says(&["upstream", "restart", server]);
        assert!(
            said.contains(&format!("Bridge {} restarts {server}.", bridge.pid())),
            "{said}"
        );
    }
    nothing_is_left("a restart", &before, &pids).await;
    listed(&mut bridge, "good__echo").await;
    let after = groups(&mut bridge, 2).await;
    soon("the servers run anew", async {
        assert!(after.iter().all(|group| !before.contains(group)));
    })
    .await;
    bridge.leave().await;
}
