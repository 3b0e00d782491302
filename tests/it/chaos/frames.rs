//! At most once, answered once: the real agent and the real bridge, over a network that loses frames and links.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use super::seeded::Seeded;
use crate::common::{
    bridge::Bridge,
    is,
    pace::in_time,
    port::Port,
    proxy::{Fate, Proxy, Way},
    rounds, soon, until,
};
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use serde_json::{Value, json};
use tokio::runtime::Handle;

/// How much longer than its deadline a call may take.
const GRACE: Duration = Duration::from_secs(1);

/// A computer whose clock is fast, so that its agent links again within moments.
fn computer(id: u64, address: SocketAddr) -> Computer {
    let mut options = ComputerOptions::new(id)
        .with_file("mcp-computer.lua", agent::program())
        .with_file(
            "startup.lua",
            format!("shell.run('mcp-computer ws://{address}')"),
        );
    options.clock_speed = 10.0;
    Computer::start(options, "", &Handle::current()).unwrap()
}

/// Code that leaves a mark on the computer's disk each time it runs, and takes a few ticks.
fn marking(mark: &str) -> String {
    format!(
        "local f = fs.open('/marks', 'ab') f.write('{mark} ') f.close() print('begun') sleep(0.2) print('done') return '{mark}'"
    )
}

/// How often each mark was left.
fn marks(computer: &Computer) -> HashMap<String, usize> {
    let bytes = computer.read_file("marks").unwrap_or_default();
    let mut marks = HashMap::new();
    for mark in String::from_utf8(bytes).unwrap().split_whitespace() {
        *marks.entry(mark.to_owned()).or_default() += 1;
    }
    marks
}

/// A moment in the life of a request, and how the link is cut there.
type Cut = (&'static str, Way, &'static str, Fate);

const CUTS: [Cut; 10] = [
    (
        "before the request is seen",
        Way::ToComputer,
        "request",
        Fate::CutBefore,
    ),
    (
        "as the request is seen",
        Way::ToComputer,
        "request",
        Fate::CutAfter,
    ),
    (
        "before it is accepted",
        Way::ToBridge,
        "accepted",
        Fate::CutBefore,
    ),
    (
        "after it is accepted",
        Way::ToBridge,
        "accepted",
        Fate::CutAfter,
    ),
    (
        "while it runs, before its output",
        Way::ToBridge,
        "output",
        Fate::CutBefore,
    ),
    (
        "while it runs, after its output",
        Way::ToBridge,
        "output",
        Fate::CutAfter,
    ),
    (
        "before the output is acknowledged",
        Way::ToComputer,
        "output-ack",
        Fate::CutBefore,
    ),
    (
        "after it finished, before the answer",
        Way::ToBridge,
        "response",
        Fate::CutBefore,
    ),
    (
        "after the answer, before the ack",
        Way::ToBridge,
        "response",
        Fate::CutAfter,
    ),
    ("at the ack", Way::ToComputer, "ack", Fate::CutBefore),
];

#[tokio::test]
async fn a_link_cut_at_any_step_neither_repeats_nor_loses_a_request() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    for (number, (moment, way, kind, fate)) in CUTS.into_iter().enumerate() {
        let mut cut = false;
        let proxy = Proxy::start(port, move |seen_way, frame| {
            let here =
                !cut && seen_way == way && frame["type"] == kind && frame["method"] != "ping";
            cut |= here;
            if here { fate } else { Fate::Passes }
        })
        .await;
        let id = 100 + number as u64;
        let computer = computer(id, proxy.address);
        bridge.linked(id).await;
        let start = Instant::now();
        let answer = bridge
            .call(
                "exec-lua",
                json!({"computerId": id, "code": marking("m"), "timeoutMs": 10_000}),
            )
            .await;
        in_time(moment, start.elapsed(), Duration::from_secs(10) + GRACE).await;
        assert!(!answer.is_error, "{moment}: {}", answer.text);
        assert_eq!(answer.text, "begun\ndone\n=> \"m\"", "{moment}");
        assert_eq!(marks(&computer).get("m"), Some(&1), "{moment}");
    }
    bridge.leave().await;
}

#[tokio::test]
async fn every_first_frame_to_the_computer_may_be_lost() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    for (number, kind) in ["hello-ok", "request", "output-ack", "ack", "pong", "ping"]
        .into_iter()
        .enumerate()
    {
        let mut lost = false;
        let proxy = Proxy::start(port, move |way, frame| {
            let here = !lost && way == Way::ToComputer && frame["type"] == kind;
            lost |= here;
            if here { Fate::Lost } else { Fate::Passes }
        })
        .await;
        let id = 200 + number as u64;
        let computer = computer(id, proxy.address);
        bridge.linked(id).await;
        for mark in ["a", "b"] {
            let answer = bridge
                .call(
                    "exec-lua",
                    json!({"computerId": id, "code": marking(mark), "timeoutMs": 15_000}),
                )
                .await;
            assert!(!answer.is_error, "{kind}: {}", answer.text);
            assert_eq!(answer.text, format!("begun\ndone\n=> \"{mark}\""), "{kind}");
        }
        assert_eq!(
            marks(&computer),
            HashMap::from([("a".into(), 1), ("b".into(), 1)]),
            "{kind}"
        );
    }
    bridge.leave().await;
}

const COMPUTERS: u64 = 10;
const TIMEOUT_MS: u64 = 6_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_seeded_runs_with_lost_frames_and_cut_links_run_at_most_once_and_are_answered_once()
 {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut proxies = Vec::new();
    let mut computers = Vec::new();
    for id in 0..COMPUTERS {
        let mut random = Seeded::new(0x9E37_79B9 + id);
        let proxy = Proxy::start(port, move |way, _| match (way, random.below(100)) {
            (Way::ToComputer, 0..5) => Fate::Lost,
            (_, 5..8) => Fate::CutBefore,
            (_, 8..10) => Fate::CutAfter,
            _ => Fate::Passes,
        })
        .await;
        computers.push(computer(id, proxy.address));
        proxies.push(proxy);
    }
    for id in 0..COMPUTERS {
        bridge.computer(id, |_| true).await;
    }
    let runs_each = u64::from(rounds(50));
    let mut answered = 0;
    let mut well = 0;
    for run in 0..runs_each {
        let start = Instant::now();
        let mut calls = Vec::new();
        for id in 0..COMPUTERS {
            let code = marking(&format!("r{run}"));
            calls.push((
                id,
                bridge
                    .start_call(
                        "exec-lua",
                        json!({"computerId": id, "code": code, "timeoutMs": TIMEOUT_MS}),
                    )
                    .await,
            ));
        }
        for (id, call) in calls {
            let answer = bridge.answer(call).await;
            let deadline = Duration::from_millis(TIMEOUT_MS);
            in_time("an answer", start.elapsed(), deadline + GRACE).await;
            answered += 1;
            if !answer.is_error && answer.text == format!("begun\ndone\n=> \"r{run}\"") {
                well += 1;
                assert_eq!(
                    marks(&computers[id as usize]).get(&format!("r{run}")),
                    Some(&1),
                    "computer {id}, run {run}"
                );
            }
        }
    }
    for (id, computer) in computers.iter().enumerate() {
        for (mark, count) in marks(computer) {
            assert_eq!(count, 1, "computer {id} ran {mark} {count} times");
        }
    }
    assert_eq!(answered, COMPUTERS * runs_each);
    assert!(
        well * 100 >= answered * 95,
        "only {well} of {answered} calls came through"
    );
    // Each call was answered with exactly one line.
    bridge.request("ping", json!({})).await;
    let mut ids = std::collections::HashSet::new();
    for line in bridge.printed() {
        let message: Value = serde_json::from_str(&line).unwrap();
        if let Some(id) = message.get("id") {
            assert!(ids.insert(id.to_string()), "answered twice: {line}");
        }
    }
    bridge.leave().await;
}

/// A bridge on this port.
async fn bridge_on(port: SocketAddr) -> Bridge {
    let mut bridge = Bridge::start_with(|command| {
        command.env("CC_LINK_PORT", port.port().to_string());
    });
    bridge.initialize("2025-11-25").await;
    bridge
}

#[tokio::test]
async fn a_bridge_killed_at_any_step_ran_what_it_asked_at_most_once() {
    for (moment, way, kind, fate) in CUTS {
        let reserved = Port::reserve();
        let port = reserved.address();
        let (reached, at_moment) = tokio::sync::oneshot::channel();
        let mut reached = Some(reached);
        let proxy = Proxy::start(port, move |seen_way, frame| {
            let here = seen_way == way && frame["type"] == kind && frame["method"] != "ping";
            match reached.take_if(|_| here) {
                Some(reached) => {
                    let _ = reached.send(());
                    fate
                }
                None => Fate::Passes,
            }
        })
        .await;
        let mut first = bridge_on(port).await;
        let computer = computer(7, proxy.address);
        first.linked(7).await;
        first
            .start_call(
                "exec-lua",
                json!({"computerId": 7, "code": marking("m"), "timeoutMs": 60_000}),
            )
            .await;
        soon(moment, at_moment).await.unwrap();
        first.kill().await;

        let mut second = bridge_on(port).await;
        second.linked(7).await;
        // Whatever of it still runs is known, and comes to its end.
        soon("no job runs any more", async {
            while second
                .call("list-jobs", json!({}))
                .await
                .text
                .contains("running")
            {}
        })
        .await;
        assert_eq!(second.lua(7, "1+1").await, "=> 2", "{moment}");
        let ran = marks(&computer).get("m").copied().unwrap_or_default();
        assert!(ran <= 1, "{moment}: it ran {ran} times");
        second.leave().await;
    }
}

#[tokio::test]
async fn a_bridge_that_is_killed_leaves_its_jobs_to_the_next_one() {
    let reserved = Port::reserve();
    let port = reserved.address();
    let computer = computer(7, port);
    let mut first = bridge_on(port).await;
    first.linked(7).await;
    let long = "local f = fs.open('/marks', 'ab') f.write('long ') f.close() local n = 0 while true do n = n + 1 print('turn ' .. n) sleep(0.5) end";
    first
        .start_call(
            "exec-lua",
            json!({"computerId": 7, "code": long, "timeoutMs": 60_000}),
        )
        .await;
    let own = |listed: &str| {
        let line = listed.lines().find(|line| line.contains("'long "));
        line.and_then(|line| line.split(' ').next())
            .map(str::to_owned)
    };
    soon("the first bridge has some of the output", async {
        loop {
            let listed = first.call("list-jobs", json!({})).await.text;
            if let Some(id) = own(&listed) {
                let seen = first.call("get-job", json!({"jobId": id})).await.text;
                if seen.contains("turn 2") {
                    return;
                }
            }
        }
    })
    .await;
    first
        .start_call(
            "exec-lua",
            json!({"computerId": 7, "code": marking("short"), "timeoutMs": 60_000}),
        )
        .await;
    until("both jobs begin", async || {
        let begun = marks(&computer).len();
        is(begun == 2, begun)
    })
    .await;
    first.kill().await;

    let mut second = bridge_on(port).await;
    second.linked(7).await;
    let mut listed = String::new();
    soon("the jobs are known again", async {
        while listed.lines().count() < 2 {
            listed = second.call("list-jobs", json!({})).await.text;
        }
    })
    .await;
    assert!(
        listed
            .lines()
            .all(|line| line.contains("asked by another bridge")),
        "{listed}"
    );
    let running = listed
        .lines()
        .find(|line| line.contains("running") && line.contains("'long "))
        .unwrap_or_else(|| panic!("{listed}"));
    let id = running.split(' ').next().unwrap();
    // That output was lost is news too, and may come alone.
    let seen = soon("the job prints on", async {
        loop {
            let asked = json!({"jobId": id, "waitMs": 10_000});
            let seen = second.call("get-job", asked).await.text;
            if seen.contains("\nturn ") {
                return seen;
            }
        }
    })
    .await;
    // What arrived at the first bridge is gone with it, and is said where it was.
    let (lost, rest) = seen
        .split_once(" bytes of output were lost here]\n")
        .unwrap_or_else(|| panic!("{seen}"));
    let lost: usize = lost.rsplit('[').next().unwrap().parse().unwrap();
    let turn: usize = rest.lines().next().unwrap()["turn ".len()..]
        .parse()
        .unwrap();
    let before: usize = (1..turn).map(|n| format!("turn {n}\n").len()).sum();
    assert_eq!(lost, before, "{seen}");
    let stopped = second.call("cancel-job", json!({"jobId": id})).await;
    assert!(
        !stopped.is_error && stopped.text.contains("was stopped"),
        "{}",
        stopped.text
    );
    assert_eq!(second.lua(7, "1+1").await, "=> 2");
    assert_eq!(
        marks(&computer),
        HashMap::from([("long".into(), 1), ("short".into(), 1)])
    );
    second.leave().await;
}

#[tokio::test]
async fn a_hello_that_the_game_loses_is_said_again() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut hellos = 0;
    let proxy = Proxy::start(port, move |_, frame| {
        hellos += usize::from(frame["type"] == "hello");
        match hellos {
            1 => Fate::Lost,
            2 => Fate::Passes,
            _ => panic!("the link was given up: hello {hellos}"),
        }
    })
    .await;
    let _computer = computer(7, proxy.address);
    bridge.linked(7).await;
    assert_eq!(bridge.lua(7, "1+1").await, "=> 2");
    bridge.leave().await;
}

#[tokio::test]
async fn no_request_runs_on_a_later_boot() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    // The chunk is unloaded and loaded again just as the request is on its way, or while it runs.
    for (number, kind) in ["request", "accepted", "output"].into_iter().enumerate() {
        let reboot = Arc::new(Mutex::new(None::<tokio::sync::oneshot::Sender<()>>));
        let (sender, rebooted) = tokio::sync::oneshot::channel();
        *reboot.lock().unwrap() = Some(sender);
        let proxy = Proxy::start(port, move |_, frame| {
            let sender = (frame["type"] == kind)
                .then(|| reboot.lock().unwrap().take())
                .flatten();
            match sender {
                Some(sender) => {
                    let _ = sender.send(());
                    // The link goes down with the chunk.
                    Fate::CutAfter
                }
                None => Fate::Passes,
            }
        })
        .await;
        let id = 300 + number as u64;
        let computer = computer(id, proxy.address);
        bridge.linked(id).await;
        let call = bridge
            .start_call(
                "exec-lua",
                json!({"computerId": id, "code": marking("m"), "timeoutMs": 15_000}),
            )
            .await;
        rebooted.await.unwrap();
        computer.reboot();
        let answer = bridge.answer(call).await;
        assert!(
            answer.is_error && answer.text.contains("link-lost"),
            "{kind}: {}",
            answer.text
        );
        // The next program does what it is asked, and only that.
        bridge.linked(id).await;
        assert_eq!(bridge.lua(id, "1+1").await, "=> 2");
        assert!(
            marks(&computer).values().all(|count| *count == 1),
            "{kind}: {:?}",
            marks(&computer)
        );
    }
    bridge.leave().await;
}
