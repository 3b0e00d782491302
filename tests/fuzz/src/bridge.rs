//! A bridge without its process: any free link port, and the product's own tools.

use std::{path::Path, sync::Arc};

use mcp_bridge::{
    config::{Config, Flags},
    fabric::Fabric,
    mcp::server::Server,
    tools::{Catalogue, builtin, catalogue::fixed, host::Workers, kit::Kit, policy::Policy},
};

/// What a client is served by. To be called in the runtime.
pub fn start() -> (Arc<Fabric>, Server) {
    const FILE: &str = "link_host = '127.0.0.1'\nlink_port = 0";
    let config =
        Config::resolve(&Flags::default(), |_| None, Path::new("config.toml"), FILE).unwrap();
    let fabric = Arc::new(Fabric::start(&config.link, None));
    // No handler is to start this program anew as a worker.
    let kit = Kit::new(Workers::of("/nonexistent".into()));
    let built_in = builtin::offer(&kit, config.probe_timeout);
    let catalogue = Catalogue::start(vec![fixed(built_in)], Policy::default());
    let server = Server::new(fabric.clone(), catalogue);
    (fabric, server)
}
