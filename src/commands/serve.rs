//! `serve`: a bridge that runs on while no client is open, and serves MCP over HTTP.

use std::{
    convert::Infallible,
    future::pending,
    io::{self, IsTerminal},
    net::SocketAddr,
    process::ExitCode,
};

use clap::Args;
use tokio::sync::watch;

use super::{
    console,
    startup::{self, BadSettings, Bridge},
    stdio::note_unmet,
};
use crate::{
    computers::{Unreachable, reach::Reach},
    mcp::http::{McpPort, OpenError},
    settings::{Config, FlagsOf, Folders, McpConfig},
    tools::Reader,
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
        let reader = Reader::begin();
        let config = match startup::prepare(&self.settings.given, folders) {
            Ok(config) => config,
            Err(code) => return code,
        };
        let mcp = match McpConfig::load(&self.mcp.given, startup::variable, folders) {
            Ok(mcp) => mcp,
            Err(error) => return startup::refuse_setting(error),
        };
        note_unmet(&config, folders);
        startup::run(reader, &config, folders, Some(&mcp), async |bridge| {
            let Bridge {
                fleet,
                server,
                mut asked_to_leave,
            } = bridge;
            // Before computers are wanted: a bridge that can't serve takes the link port from no other.
            let names = &config.link.names;
            let port = match McpPort::open(&mcp, names, server, fleet.clone()).await {
                Ok(port) => port,
                Err(error @ (OpenError::NoToken(_) | OpenError::ShortToken(_))) => {
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
            let url = url(address);
            console::aside(&format!(
                "mcp-bridge {} serves MCP at {url}",
                env!("CARGO_PKG_VERSION")
            ));
            if io::stderr().is_terminal() {
                console::aside(&how_to_add(&url, mcp.token.is_some()));
            }
            tokio::select! {
                why = port.serve(asked_to_leave.answered()) => Ok(why),
                never = tell_reach(fleet.reach()) => match never {},
            }
        })
    }
}

/// Tells whether computers can link, and where, whenever that changes: only then is it known that they can.
async fn tell_reach(mut reach: watch::Receiver<Reach>) -> Infallible {
    let mut told = None;
    loop {
        let words = in_words(&reach.borrow_and_update());
        if words.is_some() && words != told {
            console::aside(words.as_deref().unwrap_or_default());
            told = words;
        }
        if reach.changed().await.is_err() {
            return pending().await;
        }
    }
}

/// How computers are reached; none while that is not known.
fn in_words(reach: &Reach) -> Option<String> {
    match reach {
        Reach::Unknown => None,
        Reach::Here { owner, .. } => Some(format!("Computers link to {}.", owner.address)),
        Reach::Through { owner, .. } => {
            let outdated = owner.outdated();
            let outdated = outdated.map_or_else(String::new, |outdated| format!(" {outdated}"));
            Some(format!(
                "Computers link to {}, which the mcp-bridge with process id {} holds and shares.{outdated}",
                owner.address, owner.pid
            ))
        }
        Reach::Blocked(blocked) => {
            let problem = Unreachable(blocked.clone()).to_string();
            Some(format!("{}.", problem.trim_end_matches('.')))
        }
    }
}

/// Where MCP is served.
fn url(address: SocketAddr) -> String {
    let host = if address.ip().is_unspecified() {
        "HOST".to_owned()
    } else {
        // An IPv6 address with its brackets.
        let text = address.to_string();
        text.rsplit_once(':')
            .map_or(text.clone(), |(host, _)| host.to_owned())
    };
    format!("http://{host}:{}/mcp", address.port())
}

/// What a person reads beside that who started this by hand.
fn how_to_add(url: &str, token: bool) -> String {
    let (option, header) = if token {
        (
            " --header \"Authorization: Bearer TOKEN\"",
            ", \"headers\": { \"Authorization\": \"Bearer TOKEN\" }",
        )
    } else {
        ("", "")
    };
    format!(
        "To add it to a client:\n\
         \n\
         \x20 Claude Code     claude mcp add --transport http computercraft {url}{option}\n\
         \x20 opencode        \"mcp\": {{ \"computercraft\": {{ \"type\": \"remote\", \"url\": \"{url}\"{header} }} }}\n\
         \x20 MCP Inspector   npx @modelcontextprotocol/inspector --transport http --server-url {url}\n\
         \n\
         Clients that start mcp-bridge themselves share its computers. Press Ctrl+C to end."
    )
}
