//! Long, many and large jobs, with the real agent on simulated computers.

use std::time::{Duration, Instant};

use crate::common::{
    bridge::{Bridge, WHOLE},
    is,
    pace::in_time,
    soon, until,
};
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions, Kind, Version},
};
use serde_json::json;
use tokio::runtime::Handle;

async fn pair(change: impl FnOnce(&mut ComputerOptions)) -> (Bridge, Computer) {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut options = ComputerOptions::new(1).with_file("mcp-computer.lua", agent::program());
    change(&mut options);
    let computer = Computer::start(
        options,
        &format!("mcp-computer ws://{port}"),
        &Handle::current(),
    )
    .unwrap();
    bridge.linked(1).await;
    (bridge, computer)
}

/// Starts code that is left running after a moment, and returns its job's id.
async fn detach(bridge: &mut Bridge, code: &str, exclusive: bool) -> String {
    let call = json!({"computerId": 1, "code": code, "timeoutMs": 200, "exclusive": exclusive});
    let text = bridge.call("exec-lua", call).await.text;
    let (_, after) = text
        .split_once("as job ")
        .unwrap_or_else(|| panic!("no job in: {text}"));
    after.split('.').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_loop_of_ten_minutes_is_detached_watched_and_cancelled() {
    // Ten minutes of game time, in which the game's clock runs ten times as fast.
    let (mut bridge, _computer) = pair(|options| options.clock_speed = 10.0).await;
    let job = detach(
        &mut bridge,
        "for second = 1, 600 do print('second ' .. second) sleep(1) end",
        false,
    )
    .await;
    let mut cursor = 0;
    let mut seen = String::new();
    while !seen.contains("second 20\n") {
        let page = bridge
            .call(
                "get-job",
                json!({"jobId": job, "cursor": cursor, "waitMs": 10_000}),
            )
            .await
            .text;
        let (head, text) = page.split_once('\n').unwrap();
        assert!(head.contains("running for"), "{head}");
        cursor = head
            .rsplit("Cursor: ")
            .next()
            .unwrap()
            .trim_end_matches('.')
            .parse()
            .unwrap();
        seen.push_str(text);
    }
    let expected: String = (1..=20)
        .map(|second| format!("second {second}\n"))
        .collect();
    assert!(seen.starts_with(&expected), "{seen}");
    let stopped = bridge.call("cancel-job", json!({"jobId": job})).await;
    assert!(
        !stopped.is_error && stopped.text.contains("was stopped"),
        "{}",
        stopped.text
    );
    let over = bridge
        .call("get-job", json!({"jobId": job, "cursor": cursor}))
        .await
        .text;
    assert!(over.contains("stopped "), "{over}");
    assert_eq!(bridge.lua(1, "1+1").await, "=> 2");
    bridge.leave().await;
}

#[tokio::test]
async fn a_cancelled_call_runs_no_more_of_its_code() {
    let (mut bridge, computer) = pair(|_| {}).await;
    let code =
        "while true do local f = fs.open('/beat', 'ab') f.write('x') f.close() sleep(0.05) end";
    let call = bridge
        .start_call(
            "exec-lua",
            json!({"computerId": 1, "code": code, "timeoutMs": 60_000}),
        )
        .await;
    until("the code runs", async || {
        let beats = computer.read_file("beat").unwrap_or_default().len();
        is(beats >= 3, beats)
    })
    .await;
    bridge.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}})).await;
    soon("the job ends", async {
        while !bridge
            .call("list-jobs", json!({}))
            .await
            .text
            .contains("stopped ")
        {}
    })
    .await;
    let beats = computer.read_file("beat").unwrap().len();
    // A second's worth of ticks, counted by the computer itself.
    bridge.lua(1, "sleep(1)").await;
    assert_eq!(computer.read_file("beat").unwrap().len(), beats);
    bridge.leave().await;
}

#[tokio::test]
async fn fifty_jobs_at_once_on_one_computer_all_finish() {
    let (mut bridge, _computer) = pair(|_| {}).await;
    let mut calls = Vec::new();
    for number in 0..50 {
        let code = format!("for i = 1, 5 do print({number}, i) sleep(0.1) end return {number}");
        calls.push(
            bridge
                .start_call(
                    "exec-lua",
                    json!({"computerId": 1, "code": code, "timeoutMs": 60_000}),
                )
                .await,
        );
    }
    for (number, call) in calls.into_iter().enumerate() {
        let answer = bridge.answer(call).await;
        let lines: String = (1..=5).map(|i| format!("{number}\t{i}\n")).collect();
        assert_eq!(answer.text, format!("{lines}=> {number}"));
    }
    bridge.leave().await;
}

#[tokio::test]
async fn of_a_hundred_thousand_lines_the_bytes_kept_and_the_bytes_lost_add_up_and_others_are_served_meanwhile()
 {
    let (mut bridge, _computer) = pair(|_| {}).await;
    let code = "local line = ('x'):rep(59) for i = 1, 100000 do print(line) if i % 500 == 0 then sleep(0) end end";
    let job = detach(&mut bridge, code, false).await;
    let mut waits = Vec::new();
    loop {
        let start = Instant::now();
        assert_eq!(bridge.lua(1, "1+1").await, "=> 2");
        waits.push(start.elapsed());
        if bridge
            .call("get-job", json!({"jobId": job}))
            .await
            .text
            .contains("ended well")
        {
            break;
        }
    }
    waits.sort();
    // Two ticks.
    in_time("a call", waits[waits.len() / 2], Duration::from_millis(100)).await;

    let (mut cursor, mut kept, mut lost) = (0u64, 0u64, 0u64);
    loop {
        let page = bridge
            .call("get-job", json!({"jobId": job, "cursor": cursor}))
            .await
            .text;
        let (head, text) = page.split_once('\n').unwrap();
        for line in text.split_inclusive('\n') {
            let bytes = line
                .strip_prefix('[')
                .and_then(|line| line.strip_suffix(" bytes of output were lost here]\n"));
            match bytes {
                Some(bytes) => lost += bytes.parse::<u64>().unwrap(),
                None => kept += line.len() as u64,
            }
        }
        let next = head.rsplit("Cursor: ").next().unwrap();
        cursor = next.split([',', '.']).next().unwrap().parse().unwrap();
        if !head.contains("there is more") {
            assert!(head.contains("6000000 bytes printed"), "{head}");
            break;
        }
    }
    assert_eq!(kept + lost, 6_000_000, "{kept} kept, {lost} lost");
    assert!(kept >= 512 * 1024, "{kept} kept");
    bridge.leave().await;
}

#[tokio::test]
async fn five_mib_survive_both_ways_in_every_version_of_the_game() {
    for version in ["1.89", "1.113"] {
        let (mut bridge, computer) =
            pair(|options| options.version = version.parse::<Version>().unwrap()).await;
        // Out: all byte values in the code, as a long string that holds no bracket and no carriage return.
        let length = 5 * 1024 * 1024;
        let text: String = (0..length / 4).map(|at| ['a', 'é', '\n'][at % 3]).collect();
        let bytes = text.len();
        let checksum: u64 = text
            .bytes()
            .enumerate()
            .map(|(at, byte)| u64::from(byte) * (at as u64 % 251 + 1))
            .sum();
        let code = format!(
            "local s = [==[\n{text}]==] local sum, n = 0, 0 \
             for i = 1, #s, 4096 do local b = {{ s:byte(i, i + 4095) }} \
             for k = 1, #b do sum = sum + b[k] * (n % 251 + 1) n = n + 1 end if i % 40960 == 1 then sleep(0) end end \
             return #s, sum"
        );
        let call = json!({"computerId": 1, "code": code, "timeoutMs": 120_000});
        let start = bridge.start_call("exec-lua", call).await;
        let answer = bridge.slow_answer(start).await;
        assert_eq!(
            answer.text,
            format!("=> {bytes}\n=> {checksum}"),
            "{version}"
        );
        // And back: 5 MiB, and all 256 byte values.
        let call = json!({"computerId": 1, "code": "return ('0123456789abcdef'):rep(5 * 65536)", "timeoutMs": 120_000, "maxChars": WHOLE});
        let start = bridge.start_call("exec-lua", call).await;
        let answer = bridge.slow_answer(start).await;
        assert_eq!(
            answer.text,
            format!("=> \"{}\"", "0123456789abcdef".repeat(5 * 65_536)),
            "{version}"
        );
        let call = json!({"computerId": 1, "timeoutMs": 120_000, "maxChars": WHOLE, "code":
            "local t = {} for b = 0, 255 do t[#t + 1] = string.char(b) end return table.concat(t):rep(2048)"});
        let start = bridge.start_call("exec-lua", call).await;
        let answer = bridge.slow_answer(start).await;
        let value = answer.text.strip_prefix("=> ").unwrap_or_default();
        let one = &value[1..(value.len() - 1) / 2048 + 1];
        assert!(
            one.starts_with("\\000☺") && one.ends_with('ÿ'),
            "{version}: {one}"
        );
        assert_eq!(
            answer.text,
            format!("=> \"{}\"", one.repeat(2048)),
            "{version}"
        );
        assert_eq!(computer.dropped_events(), 0, "{version}");
        assert_eq!(bridge.lua(1, "1+1").await, "=> 2");
        bridge.leave().await;
    }
}

#[tokio::test]
async fn an_exclusive_job_holds_the_turtle_until_it_ends() {
    let (mut bridge, _computer) = pair(|options| options.kind = Kind::Turtle).await;
    let holder = detach(&mut bridge, "sleep(60)", true).await;
    let refused = bridge
        .call(
            "exec-lua",
            json!({"computerId": 1, "code": "turtle.forward()", "exclusive": true}),
        )
        .await;
    assert!(
        refused.is_error
            && refused.text.contains("refused error")
            && refused.text.contains(&holder),
        "{}",
        refused.text
    );
    // Raw Lua is not held up.
    assert_eq!(bridge.lua(1, "turtle.detect()").await, "=> false");
    assert!(
        bridge
            .call("list-jobs", json!({}))
            .await
            .text
            .contains("holds the turtle")
    );
    bridge.call("cancel-job", json!({"jobId": holder})).await;
    let free = bridge
        .call(
            "exec-lua",
            json!({"computerId": 1, "code": "return turtle.detect()", "exclusive": true}),
        )
        .await;
    assert!(!free.is_error, "{}", free.text);
    bridge.leave().await;
}

#[tokio::test]
async fn what_code_prints_reaches_a_client_that_listens_while_it_runs() {
    let (mut bridge, _computer) = pair(|_| {}).await;
    let code = "for i = 1, 4 do print('step ' .. i) sleep(0.5) end";
    let params = json!({"name": "exec-lua", "arguments": {"computerId": 1, "code": code}, "_meta": {"progressToken": 7}});
    let call = bridge.ask("tools/call", params).await;
    let mut told = String::new();
    while !told.contains("step 4") {
        let progress = bridge
            .message("progress", |message| {
                message["method"] == "notifications/progress"
            })
            .await;
        told.push_str(progress["params"]["message"].as_str().unwrap());
    }
    assert_eq!(told, "step 1\nstep 2\nstep 3\nstep 4\n");
    assert_eq!(bridge.answer(call).await.text, told);
    bridge.leave().await;
}
