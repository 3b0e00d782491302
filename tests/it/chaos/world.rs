//! The world of a run: computers, each in a game of its own behind a network of its own, and the clients' bridges.

use std::{process::Stdio, sync::Arc};

use serde_json::json;
use tempfile::TempDir;
use tokio::{
    io::AsyncWriteExt,
    process::{Child, ChildStdin, Command},
    sync::Mutex,
};

use super::{
    clients::{Seat, Shared, Transport, text_of},
    network::Network,
    oracle::{Oracle, counted_tool},
    plan::{COMPUTERS, HTTP_SEAT, SEATS, TOOLS},
};
use crate::common::{
    is,
    port::Port,
    tools::{Tools, manifest},
    until,
};

/// A computer in a game of its own.
pub struct Computer {
    pub id: u64,
    pub network: Network,
    /// The game's process id.
    pub pid: u32,
    /// Held while something is done to it, so that it is one thing at a time.
    pub harmed: Mutex<()>,
    stdin: Mutex<ChildStdin>,
    _game: Child,
}

impl Computer {
    async fn start(id: u64, network: Network) -> Self {
        let mut game = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"))
            .args(["simulate", "--first-id", &id.to_string(), "--url"])
            .arg(format!("ws://{}", network.address))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self {
            id,
            network,
            pid: game.id().expect("it was started just now"),
            harmed: Mutex::new(()),
            stdin: Mutex::new(game.stdin.take().expect("it is piped")),
            _game: game,
        }
    }

    /// Does what a person could do to it: `reboot`, `unload`, …
    pub async fn order(&self, order: &str) {
        let mut stdin = self.stdin.lock().await;
        stdin
            .write_all(format!("{order}\n").as_bytes())
            .await
            .unwrap();
        stdin.flush().await.unwrap();
    }
}

pub struct World {
    pub shared: Arc<Shared>,
    pub computers: Vec<Computer>,
    pub seats: Vec<Seat>,
    pub oracle: Oracle,
    /// Held while something is done to the owner.
    pub owner_harmed: Mutex<()>,
    _state: TempDir,
    _tools: Tools,
}

impl World {
    /// One in which everything works, and every bridge knows every computer.
    pub async fn start() -> Self {
        let state = tempfile::tempdir().unwrap();
        let tools = Tools::new();
        for (name, timeout_ms) in TOOLS {
            let meta = format!("      mcp.timeoutMs: {timeout_ms}\n");
            tools.write(&format!("{name}/handler.lua"), &counted_tool());
            tools.write(
                &format!("{name}/_index.yaml"),
                &manifest(name, "computer.lua", &meta),
            );
        }
        let shared = Arc::new(Shared {
            port: Port::reserve(),
            state: state.path().to_owned(),
            tools: tools.path().to_owned(),
        });
        let mut seats = Vec::new();
        for seat in 0..SEATS {
            let transport = if seat == HTTP_SEAT {
                Transport::Http
            } else {
                Transport::Stdio
            };
            seats.push(Seat::take(transport, shared.clone()).await);
        }
        let mut computers = Vec::new();
        for id in 1..=COMPUTERS {
            let network = Network::start(shared.port.address()).await;
            computers.push(Computer::start(id, network).await);
        }
        let world = Self {
            shared,
            computers,
            seats,
            oracle: Oracle::start().await,
            owner_harmed: Mutex::new(()),
            _state: state,
            _tools: tools,
        };
        for seat in &world.seats {
            let client = seat.client().await;
            until("the client's bridge knows all computers", async || {
                let listed = client.call("list-computers", json!({})).await.unwrap();
                let listed = &listed["result"]["structuredContent"]["computers"];
                let linked = listed.as_array().map_or(0, |computers| {
                    let linked = computers.iter().filter(|one| one["linked"] == true);
                    linked.count()
                });
                is(linked as u64 == COMPUTERS, listed.to_string())
            })
            .await;
        }
        world.install_the_oracle().await;
        world
    }

    /// From now on, each computer tells at its start what it has noted.
    async fn install_the_oracle(&self) {
        let startup = self.oracle.startup();
        let code = format!(
            "local file = fs.open('/startup.lua', 'wb') file.write([==[{startup}]==]) file.close() return 'ready'"
        );
        let client = self.seats[0].client().await;
        for computer in &self.computers {
            let arguments = json!({"computerId": computer.id, "code": code});
            let reply = client.call("exec-lua", arguments).await.unwrap();
            assert_eq!(text_of(&reply).0, "=> \"ready\"");
        }
    }

    pub fn computer(&self, id: u64) -> &Computer {
        &self.computers[id as usize - 1]
    }

    /// Lets every computer tell what it has noted: each starts anew, and what runs on it ends.
    pub async fn ask_the_oracle(&self) {
        for computer in &self.computers {
            let before = self.oracle.times_told(computer.id);
            computer.order("reboot").await;
            self.oracle.told_again(computer.id, before).await;
        }
    }
}
