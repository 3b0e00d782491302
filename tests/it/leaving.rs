//! A client leaves: what it had in flight stops, on every way there is to go.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use crate::{
    bridges::Place,
    common::{
        bridge::Bridge,
        computer::{Computer as RawComputer, Event},
        is,
        pace::in_time,
        rounds, until,
    },
};
use mcp_bridge::{
    computers::RequestId,
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use serde_json::{Value, json};
use tokio::{net::TcpSocket, runtime::Handle};
use tokio_tungstenite::{MaybeTlsStream, client_async};

/// Code that leaves a byte in a file of its computer at every tick, and never ends.
fn beating(file: &str) -> String {
    format!(
        "while true do local f = fs.open('/{file}', 'ab') f.write('x') f.close() sleep(0.05) end"
    )
}

/// How many computers run it for one client.
const COMPUTERS: u64 = 4;

/// A computer, so many times as fast as the game's, whose agent links to this port, and which counts its own ticks beside.
fn computer(id: u64, port: SocketAddr, speed: f64) -> Computer {
    // The agent waits by the real clock, which a fast world doesn't change: so that one is made fast too.
    let startup = format!(
        "local epoch = os.epoch
        local start = epoch('utc')
        os.epoch = function(of)
            return of == 'utc' and math.floor(start + (epoch('utc') - start) * {speed}) or epoch(of)
        end
        parallel.waitForAny(
            function() shell.run('mcp-computer ws://{port}') end,
            function()
                while true do
                    local f = fs.open('/ticks', 'ab') f.write('x') f.close()
                    f = fs.open('/clock', 'w') f.write(os.clock()) f.close()
                    sleep(0.05)
                end
            end)"
    );
    let mut options = ComputerOptions::new(id)
        .with_file("mcp-computer.lua", agent::program())
        .with_file("startup.lua", startup);
    options.clock_speed = speed;
    options.limits.disk_bytes = 100_000_000;
    Computer::start(options, "", &Handle::current()).unwrap()
}

fn length(computer: &Computer, file: &str) -> usize {
    computer.read_file(file).unwrap_or_default().len()
}

/// Waits until a file of a computer is longer than so much by some beats.
async fn beats_past(computer: &Computer, file: &str, before: usize) {
    until("the code runs", async || {
        let beats = length(computer, file);
        is(beats > before + 2, beats)
    })
    .await;
}

/// How many seconds of the world a computer has been on.
async fn clock(computer: &Computer) -> f64 {
    until("a computer's clock", async || {
        let bytes = computer.read_file("clock").unwrap_or_default();
        // It may be just being written.
        let text = String::from_utf8(bytes).unwrap();
        text.parse().map_err(|_| text)
    })
    .await
}

/// Waits for so many ticks of a computer.
async fn ticks(computer: &Computer, count: usize) {
    let before = length(computer, "ticks");
    until("the world goes on", async || {
        let now = length(computer, "ticks");
        is(now >= before + count, now)
    })
    .await;
}

/// Whether code stands still for forty ticks of its computer, within so many.
async fn has_stopped(computer: &Computer, file: &str, within: usize) -> bool {
    for _ in 0..within / 40 {
        let beats = length(computer, file);
        ticks(computer, 40).await;
        if length(computer, file) == beats {
            return true;
        }
    }
    false
}

/// Lets a client with a call on each computer `leave`, again and again, and checks that no code goes on: as the owner
/// of the link port, or as the guest of one that stays.
async fn what_was_in_flight_stops(is_guest: bool, leave: impl AsyncFn(Bridge, &[u64])) {
    let place = Place::new();
    let _stays = if is_guest {
        Some(place.bridge().await)
    } else {
        None
    };
    let computers: Vec<_> = (1..=COMPUTERS)
        .map(|id| computer(id, place.address(), 10.0))
        .collect();
    let (mut missed, rounds) = (0, u64::from(rounds(5)));
    for _ in 0..rounds {
        let mut bridge = place.bridge().await;
        let mut calls = Vec::new();
        for (id, computer) in (1..).zip(&computers) {
            bridge.linked(id).await;
            let before = length(computer, "beats");
            let call = json!({"computerId": id, "code": beating("beats"), "timeoutMs": 600_000});
            calls.push(bridge.start_call("exec-lua", call).await);
            beats_past(computer, "beats", before).await;
        }
        leave(bridge, &calls).await;
        for computer in &computers {
            if !has_stopped(computer, "beats", 2_000).await {
                missed += 1;
                // The next round is to begin on a quiet computer.
                computer.reboot();
            }
        }
    }
    assert_eq!(missed, 0, "of {} pieces of code", rounds * COMPUTERS);
}

async fn closes_its_end(mut bridge: Bridge, _: &[u64]) {
    let start = Instant::now();
    bridge.close_input();
    let status = bridge.ended().await;
    let took = start.elapsed();
    assert!(status.success(), "{status}");
    in_time("to leave", took, Duration::from_millis(500)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_whose_client_closes_its_end_leaves_nothing_running() {
    what_was_in_flight_stops(false, closes_its_end).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_whose_client_closes_its_end_leaves_nothing_running() {
    what_was_in_flight_stops(true, closes_its_end).await;
}

#[cfg(unix)]
async fn is_asked_to_leave(mut bridge: Bridge, _: &[u64]) {
    use rustix::process::Signal;
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        crate::bridges::signal(bridge.pid(), signal);
    }
    assert!(bridge.ended().await.success());
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_is_asked_to_leave_leaves_nothing_running() {
    what_was_in_flight_stops(false, is_asked_to_leave).await;
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_is_asked_to_leave_leaves_nothing_running() {
    what_was_in_flight_stops(true, is_asked_to_leave).await;
}

async fn cancels_and_closes_its_end(mut bridge: Bridge, calls: &[u64]) {
    for call in calls {
        let params = json!({"requestId": call});
        bridge
            .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
            .await;
    }
    bridge.close_input();
    bridge.ended().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_at_the_very_end_of_an_owner_stops() {
    what_was_in_flight_stops(false, cancels_and_closes_its_end).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_cancelled_at_the_very_end_of_a_guest_stops() {
    what_was_in_flight_stops(true, cancels_and_closes_its_end).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_is_killed_leaves_nothing_running() {
    what_was_in_flight_stops(true, async |bridge, _| bridge.kill().await).await;
}

/// What a computer is told to stop, until the bridge closes the link, and the code of that close.
async fn farewell(computer: &mut RawComputer) -> (Vec<Value>, u16) {
    let mut stopped = Vec::new();
    loop {
        match computer.event().await {
            // It may be told twice, since the game may drop a frame.
            Event::Frame(frame) if frame["type"] == "cancel" => {
                if !stopped.contains(&frame["id"]) {
                    stopped.push(frame["id"].clone());
                }
            }
            Event::Frame(_) => {}
            Event::Closed(Some(close)) => return (stopped, close.code.into()),
            other => panic!("expected a close with a code: {other:?}"),
        }
    }
}

/// Starts a call on computer 4, which takes it, and returns the request.
async fn in_flight(bridge: &mut Bridge, computer: &mut RawComputer, timeout_ms: u64) -> Value {
    let call = json!({"computerId": 4, "code": "code()", "timeoutMs": timeout_ms});
    bridge.start_call("exec-lua", call).await;
    let request = computer.request().await;
    computer.accept(&request).await;
    request
}

#[tokio::test]
async fn computers_are_told_what_to_stop_before_their_links_are_closed() {
    let place = Place::new();
    let mut own = place.bridge().await;
    let mut guest = place.bridge().await;
    let mut computer = RawComputer::link_v2(place.address(), 4).await;
    let mut idle = RawComputer::link_v2(place.address(), 5).await;
    let mut old = RawComputer::link(place.address(), 6, None).await;
    guest.linked(4).await;
    let stays = in_flight(&mut guest, &mut computer, 60_000).await;
    let stops = in_flight(&mut own, &mut computer, 60_000).await;
    let detached = in_flight(&mut own, &mut computer, 100).await;
    own.message("the answer to what goes on", |message| {
        message.to_string().contains("still runs")
    })
    .await;
    own.close_input();
    assert_eq!(
        farewell(&mut computer).await,
        (vec![stops["id"].clone()], 1001),
        "{stays} {detached}"
    );
    assert_eq!(farewell(&mut idle).await, (Vec::new(), 1001));
    assert_eq!(old.closed().await.0, 1001);
    assert!(own.ended().await.success());

    // The guest has the port now. Its own call is asked again, and stops when it leaves.
    guest
        .computer(4, |computer| computer["linked"] == false)
        .await;
    until("the guest holds the port", async || {
        let held = tokio::net::TcpStream::connect(place.address()).await;
        held.map(drop)
    })
    .await;
    let known = stays["id"].as_str().unwrap();
    let mut computer = RawComputer::link_boot(place.address(), 4, "first", &[known]).await;
    assert_eq!(computer.request().await["id"], known);
    computer.accept(&stays).await;
    guest.close_input();
    assert_eq!(farewell(&mut computer).await, (vec![known.into()], 1001));
}

#[tokio::test]
async fn what_a_guest_that_leaves_waited_for_stops_and_what_it_detached_goes_on() {
    let place = Place::new();
    let mut own = place.bridge().await;
    let mut guest = place.bridge().await;
    let mut computer = RawComputer::link_v2(place.address(), 4).await;
    let mut over = Vec::new();
    for kills in [false, true] {
        guest.linked(4).await;
        let detached = in_flight(&mut guest, &mut computer, 100).await;
        guest
            .message("the answer to what goes on", |message| {
                message.to_string().contains("still runs")
            })
            .await;
        let stops = in_flight(&mut guest, &mut computer, 60_000).await;
        if kills {
            guest.kill().await;
        } else {
            guest.leave().await;
        }
        // What was told twice of the one before is passed over.
        let cancel = loop {
            let cancel = computer.frame_of_type("cancel").await;
            if !over.contains(&cancel["id"]) {
                break cancel;
            }
        };
        assert_eq!(cancel["id"], stops["id"]);
        over.push(cancel["id"].clone());
        let error = json!({"kind": "cancelled", "message": "cancelled"});
        computer
            .send(&json!({"type": "response", "id": stops["id"], "ok": false, "error": error}))
            .await;
        // What is asked next comes after all that was said of the guest's jobs.
        let last = in_flight(&mut own, &mut computer, 60_000).await;
        assert_ne!(last["id"], detached["id"]);
        let jobs = own.call("list-jobs", json!({})).await.text;
        let detached = RequestId::from(detached["id"].as_str().unwrap()).to_string();
        let line = jobs.lines().find(|line| line.contains(&detached));
        assert!(line.unwrap().contains("running"), "{jobs}");
        guest = place.bridge().await;
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_bridge_that_serves_http_tells_computers_what_to_stop_when_it_leaves() {
    use crate::common::served::Served;

    let mut bridge = Served::start().await;
    let mut computer = RawComputer::link_v2(bridge.link_port().await, 4).await;
    let mut client = bridge.client("2025-11-25").await;
    client.linked(4).await;
    let call = json!({"name": "exec-lua", "arguments": {"computerId": 4, "code": "code()"}});
    let asking = client.ask("tools/call", call);
    let taking = async {
        let request = computer.request().await;
        computer.accept(&request).await;
        request
    };
    let ((asked, mut answer), request) = tokio::join!(asking, taking);
    let start = Instant::now();
    crate::bridges::signal(bridge.child.id().unwrap(), rustix::process::Signal::TERM);
    assert_eq!(
        farewell(&mut computer).await,
        (vec![request["id"].clone()], 1001)
    );
    let reply = answer.reply(asked).await["result"].to_string();
    assert!(
        reply.contains("mcp-bridge was asked to end before this call was answered."),
        "{reply}"
    );
    assert!(bridge.ended().await.success());
    let took = start.elapsed();
    in_time("to leave", took, Duration::from_millis(500)).await;
}

#[tokio::test]
async fn a_network_that_stands_still_does_not_keep_a_bridge_from_leaving() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let socket = TcpSocket::new_v4().unwrap();
    // A computer that takes next to nothing.
    socket.set_recv_buffer_size(4 * 1024).unwrap();
    let stream = socket.connect(port).await.unwrap();
    let stream = MaybeTlsStream::Plain(stream);
    let (socket, _) = client_async(format!("ws://{port}/"), stream).await.unwrap();
    let mut mute = RawComputer { socket };
    mute.say_hello_as(4, "first", &[]).await;
    bridge.linked(4).await;
    for _ in 0..64 {
        let code = format!("code('{}')", "x".repeat(120_000));
        let call = json!({"computerId": 4, "code": code, "timeoutMs": 60_000});
        bridge.start_call("exec-lua", call).await;
    }
    // All calls were read, and the first of them sent.
    bridge.request("ping", json!({})).await;
    mute.request().await;
    let start = Instant::now();
    bridge.close_input();
    assert!(bridge.ended().await.success());
    let took = start.elapsed();
    in_time("to leave", took, Duration::from_millis(500)).await;
    // It did stand still: the farewell found no room.
    loop {
        match mute.event().await {
            Event::Frame(frame) => assert_ne!(frame["type"], "cancel"),
            Event::Closed(Some(close)) => panic!("the farewell came: {close:?}"),
            Event::Closed(None) | Event::Broken(_) => return,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_bridge_waited_for_stops_by_itself_and_nothing_else_does() {
    let place = Place::new();
    let mut own = place.bridge().await;
    let mut guest = place.bridge().await;
    let computer = computer(7, place.address(), 20.0);
    own.linked(7).await;
    guest.linked(7).await;
    for (file, timeout_ms) in [
        ("waited-for", 20_000),
        ("waited-for-longer", 200_000),
        ("detached", 2_000),
        ("of-the-guest", 600_000),
    ] {
        let bridge = if file == "of-the-guest" {
            &mut guest
        } else {
            &mut own
        };
        let call = json!({"computerId": 7, "code": beating(file), "timeoutMs": timeout_ms});
        bridge.start_call("exec-lua", call).await;
        beats_past(&computer, file, 0).await;
    }
    own.message("the answer to what goes on", |message| {
        message.to_string().contains("still runs")
    })
    .await;
    let killed = clock(&computer).await;
    own.kill().await;
    guest.linked(7).await;
    assert!(has_stopped(&computer, "waited-for", 10_000).await);
    let after = clock(&computer).await - killed;
    assert!((60.0..100.0).contains(&after), "{after} s");
    let goes_on = async |file: &str| {
        let before = length(&computer, file);
        beats_past(&computer, file, before).await;
    };
    goes_on("waited-for-longer").await;
    assert!(has_stopped(&computer, "waited-for-longer", 10_000).await);
    let after = clock(&computer).await;
    assert!(after >= 200.0, "{after} s");
    goes_on("detached").await;
    goes_on("of-the-guest").await;
    let jobs = guest.call("list-jobs", json!({})).await.text;
    let stopped = jobs.matches("cancelled").count() + jobs.matches("stopped").count();
    assert!(
        stopped >= 2 && jobs.matches("running").count() >= 2,
        "{jobs}"
    );
}

/// Links as computer 4 with an agent that stops what is attached, as this start of its program.
async fn link_that_knows_detach(port: SocketAddr, jobs: &[&Value]) -> RawComputer {
    let mut computer = RawComputer::connect(port).await;
    let hello = json!({
        "type": "hello", "computerId": 4, "protocol": 2, "boot": "first", "maxMessage": 131_072,
        "capabilities": ["detach"], "jobs": jobs,
    });
    assert_eq!(computer.hello(hello).await["type"], "hello-ok");
    computer
}

#[tokio::test]
async fn an_agent_is_told_that_a_job_is_detached_until_it_says_that_it_knows() {
    let place = Place::new();
    let mut own = place.bridge().await;
    let mut guest = place.bridge().await;
    for bridge in [&mut own, &mut guest] {
        let mut computer = link_that_knows_detach(place.address(), &[]).await;
        bridge
            .computer(4, |computer| computer["linked"] == true)
            .await;
        let request = in_flight(bridge, &mut computer, 100).await;
        assert_eq!(request["attached"], true);
        // Before the call is answered.
        let id = &request["id"];
        assert_eq!(computer.frame_of_type("detach").await["id"], *id);
        bridge
            .message("the answer to what goes on", |message| {
                message.to_string().contains("still runs")
            })
            .await;
        assert_eq!(computer.frame_of_type("detach").await["id"], *id);
        drop(computer);
        let mut computer = link_that_knows_detach(place.address(), &[id]).await;
        assert_eq!(computer.frame_of_type("detach").await["id"], *id);
        let known = json!({"type": "accepted", "id": id, "detached": true});
        computer.send(&known).await;
        let more = computer.frame_of_type("detach");
        let more = tokio::time::timeout(Duration::from_millis(2_500), more).await;
        assert!(more.is_err(), "{more:?}");
    }
}

#[tokio::test]
async fn from_an_agent_that_knows_nothing_of_it_no_word_is_awaited() {
    let mut bridge = Bridge::initialized().await;
    let mut computer = RawComputer::link_v2(bridge.link_port().await, 4).await;
    let request = in_flight(&mut bridge, &mut computer, 100).await;
    assert_eq!(request.get("attached"), None);
    bridge
        .message("the answer to what goes on", |message| {
            message.to_string().contains("still runs")
        })
        .await;
    // It passes over the one frame that only others know.
    computer.frame_of_type("detach").await;
    let more = computer.frame_of_type("detach");
    let more = tokio::time::timeout(Duration::from_millis(2_500), more).await;
    assert!(more.is_err(), "{more:?}");
}
