//! Jobs that print much at one go, with the real agent on simulated computers: what is within the bound arrives whole, and
//! what is beyond it is counted where it was lost.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::{
    bridges::Place,
    common::{
        PATIENCE,
        bridge::{Bridge, WHOLE},
        is,
        proxy::{Fate, Proxy},
        until,
    },
};
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions, Version},
};
use serde_json::{Value, json};
use tokio::runtime::Handle;

/// Bytes of a line, and lines that are 1 MiB.
const LINE: usize = 64;
const LINES: usize = 1024 * 1024 / LINE;

/// What `LINES` numbered lines are.
fn mib() -> String {
    (1..=LINES)
        .map(|number| format!("{number:0width$}\n", width = LINE - 1))
        .collect()
}

/// Prints them, and yields nowhere of its own accord.
const PRINT: &str = "for i = 1, 16384 do print(('%063d'):format(i)) end";

fn start(version: &str, address: impl std::fmt::Display) -> Computer {
    let mut options = ComputerOptions::new(1).with_file("mcp-computer.lua", agent::program());
    options.version = version.parse::<Version>().unwrap();
    // Not to be stopped for the time it takes on a busy machine.
    options.limits.event_time = PATIENCE;
    let program = format!("mcp-computer ws://{address}");
    Computer::start(options, &program, &Handle::current()).unwrap()
}

/// Compares without showing a MiB twice.
fn assert_whole(got: &str, wanted: &str, what: &str) {
    let at = got.bytes().zip(wanted.bytes()).position(|(a, b)| a != b);
    assert!(
        got == wanted,
        "{what}: {} bytes instead of {}, which part at {at:?}; {:.200}",
        got.len(),
        wanted.len(),
        got
    );
}

#[tokio::test]
async fn a_mib_printed_in_any_manner_arrives_whole_in_every_version_of_the_game() {
    let wanted = mib();
    for version in ["1.89", "1.101", "1.108", "1.113"] {
        let mut bridge = Bridge::initialized().await;
        let computer = start(version, bridge.link_port().await);
        bridge.linked(1).await;
        for (manner, code) in [
            ("many small ones", PRINT.to_owned()),
            (
                "one large one",
                "local lines = {} for i = 1, 16384 do lines[i] = ('%063d'):format(i) end \
                 print(table.concat(lines, '\\n'))"
                    .to_owned(),
            ),
            (
                "some of it byte by byte",
                "for i = 1, 15360 do print(('%063d'):format(i)) end \
                 for i = 15361, 16384 do for byte in ('%063d\\n'):format(i):gmatch('.') do write(byte) end end"
                    .to_owned(),
            ),
            (
                "in a coroutine",
                format!("coroutine.wrap(function() {PRINT} end)()"),
            ),
            (
                "called by a function of the game",
                "local i = 0 string.gsub(('x'):rep(16384), 'x', function() i = i + 1 print(('%063d'):format(i)) end)"
                    .to_owned(),
            ),
            (
                "for seconds, in a coroutine",
                "coroutine.wrap(function() for i = 1, 16384 do print(('%063d'):format(i)) if i % 1024 == 0 then \
                 local t = os.epoch('utc') + 125 repeat until os.epoch('utc') >= t end end end)()"
                    .to_owned(),
            ),
        ] {
            let what = format!("{manner} on {version}");
            let call = json!({"computerId": 1, "code": code, "timeoutMs": 60_000, "maxChars": WHOLE});
            let call = bridge.start_call("exec-lua", call).await;
            assert_whole(&bridge.slow_answer(call).await.text, &wanted, &what);
        }
        assert_eq!(computer.dropped_events(), 0, "{version}");
        bridge.leave().await;
    }
}

#[tokio::test]
async fn of_more_than_a_mib_at_one_go_the_latest_is_kept_and_the_rest_counted() {
    let mut bridge = Bridge::initialized().await;
    let _computer = start("1.113", bridge.link_port().await);
    bridge.linked(1).await;
    for code in [
        format!("coroutine.wrap(function() print(('x'):rep(640 * 1024 - 1)) {PRINT} end)()"),
        "local lines = { ('x'):rep(640 * 1024 - 1) } for i = 1, 16384 do lines[i + 1] = ('%063d'):format(i) end \
         write(table.concat(lines, '\\n') .. '\\n')"
            .to_owned(),
    ] {
        let wanted = format!("[{} bytes of output were lost here]\n{}", 640 * 1024, mib());
        assert_whole(&bridge.lua_whole(1, &code).await, &wanted, &code);
    }
    bridge.leave().await;
}

/// All that a job printed, as `get-job` tells it.
async fn printed(bridge: &mut Bridge, job: &str) -> String {
    let (mut cursor, mut all) = (0u64, String::new());
    loop {
        let page = bridge
            .call("get-job", json!({"jobId": job, "cursor": cursor}))
            .await
            .text;
        let (head, text) = page.split_once('\n').unwrap();
        all.push_str(text);
        let next = head.rsplit("Cursor: ").next().unwrap();
        cursor = next.split([',', '.']).next().unwrap().parse().unwrap();
        if !head.contains("there is more") {
            return all;
        }
    }
}

#[tokio::test]
async fn what_is_printed_while_there_is_no_link_comes_with_the_next_one_two_mib_of_it() {
    let mut bridge = Bridge::initialized().await;
    let is_down = Arc::new(AtomicBool::new(false));
    let down = is_down.clone();
    let network = Proxy::start(bridge.link_port().await, move |_, _: &Value| {
        if down.load(Ordering::Relaxed) {
            Fate::CutBefore
        } else {
            Fate::Passes
        }
    })
    .await;
    let computer = start("1.113", network.address);
    bridge.linked(1).await;
    let mut jobs = Vec::new();
    for number in 1..=3 {
        let code = format!(
            "os.pullEvent('go{number}') {PRINT} fs.open('/printed{number}', 'w').close() os.pullEvent('end')"
        );
        let call = json!({"computerId": 1, "code": code, "timeoutMs": 100});
        let text = bridge.call("exec-lua", call).await.text;
        let (_, after) = text.split_once("as job ").unwrap();
        jobs.push(after.split('.').next().unwrap().to_owned());
    }
    is_down.store(true, Ordering::Relaxed);
    bridge
        .computer(1, |computer| computer["linked"] == false)
        .await;
    for number in 1..=3 {
        computer.queue_event(&format!("go{number}"), &[]);
        until("the job has printed all", async || {
            is(
                computer.read_file(&format!("printed{number}")).is_some(),
                number,
            )
        })
        .await;
    }
    is_down.store(false, Ordering::Relaxed);
    bridge.linked(1).await;
    computer.queue_event("end", &[]);
    let wanted = mib();
    for (number, job) in jobs.iter().enumerate() {
        until("the job has ended", async || {
            let all = bridge.call("get-job", json!({"jobId": job})).await.text;
            is(
                all.contains("ended well"),
                all.lines().next().unwrap().to_owned(),
            )
        })
        .await;
        let all = printed(&mut bridge, job).await;
        if number < 2 {
            assert_whole(&all, &wanted, &format!("job {number}"));
        } else {
            let lost: usize = all
                .lines()
                .filter_map(|line| {
                    line.strip_prefix('[')?
                        .strip_suffix(" bytes of output were lost here]")
                })
                .map(|bytes| bytes.parse::<usize>().unwrap())
                .sum();
            let kept: usize = all
                .split_inclusive('\n')
                .filter(|line| !line.starts_with('['))
                .map(str::len)
                .sum();
            assert!(
                lost > 0 && kept + lost == wanted.len(),
                "{kept} kept, {lost} lost"
            );
            assert!(
                wanted.ends_with(all.rsplit("here]\n").next().unwrap()),
                "{all:.200}"
            );
        }
    }
    bridge.leave().await;
}

#[tokio::test]
async fn a_guests_job_loses_as_little_as_its_owners() {
    let place = Place::new();
    let mut owner = place.bridge().await;
    let mut guest = place.bridge().await;
    let _computer = place.computer(1);
    owner.linked(1).await;
    guest.linked(1).await;
    let code = format!("coroutine.wrap(function() {PRINT} end)()");
    assert_whole(&guest.lua_whole(1, &code).await, &mib(), "a guest's job");
    guest.leave().await;
    owner.leave().await;
}
