//! How each assistant is installed, told of its model and of a server, and started without a person before it.

use std::{
    env::{
        self,
        consts::{ARCH, OS},
    },
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use serde_json::{Map, Value, json};
use tokio::{fs, process::Command};

use super::Server;
use crate::common::registries::{from_npm, node_clients, sources};

/// How long an assistant waits for a tool before it cancels the call.
pub const TOOL_TIME: Duration = Duration::from_secs(8);

/// The name by which each knows the server.
const SERVER: &str = "computercraft";

/// An assistant that is driven from a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assistant {
    ClaudeCode,
    Codex,
    GeminiCli,
    Opencode,
}

/// What one run of an assistant needs.
pub struct Run<'a> {
    /// Its home, and the folder in which it works.
    pub folder: &'a Path,
    /// Where its model listens.
    pub model: String,
    pub server: &'a Server,
}

impl Assistant {
    /// The folder of its pins in `tests/clients`.
    pub fn name(self) -> &'static str {
        match self {
            Assistant::ClaudeCode => "claude-code",
            Assistant::Codex => "codex",
            Assistant::GeminiCli => "gemini-cli",
            Assistant::Opencode => "opencode",
        }
    }

    /// Whether its model is offered a tool that came while it worked.
    pub fn sees_list_changes(self) -> bool {
        match self {
            Assistant::ClaudeCode | Assistant::GeminiCli | Assistant::Opencode => true,
            Assistant::Codex => false,
        }
    }

    /// A command that has its model answer one request of a user, and ends.
    ///
    /// # Errors
    /// Why it can't be installed.
    pub async fn command(self, run: &Run<'_>) -> Result<Command, String> {
        let installed = from_npm(&sources().join(self.name())).await?;
        let modules = installed.join("node_modules");
        let home = run.folder.join("home");
        let project = run.folder.join("project");
        for folder in [&home, &project] {
            fs::create_dir_all(folder).await.unwrap();
        }
        let write = async |path: &str, text: String| {
            let path = run.folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).await.unwrap();
            fs::write(&path, text).await.unwrap();
            path
        };
        let model = format!("http://{}", run.model);
        let milliseconds = TOOL_TIME.as_millis() as u64;
        let mut command = match self {
            Assistant::ClaudeCode => {
                let package = format!("@anthropic-ai/claude-code-{}", platform("win32"));
                let program = there(modules.join(package).join(program("claude")))?;
                let mut command = Command::new(program);
                let servers = json!({"mcpServers": {SERVER: run.server.entry("command", "env")}});
                command
                    .args(["--print", "go", "--model", "claude-sonnet-4-5"])
                    .args([
                        "--strict-mcp-config",
                        "--allowedTools",
                        "mcp__computercraft",
                    ])
                    .arg("--mcp-config")
                    .arg(write("servers.json", servers.to_string()).await)
                    .env("ANTHROPIC_BASE_URL", model)
                    .env("ANTHROPIC_API_KEY", "none")
                    .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
                    // It would show its model tools only once that has searched for them.
                    .env("ENABLE_TOOL_SEARCH", "false")
                    .env("MCP_TOOL_TIMEOUT", milliseconds.to_string());
                command
            }
            Assistant::Codex => {
                let mut command = node_clients().await.node();
                let server = match run.server {
                    Server::Started { program, settings } => {
                        let settings = settings.iter();
                        let lines = settings.map(|(name, value)| format!("{name} = {value:?}\n"));
                        let environment = lines.collect::<String>();
                        format!(
                            "command = {program:?}\n\n[mcp_servers.{SERVER}.env]\n{environment}"
                        )
                    }
                    Server::AtUrl(url) => format!("url = {url:?}\n"),
                };
                let config = format!(
                    "model = \"scripted\"\nmodel_provider = \"tests\"\n\n[model_providers.tests]\nname = \"tests\"\n\
                     base_url = \"{model}/v1\"\nwire_api = \"responses\"\n\n[mcp_servers.{SERVER}]\n\
                     tool_timeout_sec = {}\n{server}",
                    TOOL_TIME.as_secs()
                );
                write("home/.codex/config.toml", config).await;
                command
                    .arg(modules.join("@openai/codex/bin/codex.js"))
                    .args(["exec", "--skip-git-repo-check"])
                    .args(["--dangerously-bypass-approvals-and-sandbox", "go"]);
                command
            }
            Assistant::GeminiCli => {
                let mut command = node_clients().await.node();
                let mut server = run.server.entry("command", "env");
                if let Server::AtUrl(url) = run.server {
                    server = json!({"httpUrl": url});
                }
                server["trust"] = json!(true);
                server["timeout"] = json!(milliseconds);
                let settings = json!({
                    "security": {"auth": {"selectedType": "gemini-api-key"}},
                    "privacy": {"usageStatisticsEnabled": false},
                    "mcpServers": {SERVER: server},
                });
                write("home/.gemini/settings.json", settings.to_string()).await;
                command
                    .arg(modules.join("@google/gemini-cli/bundle/gemini.js"))
                    .args(["--prompt", "go", "--yolo", "--model", "gemini-2.5-flash"])
                    .env("GEMINI_API_KEY", "none")
                    .env("GOOGLE_GEMINI_BASE_URL", model)
                    .env("GEMINI_CLI_TRUST_WORKSPACE", "true");
                command
            }
            Assistant::Opencode => {
                let mut package = format!("opencode-{}", platform("windows"));
                if OS == "linux" && ARCH == "x86_64" {
                    // This variant asks for no newer instructions of the processor.
                    package += "-baseline";
                }
                let program = modules.join(package).join("bin").join(program("opencode"));
                let mut command = Command::new(there(program)?);
                let mut server = run.server.entry("", "environment");
                match run.server {
                    Server::Started { program, .. } => {
                        server["type"] = json!("local");
                        server["command"] = json!([program]);
                    }
                    Server::AtUrl(_) => server["type"] = json!("remote"),
                }
                let models = json!({
                    "npm": "@ai-sdk/openai-compatible",
                    "options": {"baseURL": format!("{model}/v1"), "apiKey": "none"},
                    "models": {"scripted": {}},
                });
                let config = json!({
                    "model": "tests/scripted", "small_model": "tests/scripted", "autoupdate": false,
                    "provider": {"tests": models}, "mcp": {SERVER: server},
                    "experimental": {"mcp_timeout": milliseconds},
                });
                write("project/opencode.json", config.to_string()).await;
                command
                    .args(["run", "go"])
                    .env("OPENCODE_DISABLE_MODELS_FETCH", "1");
                command
            }
        };
        // Nothing of whoever runs the tests: their settings, keys and assistants are theirs.
        for (name, _) in env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if !["PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR"]
                .contains(&&*name.to_ascii_uppercase())
            {
                command.env_remove(name);
            }
        }
        command
            .env("HOME", &home)
            .env("USERPROFILE", &home)
            .current_dir(project)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        Ok(command)
    }
}

impl Server {
    /// An entry of the common form, with these keys for the program and its environment.
    fn entry(&self, program_key: &str, environment_key: &str) -> Value {
        match self {
            Server::Started { program, settings } => {
                let settings = settings
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), json!(value)));
                json!({program_key: program, environment_key: Map::from_iter(settings)})
            }
            Server::AtUrl(url) => json!({"type": "http", "url": url}),
        }
    }
}

/// How npm's packages name this kind of machine.
fn platform(windows: &str) -> String {
    let os = match OS {
        "macos" => "darwin",
        "windows" => windows,
        other => other,
    };
    let arch = match ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{os}-{arch}")
}

/// A program, if npm has installed it: packages are left out that are for other kinds of machines.
fn there(program: PathBuf) -> Result<PathBuf, String> {
    if program.exists() {
        return Ok(program);
    }
    Err(format!("npm has none for {OS} on {ARCH}"))
}

fn program(name: &str) -> String {
    format!("{name}{}", env::consts::EXE_SUFFIX)
}
