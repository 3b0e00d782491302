//! A bridge, and the computers of a task's world, linked to it.

use std::{collections::BTreeMap, fs, sync::Arc};

use mcp_bridge::{
    link::agent,
    simulator::{Computer, Land, ProgramState},
};
use tempfile::TempDir;
use tokio::runtime::Handle;

use super::task::{Before, Task};
use crate::common::{bridge::Bridge, is, until};

/// All that a task happens in.
pub struct Base {
    pub bridge: Bridge,
    pub land: Arc<Land>,
    pub computers: BTreeMap<u64, Computer>,
    /// The folder of the person's machine.
    pub host: TempDir,
}

impl Base {
    /// Starts what a task says that there is, and does what was done before.
    pub async fn of(task: &Task) -> Self {
        let host = tempfile::tempdir().unwrap();
        for (path, text) in &task.host {
            let path = host.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut bridge = Bridge::start_with(|command| {
            if !task.host.is_empty() {
                command.env("MCP_BRIDGE_SYNC_PUSH", host.path());
            }
        });
        bridge.initialize("2025-11-25").await;
        let port = bridge.link_port().await;
        let (land, residents) =
            Land::read(&task.world).unwrap_or_else(|error| panic!("{}: {error}", task.name));
        land.set_clock_speed(task.world_speed.unwrap_or(task.speed));
        let mut agents = Vec::new();
        let mut computers = BTreeMap::new();
        for resident in residents {
            let mut options = resident.options;
            let id = options.id;
            options.clock_speed = task.speed;
            for file in task.large.iter().filter(|file| file.computer == id) {
                options = options.with_file(&file.path, file.content());
            }
            let program = resident.program.unwrap_or_else(|| {
                agents.push(id);
                let shell = if task.hosted.contains(&id) {
                    " --shell"
                } else {
                    ""
                };
                format!("mcp-computer{shell} ws://{port}")
            });
            let options = options.with_file("mcp-computer.lua", agent::program());
            let computer = Computer::start_in(&land, options, &program, &Handle::current());
            computers.insert(id, computer.unwrap());
        }
        for id in &agents {
            bridge.linked(*id).await;
        }
        for (id, computer) in &computers {
            until(&format!("computer {id} runs its program"), async || {
                let program = computer.program();
                is(program == ProgramState::Running, format!("{program:?}"))
            })
            .await;
        }
        let mut base = Self {
            bridge,
            land,
            computers,
            host,
        };
        for before in &task.before {
            base.do_before(before).await;
        }
        base
    }

    async fn do_before(&mut self, before: &Before) {
        match before {
            Before::Typed {
                computer,
                line,
                sees,
            } => {
                let computer = &self.computers[computer];
                until("the shell waits for a line", async || {
                    let screen = computer.screen();
                    is(
                        screen.iter().any(|line| line.starts_with('>')),
                        screen.join("\n"),
                    )
                })
                .await;
                computer.type_line(line);
                until(&format!("`{sees}` is on the screen"), async || {
                    let screen = computer.screen().join("\n");
                    is(screen.contains(sees), screen)
                })
                .await;
            }
            Before::Called { tool, arguments } => {
                let answer = self.bridge.call(tool, arguments.clone()).await;
                assert!(!answer.is_error, "{tool} {arguments}: {}", answer.text);
            }
        }
    }
}
