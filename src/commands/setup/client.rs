//! `mcp-bridge setup client`: the bridge's entry in the files of MCP clients.

use clap::{Args, ValueEnum};

use super::{environment::environment, scene::Scene};
use crate::{
    commands::startup,
    settings::{Config, FlagsOf, McpConfig},
    setup::{
        asking::How,
        clients::{
            self,
            adding::{self, Wish},
            client::{self, Scope},
            removing,
            shape::Reach,
        },
        ledger::Ledger,
    },
};

/// The name of the entry, unless another is given.
const NAME: &str = "computercraft";

/// Longer names leave no room for the names of tools: some clients allow 60 characters for both together.
const LONGEST_NAME: usize = 24;

/// Add the bridge to the MCP clients that are installed here; settings that are given go into its entry
#[derive(Debug, Args)]
pub struct Client {
    /// The clients, such as claude-code; without any, all that are installed
    #[arg(value_name = "NAME")]
    clients: Vec<String>,

    /// For you in all folders, or for all who work in this one: its file may be shared
    #[arg(long, value_enum, default_value_t = For::User)]
    scope: For,

    /// Let the clients connect to a running `mcp-bridge serve`, instead of starting a bridge each
    #[arg(long)]
    http: bool,

    /// What the clients call the bridge
    #[arg(long, default_value = NAME, value_parser = name)]
    name: String,

    #[command(flatten)]
    settings: FlagsOf<Config>,

    #[command(flatten)]
    mcp: FlagsOf<McpConfig>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum For {
    User,
    Project,
}

impl Default for Client {
    /// As without any argument.
    fn default() -> Self {
        Self {
            clients: Vec::new(),
            scope: For::User,
            http: false,
            name: NAME.to_owned(),
            settings: FlagsOf::default(),
            mcp: FlagsOf::default(),
        }
    }
}

/// A name that all clients take.
fn name(text: &str) -> Result<String, String> {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !text.is_empty() && text.len() <= LONGEST_NAME && text.chars().all(is_fit) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "at most {LONGEST_NAME} letters, digits, `-` and `_`"
    ))
}

impl Client {
    pub fn run(self, scene: &mut Scene<'_, '_>) {
        let mut chosen = Vec::new();
        for id in &self.clients {
            match clients::named(id) {
                Some(client) => chosen.push(client),
                None => {
                    let known: Vec<_> = clients::all()
                        .iter()
                        .map(|client| client.id.as_str())
                        .collect();
                    return scene.asking.refuse(&format!(
                        "✗ No client is called `{id}`. There are {}.",
                        known.join(", ")
                    ));
                }
            }
        }
        let mcp = match McpConfig::load(&self.mcp.given, startup::variable, scene.folders) {
            Ok(mcp) => mcp,
            Err(problem) => return scene.asking.refuse(&format!("✗ {problem}")),
        };
        let url = url(&mcp);
        let mut ledger = Ledger::open(&scene.folders.shared);
        if scene.remove {
            return removing::remove(
                &self.clients,
                scene.machine,
                &url,
                &mut ledger,
                scene.asking,
            );
        }
        let reach = match self.reach(&mcp, &url, scene) {
            Ok(reach) => reach,
            Err(problem) => return scene.asking.refuse(&format!("✗ {problem}")),
        };
        let wish = Wish {
            machine: scene.machine,
            name: self.name,
            reach,
            url,
            scope: match self.scope {
                For::User => Scope::User,
                For::Project => Scope::Project,
            },
        };
        if chosen.is_empty() {
            chosen = installed(&wish);
        }
        if chosen.is_empty() {
            scene
                .asking
                .say("No MCP client that setup knows was found here. Most take this entry, in the file of their servers:");
            // The form that most have; where Claude Desktop has its own says nothing here.
            if let Some(client) = clients::named("claude-desktop") {
                adding::print_entry(client, &wish, scene.asking);
            }
            return;
        }
        for client in chosen {
            match scene.asking.how {
                How::Print => adding::print(client, &wish, scene.asking),
                _ => adding::add(client, &wish, &mut ledger, scene.asking),
            }
        }
    }

    /// How clients are to reach the bridge; one over HTTP is at `url`.
    fn reach(
        &self,
        mcp: &McpConfig,
        url: &str,
        scene: &mut Scene<'_, '_>,
    ) -> Result<Reach, String> {
        let (own, of_mcp) = (self.settings.variables(), self.mcp.variables());
        if self.http {
            if let Some((variable, _)) = own.first() {
                return Err(format!(
                    "{variable} is a setting of the bridge that runs: give it to `mcp-bridge serve` instead."
                ));
            }
            let token = of_mcp
                .into_iter()
                .find(|(variable, _)| *variable == "MCP_TOKEN");
            if mcp.token.is_some() && token.is_none() {
                return Err(
                    "The bridge wants a token from clients: give it by --mcp-token.".to_owned(),
                );
            }
            let token = token.map(|(_, token)| token);
            let url = url.to_owned();
            return Ok(Reach::Address { url, token });
        }
        if let Some((variable, _)) = of_mcp.first() {
            return Err(format!(
                "{variable} counts only with --http: a bridge that a client starts serves no HTTP."
            ));
        }
        let env = environment(&self.settings, scene)?;
        let command = scene.machine.program.display().to_string();
        Ok(Reach::Program { command, env })
    }
}

/// Where a bridge that serves over HTTP as these settings say is reached.
fn url(mcp: &McpConfig) -> String {
    let host = match mcp.host.as_str() {
        "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" => "[::1]".to_owned(),
        host if host.contains(':') => format!("[{host}]"),
        host => host.to_owned(),
    };
    format!("http://{host}:{}/mcp", mcp.port)
}

/// The clients that are installed here and have a file of the scope, or at least a place to paste to.
fn installed(wish: &Wish<'_>) -> Vec<&'static client::Client> {
    let clients = clients::all().iter();
    let here = clients.filter(|client| client.is_installed(wish.machine));
    here.filter(|client| {
        wish.scope == Scope::User || !client.files(wish.machine, wish.scope).is_empty()
    })
    .collect()
}
