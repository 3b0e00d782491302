//! A bridge with a simulated computer.

use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use tokio::runtime::Handle;

use super::bridge::Bridge;

/// A bridge, and computer 1, which is linked to it.
pub async fn pair() -> (Bridge, Computer) {
    let mut bridge = Bridge::initialized().await;
    let options = ComputerOptions::new(1).with_file("mcp-computer.lua", agent::program());
    let computer = linked(&mut bridge, options, "").await;
    (bridge, computer)
}

/// A computer of this version of the game with this agent, linked. Its time goes ten times as fast.
pub async fn of_version(
    bridge: &mut Bridge,
    id: u64,
    version: &str,
    agent: impl Into<String>,
) -> Computer {
    let mut options = ComputerOptions::new(id).with_file("mcp-computer.lua", agent.into());
    options.version = version.parse().unwrap();
    options.clock_speed = 10.0;
    linked(bridge, options, "").await
}

/// Starts a computer that has an agent, which is given the link port and these arguments, and waits until it is linked.
pub async fn linked(bridge: &mut Bridge, options: ComputerOptions, arguments: &str) -> Computer {
    let id = options.id;
    let program = format!("mcp-computer ws://{} {arguments}", bridge.link_port().await);
    let computer = Computer::start(options, &program, &Handle::current()).unwrap();
    bridge.linked(id).await;
    computer
}
