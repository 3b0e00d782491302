//! `mcp-bridge demo`: the whole way from an MCP client to Lua on a computer, on a machine without either.

use std::{
    path::Path,
    process::{ExitCode, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, bail, ensure};
use clap::Args;
use rmcp::{
    RoleClient, ServiceExt,
    model::{
        CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation, ProtocolVersion,
    },
    service::RunningService,
};
use serde_json::{Value, json};
use tokio::{
    process::{Child, Command},
    runtime::Handle,
    time::timeout,
};

use super::console::say;
use crate::{
    link::agent,
    settings::Folders,
    simulator::{Computer, ComputerOptions, Kind, Land, Position},
    tools,
};

/// The longest that any one step may take.
const STEP_TIME: Duration = Duration::from_secs(20);

/// The two computers: number, kind, label.
const COMPUTERS: [(u64, Kind, &str); 2] = [
    (12, Kind::Turtle, "base-turtle"),
    (14, Kind::Computer, "farm"),
];

/// What is around them: a rock with coal in it, before the turtle.
const WORLD: &str = r#"
[[fill]]
block = "stone"
from = [-3, 64, -5]
to = [3, 66, -1]
[[block]]
block = "coal_ore"
at = [0, 64, -2]
[[computer]]
id = 12
kind = "turtle"
label = "base-turtle"
at = [0, 64, 0]
[[computer]]
id = 14
label = "farm"
at = [3, 64, 1]
"#;

/// What the turtle does there.
const TUNNEL: &str = "for _ = 1, 3 do\n  local _, block = turtle.inspect()\n  print('in front: ' .. block.name)\n  \
                      turtle.dig()\n  turtle.forward()\nend\nreturn turtle.getItemCount(2), turtle.getItemDetail(2).name";

/// Show the main job, step by step, without the game: a client, a bridge and two simulated computers
#[derive(Debug, Args)]
pub struct Demo {}

impl Demo {
    /// Succeeds only if every answer was right.
    pub fn run(self, _: &Folders) -> ExitCode {
        let runtime = match tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
        {
            Ok(runtime) => runtime,
            Err(error) => {
                say(&format!("The demo can't start: {error}"));
                return ExitCode::FAILURE;
            }
        };
        match runtime.block_on(demo()) {
            Ok(()) => {
                say(
                    "\nEvery answer was right. Now do the same with a real client and a real computer: see README.md.",
                );
                ExitCode::SUCCESS
            }
            Err(error) => {
                say(&format!("\nThe demo failed: {error:#}"));
                ExitCode::FAILURE
            }
        }
    }
}

async fn demo() -> anyhow::Result<()> {
    let folder = Scratch::new()?;
    say(
        "1. Start mcp-bridge as an MCP client does: as a child process, spoken to over stdin and stdout.",
    );
    let (mut child, client) = start_bridge(&folder.path).await?;
    let info = client
        .peer_info()
        .context("the bridge did not introduce itself")?;
    let server = info
        .server_info
        .as_ref()
        .context("the bridge did not tell its name")?;
    say(&format!("   <- {} {}", server.name, server.version));
    let bridge = Bridge { client };

    say("\n2. The tools it offers (tools/list):");
    let tools = timeout(STEP_TIME, bridge.client.peer().list_all_tools())
        .await
        .context("tools/list took too long")??;
    for tool in &tools {
        say(&format!(
            "   <- {:16} {}",
            tool.name,
            tool.description.as_deref().unwrap_or_default()
        ));
    }
    for name in [
        "probe-computers",
        "list-computers",
        "exec-lua",
        "list-jobs",
        "get-job",
        "cancel-job",
    ] {
        ensure!(
            tools.iter().any(|tool| tool.name == name),
            "there is no tool {name}"
        );
    }

    let port = bridge.link_port().await?;
    say(&format!(
        "\n3. Link two simulated computers, which run the same agent as in the game, to ws://{port}/"
    ));
    let (land, computers) = link_computers(&port)?;
    bridge.wait_for_computers(computers.len()).await?;
    for line in computers
        .iter()
        .flat_map(Computer::screen)
        .filter(|line| !line.is_empty())
    {
        say(&format!("   | {line}"));
    }

    say("\n4. Ask who is there:");
    let pongs = bridge.show("probe-computers", json!({})).await?;
    ensure!(
        pongs.text == "pong from 12 (Label: base-turtle)\npong from 14 (Label: farm)",
        "probe-computers should have answered with a line for each computer"
    );

    say("\n5. Run Lua on one of them:");
    let sum = bridge.lua(12, "1 + 1").await?;
    ensure!(
        !sum.is_error && sum.text == "=> 2",
        "1 + 1 should have been 2"
    );
    let hello = bridge.lua(14, "print('Hello from ' .. os.getComputerLabel()) return os.getComputerID(), { 'a', b = true }").await?;
    ensure!(
        !hello.is_error && hello.text.starts_with("Hello from farm\n=> 14\n"),
        "the output should have come first, and then the values"
    );
    let turtle = bridge
        .lua(12, "return turtle.detect(), turtle.getFuelLevel() ~= nil")
        .await?;
    ensure!(
        !turtle.is_error && turtle.text.ends_with("=> true"),
        "a turtle should have the turtle API"
    );

    say("\n6. Have the turtle dig a tunnel into the rock before it:");
    show_land(&land);
    let tunnel = bridge.lua(12, TUNNEL).await?;
    ensure!(
        !tunnel.is_error && tunnel.text.contains("in front: minecraft:coal_ore"),
        "the turtle should have met coal"
    );
    show_land(&land);
    let at = land.computer(12).map(|(at, _)| at);
    ensure!(
        at == Some(Position::new(0, 64, -3)) && land.count("minecraft:coal") == 1,
        "the turtle should stand three blocks on, with the coal"
    );

    say("\n7. See what an error looks like, with its traceback and the output so far:");
    let code = "local function dig(depth)\n  print('at depth ' .. depth)\n  error('hit bedrock')\nend\ndig(3)";
    let error = bridge.lua(12, code).await?;
    ensure!(error.is_error, "the call should have failed");
    for part in ["exec-lua:3: hit bedrock", "traceback", "at depth 3"] {
        ensure!(
            error.text.contains(part),
            "the error should have shown `{part}`"
        );
    }
    let syntax = bridge.lua(14, "retrun 1").await?;
    ensure!(
        syntax.is_error && syntax.text.starts_with("syntax error"),
        "the misspelt word should have been a syntax error"
    );

    say("\n8. Close the bridge's stdin, as a client does that leaves:");
    drop(computers);
    let start = Instant::now();
    let _ = timeout(STEP_TIME, bridge.client.cancel())
        .await
        .context("the session did not end")?;
    let status = timeout(STEP_TIME, child.wait())
        .await
        .context("mcp-bridge did not leave")??;
    say(&format!(
        "   it left after {} ms with {status}",
        start.elapsed().as_millis()
    ));
    ensure!(
        status.success(),
        "mcp-bridge should have left with exit code 0"
    );
    Ok(())
}

/// A folder of its own for the demo's bridge, so that the user's configuration and log play no part.
struct Scratch {
    path: std::path::PathBuf,
}

impl Scratch {
    fn new() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("mcp-bridge-demo-{}", std::process::id()));
        std::fs::create_dir_all(&path)
            .with_context(|| format!("{} can't be made", path.display()))?;
        Ok(Self { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// The child, and an MCP client's session with it.
async fn start_bridge(
    folder: &Path,
) -> anyhow::Result<(Child, RunningService<RoleClient, ClientConfig>)> {
    let program = std::env::current_exe().context("this program's own path is not known")?;
    say(&format!("   $ {}", program.display()));
    let mut child = Command::new(program)
        .env("MCP_BRIDGE_CONFIG_DIR", folder)
        .env("MCP_BRIDGE_STATE_DIR", folder)
        .env("CC_LINK_HOST", "127.0.0.1")
        .env("CC_LINK_PORT", "0")
        .env_remove("CC_LINK_TOKEN")
        .env_remove("CC_LINK_NAMES")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("mcp-bridge can't be started")?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        bail!("the child has no standard input and output");
    };
    let client = ClientConfig::new(
        ClientCapabilities::default(),
        Implementation::new("mcp-bridge demo", env!("CARGO_PKG_VERSION")),
    )
    .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
    let session = timeout(STEP_TIME, client.serve((stdout, stdin)))
        .await
        .context("initialize took too long")??;
    Ok((child, session))
}

/// The computers, in one world.
fn link_computers(port: &str) -> anyhow::Result<(Arc<Land>, Vec<Computer>)> {
    let (land, _) = Land::read(WORLD).context("the demo's world is not right")?;
    let start = |(id, kind, label): &(u64, Kind, &str)| {
        let mut options = ComputerOptions::new(*id).with_file("mcp-computer.lua", agent::program());
        options.kind = *kind;
        options.label = Some((*label).to_owned());
        let program = format!("mcp-computer ws://{port}/");
        Computer::start_in(&land, options, &program, &Handle::current())
            .with_context(|| format!("computer {id} can't be started"))
    };
    let computers = COMPUTERS.iter().map(start).collect::<anyhow::Result<_>>()?;
    Ok((land, computers))
}

/// Draws what is around the turtle, from above.
fn show_land(land: &Land) {
    for line in land.slice(Position::new(0, 64, -2), 9, 7) {
        say(&format!("   | {}", line.trim_end()));
    }
}

/// The session, from the client's side.
struct Bridge {
    client: RunningService<RoleClient, ClientConfig>,
}

/// What a tool answered.
struct Answer {
    text: String,
    is_error: bool,
    structured: Option<Value>,
}

impl Bridge {
    async fn call(&self, tool: &'static str, arguments: Value) -> anyhow::Result<Answer> {
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let call = self
            .client
            .peer()
            .call_tool(CallToolRequestParams::new(tool).with_arguments(arguments));
        let result = timeout(STEP_TIME, call)
            .await
            .with_context(|| format!("{tool} took too long"))??;
        Ok(Answer {
            text: tools::text_of(&result),
            is_error: result.is_error == Some(true),
            structured: result.structured_content,
        })
    }

    /// Calls a tool, and shows the call and the answer.
    async fn show(&self, tool: &'static str, arguments: Value) -> anyhow::Result<Answer> {
        say(&format!("   -> {tool} {arguments}"));
        let answer = self.call(tool, arguments).await?;
        let mark = if answer.is_error { "<- (error)" } else { "<-" };
        let mut lines = answer.text.lines();
        say(&format!("   {mark} {}", lines.next().unwrap_or_default()));
        lines.for_each(|line| say(&format!("      {line}")));
        Ok(answer)
    }

    async fn lua(&self, computer: u64, code: &str) -> anyhow::Result<Answer> {
        self.show("exec-lua", json!({ "computerId": computer, "code": code }))
            .await
    }

    async fn link_port(&self) -> anyhow::Result<String> {
        let answer = self.call("list-computers", json!({})).await?;
        let port = answer
            .structured
            .as_ref()
            .and_then(|fields| fields["linkPort"].as_str())
            .map(str::to_owned);
        port.with_context(|| format!("list-computers did not tell the link port: {}", answer.text))
    }

    async fn wait_for_computers(&self, count: usize) -> anyhow::Result<()> {
        let start = Instant::now();
        while start.elapsed() < STEP_TIME {
            let answer = self.call("list-computers", json!({})).await?;
            let linked = answer
                .structured
                .as_ref()
                .and_then(|fields| fields["computers"].as_array().map(Vec::len));
            if linked == Some(count) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        bail!(
            "the simulated computers did not link within {} s",
            STEP_TIME.as_secs()
        )
    }
}
