//! Folders of the host and of computers that are kept alike: with the real binary, the real agent and the simulator.

mod at_a_terminal;
mod both_ways;
mod full_disk;
mod losing_nothing;
mod pulling;
mod pushing;
mod refusals;
mod renaming;
mod trash;
mod watching;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use crate::common::{
    bridge::{Bridge, ToolAnswer},
    linked::linked,
    soon,
};

/// What `sync-folder` may do with the folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Allowed {
    Nothing,
    Push,
    Pull,
    /// `programs` one way, and `shared` both.
    Two,
}

/// One user: a folder, a bridge, and computers in a game.
struct User {
    home: TempDir,
    bridge: Bridge,
}

impl User {
    async fn new(allowed: Allowed) -> Self {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("programs");
        fs::create_dir(&folder).unwrap();
        let shared = home.path().join("shared");
        if allowed == Allowed::Two {
            fs::create_dir(&shared).unwrap();
        }
        let mut bridge = Bridge::start_with(|command| {
            command
                .env("MCP_BRIDGE_STATE_DIR", home.path().join("state"))
                .env("MCP_BRIDGE_CONFIG_DIR", home.path().join("config"));
            match allowed {
                Allowed::Nothing => {}
                Allowed::Push => drop(command.env("MCP_BRIDGE_SYNC_PUSH", &folder)),
                Allowed::Pull => drop(command.env("MCP_BRIDGE_SYNC_PULL", &folder)),
                Allowed::Two => {
                    command
                        .env("MCP_BRIDGE_SYNC_PUSH", &folder)
                        .env("MCP_BRIDGE_SYNC_PULL", &shared);
                }
            }
        });
        bridge.initialize("2025-11-25").await;
        Self { home, bridge }
    }

    /// The folder that is synced.
    fn folder(&self) -> PathBuf {
        self.home.path().join("programs")
    }

    fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let file = self.folder().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, bytes).unwrap();
    }

    /// What is in a file of the folder.
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        fs::read(self.folder().join(path)).ok()
    }

    /// A computer with the agent, which is given these arguments.
    async fn computer(&mut self, id: u64, arguments: &str) -> Computer {
        self.computer_of(id, "1.113", &agent::program(), arguments)
            .await
    }

    async fn computer_of(
        &mut self,
        id: u64,
        version: &str,
        agent: &str,
        arguments: &str,
    ) -> Computer {
        let mut options = ComputerOptions::new(id).with_file("mcp-computer.lua", agent);
        options.version = version.parse().unwrap();
        options.clock_speed = 10.0;
        linked(&mut self.bridge, options, arguments).await
    }

    async fn answers(&mut self, arguments: Value) -> ToolAnswer {
        let id = self
            .bridge
            .start_call(
                "call-tool",
                json!({"name": "sync-folder", "arguments": arguments}),
            )
            .await;
        self.bridge.slow_answer(id).await
    }

    /// Syncs `/programs` by the tool, all being well.
    async fn syncs(&mut self, more: Value) -> String {
        let answer = self.answers(self.call(more)).await;
        assert!(!answer.is_error, "{}", answer.text);
        answer.text
    }

    /// The same where something is wrong.
    async fn fails(&mut self, more: Value) -> String {
        let answer = self.answers(self.call(more)).await;
        assert!(answer.is_error, "{}", answer.text);
        answer.text
    }

    fn call(&self, more: Value) -> Value {
        let mut call = json!({"folder": self.folder(), "path": "/programs"});
        for (name, value) in more.as_object().unwrap() {
            call[name] = value.clone();
        }
        call
    }

    /// Pauses all bridges.
    fn pauses(&self) {
        let paused = std::process::Command::new(env!("CARGO_BIN_EXE_mcp-bridge"))
            .arg("pause")
            .env("MCP_BRIDGE_STATE_DIR", self.home.path().join("state"))
            .env("MCP_BRIDGE_CONFIG_DIR", self.home.path().join("config"))
            .output()
            .unwrap();
        assert!(paused.status.success());
    }

    /// `mcp-bridge sync --watch` that has begun, and what it says.
    fn watch(&self, arguments: &[&str]) -> Watch {
        let mut command = self.command(arguments);
        command.arg("--watch").stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let said = BufReader::new(process.stdout.take().unwrap()).lines();
        Watch { process, said }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"));
        command
            .arg("sync")
            .args(arguments)
            .current_dir(self.home.path())
            .env("MCP_BRIDGE_STATE_DIR", self.home.path().join("state"))
            .env("MCP_BRIDGE_CONFIG_DIR", self.home.path().join("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// What `mcp-bridge sync` says: whether all went well, its standard output, and its standard error.
    async fn enters(&self, arguments: &[&str]) -> (bool, String, String) {
        let output = soon("the command ends", self.command(arguments).output())
            .await
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            output.status.success(),
            text(output.stdout),
            text(output.stderr),
        )
    }
}

/// A watch of a person's.
struct Watch {
    process: Child,
    said: Lines<BufReader<ChildStdout>>,
}

impl Watch {
    /// The next line that has this in it, and those before it.
    async fn says(&mut self, what: &str) -> Vec<String> {
        // What is away is waited for, as long as any request.
        let patience = crate::common::PATIENCE * 3;
        let mut lines = Vec::new();
        let line = async {
            loop {
                let line = self.said.next_line().await.unwrap().expect(what);
                lines.push(line);
                if lines.last().unwrap().contains(what) {
                    return;
                }
            }
        };
        let is_said = tokio::time::timeout(patience, line).await.is_ok();
        assert!(is_said, "it was not said: {what}: {lines:?}");
        lines
    }
}

fn has(text: &str, part: &str) {
    assert!(text.contains(part), "no `{part}` in:\n{text}");
}

fn has_not(text: &str, part: &str) {
    assert!(!text.contains(part), "`{part}` in:\n{text}");
}

/// What is in a folder, hidden files and all.
fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
