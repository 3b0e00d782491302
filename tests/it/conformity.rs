//! The shared script `conformity.lua`, which any ComputerCraft can run, in the simulated computers of each version:
//! as a program that a player runs, and as a tool call runs it.

use std::time::Duration;

use crate::common::bridge::Bridge;
use futures_util::{SinkExt, StreamExt};
use mcp_bridge::simulator::{Computer, ComputerOptions, Kind, Land, ProgramState, State};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Handle,
};
use tokio_tungstenite::tungstenite::{Message, protocol::CloseFrame};

const SCRIPT: &str = include_str!("conformity.lua");

/// The versions most people play: Minecraft 1.12.2, 1.16 to 1.18, and today's.
const VERSIONS: [&str; 3] = ["1.89", "1.101", "1.113"];

/// It sleeps for a few seconds of the game's time.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that sends back what it gets, and closes with 4001 "bye" when it gets "close"; its URL.
async fn echo_server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(echo(stream));
        }
    });
    url
}

async fn echo(stream: TcpStream) {
    let Ok(mut socket) = tokio_tungstenite::accept_async(stream).await else {
        return;
    };
    while let Some(Ok(message)) = socket.next().await {
        let answer = match message {
            Message::Text(text) if text == "close" => Message::Close(Some(CloseFrame {
                code: 4001.into(),
                reason: "bye".into(),
            })),
            Message::Text(_) | Message::Binary(_) => message,
            _ => continue,
        };
        if socket.send(answer).await.is_err() {
            return;
        }
    }
}

/// What it wrote; all of it must be well.
fn assert_conforms(computer: &Computer, version: &str) {
    let report = computer.read_file("conformity.txt").unwrap_or_default();
    let report = String::from_utf8_lossy(&report).into_owned();
    let problems: Vec<&str> = report
        .lines()
        .filter(|line| line.starts_with("not ok"))
        .collect();
    let last = report.lines().last().unwrap_or_default();
    let count: u32 = last
        .strip_suffix(" checks, 0 failed")
        .and_then(|count| count.parse().ok())
        .unwrap_or(0);
    assert!(
        problems.is_empty() && count >= 60,
        "{version}: {last}\n{problems:#?}\n{:#?}",
        computer.screen()
    );
}

fn options(version: &str) -> ComputerOptions {
    ComputerOptions {
        version: version.parse().unwrap(),
        ..ComputerOptions::new(5).with_file("conformity.lua", SCRIPT)
    }
}

async fn run(options: ComputerOptions, url: &str) -> Computer {
    let program = format!("conformity {url}");
    ended(Computer::start(options, &program, &Handle::current()).unwrap()).await
}

async fn ended(computer: Computer) -> Computer {
    let ended = |computer: &Computer| {
        matches!(computer.program(), ProgramState::Ended { .. })
            || computer.state() != State::Running
    };
    assert!(
        computer.until(PATIENCE, ended).await,
        "{:#?}",
        computer.screen()
    );
    computer
}

#[tokio::test(flavor = "multi_thread")]
async fn every_version_of_the_simulated_computer_behaves_as_the_game() {
    let url = echo_server().await;
    for version in VERSIONS {
        assert_conforms(&run(options(version), &url).await, version);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_the_simulated_computer_behaves_as_the_game() {
    for kind in [Kind::Turtle, Kind::Pocket, Kind::Command] {
        let options = ComputerOptions {
            kind,
            ..options("1.113")
        };
        assert_conforms(&run(options, "").await, kind.name());
    }
    let basic = ComputerOptions {
        advanced: false,
        ..options("1.113")
    };
    assert_conforms(&run(basic, "").await, "basic");
}

/// A computer with all that the script looks at: a chest and a monitor on a cable, and modems.
const FURNISHED: &str = r#"
[[computer]]
id = 5
at = [0, 64, 0]
network = "base"
modem = "wireless"
[[block]]
block = "chest"
at = [4, 64, 0]
network = "base"
items = [{ item = "coal", count = 40 }, { item = "oak_log", count = 3, slot = 9 }]
[[block]]
block = "computercraft:monitor_advanced"
at = [8, 64, 0]
network = "base"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_attached_to_a_simulated_computer_behaves_as_in_the_game() {
    let echo = echo_server().await;
    for version in VERSIONS {
        let (land, residents) = Land::read(FURNISHED).unwrap();
        let resident = residents.into_iter().next().unwrap();
        let options = ComputerOptions {
            version: version.parse().unwrap(),
            ..resident.options.with_file("conformity.lua", SCRIPT)
        };
        let program = format!("conformity {echo}");
        let computer = Computer::start_in(&land, options, &program, &Handle::current()).unwrap();
        let computer = ended(computer).await;
        assert_conforms(&computer, version);
        let report = computer.read_file("conformity.txt").unwrap();
        let report = String::from_utf8_lossy(&report).into_owned();
        let left_out: Vec<&str> = report
            .lines()
            .filter_map(|line| line.strip_prefix("-- left out: "))
            .collect();
        // Inventories came to the game with 1.94.
        let wanted: &[&str] = if version == "1.89" {
            &["inventories (one is not attached)"]
        } else {
            &[]
        };
        assert_eq!(left_out, wanted, "{version}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_finds_the_same_game_when_a_tool_call_runs_it() {
    let echo = echo_server().await;
    let code = format!("return shell.run('conformity {echo}')");
    let mut bridge = Bridge::initialized().await;
    let url = format!("ws://{}", bridge.link_port().await);
    for (version, id) in VERSIONS.into_iter().zip(20..) {
        let options = ComputerOptions {
            id,
            ..options(version)
        };
        let options = options.with_file("mcp-computer.lua", mcp_bridge::link::agent::program());
        let agent = format!("mcp-computer {url}");
        let computer = Computer::start(options, &agent, &Handle::current()).unwrap();
        bridge.linked(id).await;
        let answer = bridge
            .call(
                "exec-lua",
                serde_json::json!({
                    "computerId": id, "code": code, "timeoutMs": 60_000,
                }),
            )
            .await;
        assert!(!answer.is_error, "{answer:?}");
        assert_conforms(&computer, version);
    }
    bridge.leave().await;
}
