//! What answers say of whether code ran: never more than is known. The real agent over bad networks, and computers
//! written from the protocol's text.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crate::bridges::Place;
use crate::common::{
    bridge::Bridge,
    computer::Computer as Raw,
    is,
    pace::in_time,
    proxy::{Fate, Proxy, Way},
    soon, until,
};
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use serde_json::json;
use tokio::{runtime::Handle, time::Instant};

const COUNTING: &str = "local f = fs.open('/runs', 'ab') f.write('x') f.close() return 'ran'";

fn computer(id: u64, address: SocketAddr, clock_speed: f64) -> Computer {
    let mut options = ComputerOptions::new(id)
        .with_file("mcp-computer.lua", agent::program())
        .with_file(
            "startup.lua",
            format!("shell.run('mcp-computer ws://{address}')"),
        );
    options.clock_speed = clock_speed;
    Computer::start(options, "", &Handle::current()).unwrap()
}

fn runs(computer: &Computer) -> usize {
    computer.read_file("runs").map_or(0, |marks| marks.len())
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap()
}

/// A switch that a network follows.
fn switch() -> (Arc<AtomicBool>, Arc<AtomicBool>) {
    let switch = Arc::new(AtomicBool::new(false));
    (switch.clone(), switch)
}

#[tokio::test]
async fn code_whose_computer_is_not_heard_of_again_is_not_said_not_to_have_run() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let (down, is_down) = switch();
    let mut asked = false;
    let proxy = Proxy::start(port, move |way, frame| {
        let request = way == Way::ToComputer && frame["method"] == "exec-lua";
        if is_down.load(SeqCst) || request && asked {
            return Fate::CutBefore;
        }
        asked |= request;
        // From then on the bridge hears nothing of it.
        if asked && way == Way::ToBridge {
            Fate::Lost
        } else {
            Fate::Passes
        }
    })
    .await;
    let computer = computer(1, proxy.address, 1.0);
    bridge.linked(1).await;
    let call = bridge
        .start_call("exec-lua", json!({"code": COUNTING, "timeoutMs": 4_000}))
        .await;
    until("the code has run", async || {
        is(runs(&computer) == 1, "it has not")
    })
    .await;
    down.store(true, SeqCst);
    let answer = bridge.answer(call).await;
    assert!(
        answer.is_error
            && answer.text.starts_with("offline error on computer 1")
            && answer.text.contains("It is not known whether the code ran"),
        "{}",
        answer.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_request_that_comes_after_its_answer_does_not_run_any_more() {
    for clock_speed in [1.0, 10.0] {
        let mut bridge = Bridge::initialized().await;
        let port = bridge.link_port().await;
        let (came, has_come) = switch();
        let mut first = true;
        let proxy = Proxy::start(port, move |way, frame| {
            if way == Way::ToComputer && frame["method"] == "exec-lua" && first {
                first = false;
                return Fate::Late(Duration::from_secs(3));
            }
            if way == Way::ToBridge && frame["type"] == "response" {
                came.store(true, SeqCst);
            }
            Fate::Passes
        })
        .await;
        let computer = computer(1, proxy.address, clock_speed);
        bridge.linked(1).await;
        let answer = bridge
            .call("exec-lua", json!({"code": COUNTING, "timeoutMs": 1_000}))
            .await;
        assert!(
            answer.is_error
                && answer.text.contains("It is not known whether the code ran")
                && answer.text.contains("now it does not begin any more"),
            "{}",
            answer.text
        );
        until("the request has come", async || {
            is(has_come.load(SeqCst), "it has not")
        })
        .await;
        // Whatever came before this one has been seen by then.
        assert_eq!(bridge.lua(1, "return 'later'").await, "=> \"later\"");
        assert_eq!(runs(&computer), 0);
        bridge.leave().await;
    }
}

#[tokio::test]
async fn a_world_that_stands_still_runs_nothing_later_either() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let computer = computer(1, port, 1.0);
    bridge.linked(1).await;
    // It takes the machine for so long that what waits behind it is late.
    let busy = bridge
        .start_call(
            "exec-lua",
            json!({"code": "fs.open('/busy', 'w').close() local t = os.epoch('utc') repeat until os.epoch('utc') - t > 2500"}),
        )
        .await;
    until("it is busy", async || {
        is(computer.read_file("busy").is_some(), "it is not")
    })
    .await;
    let answer = bridge
        .call("exec-lua", json!({"code": COUNTING, "timeoutMs": 500}))
        .await;
    assert!(answer.is_error, "{}", answer.text);
    assert!(!bridge.answer(busy).await.is_error);
    assert_eq!(bridge.lua(1, "return 'later'").await, "=> \"later\"");
    assert_eq!(runs(&computer), 0, "{}", answer.text);
    bridge.leave().await;
}

#[tokio::test]
async fn each_request_names_the_moment_by_the_agents_clock_after_which_it_does_not_begin() {
    const AHEAD: u64 = 3_600_000;
    let place = Place::new();
    let mut owner = place.bridge().await;
    let mut guest = place.bridge().await;
    let port = owner.link_port().await;
    let mut computer = Raw::connect(port).await;
    let hello = json!({
        "type": "hello", "computerId": 4, "protocol": 2, "boot": "first", "at": now_ms() + AHEAD,
        "capabilities": ["startBefore"],
    });
    assert_eq!(computer.hello(hello).await["type"], "hello-ok");
    // Asked at once, since hello may have been long under way.
    let ping = computer.frame_of_type("ping").await;
    computer
        .send(&json!({"type": "pong", "n": ping["n"], "at": now_ms() + AHEAD}))
        .await;
    for bridge in [&mut owner, &mut guest] {
        bridge.linked(4).await;
        let before = now_ms() + AHEAD;
        let call = bridge
            .start_call("exec-lua", json!({"code": "x()", "timeoutMs": 20_000}))
            .await;
        let request = computer.request().await;
        let latest = request["startBefore"].as_u64().unwrap();
        assert!(
            latest <= now_ms() + AHEAD + 20_000 && latest + 1_000 > before + 20_000,
            "{latest} {before}"
        );
        computer
            .send(&json!({"type": "response", "id": request["id"], "ok": true, "result": {"returns": []}}))
            .await;
        bridge.answer(call).await;
    }
    guest.leave().await;
    owner.leave().await;
}

#[tokio::test]
async fn of_an_agent_that_promises_nothing_it_is_said_that_the_code_may_yet_begin() {
    let mut bridge = Bridge::initialized().await;
    let mut computer = Raw::link_v2(bridge.link_port().await, 4).await;
    let call = bridge
        .start_call("exec-lua", json!({"code": "x()", "timeoutMs": 300}))
        .await;
    assert_eq!(computer.request().await.get("startBefore"), None);
    let answer = bridge.answer(call).await;
    assert!(
        answer.text.contains("It is not known whether the code ran")
            && answer.text.contains("It may run there, or yet begin."),
        "{}",
        answer.text
    );
    bridge.leave().await;
}

#[tokio::test]
async fn what_was_stopped_before_it_came_was_not_run() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let proxy = Proxy::start(port, |way, frame| {
        let request = way == Way::ToComputer && frame["method"] == "exec-lua";
        if request { Fate::Lost } else { Fate::Passes }
    })
    .await;
    let computer = computer(1, proxy.address, 1.0);
    bridge.linked(1).await;
    let answer = bridge
        .call("exec-lua", json!({"code": COUNTING, "timeoutMs": 500}))
        .await;
    assert!(
        answer
            .text
            .starts_with("The code was not run on computer 1"),
        "{}",
        answer.text
    );
    assert_eq!(runs(&computer), 0);
    bridge.leave().await;
}

#[tokio::test]
async fn a_call_that_was_made_while_a_computer_restarts_runs_on_it_once_it_is_back() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let computer = computer(1, port, 10.0);
    bridge.linked(1).await;
    bridge
        .call("exec-lua", json!({"code": "os.reboot()"}))
        .await;
    bridge
        .computer(1, |computer| computer["linked"] == false)
        .await;
    assert_eq!(bridge.lua(1, COUNTING).await, "=> \"ran\"");
    assert_eq!(runs(&computer), 1);
    bridge.leave().await;
}

#[tokio::test]
async fn a_call_to_a_computer_that_is_away_says_so_at_once_and_waits_for_fifteen_seconds() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    drop(Raw::link_v2(port, 4).await);
    bridge
        .computer(4, |computer| computer["linked"] == false)
        .await;
    let start = Instant::now();
    let call = bridge
        .ask(
            "tools/call",
            json!({"name": "exec-lua", "arguments": {"computerId": 4, "code": "x()", "timeoutMs": 60_000}, "_meta": {"progressToken": "p"}}),
        )
        .await;
    let told = bridge
        .message("that it is away", |message| {
            message["method"] == "notifications/progress"
        })
        .await;
    let told = told["params"]["message"].as_str().unwrap();
    assert!(
        told.starts_with("computer 4 (Label: two) left") && told.contains("for 15 s at most"),
        "{told}"
    );
    in_time("to say so", start.elapsed(), Duration::from_secs(1)).await;
    let answer = soon("the answer", bridge.answer(call)).await;
    assert!(
        answer.is_error && answer.text.contains("The code was not run."),
        "{}",
        answer.text
    );
    assert!(start.elapsed() >= Duration::from_secs(14));
    bridge.leave().await;
}

#[tokio::test]
async fn what_is_asked_right_after_a_reboot_runs_on_the_next_start() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let computer = computer(1, port, 10.0);
    bridge.linked(1).await;
    for (times, reboot) in ["os.reboot()", "shell.run('reboot')", "os.reboot()"]
        .into_iter()
        .enumerate()
    {
        let script =
            format!("computers.exec(1, {reboot:?}) return computers.exec(1, {COUNTING:?})");
        let answer = bridge.call("run-script", json!({"code": script})).await;
        assert!(
            !answer.is_error && answer.text.contains("ran"),
            "{reboot}: {}",
            answer.text
        );
        assert_eq!(runs(&computer), times + 1, "{reboot}");
    }
    bridge.leave().await;
}

#[tokio::test]
async fn what_was_to_be_stopped_is_stopped_when_its_computer_is_back() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let (cut, is_cut) = switch();
    let proxy = Proxy::start(port, move |_, _| {
        if is_cut.load(SeqCst) {
            Fate::CutBefore
        } else {
            Fate::Passes
        }
    })
    .await;
    let computer = computer(1, proxy.address, 10.0);
    bridge.linked(1).await;
    let code =
        "while true do local f = fs.open('/runs', 'ab') f.write('x') f.close() sleep(0.05) end";
    let call = bridge
        .start_call(
            "exec-lua",
            json!({"code": code, "timeoutMs": 1_500, "onTimeout": "cancel"}),
        )
        .await;
    until("it runs", async || is(runs(&computer) > 1, "it does not")).await;
    cut.store(true, SeqCst);
    let answer = bridge.answer(call).await.text;
    assert!(
        answer.contains("the computer can't be told. It is stopped should")
            || answer.contains("the computer can't be told. The computer has been out of reach")
            || answer.contains("the computer does not confirm it"),
        "{answer}"
    );
    cut.store(false, SeqCst);
    until("it is stopped", async || {
        let jobs = bridge.call("list-jobs", json!({})).await.text;
        is(jobs.contains(": stopped "), jobs)
    })
    .await;
    bridge.leave().await;
}

#[tokio::test]
async fn each_label_is_known_in_the_answer_of_the_call_that_set_it() {
    let mut bridge = Bridge::initialized().await;
    let _computer = computer(1, bridge.link_port().await, 1.0);
    bridge.linked(1).await;
    for (set, shown) in [
        ("A", "A"),
        ("B", "B"),
        ("C", "C"),
        ("u\\255", "u\u{ff}"),
        ("\\195\\169", "é"),
    ] {
        let code = format!("os.setComputerLabel('{set}') sleep(0.1) error('x')");
        let error = bridge.lua_error(1, &code).await;
        assert!(
            error.contains(&format!("(Label: {shown})")),
            "{set}: {error}"
        );
    }
    bridge.leave().await;
}

#[tokio::test]
async fn a_job_of_which_nothing_was_sent_is_listed_as_not_run() {
    let mut bridge = Bridge::initialized().await;
    drop(Raw::link_v2(bridge.link_port().await, 4).await);
    bridge
        .computer(4, |computer| computer["linked"] == false)
        .await;
    let call = json!({"computerId": 4, "code": "x()", "timeoutMs": 100});
    let answer = bridge.call("exec-lua", call).await.text;
    assert!(answer.contains("The code was not run."), "{answer}");
    let jobs = bridge.call("list-jobs", json!({})).await.text;
    assert!(
        jobs.contains(": not run ") && !jobs.contains("lost"),
        "{jobs}"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_stop_that_the_network_lost_is_told_again_over_the_next_link() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let (cut, is_cut) = switch();
    let mut stops = 0;
    let proxy = Proxy::start(port, move |way, frame| {
        if is_cut.swap(false, SeqCst) {
            return Fate::CutBefore;
        }
        // The first two are those that the call waits for.
        stops += usize::from(way == Way::ToComputer && frame["type"] == "cancel");
        let lost = way == Way::ToComputer && frame["type"] == "cancel" && stops <= 2;
        if lost { Fate::Lost } else { Fate::Passes }
    })
    .await;
    let computer = computer(1, proxy.address, 10.0);
    bridge.linked(1).await;
    let code =
        "while true do local f = fs.open('/runs', 'ab') f.write('x') f.close() sleep(0.05) end";
    let text = bridge
        .call("exec-lua", json!({"code": code, "timeoutMs": 300}))
        .await
        .text;
    let job = text
        .split_once("as job ")
        .unwrap()
        .1
        .split('.')
        .next()
        .unwrap();
    let told = bridge.call("cancel-job", json!({"jobId": job})).await;
    assert!(told.text.contains("was told to stop"), "{}", told.text);
    cut.store(true, SeqCst);
    until("it is stopped", async || {
        let jobs = bridge.call("list-jobs", json!({})).await.text;
        is(jobs.contains(": stopped "), jobs)
    })
    .await;
    assert!(runs(&computer) > 0);
    bridge.leave().await;
}
