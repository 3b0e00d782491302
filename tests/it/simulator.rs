//! `mcp-bridge simulate` by hand: what a person can do to simulated computers while they run.

use std::process::Stdio;

use crate::common::{bridge::Bridge, soon};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

/// A running `simulate`, whose standard input and output are ours.
struct Simulate {
    process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Simulate {
    fn start(arguments: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"))
            .arg("simulate")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self {
            input: process.stdin.take().unwrap(),
            output: BufReader::new(process.stdout.take().unwrap()).lines(),
            process,
        }
    }

    async fn write(&mut self, line: &str) {
        let line = format!("{line}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    /// Waits until it prints this line.
    async fn prints(&mut self, wanted: &str) {
        let what = format!("simulate prints `{wanted}`");
        soon(&what, async {
            while let Some(line) = self.output.next_line().await.unwrap() {
                if line == wanted {
                    return;
                }
            }
            panic!("it ended before: {what}");
        })
        .await;
    }

    /// Writes a line, and waits for the answer.
    async fn ask(&mut self, line: &str, answer: &str) {
        self.write(line).await;
        self.prints(answer).await;
    }

    /// Ends it.
    async fn quit(mut self) {
        self.write("quit").await;
        let ended = soon("simulate ends", self.process.wait()).await;
        assert!(ended.unwrap().success());
    }
}

#[tokio::test]
async fn lines_on_standard_input_unload_and_load_computers_and_restart_the_server() {
    let mut bridge = Bridge::initialized().await;
    let url = format!("ws://{}", bridge.link_port().await);
    let mut simulate = Simulate::start(&["--count", "2", "--first-id", "12", "--url", &url]);
    bridge.linked(12).await;
    bridge.linked(13).await;

    simulate.ask("unload 12", "computer 12 is unloaded").await;
    let gone = |computer: &serde_json::Value| computer["linked"] == false;
    bridge.computer(12, gone).await;
    simulate
        .ask("reboot 12", "computer 12 is not loaded; load 12 loads it")
        .await;
    simulate.ask("load 12", "computer 12 is loaded").await;
    bridge.linked(12).await;

    simulate
        .ask("restart", "the server restarted; 2 computers boot")
        .await;
    simulate.prints("[13] CraftOS 1.9").await;
    // What is asked while the bridge still sees the old link is for the program that is gone.
    let call = json!({"computerId": 13, "code": "1 + 1"});
    soon("the computer is back", async {
        while bridge.call("exec-lua", call.clone()).await.text != "=> 2" {}
    })
    .await;
    bridge.linked(12).await;
    bridge.leave().await;

    simulate.quit().await;
}

#[tokio::test]
async fn an_agent_is_terminated_and_its_computer_typed_at() {
    let mut simulate = Simulate::start(&["--url", "ws://127.0.0.1:1", "--first-id", "7"]);
    simulate.prints("[7] CraftOS 1.9").await;
    simulate.ask("pause", "the world is paused").await;
    simulate.ask("resume", "the world goes on").await;
    simulate
        .ask("terminate", "computer 7 was sent Ctrl+T")
        .await;
    simulate.prints("[7] The agent has ended.").await;
    simulate.write("type 7 echo a  b").await;
    simulate.prints("[7] a b").await;
    simulate
        .ask("load 9", "there is no computer 9: the only one is 7")
        .await;
    simulate
        .ask("dance", "`dance` is not known; help lists what is")
        .await;
    simulate.quit().await;
}

#[test]
fn without_a_terminal_there_is_nothing_to_show_the_screen_in() {
    let refused = std::process::Command::new(env!("CARGO_BIN_EXE_mcp-bridge"))
        .args(["simulate", "--show"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(1));
    let problem = String::from_utf8_lossy(&refused.stderr);
    assert!(problem.contains("--show needs a terminal"), "{problem}");
}

#[tokio::test]
async fn the_base_is_a_world_to_play_with() {
    let mut bridge = Bridge::initialized().await;
    let url = format!("ws://{}", bridge.link_port().await);
    let world = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/worlds/base.toml");
    let mut simulate = Simulate::start(&["--world", world, "--url", &url]);
    for id in 10..14 {
        bridge.linked(id).await;
    }
    let chest = "peripheral.call('minecraft:chest_0', 'list')[1].name";
    assert_eq!(bridge.lua(10, chest).await, "=> \"minecraft:coal\"");
    assert_eq!(
        bridge.lua(12, "turtle.dig(), turtle.forward()").await,
        "=> true\n=> true"
    );
    simulate
        .ask("flip -6 64 4", "the lever at -6 64 4 is on")
        .await;
    let pulse = "while not redstone.getInput('left') do os.pullEvent('redstone') end redstone.setOutput('right', true)";
    bridge.lua(11, pulse).await;
    simulate
        .ask("map 12", "computer 12 is at 0 64 -8 and looks north")
        .await;
    simulate.ask("flip 0 64 0", "at 0 64 0 is no lever").await;
    bridge.leave().await;
    simulate.quit().await;
}
