//! One agent a computer: the second says that one runs, whichever of them was started how.

use std::{net::SocketAddr, time::Duration};

use futures_util::{SinkExt, StreamExt};
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions, ProgramState},
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Handle};
use tokio_tungstenite::{accept_async, tungstenite::Message};

use crate::common::{PATIENCE, bridge::Bridge, is, screen, soon, until};

/// The agent of 1.0.0, which does not say that it runs.
const RELEASED: &str = include_str!("released/mcp-computer-1.0.0.lua");

const SAID: &str = "runs on this computer already";

fn options(version: &str) -> ComputerOptions {
    let mut options = ComputerOptions::new(1).with_file("mcp-computer.lua", agent::program());
    options.version = version.parse().unwrap();
    options
}

fn start(options: ComputerOptions, program: &str) -> Computer {
    Computer::start(options, program, &Handle::current()).unwrap()
}

async fn has_ended(computer: &Computer) {
    let over = computer
        .until(PATIENCE, |computer| {
            matches!(computer.program(), ProgramState::Ended { .. })
        })
        .await;
    assert!(over, "the program goes on: {}", screen::words(computer));
}

#[tokio::test]
async fn one_by_hand_says_that_one_runs_in_a_tab_in_every_version_of_the_game() {
    for version in ["1.89", "1.101", "1.113"] {
        let mut bridge = Bridge::initialized().await;
        let port = bridge.link_port().await;
        let in_a_tab = format!("shell.openTab('/mcp-computer.lua ws://{port}') sleep(1)");
        let computer = start(
            options(version).with_file("startup.lua", in_a_tab),
            &format!("mcp-computer ws://{port}"),
        );
        has_ended(&computer).await;
        screen::says(&computer, SAID).await;
        screen::says(&computer, "in tab 2").await;
        screen::says(&computer, "Ctrl+T").await;
        bridge.linked(1).await;
        assert_eq!(bridge.lua(1, "1+1").await, "=> 2");
        bridge.leave().await;
    }
}

#[tokio::test]
async fn one_that_a_job_starts_says_so_too_and_the_other_stays() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let _computer = start(options("1.113"), &format!("mcp-computer ws://{port}"));
    bridge.linked(1).await;
    let code = format!("kept = true return shell.run('/mcp-computer.lua ws://{port}')");
    let said = bridge.lua(1, &code).await;
    assert!(said.contains(SAID) && said.ends_with("=> false"), "{said}");
    assert_eq!(bridge.lua(1, "1+1").await, "=> 2");
    bridge.leave().await;
}

#[tokio::test]
async fn of_two_that_start_together_exactly_one_stays() {
    for version in ["1.89", "1.113"] {
        let mut bridge = Bridge::initialized().await;
        let port = bridge.link_port().await;
        let both = format!(
            "local function one() print(shell.run('mcp-computer ws://{port}')) end parallel.waitForAll(one, one)"
        );
        let mut basic = options(version).with_file("both.lua", both);
        basic.advanced = false;
        let computer = start(basic, "both");
        screen::says(&computer, SAID).await;
        screen::says(&computer, "linked as 1").await;
        assert_eq!(screen::words(&computer).matches(SAID).count(), 1);
        assert_eq!(bridge.lua(1, "1+1").await, "=> 2");
        bridge.leave().await;
    }
}

#[tokio::test]
async fn one_that_has_ended_is_not_taken_for_one_that_runs_however_it_ended() {
    let port = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    // The first is left where it is, the second stopped by the player.
    let program = format!(
        "local function begin(times) term.clear() term.setCursorPos(1, 1) print('Start ' .. times) end
        begin(1)
        local left = coroutine.create(function() shell.run('mcp-computer ws://{port}') end)
        local timer, event = os.startTimer(1), {{}}
        repeat coroutine.resume(left, table.unpack(event)) event = {{ os.pullEvent() }} until event[2] == timer
        begin(2)
        shell.run('mcp-computer ws://{port}')
        begin(3)
        shell.run('mcp-computer ws://{port}')"
    );
    let computer = start(options("1.113").with_file("thrice.lua", program), "thrice");
    for times in 1..=3 {
        screen::says(&computer, &format!("Start {times} mcp-computer v")).await;
        screen::says(&computer, "Trying again").await;
        if times == 2 {
            computer.terminate();
        }
    }
}

/// A bridge that keeps the first agent of a number, and lets no other one in.
async fn strict_bridge() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for n in 0.. {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut socket = accept_async(stream).await.unwrap();
                let _hello = socket.next().await;
                let answer = if n == 0 {
                    json!({"type": "hello-ok", "protocol": 2, "pingSeconds": 5, "deadSeconds": 15})
                } else {
                    json!({"type": "hello-error", "error": "computer 1 is linked already", "retry": true})
                };
                let say = |frame: Value| Message::Text(frame.to_string().into());
                let mut is_open = socket.send(say(answer)).await.is_ok() && n == 0;
                while is_open {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    is_open = socket
                        .send(say(json!({"type": "ping", "n": 1})))
                        .await
                        .is_ok();
                }
            });
        }
    });
    address
}

#[tokio::test]
async fn an_older_one_that_can_not_say_so_is_noticed_by_what_its_bridge_tells_it() {
    let notices = async |version: &str| {
        let port = strict_bridge().await;
        let in_a_tab = format!("shell.openTab('/old.lua ws://{port}') sleep(1)");
        let computer = start(
            options(version)
                .with_file("old.lua", RELEASED)
                .with_file("startup.lua", in_a_tab),
            &format!("mcp-computer ws://{port}"),
        );
        // It waits for 20 s: an older one that was left with its socket open would be told no more by then.
        let noticed = computer
            .until(3 * PATIENCE, |computer| {
                screen::words(computer).contains(SAID)
            })
            .await;
        assert!(noticed, "{version}: {}", screen::words(&computer));
        has_ended(&computer).await;
    };
    tokio::join!(notices("1.89"), notices("1.113"));
}

#[tokio::test]
async fn two_of_different_versions_do_not_take_turns() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let in_a_tab = format!("shell.openTab('/old.lua ws://{port}') sleep(1)");
    let _computer = start(
        options("1.113")
            .with_file("old.lua", RELEASED)
            .with_file("startup.lua", in_a_tab),
        &format!("mcp-computer ws://{port}"),
    );
    // Which of them it is at the end is the bridge's affair; it stays the same one.
    let agent = async |bridge: &mut Bridge| bridge.linked(1).await["linkedSince"].clone();
    let mut since = agent(&mut bridge).await;
    let mut looks = 0;
    until("one of them stays", async || {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let now = agent(&mut bridge).await;
        looks = if now == since { looks + 1 } else { 0 };
        since = now;
        is(looks == 8, looks)
    })
    .await;
    soon("it answers", bridge.lua(1, "1+1")).await;
    bridge.leave().await;
}
