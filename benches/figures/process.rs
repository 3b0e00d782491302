//! A bridge, or another program, as a child that is spoken to in lines.

use std::{
    io::{BufRead, BufReader, Write},
    net::SocketAddr,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::OnceLock,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::Result;

/// How long computers have to answer. A busy machine is slow, which is no reason to fail.
pub const PROBE_TIME: Duration = Duration::from_secs(60);

/// The bridge that is measured, if it is not the one that was built with this program.
static BRIDGE: OnceLock<String> = OnceLock::new();

/// Measures this program as the bridge, to compare two builds in the same surroundings.
pub fn measure(bridge: String) {
    let _ = BRIDGE.set(bridge);
}

/// The release binary, with folders of its own and a free port.
pub fn bridge() -> Command {
    let folder = std::env::temp_dir().join("mcp-bridge-figures");
    let built = env!("CARGO_BIN_EXE_mcp-bridge");
    let mut command = Command::new(BRIDGE.get().map_or(built, String::as_str));
    command
        .env("MCP_BRIDGE_CONFIG_DIR", &folder)
        .env("MCP_BRIDGE_STATE_DIR", &folder)
        .env("CC_LINK_HOST", "127.0.0.1")
        .env("CC_LINK_PORT", "0")
        .env("CC_PROBE_TIMEOUT_MS", PROBE_TIME.as_millis().to_string());
    command
}

/// This program in another role.
pub fn itself(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap_or_default());
    command.arg(role);
    command
}

/// A child that is spoken to in lines.
pub struct Process {
    child: Child,
    /// `None` once it is closed.
    pub input: Option<ChildStdin>,
    pub output: BufReader<ChildStdout>,
}

impl Process {
    pub fn start(mut command: Command) -> Result<Self> {
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

    pub fn send(&mut self, line: &str) -> Result<()> {
        let input = self.input.as_mut().ok_or("stdin is closed")?;
        input.write_all(format!("{line}\n").as_bytes())?;
        Ok(())
    }

    /// How long it takes to end once its input does, in seconds.
    pub fn leave(mut self) -> Result<f64> {
        let start = Instant::now();
        self.input = None;
        self.child.wait()?;
        Ok(start.elapsed().as_secs_f64())
    }

    /// How long it takes to answer this line, in seconds.
    pub fn timed(&mut self, line: &str) -> Result<f64> {
        let start = Instant::now();
        self.send(line)?;
        self.line()?;
        Ok(start.elapsed().as_secs_f64())
    }

    pub fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err("the process ended".into());
        }
        Ok(line)
    }

    /// Opens a bridge's session and tells its link port.
    pub fn open(&mut self) -> Result<SocketAddr> {
        self.send(&initialize())?;
        self.line()?;
        let listed = self.list()?;
        Ok(listed["linkPort"].as_str().ok_or("no link port")?.parse()?)
    }

    pub fn list(&mut self) -> Result<Value> {
        self.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "list-computers"}}).to_string())?;
        let reply: Value = serde_json::from_str(&self.line()?)?;
        Ok(reply["result"]["structuredContent"].clone())
    }

    pub fn wait_for_computers(&mut self, count: usize) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(60) {
            // The list itself comes in pages.
            if self.list()?["total"].as_u64() >= Some(count as u64) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err("the computers did not link".into())
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn initialize() -> String {
    let client = json!({"name": "figures", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()
}

pub fn call(id: u64, computer: u64) -> Value {
    let arguments = json!({"computerId": computer, "code": "return 1+1"});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "exec-lua", "arguments": arguments}})
}

/// The resident memory of a process, in bytes.
pub fn resident(pid: u32) -> Result<f64> {
    in_status(pid, "VmRSS:")
}

/// That of it which is its own: not what stands in its program's file, of which the system maps more or less by how it
/// has the file in memory.
pub fn own_memory(pid: u32) -> Result<f64> {
    in_status(pid, "RssAnon:")
}

fn in_status(pid: u32, name: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))
        .map_err(|error| format!("memory is measured on Linux only: {error}"))?;
    let line = status
        .lines()
        .find(|line| line.starts_with(name))
        .ok_or_else(|| format!("no {name}"))?;
    let kibibytes: f64 = line.split_whitespace().nth(1).ok_or("no figure")?.parse()?;
    Ok(kibibytes * 1024.0)
}

/// How long the threads of a process have run, in seconds.
pub fn cpu(pid: u32) -> Result<f64> {
    let mut nanoseconds = 0.0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))
        .map_err(|error| format!("time is measured on Linux only: {error}"))?
    {
        // One that has just ended has no file any more.
        let Ok(text) = std::fs::read_to_string(thread?.path().join("schedstat")) else {
            continue;
        };
        nanoseconds += text.split(' ').next().unwrap_or_default().parse::<f64>()?;
    }
    Ok(nanoseconds / 1e9)
}
