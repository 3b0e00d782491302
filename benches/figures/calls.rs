//! Single calls: start-up, the way from standard input to a computer and back, calls a second.

use std::{
    io::{BufRead, Write},
    net::SocketAddr,
    process::Command,
    sync::mpsc,
    time::Instant,
};

use futures_util::{SinkExt, StreamExt};
use mcp_bridge::{link::agent, simulator};
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Runtime, task::JoinSet};
use tokio_tungstenite::{accept_async, connect_async, tungstenite::Message};

use crate::{
    Result,
    echo::Chain,
    process::{Process, bridge, call, initialize, itself, own_memory, resident},
    table::{Samples, compare, print, sample, time},
};

const SPAWNS: usize = 20;
const ROUND_TRIPS: usize = 2_000;
const CALLS: usize = 20_000;
const IN_FLIGHT: usize = 256;
const COMPUTERS: u64 = 50;

pub fn start_up() -> Result<()> {
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
    for (name, idle) in [
        ("resident memory, idle", resident(process.pid())?),
        ("that of it which is its own", own_memory(process.pid())?),
    ] {
        print(name, &format!("{:.1} MiB", idle / 1_048_576.0), "", "");
    }
    Ok(())
}

pub fn round_trip(runtime: &Runtime) -> Result<()> {
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
pub fn round_trip_of_a_guest(runtime: &Runtime) -> Result<()> {
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
    let (mut one, mut two) = (Chain::start(1)?, Chain::start(2)?);
    let mut times = [const { Vec::new() }; 4];
    for round in 0..ROUND_TRIPS + 200 {
        let of_round = [
            guest.timed(&line)?,
            owner.timed(&line)?,
            two.once(&line)?,
            one.once(&line)?,
        ];
        // The first ones warm up.
        if round >= 200 {
            times
                .iter_mut()
                .zip(of_round)
                .for_each(|(all, one)| all.push(one));
        }
    }
    let [guest, owner, two, one] = times.map(|all| Samples(all).sorted().median());
    let through = "exec-lua through a guest, median";
    compare(through, guest, owner, "through the owner");
    compare("the same of bare relays, two", two, one, "through one");
    Ok(())
}

/// A handler of a tool on the host: the first call starts a worker process, the others find one.
pub fn handler_on_the_host() -> Result<()> {
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

pub fn calls_a_second(runtime: &Runtime) -> Result<()> {
    let mut process = Process::start(bridge())?;
    let port = process.open()?;
    let _computers = link(runtime, port, 1..COMPUTERS + 1)?;
    process.wait_for_computers(COMPUTERS as usize)?;
    let mut peer = Process::start(itself("--as-rmcp-echo"))?;
    peer.send(&initialize())?;
    peer.line()?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        ours.push(pipelined(&mut process)?);
        theirs.push(pipelined(&mut peer)?);
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
pub fn agent_time(runtime: &Runtime) -> Result<()> {
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

/// How many calls a second come back with [`IN_FLIGHT`] of them under way at any time.
fn pipelined(process: &mut Process) -> Result<f64> {
    let (room, take) = mpsc::sync_channel::<()>(IN_FLIGHT);
    let start = Instant::now();
    let input = process.input.as_mut().ok_or("stdin is closed")?;
    let output = &mut process.output;
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
