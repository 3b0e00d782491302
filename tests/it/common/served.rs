//! The real binary as `mcp-bridge serve`, spoken to over HTTP.

use std::{
    net::{Ipv4Addr, SocketAddr},
    process::{ExitStatus, Stdio},
};

use axum::{
    body::{Body, BodyDataStream},
    http::{HeaderMap, Method, Request},
};
use futures_util::StreamExt;
use hyper_util::rt::TokioIo;
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    net::TcpStream,
    process::{Child, ChildStderr, Command},
    runtime::Handle,
    task::JoinHandle,
};

use super::{bridge::ToolAnswer, is, soon, until};

/// A bridge that serves MCP over HTTP.
pub struct Served {
    pub child: Child,
    /// Where it serves MCP.
    pub address: SocketAddr,
    stderr: ChildStderr,
    /// What came of it so far.
    said: String,
    /// Holds the configuration and state folders.
    pub folder: TempDir,
}

/// `mcp-bridge serve` with folders of its own, and free ports on loopback.
pub fn command(folder: &TempDir) -> Command {
    let mut command = Command::new(super::program());
    command
        .arg("serve")
        .env("MCP_BRIDGE_CONFIG_DIR", folder.path().join("config"))
        .env("MCP_BRIDGE_STATE_DIR", folder.path().join("state"))
        .env("CC_LINK_HOST", "127.0.0.1")
        .env("CC_LINK_PORT", "0")
        .env_remove("CC_LINK_TOKEN")
        .env_remove("CC_LINK_NAMES")
        .env_remove("CC_PROBE_TIMEOUT_MS")
        .env("MCP_PORT", "0")
        .env_remove("MCP_HOST")
        .env_remove("MCP_TOKEN")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

impl Served {
    /// Starts one.
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// The same, with changes to its command line or environment.
    pub async fn start_with(change: impl FnOnce(&mut Command)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = command(&folder);
        command.arg("--print-port");
        change(&mut command);
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = soon("the bridge prints its port", stdout.next_line())
            .await
            .unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let Some(port) = port else {
            let mut problem = String::new();
            stderr.read_to_string(&mut problem).await.unwrap();
            panic!("the bridge prints no port: {problem}");
        };
        tokio::spawn(async move {
            let more = stdout.next_line().await;
            assert!(
                matches!(more, Ok(None) | Err(_)),
                "more than a port on stdout: {more:?}"
            );
        });
        Self {
            child,
            address: (Ipv4Addr::LOCALHOST, port.parse().unwrap()).into(),
            stderr,
            said: String::new(),
            folder,
        }
    }

    /// A client that has opened a session of this protocol revision.
    pub async fn client(&self, revision: &str) -> Client {
        let mut client = self.new_client(revision);
        let reply = client.initialize().await;
        assert_eq!(reply["result"]["protocolVersion"], revision, "{reply}");
        client
    }

    /// A client of the stateless revision.
    pub fn stateless(&self) -> Client {
        Client::new(self.address, STATELESS)
    }

    fn new_client(&self, revision: &str) -> Client {
        Client::new(self.address, revision)
    }

    /// Where computers link.
    pub async fn link_port(&self) -> SocketAddr {
        self.stateless().link_port().await
    }

    /// Links a simulated computer with the real agent.
    pub async fn computer(&self, id: u64) -> Computer {
        let mut client = self.stateless();
        let program = format!("mcp-computer ws://{}", client.link_port().await);
        let options = ComputerOptions::new(id).with_file("mcp-computer.lua", agent::program());
        let computer = Computer::start(options, &program, &Handle::current()).unwrap();
        client.linked(id).await;
        computer
    }

    /// Waits until the process ends.
    pub async fn ended(&mut self) -> ExitStatus {
        soon("the bridge ends", self.child.wait()).await.unwrap()
    }

    /// All of standard error, once the process has ended.
    pub async fn stderr(&mut self) -> String {
        let mut text = std::mem::take(&mut self.said);
        soon("standard error ends", self.stderr.read_to_string(&mut text))
            .await
            .unwrap();
        text
    }

    /// Waits until it has said this on standard error.
    pub async fn said(&mut self, text: &str) {
        let mut buffer = [0; 1024];
        while !self.said.contains(text) {
            let read = soon(text, self.stderr.read(&mut buffer)).await.unwrap();
            assert!(read > 0, "it ended, and said: {}", self.said);
            self.said
                .push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
    }
}

/// The revision without `initialize`.
pub const STATELESS: &str = "2026-07-28";

/// An MCP client over HTTP. It opens a connection for every request.
pub struct Client {
    address: SocketAddr,
    revision: String,
    /// The session, in the revisions that have one.
    pub session: Option<String>,
    /// The bearer token that it shows.
    pub token: Option<String>,
    next_id: u64,
}

impl Client {
    /// A client of this revision that has said nothing yet.
    pub fn new(address: SocketAddr, revision: &str) -> Self {
        Self {
            address,
            revision: revision.to_owned(),
            session: None,
            token: None,
            next_id: 1,
        }
    }

    /// Opens a session, and returns the reply to `initialize`.
    pub async fn initialize(&mut self) -> Value {
        self.initialize_with(json!({})).await
    }

    /// The same for a client that says that it is capable of this.
    pub async fn initialize_with(&mut self, capabilities: Value) -> Value {
        let client = json!({"name": "tests", "version": "1"});
        let params = json!({"protocolVersion": self.revision, "capabilities": capabilities,
            "clientInfo": client});
        let mut answer = self.ask("initialize", params).await.1;
        assert_eq!(answer.status, 200);
        let session = answer.headers["mcp-session-id"].to_str().unwrap();
        self.session = Some(session.to_owned());
        let reply = answer.message().await.unwrap();
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.send(&initialized).await.status, 202);
        reply
    }

    /// A request with all headers that a client sends.
    pub fn http(&self, method: Method) -> axum::http::request::Builder {
        let mut request = Request::builder()
            .method(method)
            .uri("/mcp")
            .header("host", self.address.to_string())
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        if self.session.is_some() || self.revision == STATELESS {
            request = request.header("mcp-protocol-version", &self.revision);
        }
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        request
    }

    /// Posts one message.
    pub async fn send(&self, message: &Value) -> Answer {
        self.exchange(self.posted(message)).await
    }

    /// The request that posts a message.
    fn posted(&self, message: &Value) -> Request<Body> {
        let mut request = self.http(Method::POST);
        if self.revision == STATELESS {
            request = request.header("mcp-method", message["method"].as_str().unwrap());
            let params = &message["params"];
            let named = match message["method"].as_str() {
                Some("resources/read") => &params["uri"],
                _ => &params["name"],
            };
            if let Some(name) = named.as_str() {
                request = request.header("mcp-name", name);
            }
        }
        request.body(message.to_string().into()).unwrap()
    }

    /// Sends any request.
    pub async fn exchange(&self, request: Request<Body>) -> Answer {
        exchange(self.address, request).await
    }

    /// Sends an MCP request, and returns its id and the answer whose stream holds the reply.
    pub async fn ask(&mut self, method: &str, params: Value) -> (u64, Answer) {
        let (id, request) = self.post(method, params);
        (id, self.exchange(request).await)
    }

    /// An MCP request's id, and the HTTP request that posts it.
    pub fn post(&mut self, method: &str, mut params: Value) -> (u64, Request<Body>) {
        if self.revision == STATELESS {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(STATELESS);
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        let id = self.next_id;
        self.next_id += 1;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        (id, self.posted(&message))
    }

    /// Sends an MCP request and waits for its reply.
    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let (id, mut answer) = self.ask(method, params).await;
        answer.reply(id).await
    }

    /// Calls a tool.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> ToolAnswer {
        let params = json!({"name": tool, "arguments": arguments});
        let reply = self.request("tools/call", params).await;
        ToolAnswer::of(&reply)
    }

    /// The reply to a call of a tool; none if the bridge is gone before it gives one.
    pub async fn try_call(&mut self, tool: &str, arguments: Value) -> Option<Value> {
        let params = json!({"name": tool, "arguments": arguments});
        let (id, request) = self.post("tools/call", params);
        let answer = try_exchange(self.address, request).await?;
        // What is no whole message was cut short.
        let text = answer.text().await;
        let messages = text
            .lines()
            .map(|line| line.strip_prefix("data: ").unwrap_or(line));
        let mut messages = messages.filter_map(|line| serde_json::from_str::<Value>(line).ok());
        messages.find(|message| message["id"] == id)
    }

    /// Where computers link.
    pub async fn link_port(&mut self) -> SocketAddr {
        let listed = self.call("list-computers", json!({})).await;
        let structured = listed.structured.unwrap();
        structured["linkPort"].as_str().unwrap().parse().unwrap()
    }

    /// Waits until this computer is linked.
    pub async fn linked(&mut self, id: u64) {
        until(&format!("computer {id} links"), async || {
            let listed = self.call("list-computers", json!({})).await;
            let computers = listed.structured.unwrap()["computers"].take();
            let mut each = computers.as_array().unwrap().iter();
            let linked = each.any(|one| one["computerId"] == id && one["linked"] == true);
            is(linked, computers)
        })
        .await;
    }

    /// Runs Lua, and returns the text, which must not be an error.
    pub async fn lua(&mut self, computer: u64, code: &str) -> String {
        let arguments = json!({"computerId": computer, "code": code});
        let answer = self.call("exec-lua", arguments).await;
        assert!(!answer.is_error, "{code}: {}", answer.text);
        answer.text
    }
}

/// Sends a request on a connection of its own.
pub async fn exchange(address: SocketAddr, request: Request<Body>) -> Answer {
    let answer = try_exchange(address, request).await;
    answer.unwrap_or_else(|| panic!("{address} does not answer"))
}

/// The same; no answer if nobody is there to give it.
async fn try_exchange(address: SocketAddr, request: Request<Body>) -> Option<Answer> {
    let stream = TcpStream::connect(address).await.ok()?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .ok()?;
    let connection = tokio::spawn(async move {
        let _ = connection.await;
    });
    let response = soon("the bridge answers", sender.send_request(request))
        .await
        .ok()?;
    let (head, body) = response.into_parts();
    Some(Answer {
        status: head.status.as_u16(),
        headers: head.headers,
        body: Body::new(body).into_data_stream(),
        read: String::new(),
        begun: Vec::new(),
        connection,
    })
}

/// An answer, whose body is read as it comes. Dropping it closes the connection.
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    body: BodyDataStream,
    /// What was read and is no whole event.
    read: String,
    /// The bytes of a character that was not read whole.
    begun: Vec<u8>,
    connection: JoinHandle<()>,
}

/// One event of a stream (HTML, section 9.2).
#[derive(Debug, Default, PartialEq)]
pub struct Event {
    pub id: Option<String>,
    pub data: String,
    pub retry: Option<String>,
}

impl Answer {
    /// The whole body.
    pub async fn text(mut self) -> String {
        while self.read_more().await {}
        std::mem::take(&mut self.read)
    }

    /// The next event; none at the end of the stream.
    pub async fn event(&mut self) -> Option<Event> {
        loop {
            if let Some((text, rest)) = self.read.split_once("\n\n") {
                let mut event = Event::default();
                for line in text.lines() {
                    match line.split_once(':').unwrap_or((line, "")) {
                        ("id", id) => event.id = Some(id.trim_start().to_owned()),
                        ("data", data) => event.data.push_str(data.trim_start()),
                        ("retry", retry) => event.retry = Some(retry.trim_start().to_owned()),
                        // What an event is that says nothing of it.
                        ("event", " message") => {}
                        // A comment keeps the connection alive.
                        ("", _) => {}
                        _ => panic!("an unknown field: {line}"),
                    }
                }
                self.read = rest.to_owned();
                if event != Event::default() {
                    return Some(event);
                }
            } else if !self.read_more().await {
                assert!(self.read.is_empty(), "half an event: {}", self.read);
                return None;
            }
        }
    }

    /// The next message.
    pub async fn message(&mut self) -> Option<Value> {
        if self.headers["content-type"] == "application/json" {
            while self.read_more().await {}
            return serde_json::from_str(&std::mem::take(&mut self.read)).ok();
        }
        loop {
            let event = self.event().await?;
            if !event.data.is_empty() {
                return Some(serde_json::from_str(&event.data).unwrap());
            }
        }
    }

    /// The reply to the request with this id.
    pub async fn reply(&mut self, id: u64) -> Value {
        loop {
            let message = self.message().await;
            let message = message.unwrap_or_else(|| panic!("the stream ended before reply {id}"));
            if message["id"] == id {
                return message;
            }
            assert!(message.get("id").is_none(), "another's reply: {message}");
        }
    }

    async fn read_more(&mut self) -> bool {
        match soon("the answer goes on", self.body.next()).await {
            Some(Ok(bytes)) => {
                self.begun.extend_from_slice(&bytes);
                let whole = match std::str::from_utf8(&self.begun) {
                    Ok(text) => text.len(),
                    Err(error) => {
                        assert!(error.error_len().is_none(), "{error}");
                        error.valid_up_to()
                    }
                };
                let read: Vec<u8> = self.begun.drain(..whole).collect();
                self.read.push_str(std::str::from_utf8(&read).unwrap());
                true
            }
            Some(Err(_)) | None => false,
        }
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.connection.abort();
    }
}
