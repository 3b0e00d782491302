//! What clients and computers do all day: every call is answered rightly, however long it goes on, and nothing grows.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;

use crate::{
    bridges::Place,
    common::{bridge::Bridge, rounds},
};

const CLIENTS: usize = 4;
const COMPUTERS: u64 = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_call_all_the_time_are_answered_rightly_and_their_bridges_do_not_grow() {
    let length = Duration::from_secs(rounds(5).into());
    let place = Place::new();
    let _computers: Vec<_> = (1..=COMPUTERS).map(|id| place.computer(id)).collect();
    let mut bridges = Vec::new();
    for _ in 0..CLIENTS {
        let mut bridge = place.bridge().await;
        for id in 1..=COMPUTERS {
            bridge.linked(id).await;
        }
        bridges.push(bridge);
    }
    let start = Instant::now();
    join_all(bridges.iter_mut().enumerate().map(async |(at, bridge)| {
        let mut calls = 0;
        let mut early = None;
        while start.elapsed() < length {
            call(bridge, at, calls).await;
            calls += 1;
            bridge.check_printed();
            // By now it has what it keeps of jobs that have ended, or much of that.
            if start.elapsed() > length / 3 {
                early.get_or_insert_with(|| resident(bridge.pid()));
            }
        }
        assert!(calls > 0);
        let (early, late) = (early.flatten(), resident(bridge.pid()));
        if let (Some(early), Some(late)) = (early, late) {
            assert!(
                late < early + early / 2,
                "bridge {at} had {early} KiB after a third of {length:?}, and has {late} KiB after {calls} calls"
            );
        }
    }))
    .await;
    for bridge in bridges {
        bridge.leave().await;
    }
}

/// One of the things that clients do.
async fn call(bridge: &mut Bridge, client: usize, number: usize) {
    let computer = 1 + (client + number) as u64 % COMPUTERS;
    match number % 4 {
        0 => {
            let sum = bridge.lua(computer, &format!("return {number} + 1")).await;
            assert_eq!(sum, format!("=> {}", number + 1));
        }
        1 => {
            let code = format!("for i = 1, 20 do print({number}, i) end return {number}");
            let lines: String = (1..=20).map(|i| format!("{number}\t{i}\n")).collect();
            assert_eq!(
                bridge.lua(computer, &code).await,
                format!("{lines}=> {number}")
            );
        }
        2 => {
            let code = json!({"computerId": computer, "code": "sleep(600)", "timeoutMs": 50});
            let left = bridge.call("exec-lua", code).await.text;
            // On a busy machine the time may be over before it begins: then it never does.
            let Some((_, job)) = left.split_once("as job ") else {
                let never_began = left.contains("was stopped before its end")
                    || left.contains("so it was not run");
                assert!(never_began, "{left}");
                return;
            };
            let job = job.split('.').next().unwrap();
            let stopped = bridge.call("cancel-job", json!({"jobId": job})).await;
            assert!(stopped.text.contains("was stopped"), "{}", stopped.text);
        }
        _ => {
            let listed = bridge.call("list-computers", json!({})).await;
            let listed = listed.structured.unwrap();
            let computers = listed["computers"].as_array().unwrap();
            assert_eq!(computers.len() as u64, COMPUTERS, "{listed}");
            assert!(
                computers.iter().all(|one| one["linked"] == true),
                "{listed}"
            );
        }
    }
}

/// The memory that a process has, in KiB, where the system tells.
fn resident(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
