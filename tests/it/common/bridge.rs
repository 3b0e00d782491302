//! The real binary, started as an MCP client would, spoken to line by line.

use std::{
    net::SocketAddr,
    path::Path,
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{Child, ChildStderr, ChildStdin, Command},
    sync::mpsc,
    time::timeout,
};

use super::{
    pace::{self, in_time},
    soon, until,
};

/// A bridge process. When it is dropped, all it wrote to standard output is checked to be JSON-RPC.
pub struct Bridge {
    child: Child,
    stdin: Option<ChildStdin>,
    stderr: Option<ChildStderr>,
    lines: mpsc::UnboundedReceiver<String>,
    /// All lines of standard output so far.
    printed: Arc<Mutex<Vec<String>>>,
    /// Messages that came while another was waited for.
    kept: Vec<Value>,
    next_id: u64,
    /// Holds the configuration and state folders.
    pub folder: TempDir,
}

/// The most that an answer may be allowed, as `maxChars`: one within it is whole.
pub const WHOLE: usize = 8_000_000;

/// What a tool answered.
#[derive(Debug)]
pub struct ToolAnswer {
    pub text: String,
    pub is_error: bool,
    pub structured: Option<Value>,
}

impl ToolAnswer {
    /// What a reply to `tools/call` says.
    pub fn of(reply: &Value) -> Self {
        let result = reply
            .get("result")
            .unwrap_or_else(|| panic!("a protocol error: {reply}"));
        let content = result["content"].as_array().unwrap();
        let texts: Vec<_> = content
            .iter()
            .map(|block| block["text"].as_str().unwrap())
            .collect();
        Self {
            text: texts.join("\n"),
            is_error: result["isError"] == true,
            structured: result.get("structuredContent").cloned(),
        }
    }
}

impl Bridge {
    /// Starts a bridge with a free link port on loopback.
    pub fn start() -> Self {
        Self::start_with(|_| {})
    }

    /// The same, with changes to its command line or environment.
    pub fn start_with(change: impl FnOnce(&mut Command)) -> Self {
        Self::start_program(Path::new(&super::program()), change)
    }

    /// The same of another file with the program in it.
    pub fn start_program(program: &Path, change: impl FnOnce(&mut Command)) -> Self {
        pace::watch();
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(program);
        command
            .env("MCP_BRIDGE_CONFIG_DIR", folder.path().join("config"))
            .env("MCP_BRIDGE_STATE_DIR", folder.path().join("state"))
            .env("CC_LINK_HOST", "127.0.0.1")
            .env("CC_LINK_PORT", "0")
            .env_remove("CC_LINK_TOKEN")
            .env_remove("CC_PROBE_TIMEOUT_MS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        change(&mut command);
        let mut child = command.spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let printed = Arc::new(Mutex::new(Vec::new()));
        let (sender, lines) = mpsc::unbounded_channel();
        let all = printed.clone();
        tokio::spawn(async move {
            let mut reader = BufReader::new(stdout).lines();
            while let Ok(Some(line)) = reader.next_line().await {
                all.lock().unwrap().push(line.clone());
                let _ = sender.send(line);
            }
        });
        Self {
            stdin: child.stdin.take(),
            stderr: child.stderr.take(),
            child,
            lines,
            printed,
            kept: Vec::new(),
            next_id: 1,
            folder,
        }
    }

    /// Starts a bridge and opens a session of the era with `initialize`.
    pub async fn initialized() -> Self {
        let mut bridge = Self::start();
        bridge.initialize("2025-11-25").await;
        bridge
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id().expect("the bridge has ended")
    }

    /// Opens a session of this protocol revision, and returns the result of `initialize`.
    pub async fn initialize(&mut self, revision: &str) -> Value {
        let client = json!({"name": "tests", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": {}, "clientInfo": client});
        let reply = self.request("initialize", params).await;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        reply["result"].clone()
    }

    /// Sends one message.
    pub async fn send(&mut self, message: &Value) {
        self.send_line(message.to_string().as_bytes()).await;
    }

    /// Sends one line of any bytes.
    pub async fn send_line(&mut self, line: &[u8]) {
        self.send_bytes(line).await;
        self.send_bytes(b"\n").await;
    }

    /// Sends bytes that are not a whole line.
    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("standard input was closed");
        soon("the bridge reads its input", stdin.write_all(bytes))
            .await
            .unwrap();
        soon("the bridge reads its input", stdin.flush())
            .await
            .unwrap();
    }

    /// Sends a request, and returns its id.
    pub async fn ask(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    /// Sends a request and waits for its reply.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params).await;
        self.reply(&json!(id)).await
    }

    /// Waits for the reply with this id.
    pub async fn reply(&mut self, id: &Value) -> Value {
        self.message(&format!("the reply to {id}"), |message| {
            message.get("id") == Some(id) && message.get("method").is_none()
        })
        .await
    }

    /// Waits for a message that `fits`; the others are kept.
    pub async fn message(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&fits) {
            return self.kept.remove(at);
        }
        loop {
            let line = soon(what, self.lines.recv())
                .await
                .unwrap_or_else(|| panic!("the bridge ended before {what}"));
            let message: Value =
                serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON on stdout: {line}"));
            if fits(&message) {
                return message;
            }
            self.kept.push(message);
        }
    }

    /// The next message, however long it takes; none once the bridge has ended.
    pub async fn next_message(&mut self) -> Option<Value> {
        if let Some(kept) = self.kept.pop() {
            return Some(kept);
        }
        let line = self.lines.recv().await?;
        let message = serde_json::from_str(&line);
        Some(message.unwrap_or_else(|_| panic!("no JSON on stdout: {line}")))
    }

    /// Starts a tool call, and returns the request's id.
    pub async fn start_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
            .await
    }

    /// Waits for a tool call's answer.
    pub async fn answer(&mut self, id: u64) -> ToolAnswer {
        let reply = self.reply(&json!(id)).await;
        ToolAnswer::of(&reply)
    }

    /// Waits for the answer of a call that takes long even when all is well.
    pub async fn slow_answer(&mut self, id: u64) -> ToolAnswer {
        let start = Instant::now();
        let id = json!(id);
        loop {
            match timeout(Duration::from_secs(1), self.reply(&id)).await {
                Ok(reply) => return ToolAnswer::of(&reply),
                // That the bridge is there is shown by pings.
                Err(_) => drop(self.request("ping", json!({})).await),
            }
            assert!(start.elapsed() < super::PATIENCE * 10, "no answer to {id}");
        }
    }

    /// Calls a tool.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> ToolAnswer {
        let id = self.start_call(tool, arguments).await;
        self.answer(id).await
    }

    /// Runs Lua and returns the text, which must not be an error.
    pub async fn lua(&mut self, computer: u64, code: &str) -> String {
        let answer = self
            .call("exec-lua", json!({"computerId": computer, "code": code}))
            .await;
        assert!(!answer.is_error, "{code}: {}", answer.text);
        answer.text
    }

    /// The same, however long the text is.
    pub async fn lua_whole(&mut self, computer: u64, code: &str) -> String {
        let call = json!({"computerId": computer, "code": code, "maxChars": WHOLE});
        let answer = self.call("exec-lua", call).await;
        assert!(!answer.is_error, "{code}: {}", answer.text);
        answer.text
    }

    /// Runs Lua that must fail, and returns the text.
    pub async fn lua_error(&mut self, computer: u64, code: &str) -> String {
        let answer = self
            .call("exec-lua", json!({"computerId": computer, "code": code}))
            .await;
        assert!(answer.is_error, "{code}: {}", answer.text);
        answer.text
    }

    /// Where computers link.
    pub async fn link_port(&mut self) -> SocketAddr {
        let answer = self.call("list-computers", json!({})).await;
        let structured = answer
            .structured
            .unwrap_or_else(|| panic!("{}", answer.text));
        structured["linkPort"].as_str().unwrap().parse().unwrap()
    }

    /// What the registry knows of one computer, once it `fits`.
    pub async fn computer(&mut self, id: u64, fits: impl Fn(&Value) -> bool) -> Value {
        until(&format!("computer {id} is as expected"), async || {
            let answer = self.call("list-computers", json!({})).await;
            let computers = answer.structured.unwrap()["computers"].take();
            let found = computers
                .as_array()
                .unwrap()
                .iter()
                .find(|computer| computer["computerId"] == id);
            let found = found.filter(|computer| fits(computer)).cloned();
            found.ok_or(computers)
        })
        .await
    }

    /// Waits until this computer is linked.
    pub async fn linked(&mut self, id: u64) -> Value {
        self.computer(id, |computer| computer["linked"] == true)
            .await
    }

    /// Closes standard input, as a client does that leaves.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Ends the process as no process can prepare for (SIGKILL on Unix).
    pub async fn kill(mut self) {
        self.child.kill().await.unwrap();
        soon("standard output ends", async {
            while self.lines.recv().await.is_some() {}
        })
        .await;
        // The line that it was writing is cut short.
        let is_cut = |line: &mut String| serde_json::from_str::<Value>(line).is_err();
        self.printed.lock().unwrap().pop_if(is_cut);
    }

    /// Waits until the process ends.
    pub async fn ended(&mut self) -> ExitStatus {
        soon("the bridge ends", self.child.wait()).await.unwrap()
    }

    /// Closes standard input and checks that the process leaves in under a second, with exit code 0.
    pub async fn leave(mut self) {
        let start = Instant::now();
        self.close_input();
        let status = self.ended().await;
        let took = start.elapsed();
        assert!(status.success(), "{status}");
        in_time("to leave", took, Duration::from_secs(1)).await;
    }

    /// All of standard error, once the process has ended.
    pub async fn stderr(&mut self) -> String {
        let mut text = String::new();
        let mut stderr = self.stderr.take().expect("standard error was read already");
        soon("standard error ends", stderr.read_to_string(&mut text))
            .await
            .unwrap();
        text
    }

    /// Checks all of standard output so far, as is done in the end, and forgets it.
    pub fn check_printed(&mut self) {
        for line in self.printed.lock().unwrap().drain(..) {
            let message: Value =
                serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON on stdout: {line}"));
            // The answers to a batch are an array.
            let messages = message
                .as_array()
                .map_or(std::slice::from_ref(&message), Vec::as_slice);
            let is_rpc = messages.iter().all(|message| message["jsonrpc"] == "2.0");
            assert!(
                is_rpc && !messages.is_empty(),
                "no JSON-RPC on stdout: {line}"
            );
        }
    }

    /// All lines of standard output so far.
    pub fn printed(&self) -> Vec<String> {
        self.printed.lock().unwrap().clone()
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        self.check_printed();
    }
}
