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
    let program = format!("mcp-computer ws://{}", bridge.link_port().await);
    let options = ComputerOptions::new(1).with_file("mcp-computer.lua", agent::program());
    let computer = Computer::start(options, &program, &Handle::current()).unwrap();
    bridge.linked(1).await;
    (bridge, computer)
}
