//! A bridge without its process: any free link port, and the product's own tools.

use std::{path::Path, sync::Arc};

use mcp_bridge::{
    commands::computers,
    computers::Fleet,
    mcp::server::Server,
    settings::{Config, Flags},
    tools::builtin,
};

/// What a client is served by. To be called in the runtime.
pub fn start() -> (Arc<Fleet>, Server) {
    const FILE: &str = "link_host = '127.0.0.1'\nlink_port = 0";
    let config =
        Config::resolve(&Flags::default(), |_| None, Path::new("config.toml"), FILE).unwrap();
    let fleet = Arc::new(computers::start(&config.link, None));
    let server = Server::new(fleet.clone(), builtin::catalogue(config.probe_timeout));
    (fleet, server)
}
