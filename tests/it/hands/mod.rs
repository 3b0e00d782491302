//! What a person does from outside with the bridges that run: with the real binary, several bridges, and clients over
//! standard input and HTTP.

mod agents;
mod log;
mod pause;
mod stop;

use std::process::{Output, Stdio};

use tempfile::TempDir;
use tokio::process::Command;

use crate::common::{bridge::Bridge, computer::Computer, port::Port, served::Served, soon};

/// One user: a state folder, and a link port that the bridges share.
struct User {
    state: TempDir,
    port: Port,
}

impl User {
    fn new() -> Self {
        Self {
            state: tempfile::tempdir().unwrap(),
            port: Port::reserve(),
        }
    }

    fn settings(&self, command: &mut Command) {
        command
            .env("MCP_BRIDGE_STATE_DIR", self.state.path())
            .env("CC_LINK_PORT", self.port.number().to_string());
    }

    /// A bridge of a client on standard input, in its role.
    async fn bridge(&self) -> Bridge {
        let mut bridge = Bridge::start_with(|command| self.settings(command));
        bridge.initialize("2025-11-25").await;
        bridge.link_port().await;
        bridge
    }

    /// A bridge that serves over HTTP, in its role.
    async fn served(&self) -> Served {
        let served = Served::start_with(|command| self.settings(command)).await;
        served.link_port().await;
        served
    }

    /// A computer of version 2.
    async fn computer(&self, id: u64) -> Computer {
        Computer::link_v2(self.port.address(), id).await
    }

    /// What a command does that a person enters.
    async fn enters(&self, arguments: &[&str]) -> Entered {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"));
        self.settings(&mut command);
        command
            .args(arguments)
            .env("MCP_BRIDGE_CONFIG_DIR", self.state.path().join("config"))
            .env("CC_LINK_HOST", "127.0.0.1")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = soon("the command ends", command.output()).await;
        Entered::of(arguments, output.unwrap())
    }
}

/// What came of a command.
struct Entered {
    said: String,
    is_well: bool,
}

impl Entered {
    fn of(arguments: &[&str], output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let said = text(output.stdout) + &text(output.stderr);
        assert!(output.status.code().is_some(), "{arguments:?}: {said}");
        Self {
            said,
            is_well: output.status.success(),
        }
    }

    /// What it said, all being well.
    fn well(self) -> String {
        assert!(self.is_well, "{}", self.said);
        self.said
    }
}
