//! Many MCP clients, one link port: real bridges that share computers, and take over from each other.

use std::{
    collections::BTreeMap,
    net::{SocketAddr, TcpListener},
    path::Path,
    time::{Duration, Instant},
};

use crate::common::{
    bridge::{Bridge, WHOLE},
    computer::Computer as RawComputer,
    health, is,
    pace::in_time,
    port::Port,
    rounds, soon, until,
};
use futures_util::future::join_all;
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    runtime::Handle,
};

/// A port and a state folder for bridges that are to share them.
pub struct Place {
    port: Port,
    state: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self {
            port: Port::reserve(),
            state: tempfile::tempdir().unwrap(),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// The folder where its bridges keep what they share.
    pub fn state(&self) -> &Path {
        self.state.path()
    }

    fn start(&self) -> Bridge {
        self.start_with_state(self.state.path())
    }

    fn start_with_state(&self, state: &Path) -> Bridge {
        self.start_with(state, &[])
    }

    fn start_with(&self, state: &Path, arguments: &[&str]) -> Bridge {
        Bridge::start_with(|command| {
            command
                .args(arguments)
                .env("CC_LINK_PORT", self.port.number().to_string())
                .env("MCP_BRIDGE_STATE_DIR", state);
        })
    }

    /// A bridge that has its role.
    pub async fn bridge(&self) -> Bridge {
        self.bridge_with(&[]).await
    }

    /// The same with these arguments.
    pub async fn bridge_with(&self, arguments: &[&str]) -> Bridge {
        let mut bridge = self.start_with(self.state.path(), arguments);
        bridge.initialize("2025-11-25").await;
        bridge.link_port().await;
        bridge
    }

    /// A simulated computer whose agent links to whoever holds the port.
    pub fn computer(&self, id: u64) -> Computer {
        let mut options = ComputerOptions::new(id)
            .with_file("mcp-computer.lua", agent::program())
            .with_file(
                "startup.lua",
                format!("shell.run('mcp-computer ws://{}')", self.address()),
            );
        options.clock_speed = 10.0;
        Computer::start(options, "", &Handle::current()).unwrap()
    }
}

/// Who holds the link port, as a bridge sees it: its process, whether it is this bridge, and how many bridges share it.
pub async fn owner(bridge: &mut Bridge) -> (u64, bool, u64) {
    let text = bridge.call("list-computers", json!({})).await.text;
    let (_, after) = text
        .split_once(", held by ")
        .unwrap_or_else(|| panic!("{text}"));
    let number_after = |words: &str| {
        let (_, number) = after.split_once(words)?;
        number.split([' ', ')']).next()?.parse().ok()
    };
    (
        number_after("mcp-bridge (process ").unwrap(),
        after.starts_with("this "),
        number_after("shared by ").unwrap_or(1),
    )
}

/// Waits until a bridge says that so many share the port.
async fn shared_by(bridge: &mut Bridge, count: u64) {
    until(&format!("{count} bridges share the port"), async || {
        let shared = owner(bridge).await.2;
        is(shared == count, shared)
    })
    .await;
}

/// Waits until the owner has been asked for all of this code, which no computer has taken yet.
async fn asked(own: &mut Bridge, code: &[&str]) {
    until("the owner has been asked", async || {
        let jobs = own.call("list-jobs", json!({})).await.text;
        let waits = |code: &&str| {
            let mut lines = jobs.lines();
            lines.any(|line| line.contains(": asked for ") && line.ends_with(code))
        };
        is(code.iter().all(waits), jobs)
    })
    .await;
}

#[cfg(unix)]
pub fn signal(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, signal).unwrap();
}

#[tokio::test]
async fn eight_bridges_started_at_the_same_instant_are_one_owner_and_seven_guests() {
    let place = Place::new();
    let mut bridges: Vec<_> = (0..8).map(|_| place.start()).collect();
    let _computer = place.computer(7);
    join_all(
        bridges
            .iter_mut()
            .map(|bridge| bridge.initialize("2025-11-25")),
    )
    .await;
    let answers = join_all(bridges.iter_mut().map(async |bridge| {
        bridge.linked(7).await;
        bridge.lua(7, "return os.getComputerID() + 1").await
    }))
    .await;
    assert_eq!(answers, ["=> 8"; 8]);
    shared_by(&mut bridges[0], 8).await;
    let owners = join_all(bridges.iter_mut().map(owner)).await;
    assert_eq!(owners.iter().filter(|(_, this, _)| *this).count(), 1);
    assert!(owners.iter().all(|(pid, ..)| *pid == owners[0].0));
    let pid = owners[0].0;
    assert!(bridges.iter().any(|bridge| u64::from(bridge.pid()) == pid));
    for bridge in bridges {
        bridge.leave().await;
    }
}

#[tokio::test]
async fn a_guest_sees_computers_come_and_go_and_is_answered_like_the_owner() {
    let place = Place::new();
    let mut own = place.bridge().await;
    let mut guest = place.bridge().await;
    let computer = RawComputer::link(place.address(), 12, Some("base")).await;
    guest.linked(12).await;
    drop(computer);
    let gone = guest
        .computer(12, |computer| computer["linked"] == false)
        .await;
    assert!(gone["leftBecause"].is_string(), "{gone}");
    let _computer = place.computer(3);
    guest.linked(3).await;
    // A guest that comes later is told of both.
    let mut late = place.bridge().await;
    late.computer(12, |computer| computer["linked"] == false)
        .await;
    for bridge in [&mut own, &mut guest, &mut late] {
        let pong = bridge.call("probe-computers", json!({})).await;
        assert!(pong.text.starts_with("pong from 3"), "{}", pong.text);
        assert_eq!(
            bridge
                .lua(3, "print('hi') return '\\0\\200\\xc3\\xa9'")
                .await,
            "hi\n=> \"\\000ÈÃ©\""
        );
        let error = bridge.lua_error(3, "error('boom')").await;
        assert!(
            error.contains("boom") && error.contains("traceback"),
            "{error}"
        );
        // 5 MiB there and back, in parts.
        let long = "x".repeat(5 * 1024 * 1024);
        let answer = bridge.start_call("exec-lua", json!({
            "computerId": 3, "code": format!("local s = '{long}' return #s, s"), "timeoutMs": 600_000,
            "maxChars": WHOLE,
        })).await;
        let answer = bridge.slow_answer(answer).await;
        assert!(
            !answer.is_error && answer.text.len() > long.len(),
            "{:.200}",
            answer.text
        );
    }
    let text = guest.call("list-computers", json!({})).await.text;
    assert!(
        text.contains(&format!(
            "held by another mcp-bridge (process {})",
            own.pid()
        )) && text.contains("shared by 3 bridges"),
        "{text}"
    );
}

#[tokio::test]
async fn one_clients_jobs_are_seen_read_and_stopped_by_another_and_its_lease_holds() {
    let place = Place::new();
    let mut own = place.bridge().await;
    let mut guest = place.bridge().await;
    let mut other = place.bridge().await;
    let _computer = place.computer(3);
    for bridge in [&mut own, &mut guest, &mut other] {
        bridge.linked(3).await;
    }
    let code = "for i = 1, 10000 do print('line ' .. i) sleep(0.05) end";
    let start = guest
        .call(
            "exec-lua",
            json!({"computerId": 3, "code": code, "timeoutMs": 300, "exclusive": true}),
        )
        .await;
    let id = start
        .text
        .split("as job ")
        .nth(1)
        .unwrap_or_else(|| panic!("{}", start.text));
    let id = id.split('.').next().unwrap().to_owned();
    assert!(id.len() <= 8 && id[4..].starts_with('-'), "{id}");
    for bridge in [&mut own, &mut other] {
        let listed = bridge.call("list-jobs", json!({})).await.text;
        assert!(
            listed.contains(&id) && listed.contains("asked by another bridge"),
            "{listed}"
        );
        let refused = bridge
            .call(
                "exec-lua",
                json!({"computerId": 3, "code": "return 1", "exclusive": true}),
            )
            .await;
        assert!(
            refused.is_error && refused.text.contains(&id),
            "{}",
            refused.text
        );
        assert_eq!(bridge.lua(3, "return 1").await, "=> 1");
        let read = bridge
            .call(
                "get-job",
                json!({"jobId": id, "cursor": 7, "waitMs": 5_000}),
            )
            .await
            .text;
        assert!(
            read.contains("\nline 2\n") && !read.contains("\nline 1\n"),
            "{read}"
        );
    }
    let stopped = other.call("cancel-job", json!({"jobId": id})).await;
    assert!(stopped.text.contains("was stopped"), "{}", stopped.text);
    // The one that asked learns of it, if a moment later.
    let end = until("the job is no longer shown as running", async || {
        let shown = guest.call("get-job", json!({"jobId": id})).await.text;
        if shown.contains("running for") {
            Err(shown)
        } else {
            Ok(shown)
        }
    })
    .await;
    assert!(end.contains("was stopped before its end"), "{end}");
    // Both ways.
    let start = own
        .call(
            "exec-lua",
            json!({"computerId": 3, "code": code, "timeoutMs": 300}),
        )
        .await;
    let id = start.text.split("as job ").nth(1).unwrap();
    let id = id.split('.').next().unwrap().to_owned();
    let read = guest.call("get-job", json!({"jobId": id})).await.text;
    assert!(read.contains("line 1\n"), "{read}");
    let stopped = guest.call("cancel-job", json!({"jobId": id})).await;
    assert!(stopped.text.contains("was stopped"), "{}", stopped.text);
    let again = guest.call("cancel-job", json!({"jobId": id})).await;
    assert!(again.text.contains("had ended before"), "{}", again.text);
    let unknown = guest.call("get-job", json!({"jobId": "no-such"})).await;
    assert!(
        unknown.is_error && unknown.text.contains("There is no job"),
        "{}",
        unknown.text
    );
}

/// Each call leaves its mark once on its computer's disk.
fn marks(computer: &Computer) -> BTreeMap<String, usize> {
    let bytes = computer.read_file("marks").unwrap_or_default();
    let mut marks = BTreeMap::new();
    for mark in String::from_utf8(bytes).unwrap().split_whitespace() {
        *marks.entry(mark.to_owned()).or_default() += 1;
    }
    marks
}

const BRIDGES: usize = 4;
const COMPUTERS: u64 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[expect(
    clippy::print_stdout,
    reason = "how soon bridges serve again is worth reading"
)]
async fn a_killed_owner_costs_no_call_of_the_others_and_none_runs_twice() {
    let place = Place::new();
    let computers: Vec<_> = (1..=COMPUTERS).map(|id| place.computer(id)).collect();
    let mut bridges = Vec::new();
    for _ in 0..BRIDGES {
        let mut bridge = place.bridge().await;
        for id in 1..=COMPUTERS {
            bridge.linked(id).await;
        }
        bridges.push(bridge);
    }
    let mut answered = Vec::new();
    let mut served_again = Vec::new();
    // The dead owner's place at the end of the queue is taken by a new bridge, so all bridges own once in a while.
    for round in 0..rounds(100) as usize {
        let mut calls = Vec::new();
        for (at, bridge) in bridges.iter_mut().enumerate() {
            // Of each bridge five computers, so that all twenty have calls in flight.
            for computer in
                (1..=COMPUTERS).filter(|id| *id as usize % BRIDGES == (at + round) % BRIDGES)
            {
                let mark = format!("r{round}b{at}c{computer}");
                let code = format!(
                    "local f = fs.open('marks', 'a') f.write('{mark} ') f.close() sleep(0.{}) return '{mark}'",
                    1 + (round + computer as usize) % 9
                );
                let id = bridge
                    .start_call(
                        "exec-lua",
                        json!({"computerId": computer, "code": code, "timeoutMs": 20_000}),
                    )
                    .await;
                calls.push((at, computer, mark, id));
            }
        }
        // The calls are somewhere between the bridges and the ends of their code, elsewhere in each round.
        tokio::time::sleep(Duration::from_millis((round as u64 * 7) % 60)).await;
        let at = {
            let pid = owner(&mut bridges[0]).await.0;
            bridges
                .iter()
                .position(|bridge| u64::from(bridge.pid()) == pid)
                .unwrap()
        };
        let killed = Instant::now();
        let dead = bridges.remove(at);
        dead.kill().await;
        // Every bridge serves again: its next call of some computer is answered.
        let again = join_all(bridges.iter_mut().enumerate().map(async |(at, bridge)| {
            let computer = 1 + (round * 3 + at * 5) as u64 % COMPUTERS;
            assert_eq!(bridge.lua(computer, "return 1 + 1").await, "=> 2");
            killed.elapsed()
        }))
        .await;
        served_again.extend(again);
        for (asked, computer, mark, id) in calls {
            if asked == at {
                continue;
            }
            let bridge = &mut bridges[asked - usize::from(asked > at)];
            let answer = bridge.answer(id).await;
            assert!(!answer.is_error, "{mark} on {computer}: {}", answer.text);
            assert_eq!(answer.text, format!("=> \"{mark}\""));
            answered.push((computer, mark));
        }
        bridges.push(place.bridge().await);
    }
    let marks: Vec<_> = computers.iter().map(marks).collect();
    for (computer, mark) in &answered {
        assert_eq!(
            marks[*computer as usize - 1].get(mark),
            Some(&1),
            "{mark} on {computer}"
        );
    }
    // Those of the killed bridges may have run or not, but never twice.
    for (computer, marks) in marks.iter().enumerate() {
        assert!(
            marks.values().all(|times| *times == 1),
            "{}: {marks:?}",
            computer + 1
        );
    }
    served_again.sort();
    let at = |share: f64| served_again[((served_again.len() - 1) as f64 * share) as usize];
    println!(
        "{} calls of survivors answered; served again after the kill: median {:?}, 90 % {:?}, 99 % {:?}, longest {:?}",
        answered.len(),
        at(0.5),
        at(0.9),
        at(0.99),
        at(1.0)
    );
    in_time("to serve again", at(1.0), Duration::from_secs(3)).await;
}

#[tokio::test]
async fn a_copy_that_only_probes_never_owns_and_never_disturbs() {
    let place = Place::new();
    let probe = async || {
        let mut copy = place.start();
        let start = Instant::now();
        copy.initialize("2025-11-25").await;
        copy.request("tools/list", json!({})).await;
        // That it leaves the port alone can only be waited for, as long as real clients keep such a copy.
        tokio::time::sleep(Duration::from_millis(500).saturating_sub(start.elapsed())).await;
        copy
    };
    // Without any other bridge: the port stays free.
    for _ in 0..5 {
        let copy = probe().await;
        TcpListener::bind(place.address()).expect("a probe copy took the port");
        copy.kill().await;
    }
    let mut own = place.bridge().await;
    let mut guest = place.bridge().await;
    let _computer = place.computer(3);
    guest.linked(3).await;
    let before = owner(&mut guest).await;
    assert_eq!(before, (u64::from(own.pid()), false, 2));
    for round in 0..45 {
        let copy = probe().await;
        assert_eq!(guest.lua(3, "return 1").await, "=> 1");
        assert_eq!(own.lua(3, "return 2").await, "=> 2");
        assert_eq!(owner(&mut guest).await, before);
        match round % 2 {
            0 => copy.kill().await,
            _ => copy.leave().await,
        }
    }
}

/// Whether a computer was heard from at least a second after it linked.
fn was_heard_later(seen: &Value) -> bool {
    seen["lastSeenSeconds"].as_u64().unwrap() < seen["linkedSeconds"].as_u64().unwrap()
}

#[tokio::test]
async fn a_guest_knows_labels_pauses_and_when_computers_were_last_heard_from() {
    let place = Place::new();
    let mut own = place.bridge().await;
    let mut guest = place.bridge().await;
    let mut computer = RawComputer::link_v2(place.address(), 4).await;
    guest.linked(4).await;
    for (event, label) in [
        (json!({"label": "three"}), json!("three")),
        (json!({}), json!(null)),
        (json!({"label": "four"}), json!("four")),
    ] {
        let mut frame = json!({"type": "event", "name": "label"});
        frame
            .as_object_mut()
            .unwrap()
            .extend(event.as_object().unwrap().clone());
        computer.send(&frame).await;
        for bridge in [&mut own, &mut guest] {
            bridge
                .computer(4, |computer| computer["label"] == label)
                .await;
        }
    }
    for paused in [true, false, true] {
        computer
            .send(&json!({"type": "event", "name": "paused", "paused": paused}))
            .await;
        for bridge in [&mut own, &mut guest] {
            bridge
                .computer(4, |computer| (computer["paused"] == true) == paused)
                .await;
        }
    }
    // It is heard from well after it linked, and then leaves.
    let heard = until("it was heard from later", async || {
        computer.send(&json!({"type": "pong", "n": 1})).await;
        let seen = own.computer(4, |_| true).await;
        is(was_heard_later(&seen), seen.clone()).map(|()| seen)
    })
    .await;
    let mut late = place.bridge().await;
    let linked = late.linked(4).await;
    assert_eq!(
        (&linked["label"], &linked["paused"]),
        (&json!("four"), &json!(true))
    );
    assert!(was_heard_later(&linked), "{linked} {heard}");
    drop(computer);
    let left = own
        .computer(4, |computer| computer["linked"] == false)
        .await;
    let mut later = place.bridge().await;
    let told = later
        .computer(4, |computer| computer["linked"] == false)
        .await;
    // Both are whole seconds, of moments that are apart by part of one.
    let before_it_left = |seen: &Value| {
        let age = |name: &str| seen[name].as_u64().unwrap();
        age("lastSeenSeconds") - age("leftSeconds")
    };
    assert!(
        before_it_left(&told).abs_diff(before_it_left(&left)) <= 1 && told["label"] == "four",
        "{told} {left}"
    );
    for bridge in [guest, late, later, own] {
        bridge.leave().await;
    }
}

#[tokio::test]
async fn a_guest_too_says_of_a_job_out_of_reach_that_it_is() {
    let place = Place::new();
    let mut own = place.bridge().await;
    let mut guest = place.bridge().await;
    let mut computer = RawComputer::link_v2(place.address(), 4).await;
    guest.linked(4).await;
    let mut ids = Vec::new();
    for bridge in [&mut own, &mut guest] {
        let arguments = json!({"computerId": 4, "code": "code()", "timeoutMs": 100});
        let call = bridge.start_call("exec-lua", arguments).await;
        let request = computer.request().await;
        computer.accept(&request).await;
        bridge.answer(call).await;
        ids.push(request["id"].as_str().unwrap().to_owned());
    }
    drop(computer);
    for bridge in [&mut own, &mut guest] {
        bridge
            .computer(4, |computer| computer["linked"] == false)
            .await;
        let listed = bridge.call("list-jobs", json!({})).await.text;
        assert!(
            listed.matches("not known whether it still runs").count() == 2
                && !listed.contains("running"),
            "{listed}"
        );
        for id in &ids {
            let seen = bridge.call("get-job", json!({"jobId": id})).await.text;
            assert!(seen.contains("out of reach for "), "{seen}");
            let cancel = bridge.call("cancel-job", json!({"jobId": id})).await.text;
            assert!(cancel.contains("has been out of reach for "), "{cancel}");
        }
    }
    // The same program without them: they are lost for everyone, also for a guest that comes later.
    let _computer = RawComputer::link_v2(place.address(), 4).await;
    let mut later = place.bridge().await;
    for bridge in [&mut own, &mut guest, &mut later] {
        until("both are lost", async || {
            let listed = bridge.call("list-jobs", json!({})).await.text;
            is(listed.matches(": lost ").count() == 2, listed)
        })
        .await;
    }
    for bridge in [guest, later, own] {
        bridge.leave().await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_hands_the_port_over_in_a_second() {
    let place = Place::new();
    let own = place.bridge().await;
    let mut guest = place.bridge().await;
    let _computer = place.computer(3);
    guest.linked(3).await;
    let start = Instant::now();
    own.leave().await;
    shared_by(&mut guest, 1).await;
    in_time(
        "the change of hands",
        start.elapsed(),
        Duration::from_secs(1),
    )
    .await;
    assert_eq!(owner(&mut guest).await, (u64::from(guest.pid()), true, 1));
    assert_eq!(guest.lua(3, "return 1").await, "=> 1");
}

#[cfg(unix)]
#[tokio::test]
async fn a_frozen_owner_is_named_within_15_seconds_and_all_goes_on_when_it_thaws() {
    use rustix::process::Signal;
    let place = Place::new();
    let mut own = place.bridge().await;
    let mut guest = place.bridge().await;
    let _computer = place.computer(3);
    guest.linked(3).await;
    signal(own.pid(), Signal::STOP);
    let frozen = Instant::now();
    let told = until("a guest says so", async || {
        let answer = guest.call("list-computers", json!({})).await;
        if answer.is_error {
            Ok(answer.text)
        } else {
            Err(answer.text)
        }
    })
    .await;
    in_time("to say so", frozen.elapsed(), Duration::from_secs(15)).await;
    assert!(
        told.contains(&format!("process id {}", own.pid())) && told.contains("kill -CONT"),
        "{told}"
    );
    // One that starts now can say so too, and so does the command.
    let mut late = place.start();
    late.initialize("2025-11-25").await;
    let told = late.call("list-computers", json!({})).await;
    assert!(
        told.is_error && told.text.contains(&own.pid().to_string()),
        "{}",
        told.text
    );
    let (status, code) = status(&place).await;
    assert!(
        status.contains(&format!("process id {}", own.pid())) && code == 1,
        "{status}"
    );
    signal(own.pid(), Signal::CONT);
    for bridge in [&mut own, &mut guest, &mut late] {
        until("it goes on", async || {
            let answer = bridge.call("list-computers", json!({})).await;
            is(!answer.is_error, answer.text)
        })
        .await;
        bridge.linked(3).await;
        assert_eq!(bridge.lua(3, "return 1").await, "=> 1");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_frozen_guest_keeps_nobody_waiting() {
    use rustix::process::Signal;
    let place = Place::new();
    let mut own = place.bridge().await;
    let mut frozen = place.bridge().await;
    let mut guest = place.bridge().await;
    let _computer = place.computer(3);
    for bridge in [&mut own, &mut frozen, &mut guest] {
        bridge.linked(3).await;
    }
    let flood = "for i = 1, 200 do print(('x'):rep(1000)) end sleep(0.2) return 'done'";
    let call = frozen
        .start_call(
            "exec-lua",
            json!({"computerId": 3, "code": flood, "timeoutMs": 60_000}),
        )
        .await;
    signal(frozen.pid(), Signal::STOP);
    for _ in 0..20 {
        let start = Instant::now();
        assert_eq!(guest.lua(3, "return 1").await, "=> 1");
        assert_eq!(own.lua(3, "return 2").await, "=> 2");
        in_time(
            "a turn of the others",
            start.elapsed(),
            Duration::from_secs(5),
        )
        .await;
    }
    // The owner lets it go; when it thaws, it comes back, and its call is answered.
    shared_by(&mut own, 2).await;
    signal(frozen.pid(), Signal::CONT);
    let answer = frozen.slow_answer(call).await;
    assert!(
        !answer.is_error && answer.text.ends_with("\"done\""),
        "{:.300}",
        answer.text
    );
    shared_by(&mut own, 3).await;
}

#[tokio::test]
async fn a_flood_of_one_client_leaves_the_others_their_turn() {
    let place = Place::new();
    let mut own = place.bridge().await;
    let mut flooding = place.bridge().await;
    let mut guest = place.bridge().await;
    // It takes requests one by one, as fast as they come, and notes in which order. One of version 2 that accepts none
    // gives each place back after two seconds, which a busy machine takes to bring the others to the queue.
    let mut computer = RawComputer::link(place.address(), 3, None).await;
    for bridge in [&mut own, &mut flooding, &mut guest] {
        bridge.linked(3).await;
    }
    let call = |code: &str| json!({"computerId": 3, "code": code, "timeoutMs": 60_000});
    let mut flood = Vec::new();
    for _ in 0..200 {
        flood.push(flooding.start_call("exec-lua", call("'flood'")).await);
    }
    // Its first 32 are on their way to the computer; the rest wait.
    let mut first = Vec::new();
    for _ in 0..32 {
        first.push(computer.request().await);
    }
    let of_guest = guest.start_call("exec-lua", call("'guest'")).await;
    let of_owner = own.start_call("exec-lua", call("'owner'")).await;
    // Both have to stand in the queue before places become free.
    asked(&mut own, &["'guest'", "'owner'"]).await;
    let mut order = Vec::new();
    let answer = json!({"returns": [], "output": "ok"});
    for request in &first {
        computer.respond(request, answer.clone()).await;
    }
    for _ in 0..170 {
        let request = computer.request().await;
        order.push(request["params"]["code"].as_str().unwrap().to_owned());
        computer.respond(&request, answer.clone()).await;
    }
    for code in ["'guest'", "'owner'"] {
        let at = order.iter().position(|seen| seen == code).unwrap();
        assert!(at < 4, "{code} had its turn after {at} others");
    }
    assert_eq!(guest.answer(of_guest).await.text, "ok");
    assert_eq!(own.answer(of_owner).await.text, "ok");
    for id in flood {
        assert_eq!(flooding.answer(id).await.text, "ok");
    }
}

/// What `mcp-bridge status` prints, and its exit code.
async fn status(place: &Place) -> (String, i32) {
    status_with(place, &[]).await
}

/// The same, with these flags.
async fn status_with(place: &Place, flags: &[&str]) -> (String, i32) {
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_mcp-bridge"));
    command
        .arg("status")
        .args(flags)
        .env("CC_LINK_HOST", "127.0.0.1")
        .env("CC_LINK_PORT", place.port.number().to_string())
        .env("MCP_BRIDGE_STATE_DIR", place.state.path())
        .env("MCP_BRIDGE_CONFIG_DIR", place.state.path());
    let output = soon("status answers", command.output()).await.unwrap();
    (
        String::from_utf8(output.stdout).unwrap(),
        output.status.code().unwrap(),
    )
}

#[tokio::test]
async fn status_and_health_tell_who_holds_the_port_since_when_and_how_many_share_it() {
    let place = Place::new();
    let (none, code) = status(&place).await;
    assert!(none.contains("no bridge runs") && code == 1, "{none}");
    let (none, code) = status_with(&place, &["--json"]).await;
    let none: Value = serde_json::from_str(&none).unwrap();
    assert_eq!(
        (&none["holder"], &none["process"], code),
        (&json!("nothing"), &Value::Null, 1)
    );
    let mut own = place.bridge().await;
    let mut guest = place.bridge().await;
    shared_by(&mut guest, 2).await;
    let _computer = RawComputer::link(place.address(), 12, None).await;
    guest.linked(12).await;
    let (some, code) = status(&place).await;
    assert!(
        some.contains(&format!("process {}", own.pid()))
            && some.contains("2 bridges share it")
            && some.contains("1 computer is linked")
            && code == 0,
        "{some}"
    );
    let (some, code) = status_with(&place, &["--json"]).await;
    let some: Value = serde_json::from_str(&some).unwrap();
    assert_eq!(
        (
            &some["holder"],
            &some["process"],
            &some["bridges"],
            &some["computers"],
            code
        ),
        (&json!("bridge"), &json!(own.pid()), &json!(2), &json!(1), 0)
    );
    let health = health(place.address()).await;
    assert_eq!(health["owner"]["pid"], own.pid());
    assert_eq!(
        (&health["bridges"], &health["computers"]),
        (&json!(2), &json!(1))
    );
    assert!(
        health["owner"]["since"].as_str().unwrap().ends_with('Z'),
        "{health}"
    );
    own.linked(12).await;
}

#[tokio::test]
async fn a_stranger_on_the_port_is_named_and_followed_when_it_goes() {
    let place = Place::new();
    let stranger = tokio::net::TcpListener::bind(place.address())
        .await
        .unwrap();
    // It answers HTTP, but knows nothing of bridges.
    let answering = tokio::spawn(async move {
        for _ in 0..2 {
            let accepted = soon("a bridge looks who it is", stranger.accept()).await;
            let (mut stream, _) = accepted.unwrap();
            let _ = stream.read(&mut [0; 1024]).await;
            let answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
            let _ = stream.write_all(answer).await;
        }
    });
    let mut bridge = place.start();
    bridge.initialize("2025-11-25").await;
    let told = bridge.call("list-computers", json!({})).await;
    assert!(
        told.is_error
            && told.text.contains("another program, no mcp-bridge")
            && told.text.contains("CC_LINK_PORT"),
        "{}",
        told.text
    );
    let (status, code) = {
        // The stranger has served its two connections; nothing of it is left but the port.
        answering.await.unwrap();
        status(&place).await
    };
    assert!(code == 1, "{status}");
    // It is gone: the port is tried again.
    until("the port is taken", async || {
        let answer = bridge.call("list-computers", json!({})).await;
        is(!answer.is_error, answer.text)
    })
    .await;
    assert_eq!(owner(&mut bridge).await, (u64::from(bridge.pid()), true, 1));
}

#[tokio::test]
async fn a_strangers_silence_is_not_blamed_on_a_bridge_that_has_ended() {
    let place = Place::new();
    let named = place
        .state
        .path()
        .join(format!("owner-of-port-{}.json", place.port.number()));
    let owner = async || {
        let own = place.bridge().await;
        let pid = own.pid().to_string();
        until("the owner is named", async || {
            let text = std::fs::read_to_string(&named).unwrap_or_default();
            is(text.contains(&pid), text)
        })
        .await;
        (own, pid)
    };
    // One that leaves takes its name along; one that is killed can't.
    let (own, _) = owner().await;
    own.leave().await;
    assert!(!named.exists());
    let (own, pid) = owner().await;
    own.kill().await;
    // It takes connections, and says nothing.
    let _stranger = tokio::net::TcpListener::bind(place.address())
        .await
        .unwrap();
    let mut bridge = place.start();
    bridge.initialize("2025-11-25").await;
    let told = bridge.call("list-computers", json!({})).await;
    let (status, _) = status(&place).await;
    for text in [told.text, status] {
        assert!(
            text.contains("a program holds it that does not answer") && !text.contains(&pid),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_bridge_of_another_user_shares_nothing() {
    let place = Place::new();
    let mut own = place.bridge().await;
    let elsewhere = tempfile::tempdir().unwrap();
    let mut stranger = place.start_with_state(elsewhere.path());
    stranger.initialize("2025-11-25").await;
    let told = stranger.call("list-computers", json!({})).await;
    assert!(
        told.is_error && told.text.contains("another user") && told.text.contains("CC_LINK_PORT"),
        "{}",
        told.text
    );
    assert_eq!(owner(&mut own).await.2, 1);
}

#[tokio::test]
async fn who_does_not_know_the_secret_is_told_nothing() {
    use futures_util::{SinkExt, StreamExt};
    use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest};
    let place = Place::new();
    let mut own = place.bridge().await;
    let _computer = RawComputer::link(place.address(), 12, Some("secret base")).await;
    own.linked(12).await;
    for (first, second) in [
        (
            json!({"type": "guest", "protocol": 1, "version": "1.0.0", "nonce": "n"}),
            json!({"type": "proof", "proof": "AAAA", "pid": 1, "prefix": "x-"}),
        ),
        (
            json!({"type": "proof", "proof": "AAAA", "pid": 1, "prefix": "x-"}),
            json!({}),
        ),
        (
            json!({"type": "guest", "protocol": 99, "version": "9.0.0", "nonce": "n"}),
            json!({}),
        ),
        (json!([]), json!(7)),
    ] {
        let mut request = format!("ws://{}/", place.address())
            .into_client_request()
            .unwrap();
        request.headers_mut().insert(
            "Sec-WebSocket-Protocol",
            "mcp-bridge.guest".parse().unwrap(),
        );
        let (mut socket, _) = tokio_tungstenite::connect_async(request).await.unwrap();
        let mut heard = String::new();
        let _ = socket.send(Message::Text(first.to_string().into())).await;
        let _ = socket.send(Message::Text(second.to_string().into())).await;
        soon("the owner ends it", async {
            while let Some(Ok(message)) = socket.next().await {
                heard.push_str(&message.to_string());
            }
        })
        .await;
        assert!(
            !heard.contains("secret base") && !heard.contains("welcome"),
            "{heard}"
        );
    }
    assert_eq!(owner(&mut own).await.2, 1);
}

#[tokio::test]
async fn a_guests_request_waits_for_its_place_at_a_version_1_computer() {
    let place = Place::new();
    let mut own = place.bridge().await;
    let mut guest = place.bridge().await;
    let mut computer = RawComputer::link(place.address(), 12, Some("old")).await;
    guest.linked(12).await;
    let call = |code: &str| json!({"computerId": 12, "code": code});
    for _ in 0..32 {
        own.start_call("exec-lua", call("'owner'")).await;
    }
    let mut first = Vec::new();
    for _ in 0..32 {
        first.push(computer.request().await);
    }
    // All places are taken until the computer answers, since it never says what it has taken.
    let waiting = guest.start_call("exec-lua", call("'guest'")).await;
    asked(&mut own, &["'guest'"]).await;
    let answer = json!({"returns": [], "output": "ok"});
    computer.respond(&first[0], answer.clone()).await;
    let request = computer.request().await;
    assert_eq!(request["params"]["code"], "'guest'");
    computer.respond(&request, answer).await;
    assert_eq!(guest.answer(waiting).await.text, "ok");
}

#[tokio::test]
async fn a_version_1_computer_serves_all_clients() {
    let place = Place::new();
    let mut own = place.bridge().await;
    let mut guest = place.bridge().await;
    let mut computer = RawComputer::link(place.address(), 12, Some("old")).await;
    guest.linked(12).await;
    for bridge in [&mut guest, &mut own] {
        let call = bridge
            .start_call("exec-lua", json!({"computerId": 12, "code": "return 1+1"}))
            .await;
        let request = computer.request().await;
        assert_eq!(request["params"]["code"], "return 1+1");
        assert!(request.get("boot").is_none() && request.get("computerId").is_none());
        computer
            .respond(
                &request,
                json!({"returns": [{"type": "number", "value": 2}], "output": "old\n"}),
            )
            .await;
        assert_eq!(bridge.answer(call).await.text, "old\n=> 2");
    }
    // An older agent can't be asked again, so what was under way is answered as lost when the owner goes.
    let call = guest
        .start_call("exec-lua", json!({"computerId": 12, "code": "return 2"}))
        .await;
    computer.request().await;
    own.kill().await;
    let answer = guest.answer(call).await;
    assert!(
        answer.is_error && answer.text.contains("link-lost"),
        "{}",
        answer.text
    );
}
