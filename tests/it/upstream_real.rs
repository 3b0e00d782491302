//! Real MCP servers behind the bridge, from npm and PyPI at pinned versions, called by the official TypeScript SDK's
//! client: what a user's servers and client make of it.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use crate::common::servers::Place;
use serde_json::{Value, json};
use tokio::{process::Command, sync::OnceCell, time::timeout};

/// How long the conversation may take. It takes some seconds; it only counts when something is broken.
const CONVERSATION_TIME: Duration = Duration::from_secs(240);

/// How many checks it has.
const CHECKS: usize = 15;

struct Programs {
    /// Holds `node_modules`.
    node: PathBuf,
    /// A Python that has the servers from PyPI.
    python: PathBuf,
}

async fn programs() -> &'static Programs {
    static PROGRAMS: OnceCell<Result<Programs, String>> = OnceCell::const_new();
    let pins = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upstream");
    let programs = PROGRAMS.get_or_init(async || {
        Ok(Programs {
            node: crate::common::registries::from_npm(&pins).await?,
            python: crate::common::registries::from_pypi(&pins.join("requirements.txt")).await?,
        })
    });
    programs
        .await
        .as_ref()
        .unwrap_or_else(|problem| panic!("{problem}"))
}

impl Programs {
    fn script(&self, package: &str) -> PathBuf {
        self.node
            .join("node_modules/@modelcontextprotocol")
            .join(package)
            .join("dist/index.js")
    }

    fn server(&self, package: &str) -> Value {
        json!({ "command": "node", "args": [self.script(package)] })
    }
}

#[tokio::test]
async fn real_servers_are_used_by_a_real_client_through_the_bridge() {
    let programs = programs().await;
    let place = Place::new();
    let files = place.path("project").canonicalize().unwrap();
    let mut filesystem = programs.server("server-filesystem");
    filesystem["args"]
        .as_array_mut()
        .unwrap()
        .push(json!(files));
    let mut memory = programs.server("server-memory");
    memory["env"] = json!({ "MEMORY_FILE_PATH": place.path("memory.jsonl") });
    place.write(
        "config/mcp.json",
        &json!({ "mcpServers": {
            "everything": programs.server("server-everything"),
            "files": filesystem,
            "memory": memory,
            // Not by its own program, whose first line names the folder that it was installed in.
            "time": { "command": programs.python, "args": ["-m", "mcp_server_time"] },
        }}),
    );
    let mut conversation = Command::new("node");
    conversation
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upstream/conversation.mjs"))
        .arg(&programs.node)
        .arg(env!("CARGO_BIN_EXE_mcp-bridge"))
        .arg(&files)
        .env("MCP_BRIDGE_CONFIG_DIR", place.path("config"))
        .env("MCP_BRIDGE_STATE_DIR", place.path("state"))
        .env("CC_LINK_HOST", "127.0.0.1")
        .env("CC_LINK_PORT", "0")
        .current_dir(place.path("project"))
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = timeout(CONVERSATION_TIME, conversation.output()).await;
    let output = output.expect("the conversation does not end").unwrap();
    let [said, errors] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{said}\n{errors}");
    let checks = said.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(
        checks == CHECKS && said.ends_with("end\n"),
        "{checks} checks: {said}"
    );
}

#[cfg(feature = "upstream-http")]
#[tokio::test]
async fn a_real_server_is_used_over_http() {
    let programs = programs().await;
    let reserved = crate::common::port::Port::reserve();
    let port = reserved.number();
    let mut server = Command::new("node")
        .arg(programs.script("server-everything"))
        .arg("streamableHttp")
        .env("PORT", port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let url = format!("http://127.0.0.1:{port}/mcp");
    let place = Place::with_servers(json!({
        "web": { "type": "http", "url": url, "headers": { "X-Token": "${NONE:-t}" } },
        "nobody": { "url": "http://127.0.0.1:9/mcp", "startTimeoutMs": 2000 },
        "odd": { "url": "ftp://x" },
    }));
    let mut bridge = place.session().await;
    crate::common::servers::listed(&mut bridge, "web__echo").await;
    assert_eq!(
        bridge.call("web__echo", json!({"message": "x"})).await.text,
        "Echo: x"
    );
    let operation = json!({"name": "web__trigger-long-running-operation", "arguments": {"duration": 0.3, "steps": 3},
        "_meta": {"progressToken": 1}});
    let before = bridge.printed().len();
    bridge.request("tools/call", operation).await;
    let told = bridge.printed()[before..]
        .iter()
        .filter(|line| line.contains("notifications/progress"))
        .count();
    assert_eq!(told, 3);
    let state =
        crate::common::servers::status(&mut bridge, |state| state.matches(": failed").count() == 2)
            .await;
    assert!(
        state.contains("nobody: failed") && state.contains("begin with http://"),
        "{state}"
    );

    // It goes, and comes back.
    server.kill().await.unwrap();
    let gone = bridge.call("web__echo", json!({"message": "x"})).await;
    assert!(gone.is_error, "{}", gone.text);
    bridge.leave().await;
}
