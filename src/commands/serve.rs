//! `serve`: a bridge that runs on while no client is open, and serves MCP over HTTP.

use std::{
    io::{self, IsTerminal},
    net::SocketAddr,
    process::ExitCode,
};

use clap::Args;

use super::{
    console,
    startup::{self, BadSettings, Bridge},
};
use crate::{
    mcp::http::{McpPort, OpenError},
    settings::{Config, FlagsOf, Folders, McpConfig},
};

/// Keep computers linked while no client is open, and serve MCP over HTTP
#[derive(Debug, Args)]
pub struct Serve {
    #[command(flatten)]
    mcp: FlagsOf<McpConfig>,

    /// Print the port that MCP is served at, as soon as it is
    #[arg(long)]
    print_port: bool,

    #[command(flatten)]
    settings: FlagsOf<Config>,
}

impl Serve {
    /// Serves any number of MCP clients until the system asks this process to leave.
    pub fn run(self, folders: &Folders) -> ExitCode {
        let config = match startup::prepare(&self.settings.given, folders) {
            Ok(config) => config,
            Err(code) => return code,
        };
        let mcp = match McpConfig::load(&self.mcp.given, startup::variable, folders) {
            Ok(mcp) => mcp,
            Err(error) => return startup::refuse_setting(error),
        };
        // Any free port is none that a configuration could name.
        let own_port = Some(mcp.port).filter(|port| *port != 0);
        startup::run(&config, folders, own_port, async |bridge| {
            let Bridge {
                fleet,
                server,
                mut signals,
            } = bridge;
            // Before computers are wanted: a bridge that can't serve takes the link port from no other.
            let names = &config.link.names;
            let port = match McpPort::open(&mcp, names, server, fleet.clone()).await {
                Ok(port) => port,
                Err(error @ OpenError::NoToken(_)) => {
                    return Err(BadSettings(error.to_string()).into());
                }
                Err(error) => return Err(error.into()),
            };
            fleet.want();
            let address = port.address();
            tracing::info!(%address, "MCP is served over HTTP");
            if self.print_port {
                console::say(&address.port().to_string());
            }
            if io::stderr().is_terminal() {
                console::note(&greeting(address, &config, mcp.token.is_some()));
            }
            Ok(port.serve(signals.next()).await)
        })
    }
}

/// What a person reads who started this by hand.
fn greeting(address: SocketAddr, config: &Config, token: bool) -> String {
    let host = if address.ip().is_unspecified() {
        "HOST".to_owned()
    } else {
        // An IPv6 address with its brackets.
        let text = address.to_string();
        text.rsplit_once(':')
            .map_or(text.clone(), |(host, _)| host.to_owned())
    };
    let url = format!("http://{host}:{}/mcp", address.port());
    let (option, header) = if token {
        (
            " --header \"Authorization: Bearer TOKEN\"",
            ", \"headers\": { \"Authorization\": \"Bearer TOKEN\" }",
        )
    } else {
        ("", "")
    };
    let link = match config.link.port {
        0 => "any free port".to_owned(),
        port => format!("port {port}"),
    };
    format!(
        "mcp-bridge {version} serves MCP at {url}, and computers link to {link}. To add it to a client:\n\
         \n\
         \x20 Claude Code     claude mcp add --transport http computercraft {url}{option}\n\
         \x20 opencode        \"mcp\": {{ \"computercraft\": {{ \"type\": \"remote\", \"url\": \"{url}\"{header} }} }}\n\
         \x20 MCP Inspector   npx @modelcontextprotocol/inspector --transport http --server-url {url}\n\
         \n\
         Clients that start mcp-bridge themselves share its computers. Press Ctrl+C to end.",
        version = env!("CARGO_PKG_VERSION"),
    )
}
