//! A working folder, a configuration and a state folder, with MCP servers configured for a bridge to manage.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Child;

use super::{bridge::Bridge, is, until};

/// Python, which runs the servers of the tests.
pub const PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };

/// The folders of bridges under test.
pub struct Place {
    folder: TempDir,
}

impl Place {
    /// Empty folders.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["config", "state", "project"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    /// The same, with these servers in the user's own configuration.
    pub fn with_servers(servers: Value) -> Self {
        let place = Self::new();
        place.write("config/mcp.json", &json!({ "mcpServers": servers }));
        place
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file in it.
    pub fn write(&self, name: &str, content: &Value) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content.to_string()).unwrap();
    }

    /// The lines of a file in it; none if it is not there.
    pub fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Starts a bridge in the project folder.
    pub fn bridge(&self) -> Bridge {
        self.bridge_with(|_| {})
    }

    /// The same, with changes to its command line or environment.
    pub fn bridge_with(&self, change: impl FnOnce(&mut tokio::process::Command)) -> Bridge {
        Bridge::start_with(|command| {
            command
                .env("MCP_BRIDGE_CONFIG_DIR", self.path("config"))
                .env("MCP_BRIDGE_STATE_DIR", self.path("state"))
                .env_remove("MCP_UPSTREAM")
                .current_dir(self.path("project"));
            change(command);
        })
    }

    /// Starts a bridge and opens a session.
    pub async fn session(&self) -> Bridge {
        let mut bridge = self.bridge();
        bridge.initialize("2025-11-25").await;
        bridge
    }

    /// Runs a command of the binary in the project folder.
    pub fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_mcp-bridge"))
            .args(arguments)
            .env("MCP_BRIDGE_CONFIG_DIR", self.path("config"))
            .env("MCP_BRIDGE_STATE_DIR", self.path("state"))
            .current_dir(self.path("project"))
            .stdin(std::process::Stdio::null())
            .output()
            .unwrap()
    }

    /// Runs a command that must succeed, and returns what it says.
    pub fn says(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A server of ours in this mode, with variables that name files in this place.
    pub fn server(&self, mode: &str, files: &[&str]) -> Value {
        let mut server = server(mode);
        for name in files {
            server["env"][name] = json!(self.path(&name.to_ascii_lowercase()));
        }
        server
    }
}

/// A server of ours in this mode.
pub fn server(mode: &str) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upstream/server.py");
    json!({ "command": PYTHON, "args": [script, mode], "env": {} })
}

/// A server of ours over HTTP in this mode, which keeps its files in this folder; and the port that it listens on.
pub async fn http_server(mode: &str, folder: &Path) -> (Child, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upstream/http_server.py");
    let server = tokio::process::Command::new(PYTHON)
        .arg(script)
        .arg(mode)
        .arg(folder)
        // Nothing is left beside the scripts.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    file(&folder.join("port")).await;
    let port = fs::read_to_string(folder.join("port")).unwrap();
    (server, port)
}

/// The server with more or other keys.
pub fn with(mut server: Value, more: Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        server[key] = value.clone();
    }
    server
}

/// The names of the tools that a bridge lists, but for its own.
pub async fn upstream_tools(bridge: &mut Bridge) -> Vec<String> {
    let listed = bridge.request("tools/list", json!({})).await;
    listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .filter(|name| name.contains("__"))
        .collect()
}

/// Waits until a bridge lists a tool of this name.
pub async fn listed(bridge: &mut Bridge, tool: &str) {
    list(bridge, &format!("{tool} is listed"), |tools| {
        tools.iter().any(|name| name == tool)
    })
    .await;
}

/// Waits until what a bridge lists is as it should be, and returns it. A list follows a change within moments.
pub async fn list(
    bridge: &mut Bridge,
    what: &str,
    fits: impl Fn(&[String]) -> bool,
) -> Vec<String> {
    until(what, async || {
        let tools = upstream_tools(bridge).await;
        if fits(&tools) {
            Ok(tools)
        } else {
            Err(tools.join(", "))
        }
    })
    .await
}

/// Waits until the state of the servers, in words, is as it should be.
pub async fn status(bridge: &mut Bridge, fits: impl Fn(&str) -> bool) -> String {
    until(
        "the servers are in the state that is waited for",
        async || {
            let text = bridge.call("upstream-status", json!({})).await.text;
            if fits(&text) { Ok(text) } else { Err(text) }
        },
    )
    .await
}

/// Waits until a file is there.
pub async fn file(path: &Path) {
    let what = format!("{} is there", path.display());
    until(&what, async || is(path.exists(), "it is not")).await;
}
