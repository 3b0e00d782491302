//! Real MCP clients, each from its own registry and at a pinned version, with the real binary over stdio and over
//! streamable HTTP: MCP Inspector's command line, and the official SDKs for TypeScript and Python, which hold the
//! conversations written down in `tests/clients/`.
//!
//! What they need to be installed is in `tests/it/common/registries.rs`.

use std::{fmt::Write as _, net::Ipv4Addr, path::Path, process::Stdio, time::Duration};

use crate::common::{
    port::Port,
    registries::{NodeClients, node_clients, python_with_sdk, sources},
    served::Served,
};
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    fs,
    io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader},
    process::Command,
    runtime::Handle,
    time::timeout,
};

const BRIDGE: &str = env!("CARGO_BIN_EXE_mcp-bridge");

/// How long a client may take. Each takes about a second; it only counts when something is broken.
const CLIENT_TIME: Duration = Duration::from_secs(120);

/// How many checks a conversation has, in every language and revision.
const CHECKS: usize = 23;

// Conversations.

#[tokio::test]
async fn the_typescript_sdk_of_2024_11_05_holds_a_conversation() {
    typescript("sdk-2024-11-05", "legacy", "2024-11-05").await;
}

#[tokio::test]
async fn the_typescript_sdk_of_2025_03_26_holds_a_conversation() {
    typescript("sdk-2025-03-26", "legacy", "2025-03-26").await;
}

#[tokio::test]
async fn the_typescript_sdk_of_2025_06_18_holds_a_conversation() {
    typescript("sdk-2025-06-18", "legacy", "2025-06-18").await;
}

#[tokio::test]
async fn the_typescript_sdk_of_2025_11_25_holds_a_conversation() {
    typescript("sdk-2025-11-25", "legacy", "2025-11-25").await;
}

#[tokio::test]
async fn the_second_typescript_sdk_holds_a_conversation_with_a_handshake() {
    typescript("@modelcontextprotocol/client", "legacy", "2025-11-25").await;
}

#[tokio::test]
async fn the_second_typescript_sdk_holds_a_conversation_without_a_handshake() {
    typescript("@modelcontextprotocol/client", "modern", "2026-07-28").await;
}

#[tokio::test]
async fn the_second_typescript_sdk_finds_the_newest_revision_by_itself() {
    typescript("@modelcontextprotocol/client", "auto", "2026-07-28").await;
}

#[tokio::test]
async fn the_python_sdk_holds_a_conversation_in_every_revision_with_a_handshake() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        python("legacy", revision).await;
    }
}

#[tokio::test]
async fn the_python_sdk_finds_the_newest_revision_by_itself() {
    python("auto", "2026-07-28").await;
}

#[tokio::test]
async fn the_typescript_sdks_hold_a_conversation_over_http() {
    for revision in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        typescript_over_http(&format!("sdk-{revision}"), "legacy", revision).await;
    }
}

#[tokio::test]
async fn the_second_typescript_sdk_holds_a_conversation_over_http_in_both_eras() {
    for (era, revision) in [
        ("legacy", "2025-11-25"),
        ("modern", "2026-07-28"),
        ("auto", "2026-07-28"),
    ] {
        typescript_over_http("@modelcontextprotocol/client", era, revision).await;
    }
}

#[tokio::test]
async fn the_python_sdk_holds_a_conversation_over_http_in_both_eras() {
    for (era, revision) in [
        ("legacy", "2025-03-26"),
        ("legacy", "2025-06-18"),
        ("legacy", "2025-11-25"),
        ("auto", "2026-07-28"),
    ] {
        let bridge = served().await;
        converse(python_command(era, revision).await, Some(&bridge)).await;
    }
}

async fn typescript(sdk: &str, era: &str, revision: &str) {
    converse(typescript_command(sdk, era, revision).await, None).await;
}

async fn typescript_over_http(sdk: &str, era: &str, revision: &str) {
    let bridge = served().await;
    let command = typescript_command(sdk, era, revision).await;
    converse(command, Some(&bridge)).await;
}

async fn python(era: &str, revision: &str) {
    converse(python_command(era, revision).await, None).await;
}

async fn typescript_command(sdk: &str, era: &str, revision: &str) -> Command {
    let clients = node_clients().await;
    let mut command = clients.node();
    command
        .arg(sources().join("typescript-sdk.mjs"))
        .arg(&clients.folder)
        .args([sdk, era, revision]);
    command
}

async fn python_command(era: &str, revision: &str) -> Command {
    let mut command = Command::new(python_with_sdk().await);
    // Only what is pinned counts, whatever else this machine's Python finds; and what it prints is UTF-8.
    command
        .args(["-I", "-X", "utf8"])
        .arg(sources().join("python_sdk.py"))
        .args([era, revision]);
    command
}

/// A bridge that serves over HTTP.
async fn served() -> Served {
    Served::start_with(|command| {
        // A busy machine is no reason to fail.
        command.env("CC_PROBE_TIMEOUT_MS", "20000");
    })
    .await
}

fn url(bridge: &Served) -> String {
    format!("http://{}/mcp", bridge.address)
}

/// Runs a conversation with a bridge that serves over HTTP, or that the client starts. Links a computer, and adds a
/// tool, when the conversation asks for that.
async fn converse(mut command: Command, served: Option<&Served>) {
    let folder = tempfile::tempdir().unwrap();
    let (bridge, tools) = match served {
        Some(served) => (url(served), served.folder.path().join("config/tools")),
        None => (BRIDGE.to_owned(), folder.path().join("config/tools")),
    };
    command.args([&bridge, env!("CARGO_PKG_VERSION")]);
    for (name, value) in settings(folder.path(), 0) {
        command.env(name, value);
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let errors = tokio::spawn(all_of(child.stderr.take().unwrap()));
    let mut said = String::new();
    let status = timeout(CLIENT_TIME, async {
        let mut computers = Vec::new();
        let mut lines = stdout.lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            if let Some(address) = line.strip_prefix("link ") {
                computers.push(computer(&format!("ws://{address}"), 1.0));
            }
            if let Some(name) = line.strip_prefix("tool ") {
                add_tool(&tools.join(name), name).await;
            }
            writeln!(said, "{line}").unwrap();
        }
        child.wait().await.unwrap()
    })
    .await;
    let status = match status {
        Ok(status) => status,
        Err(_) => panic!("no end after {CLIENT_TIME:?}: {command:?}\n{said}"),
    };
    let errors = errors.await.unwrap();
    assert!(status.success(), "{status}: {command:?}\n{said}\n{errors}");
    let checks = said.lines().filter(|line| line.starts_with("ok ")).count();
    assert_eq!(checks, CHECKS, "{said}");
}

/// A tool that tells its own name, as a user would write it.
async fn add_tool(folder: &Path, name: &str) {
    fs::create_dir_all(folder).await.unwrap();
    let handler = format!("return {{ call = function() return '{name}' end }}");
    fs::write(folder.join("handler.lua"), handler)
        .await
        .unwrap();
    let manifest = crate::common::tools::manifest(name, "function.lua", "");
    fs::write(folder.join("_index.yaml"), manifest)
        .await
        .unwrap();
}

/// Computer 12, `base`, which runs the real agent and links to `url`.
pub fn computer(url: &str, clock_speed: f64) -> Computer {
    let mut options = ComputerOptions::new(12).with_file("mcp-computer.lua", agent::program());
    options.label = Some("base".to_owned());
    options.clock_speed = clock_speed;
    Computer::start(options, &format!("mcp-computer {url}"), &Handle::current()).unwrap()
}

/// What a bridge under test is told by its environment.
pub fn settings(folder: &Path, link_port: u16) -> [(&'static str, String); 5] {
    let below = |name: &str| folder.join(name).display().to_string();
    [
        ("MCP_BRIDGE_CONFIG_DIR", below("config")),
        ("MCP_BRIDGE_STATE_DIR", below("state")),
        ("CC_LINK_HOST", Ipv4Addr::LOCALHOST.to_string()),
        ("CC_LINK_PORT", link_port.to_string()),
        // A busy machine is no reason to fail.
        ("CC_PROBE_TIMEOUT_MS", "20000".to_owned()),
    ]
}

async fn all_of(mut pipe: impl AsyncRead + Unpin) -> String {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).await.unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

// MCP Inspector.

#[tokio::test]
async fn the_inspector_lists_and_calls_every_tool_with_a_handshake() {
    inspect("legacy").await;
}

#[tokio::test]
async fn the_inspector_lists_and_calls_every_tool_without_a_handshake() {
    inspect("modern").await;
}

/// The other tools that are listed: they go the way of one that is called.
const OTHERS: [&str; 15] = [
    "call-peripheral",
    "edit-file",
    "list-items",
    "list-peripherals",
    "move-items",
    "read-file",
    "read-screen",
    "recent-errors",
    "redstone",
    "search-files",
    "send-input",
    "turtle",
    "turtle-status",
    "wait-event",
    "write-file",
];

async fn inspect(era: &'static str) {
    let inspector = Inspector::new(era).await;

    let listed = inspector
        .run("bridge", &["--method", "tools/list", "--strict"])
        .await;
    assert_eq!(listed.code, 0, "{listed:?}");
    let answer = listed.answer();
    assert!(answer.get("schemaFindings").is_none(), "{listed:?}");
    let tools = answer["result"]["tools"].as_array().unwrap();
    let mut names: Vec<_> = tools.iter().map(|tool| tool["name"].clone()).collect();

    // Without a computer.
    let nobody = inspector.call("bridge", "probe-computers", json!({})).await;
    assert_eq!(
        (nobody.code, nobody.text().as_str()),
        (0, "No computers connected.")
    );
    let failed = inspector
        .call("bridge", "exec-lua", json!({"code": "1"}))
        .await;
    assert_eq!(failed.code, TOOL_FAILED, "{failed:?}");
    assert!(
        failed.text().starts_with("No computers connected."),
        "{failed:?}"
    );

    // With one. Every call has a bridge of its own, so the computer links anew each time.
    let port = inspector.link_port.as_ref().unwrap().address();
    let _computer = computer(&format!("ws://{port}"), 20.0);
    let code = r#"print("hi") return 6 * 7"#;
    // A job belongs to the bridge that is gone after the command, so there is none to show or to stop.
    let no_job = json!({"jobId": "none"});
    for (tool, arguments, code, text) in [
        ("exec-lua", json!({ "code": code }), 0, "hi\n=> 42"),
        ("list-computers", json!({}), 0, "12 (Label: base)"),
        (
            "probe-computers",
            json!({}),
            0,
            "pong from 12 (Label: base)",
        ),
        ("list-jobs", json!({}), 0, "No jobs."),
        ("list-files", json!({}), 0, " in /; "),
        ("run-program", json!({"command": "id"}), 0, "12"),
        (
            "get-job",
            no_job.clone(),
            TOOL_FAILED,
            "There is no job none.",
        ),
        ("cancel-job", no_job, TOOL_FAILED, "There is no job none."),
        (
            "run-script",
            json!({"code": "return computers.exec(12, '6 * 7') + 0"}),
            0,
            "42",
        ),
        // With a handshake it has listed first, and so knows all.
        ("find-tools", json!({"query": "ping"}), 0, "probe-computers"),
        (
            "call-tool",
            json!({"name": "exec-lua", "arguments": {"code": "6 * 7"}}),
            0,
            "42",
        ),
    ] {
        let called = inspector.call("linked", tool, arguments).await;
        assert_eq!(called.code, code, "{called:?}");
        assert!(called.text().contains(text), "{called:?}");
        names.retain(|name| name != tool);
    }
    names.retain(|name| name.as_str().is_none_or(|name| !OTHERS.contains(&name)));
    assert!(names.is_empty(), "never called: {names:?}");
    let failed = inspector
        .call("linked", "exec-lua", json!({"code": "error('boom')"}))
        .await;
    assert_eq!(failed.code, TOOL_FAILED, "{failed:?}");
    assert!(failed.text().contains("boom"), "{failed:?}");

    inspector.spoke_its_era().await;
}

#[tokio::test]
async fn the_inspector_lists_and_calls_tools_over_http_with_a_token() {
    let bridge = Served::start_with(|command| {
        command
            .env("MCP_TOKEN", "t0ken")
            .env("CC_PROBE_TIMEOUT_MS", "20000");
    })
    .await;
    let mut listed = bridge.stateless();
    listed.token = Some("t0ken".to_owned());
    let link_port = listed.link_port().await;
    let _computer = computer(&format!("ws://{link_port}"), 1.0);
    listed.linked(12).await;
    let servers = |token: &str| {
        let headers = json!({"Authorization": format!("Bearer {token}")});
        json!({"type": "streamable-http", "url": url(&bridge), "headers": headers})
    };
    for era in ["legacy", "modern"] {
        let inspector = Inspector::with(
            era,
            json!({"mcpServers": {"bridge": servers("t0ken"), "stranger": servers("other")}}),
        )
        .await;
        let listed = inspector
            .run("bridge", &["--method", "tools/list", "--strict"])
            .await;
        assert_eq!(listed.code, 0, "{listed:?}");
        let called = inspector
            .call(
                "bridge",
                "exec-lua",
                json!({"code": "print('hi') return 6 * 7"}),
            )
            .await;
        assert_eq!(
            (called.code, called.text().as_str()),
            (0, "hi\n=> 42"),
            "{called:?}"
        );
        let refused = inspector.run("stranger", &["--method", "tools/list"]).await;
        assert_eq!(refused.code, NOT_AUTHORIZED, "{refused:?}");
    }
}

/// The Inspector's exit code when a server wants to know who it is.
const NOT_AUTHORIZED: i32 = 3;

/// The Inspector's exit code when a tool says that it failed.
const TOOL_FAILED: i32 = 5;

/// MCP Inspector's command line. It starts a bridge for every command.
struct Inspector {
    clients: &'static NodeClients,
    era: &'static str,
    /// Its home, its configuration, and the folders of its bridges.
    folder: TempDir,
    /// Where computers link to the bridges of the server `linked`, if it has one. Those of `bridge` take any free port.
    link_port: Option<Port>,
}

/// What came of one command.
#[derive(Debug)]
struct Inspected {
    code: i32,
    stdout: String,
    // Shown when a test fails.
    #[allow(dead_code)]
    stderr: String,
}

impl Inspector {
    /// One that knows these servers.
    async fn with(era: &'static str, servers: Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mcp.json"), servers.to_string())
            .await
            .unwrap();
        Self {
            clients: node_clients().await,
            era,
            folder,
            link_port: None,
        }
    }

    async fn new(era: &'static str) -> Self {
        let clients = node_clients().await;
        let folder = tempfile::tempdir().unwrap();
        let reserved = Port::reserve();
        let environment = |port| Value::from_iter(settings(folder.path(), port));
        let linked = [
            sources().join("linked-bridge.mjs"),
            folder.path().join("heard"),
            BRIDGE.into(),
        ];
        let servers = json!({"mcpServers": {
            "bridge": {"command": BRIDGE, "env": environment(0)},
            "linked": {"command": clients.node, "args": linked, "env": environment(reserved.number())},
        }});
        fs::write(folder.path().join("mcp.json"), servers.to_string())
            .await
            .unwrap();
        Self {
            clients,
            era,
            folder,
            link_port: Some(reserved),
        }
    }

    async fn run(&self, server: &str, arguments: &[&str]) -> Inspected {
        let mut command = self.clients.node();
        command
            .arg(self.clients.inspector())
            .args(["--cli", "--format", "json", "--quiet"])
            .args(["--protocol-era", self.era, "--server", server, "--config"])
            .arg(self.folder.path().join("mcp.json"))
            .args(arguments)
            .env("HOME", self.folder.path())
            .env("USERPROFILE", self.folder.path())
            // Otherwise it looks for the keychain of whoever runs the tests.
            .env("MCP_INSPECTOR_SECRET_STORE", "memory")
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = match timeout(CLIENT_TIME, command.output()).await {
            Ok(output) => output.unwrap(),
            Err(_) => panic!("no end after {CLIENT_TIME:?}: {command:?}"),
        };
        Inspected {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    async fn call(&self, server: &str, tool: &str, arguments: Value) -> Inspected {
        let arguments = arguments.to_string();
        let call = ["--method", "tools/call", "--tool-name", tool];
        let with = ["--tool-args-json", &arguments];
        self.run(server, &[call.as_slice(), &with].concat()).await
    }

    /// What was sent to `linked` was of the era that was asked for, all of it.
    async fn spoke_its_era(&self) {
        let heard = fs::read_to_string(self.folder.path().join("heard"))
            .await
            .unwrap();
        let messages: Vec<Value> = heard
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let requests = || {
            messages
                .iter()
                .filter(|message| message.get("id").is_some())
        };
        let handshakes: Vec<_> = requests()
            .filter(|request| request["method"] == "initialize")
            .collect();
        assert!(requests().any(|request| request["method"] == "tools/call"));
        if self.era == "legacy" {
            assert_eq!(handshakes.len(), 12, "{heard}");
            for handshake in handshakes {
                assert_eq!(handshake["params"]["protocolVersion"], "2025-11-25");
            }
        } else {
            assert!(handshakes.is_empty(), "{heard}");
            for request in requests() {
                let meta = &request["params"]["_meta"];
                assert_eq!(
                    meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28",
                    "{request}"
                );
            }
        }
    }
}

impl Inspected {
    /// The object that it printed.
    fn answer(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The text of a tool's result.
    fn text(&self) -> String {
        let answer = self.answer();
        let text = &answer["result"]["content"][0]["text"];
        text.as_str()
            .unwrap_or_else(|| panic!("no text: {self:?}"))
            .to_owned()
    }
}
