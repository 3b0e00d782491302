//! What users feel, in figures: start-up, the way from stdin to a computer and back, calls a second, memory per link.
//!
//! `cargo bench` prints one table. Machines differ and are busy, so each figure stands beside its floor (the least that
//! any program would need for the same) or a peer that is driven in the same way, measured in the same run.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::SocketAddr,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use futures_util::{SinkExt, StreamExt};
use mcp_bridge::{link::agent, simulator};
use rmcp::{ServerHandler, ServiceExt, model, service::RequestContext};
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime, task::JoinSet};
use tokio_tungstenite::{accept_async, connect_async, tungstenite::Message};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const SPAWNS: usize = 20;
const ROUND_TRIPS: usize = 2_000;
const CALLS: usize = 20_000;
const IN_FLIGHT: usize = 256;
const COMPUTERS: u64 = 50;
const PROBES: usize = 20;

fn main() -> Result<()> {
    // This program is also the floor and the peer, as children of itself.
    match std::env::args().nth(1).as_deref() {
        Some("--as-cat") => return as_cat(),
        Some("--as-rmcp-echo") => return Runtime::new()?.block_on(as_rmcp_echo()),
        _ => {}
    }
    // `cargo test --benches` only asks whether this compiles and starts.
    if std::env::args().any(|argument| argument == "--test") {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    print("measured", "figure", "floor or peer", "ratio");
    start_up()?;
    round_trip(&runtime)?;
    round_trip_of_a_guest(&runtime)?;
    handler_on_the_host()?;
    calls_a_second(&runtime)?;
    agent_time(&runtime)?;
    for count in [2_000, 10_000] {
        many_links(&runtime, count)?;
    }
    Ok(())
}

/// One row of the table.
fn print(measured: &str, figure: &str, other: &str, ratio: &str) {
    let row = format!("{measured:42} {figure:>24} {other:>44} {ratio:>8}\n");
    // A reader that left wants no more rows.
    let _ = std::io::stdout().write_all(row.as_bytes());
}

fn start_up() -> Result<()> {
    let spawn_to_reply = |command: fn() -> Command, line: &str| -> Result<f64> {
        let start = Instant::now();
        let mut process = Process::start(command())?;
        process.send(line)?;
        process.line()?;
        Ok(start.elapsed().as_secs_f64())
    };
    let ours = sample(SPAWNS, || spawn_to_reply(bridge, &initialize()))?;
    let floor = sample(SPAWNS, || spawn_to_reply(|| itself("--as-cat"), "x"))?;
    print(
        "spawn to `initialize` reply",
        &format!("{} median", time(ours.median())),
        &format!("{} spawn of cat to its line", time(floor.median())),
        &format!("{:.1}", ours.median() / floor.median()),
    );
    let closed_to_end = |command: fn() -> Command, line: &str| -> Result<f64> {
        let mut process = Process::start(command())?;
        process.send(line)?;
        process.line()?;
        process.leave()
    };
    let ours = sample(SPAWNS, || closed_to_end(bridge, &initialize()))?;
    let floor = sample(SPAWNS, || closed_to_end(|| itself("--as-cat"), "x"))?;
    print(
        "end of input to end of process",
        &format!("{} median", time(ours.median())),
        &format!("{} the end of cat", time(floor.median())),
        &format!("{:.1}", ours.median() / floor.median()),
    );
    let mut process = Process::start(bridge())?;
    process.open()?;
    let idle = resident(process.child.id())?;
    print(
        "resident memory, idle",
        &format!("{:.1} MiB", idle / 1_048_576.0),
        "",
        "",
    );
    Ok(())
}

fn round_trip(runtime: &Runtime) -> Result<()> {
    let mut process = Process::start(bridge())?;
    let port = process.open()?;
    let _computers = link(runtime, port, 1..2)?;
    process.wait_for_computers(1)?;
    let line = call(7, 1).to_string();
    for _ in 0..200 {
        process.timed(&line)?;
    }
    let mut cat = Process::start(itself("--as-cat"))?;
    let mut echo = WebSocketEcho::start(runtime)?;
    let (mut ours, mut floor) = (Vec::new(), Vec::new());
    // In turn, so that what else the machine does falls on both.
    for _ in 0..ROUND_TRIPS {
        ours.push(process.timed(&line)?);
        floor.push(cat.timed(&line)? + echo.once(runtime)?);
    }
    let (ours, floor) = (Samples(ours).sorted(), Samples(floor).sorted());
    for (name, at) in [("median", 0.5), ("99th percentile", 0.99)] {
        print(
            &format!("exec-lua, stdin to computer to stdout, {name}"),
            &time(ours.at(at)),
            &format!(
                "{} a line through cat + a WebSocket echo",
                time(floor.at(at))
            ),
            &format!("{:.1}", ours.at(at) / floor.at(at)),
        );
    }
    Ok(())
}

/// The same calls through a bridge that is the guest of another one.
fn round_trip_of_a_guest(runtime: &Runtime) -> Result<()> {
    let mut owner = Process::start(bridge())?;
    let port = owner.open()?;
    let _computers = link(runtime, port, 1..2)?;
    owner.wait_for_computers(1)?;
    let mut command = bridge();
    command.env("CC_LINK_PORT", port.port().to_string());
    let mut guest = Process::start(command)?;
    guest.open()?;
    guest.wait_for_computers(1)?;
    let line = call(7, 1).to_string();
    let (mut of_guest, mut of_owner) = (Vec::new(), Vec::new());
    for round in 0..ROUND_TRIPS + 200 {
        let times = (guest.timed(&line)?, owner.timed(&line)?);
        // The first ones warm up.
        if round >= 200 {
            of_guest.push(times.0);
            of_owner.push(times.1);
        }
    }
    let (guest, owner) = (Samples(of_guest).sorted(), Samples(of_owner).sorted());
    print(
        "exec-lua through a guest, median",
        &time(guest.median()),
        &format!("{} through the owner", time(owner.median())),
        &format!("{:.1}", guest.median() / owner.median()),
    );
    Ok(())
}

/// A handler of a tool on the host: the first call starts a worker process, the others find one.
fn handler_on_the_host() -> Result<()> {
    let line = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
                      "params": {"name": "run-script", "arguments": {"code": "return 1"}}});
    let native =
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "list-jobs"}});
    let (line, native) = (line.to_string(), native.to_string());
    let first = sample(SPAWNS, || {
        let mut process = Process::start(bridge())?;
        process.open()?;
        process.timed(&line)
    })?;
    let mut process = Process::start(bridge())?;
    process.open()?;
    for _ in 0..20 {
        process.timed(&line)?;
    }
    let (mut pooled, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..ROUND_TRIPS {
        pooled.push(process.timed(&line)?);
        floor.push(process.timed(&native)?);
    }
    let (pooled, floor) = (Samples(pooled).sorted(), Samples(floor).sorted());
    print(
        "handler on the host, pooled worker, median",
        &time(pooled.median()),
        &format!("{} a tool written in Rust", time(floor.median())),
        &format!("{:.1}", pooled.median() / floor.median()),
    );
    print(
        "handler on the host, first call, median",
        &time(first.median()),
        "",
        "",
    );
    Ok(())
}

fn calls_a_second(runtime: &Runtime) -> Result<()> {
    let mut process = Process::start(bridge())?;
    let port = process.open()?;
    let _computers = link(runtime, port, 1..COMPUTERS + 1)?;
    process.wait_for_computers(COMPUTERS as usize)?;
    let mut peer = Process::start(itself("--as-rmcp-echo"))?;
    peer.send(&initialize())?;
    peer.line()?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        ours.push(process.pipelined()?);
        theirs.push(peer.pipelined()?);
    }
    let (ours, theirs) = (
        Samples(ours).sorted().median(),
        Samples(theirs).sorted().median(),
    );
    print(
        &format!("exec-lua calls, {IN_FLIGHT} in flight, {COMPUTERS} computers"),
        &format!("{ours:.0} a second"),
        &format!("{theirs:.0} a second, bare rmcp echo over stdio"),
        &format!("{:.2}", ours / theirs),
    );
    Ok(())
}

/// What a request costs the computer: its Lua thread's time, and the game's ticks.
fn agent_time(runtime: &Runtime) -> Result<()> {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let url = format!("mcp-computer ws://{}", listener.local_addr()?);
    let options =
        simulator::ComputerOptions::new(1).with_file("mcp-computer.lua", agent::program());
    let _computer = simulator::Computer::start(options, &url, runtime.handle())?;
    let (wall, clock) = runtime.block_on(async {
        let (stream, _) = listener.accept().await?;
        let mut socket = accept_async(stream).await?;
        socket.next().await.ok_or("no hello")??;
        socket.send(Message::text(r#"{"type":"hello-ok"}"#)).await?;
        let mut wall = Vec::new();
        let mut clocks = Vec::new();
        for id in 0..ROUND_TRIPS {
            let request = json!({"type": "request", "id": id.to_string(), "method": "exec-lua", "params": {"code": "return os.clock()"}});
            let start = Instant::now();
            socket.send(Message::text(request.to_string())).await?;
            let reply = socket.next().await.ok_or("no reply")??.into_text()?;
            wall.push(start.elapsed().as_secs_f64());
            let reply: Value = serde_json::from_str(&reply)?;
            clocks.push(reply["result"]["returns"][0]["value"].as_f64().ok_or("no clock")?);
        }
        Result::Ok((Samples(wall).sorted(), clocks))
    })?;
    let game_time = clock[clock.len() - 1] - clock[0];
    print(
        "exec-lua in the agent, simulated, median",
        &time(wall.median()),
        &format!(
            "{:.3} ticks of 50 ms a request",
            game_time / 0.05 / clock.len() as f64
        ),
        "",
    );
    Ok(())
}

fn many_links(runtime: &Runtime, count: u64) -> Result<()> {
    let mut process = Process::start(bridge())?;
    let port = process.open()?;
    let pid = process.child.id();
    // The first links warm up what all links share.
    let mut computers = vec![link(runtime, port, 1..51)?];
    process.wait_for_computers(50)?;
    let before = resident(pid)?;
    for first in (51..=count).step_by(500) {
        computers.push(link(runtime, port, first..(first + 500).min(count + 1))?);
    }
    process.wait_for_computers(count as usize)?;
    let after = resident(pid)?;
    print(
        &format!("memory per linked computer, {count} linked"),
        &format!("{:.1} KiB", (after - before) / 1024.0 / (count - 50) as f64),
        "",
        "",
    );
    let probe = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "probe-computers"}}).to_string();
    let probes = sample(PROBES, || {
        let start = Instant::now();
        process.send(&probe)?;
        let reply = process.line()?;
        let elapsed = start.elapsed().as_secs_f64();
        let answered = reply.matches("pong from").count() as u64;
        if answered != count {
            let shown: String = reply.chars().take(300).collect();
            return Err(format!("{answered} of {count} computers answered: {shown}").into());
        }
        Ok(elapsed)
    })?;
    print(
        &format!("probe-computers, {count} linked"),
        &format!("{} median", time(probes.median())),
        "all answered",
        "",
    );
    Ok(())
}

/// The release binary, with folders of its own and a free port.
fn bridge() -> Command {
    let folder = std::env::temp_dir().join("mcp-bridge-figures");
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-bridge"));
    command
        .env("MCP_BRIDGE_CONFIG_DIR", &folder)
        .env("MCP_BRIDGE_STATE_DIR", &folder)
        .env("CC_LINK_HOST", "127.0.0.1")
        .env("CC_LINK_PORT", "0");
    command
}

fn itself(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap_or_default());
    command.arg(role);
    command
}

/// Gives each line back.
fn as_cat() -> Result<()> {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut buffer = [0; 65_536];
    loop {
        match input.read(&mut buffer)? {
            0 => return Ok(()),
            length => {
                output.write_all(&buffer[..length])?;
                output.flush()?;
            }
        }
    }
}

/// The least that an MCP server made with rmcp does.
struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> model::ServerConfig {
        model::ServerConfig::new(model::ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: model::CallToolRequestParams,
        _: RequestContext<rmcp::RoleServer>,
    ) -> std::result::Result<model::CallToolResponse, rmcp::ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        Ok(
            model::CallToolResult::success(vec![model::ContentBlock::text(
                arguments["code"].to_string(),
            )])
            .into(),
        )
    }
}

async fn as_rmcp_echo() -> Result<()> {
    Echo.serve((tokio::io::stdin(), tokio::io::stdout()))
        .await?
        .waiting()
        .await?;
    Ok(())
}

/// A child that is spoken to in lines.
struct Process {
    child: Child,
    /// `None` once it is closed.
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn start(mut command: Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = Some(child.stdin.take().ok_or("no stdin")?);
        let output = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        Ok(Self {
            child,
            input,
            output,
        })
    }

    fn send(&mut self, line: &str) -> Result<()> {
        let input = self.input.as_mut().ok_or("stdin is closed")?;
        input.write_all(format!("{line}\n").as_bytes())?;
        Ok(())
    }

    /// How long it takes to end once its input does, in seconds.
    fn leave(mut self) -> Result<f64> {
        let start = Instant::now();
        self.input = None;
        self.child.wait()?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// How long it takes to answer this line, in seconds.
    fn timed(&mut self, line: &str) -> Result<f64> {
        let start = Instant::now();
        self.send(line)?;
        self.line()?;
        Ok(start.elapsed().as_secs_f64())
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err("the process ended".into());
        }
        Ok(line)
    }

    /// Opens a bridge's session and tells its link port.
    fn open(&mut self) -> Result<SocketAddr> {
        self.send(&initialize())?;
        self.line()?;
        let listed = self.list()?;
        Ok(listed["linkPort"].as_str().ok_or("no link port")?.parse()?)
    }

    fn list(&mut self) -> Result<Value> {
        self.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list-computers"}}).to_string())?;
        let reply: Value = serde_json::from_str(&self.line()?)?;
        Ok(reply["result"]["structuredContent"].clone())
    }

    fn wait_for_computers(&mut self, count: usize) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(60) {
            if self.list()?["computers"].as_array().map_or(0, Vec::len) >= count {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err("the computers did not link".into())
    }

    /// How many calls a second come back with [`IN_FLIGHT`] of them under way at any time.
    fn pipelined(&mut self) -> Result<f64> {
        let (room, take) = mpsc::sync_channel::<()>(IN_FLIGHT);
        let start = Instant::now();
        let input = self.input.as_mut().ok_or("stdin is closed")?;
        let output = &mut self.output;
        std::thread::scope(|scope| -> Result<()> {
            let writer = scope.spawn(move || -> std::io::Result<()> {
                for id in 0..CALLS {
                    if room.send(()).is_err() {
                        break;
                    }
                    let line = call(id as u64, 1 + id as u64 % COMPUTERS);
                    input.write_all(format!("{line}\n").as_bytes())?;
                }
                Ok(())
            });
            let mut line = String::new();
            for _ in 0..CALLS {
                line.clear();
                if output.read_line(&mut line)? == 0 {
                    return Err("the process ended".into());
                }
                take.recv()?;
            }
            writer.join().map_err(|_| "the writer failed")??;
            Ok(())
        })?;
        Ok(CALLS as f64 / start.elapsed().as_secs_f64())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn initialize() -> String {
    let client = json!({"name": "figures", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()
}

fn call(id: u64, computer: u64) -> Value {
    let arguments = json!({"computerId": computer, "code": "return 1+1"});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "exec-lua", "arguments": arguments}})
}

/// Computers that answer at once, whatever they are asked; they unlink when this is dropped.
fn link(runtime: &Runtime, port: SocketAddr, ids: std::ops::Range<u64>) -> Result<JoinSet<()>> {
    runtime.block_on(async {
        let mut computers = JoinSet::new();
        for id in ids {
            let (mut socket, _) = connect_async(format!("ws://{port}/")).await?;
            socket.send(Message::text(json!({"type": "hello", "computerId": id}).to_string())).await?;
            computers.spawn(async move {
                while let Some(Ok(Message::Text(text))) = socket.next().await {
                    let Ok(request) = serde_json::from_str::<Value>(&text) else { return };
                    if request["type"] != "request" {
                        continue;
                    }
                    let result = match request["method"].as_str() {
                        Some("ping") => json!(format!("pong from {id} (Label: nil)")),
                        _ => json!({"returns": [{"type": "number", "value": 2}], "output": ""}),
                    };
                    let response = json!({"type": "response", "id": request["id"], "ok": true, "result": result});
                    if socket.send(Message::text(response.to_string())).await.is_err() {
                        return;
                    }
                }
            });
        }
        Ok(computers)
    })
}

/// A WebSocket to a server that gives each message back.
struct WebSocketEcho {
    socket: tokio_tungstenite::WebSocketStream<
        tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>,
    >,
}

impl WebSocketEcho {
    fn start(runtime: &Runtime) -> Result<Self> {
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let port = listener.local_addr()?;
            tokio::spawn(async move {
                let Ok((stream, _)) = listener.accept().await else {
                    return;
                };
                let _ = stream.set_nodelay(true);
                let Ok(mut socket) = accept_async(stream).await else {
                    return;
                };
                while let Some(Ok(message)) = socket.next().await {
                    if socket.send(message).await.is_err() {
                        return;
                    }
                }
            });
            let (socket, _) = connect_async(format!("ws://{port}/")).await?;
            Ok(Self { socket })
        })
    }

    fn once(&mut self, runtime: &Runtime) -> Result<f64> {
        runtime.block_on(async {
            let start = Instant::now();
            self.socket.send(Message::text("return 1+1")).await?;
            self.socket.next().await.ok_or("no echo")??;
            Ok(start.elapsed().as_secs_f64())
        })
    }
}

/// The resident memory of a process, in bytes.
fn resident(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))
        .map_err(|error| format!("memory is measured on Linux only: {error}"))?;
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .ok_or("no VmRSS")?;
    let kibibytes: f64 = line.split_whitespace().nth(1).ok_or("no figure")?.parse()?;
    Ok(kibibytes * 1024.0)
}

struct Samples(Vec<f64>);

fn sample(count: usize, mut measure: impl FnMut() -> Result<f64>) -> Result<Samples> {
    measure()?;
    Ok(Samples((0..count).map(|_| measure()).collect::<Result<_>>()?).sorted())
}

impl Samples {
    fn sorted(mut self) -> Self {
        self.0.sort_by(f64::total_cmp);
        self
    }

    fn at(&self, share: f64) -> f64 {
        self.0[((self.0.len() - 1) as f64 * share) as usize]
    }

    fn median(&self) -> f64 {
        self.at(0.5)
    }
}

fn time(seconds: f64) -> String {
    if seconds < 0.001 {
        format!("{:.1} µs", seconds * 1e6)
    } else {
        format!("{:.2} ms", seconds * 1e3)
    }
}
