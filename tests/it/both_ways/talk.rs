//! A client that does what it is asked to, and notes all it is told, as it would be told without a bridge between.

use std::{net::SocketAddr, time::Duration};

use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::peer::{Http, Peer};
use crate::common::{bridge::Bridge, served::Served, servers::Place};

/// How long a message may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a client speaks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Over {
    /// Over standard input and output.
    Lines,
    /// Over streamable HTTP.
    Http,
}

/// How it comes to the server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Way {
    /// Without a bridge.
    Directly,
    /// Through the bridge, in the era with `initialize`.
    Through(Over),
    /// Through the bridge, in the era without.
    Stateless(Over),
}

/// Where the server is.
pub enum Server {
    /// A program, which this starts.
    Program(std::path::PathBuf),
    /// It serves there.
    At(SocketAddr),
}

impl Server {
    /// Folders with a bridge's configuration in which it stands.
    pub fn place(&self) -> Place {
        let entry = match self {
            Self::Program(script) => {
                json!({ "command": "node", "args": [script], "parallel": true })
            }
            Self::At(address) => {
                json!({ "url": format!("http://{address}/mcp"), "parallel": true })
            }
        };
        Place::with_servers(json!({ "everything": entry }))
    }
}

/// The client.
pub struct Talk {
    pub peer: Peer,
    /// The bridge, if it is none of the client's own.
    _served: Option<Served>,
    way: Way,
    capabilities: Value,
    /// What it says when its person is asked.
    pub action: &'static str,
    /// What it was asked, as method and parameters.
    pub asked: Vec<Value>,
    /// What it was told without having asked.
    pub told: Vec<Value>,
    /// From which level on it wants to hear what is logged, in the era in which each request says so.
    pub log_level: Option<&'static str>,
}

impl Talk {
    pub async fn begin(way: Way, capabilities: &Value, server: &Server, place: &Place) -> Self {
        let mut served = None;
        let is_stateless = matches!(way, Way::Stateless(_));
        let peer = match (way, server) {
            (Way::Directly, Server::Program(script)) => {
                let server = Bridge::start_program("node".as_ref(), |command| {
                    command.arg(script);
                });
                Peer::Lines(Box::new(server))
            }
            (Way::Directly, Server::At(address)) => Peer::Http(Box::new(Http::to(*address, false))),
            (Way::Through(Over::Lines) | Way::Stateless(Over::Lines), _) => {
                Peer::Lines(Box::new(place.bridge()))
            }
            (Way::Through(Over::Http) | Way::Stateless(Over::Http), _) => {
                let bridge = Served::start_with(|command| {
                    command
                        .env("MCP_BRIDGE_CONFIG_DIR", place.path("config"))
                        .env("MCP_BRIDGE_STATE_DIR", place.path("state"))
                        .current_dir(place.path("project"));
                });
                let address = served.insert(bridge.await).address;
                Peer::Http(Box::new(Http::to(address, is_stateless)))
            }
        };
        let mut talk = Self {
            peer,
            _served: served,
            way,
            capabilities: capabilities.clone(),
            action: "accept",
            asked: Vec::new(),
            told: Vec::new(),
            log_level: None,
        };
        if !is_stateless {
            talk.peer.initialize(capabilities).await;
        }
        talk
    }

    /// Whether each of its requests says who sends it.
    pub fn is_stateless(&self) -> bool {
        matches!(self.way, Way::Stateless(_))
    }

    /// The name of a tool or prompt for this client.
    pub fn name(&self, own: &str) -> String {
        match self.way {
            Way::Directly => own.to_owned(),
            _ => format!("everything__{own}"),
        }
    }

    pub fn uri(&self, own: &str) -> String {
        match self.way {
            Way::Directly => own.to_owned(),
            _ => format!("everything+{own}"),
        }
    }

    /// What it says to a question.
    fn answer(&self, method: &str) -> Value {
        match method {
            "roots/list" => json!({"roots": [{"uri": "file:///farm", "name": "farm"}]}),
            "sampling/createMessage" => {
                json!({"role": "assistant", "model": "none", "stopReason": "endTurn",
                "content": {"type": "text", "text": "I was asked"}})
            }
            "elicitation/create" if self.action == "accept" => {
                json!({"action": "accept", "content": {"name": "Ada", "integer": 7, "check": true}})
            }
            "elicitation/create" => json!({"action": self.action}),
            other => panic!("asked for {other}"),
        }
    }

    /// What a request says of who sends it, in the era in which it does.
    fn signed(&self, mut params: Value) -> Value {
        if self.is_stateless() {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
            if let Some(level) = self.log_level {
                meta["io.modelcontextprotocol/logLevel"] = json!(level);
            }
        }
        params
    }

    /// Sends a request, and returns its id.
    pub async fn ask(&mut self, method: &str, params: Value) -> u64 {
        let params = self.signed(params);
        self.peer.ask(method, params).await
    }

    /// Sends a request, sees to whatever comes of it, and returns its result or error.
    pub async fn request(&mut self, method: &str, mut params: Value) -> Value {
        loop {
            let id = self.ask(method, params.clone()).await;
            let reply = self.reply(id).await;
            if reply["result"]["resultType"] != "input_required" {
                return reply;
            }
            let questions = reply["result"]["inputRequests"].as_object().unwrap();
            let mut answers = Map::new();
            for (name, question) in questions {
                let method = question["method"].as_str().unwrap();
                self.note(method, &question["params"]);
                answers.insert(name.clone(), self.answer(method));
            }
            params["inputResponses"] = Value::Object(answers);
            params["requestState"] = reply["result"]["requestState"].clone();
        }
    }

    /// Waits for the reply to a request, and sees to whatever comes before.
    async fn reply(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().await;
            if let Some(reply) = self.take(message).await
                && reply["id"] == json!(id)
            {
                return reply;
            }
        }
    }

    /// The next message, whatever it is.
    async fn next(&mut self) -> Value {
        let message = timeout(PATIENCE, self.peer.next_message()).await;
        message
            .expect("a message comes")
            .expect("the peer is there")
    }

    /// Sees to a message, unless it is a reply.
    async fn take(&mut self, message: Value) -> Option<Value> {
        let Some(method) = message["method"].as_str() else {
            return Some(message);
        };
        match message.get("id") {
            Some(id) => {
                self.note(method, &message["params"]);
                let answer = json!({"jsonrpc": "2.0", "id": id, "result": self.answer(method)});
                self.peer.send(&answer).await;
            }
            None => self.told.push(self.seen(message)),
        }
        None
    }

    /// Notes what it is asked.
    fn note(&mut self, method: &str, params: &Value) {
        let mut params = params.as_object().cloned().unwrap_or_default();
        if let Some(Value::Object(meta)) = params.get_mut("_meta") {
            // It may say how far it has come; nobody has to hear of that.
            meta.remove("progressToken");
            if meta.is_empty() {
                params.remove("_meta");
            }
        }
        if method == "elicitation/create" {
            // What a question is that does not say.
            params.entry("mode").or_insert_with(|| json!("form"));
        }
        let asked = self.seen(json!({"method": method, "params": params}));
        self.asked.push(asked);
    }

    /// Waits until it was told something that fits, and returns that; the rest is kept.
    pub async fn told(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(at) = self.told.iter().position(&fits) {
                return self.told.remove(at);
            }
            let message = timeout(PATIENCE, self.peer.next_message()).await;
            let message = message.unwrap_or_else(|_| panic!("never: {what}")).unwrap();
            let reply = self.take(message).await;
            assert!(reply.is_none(), "{reply:?}");
        }
    }

    /// Has the server ask for the roots. It does so by itself too, a moment after it began, if it does not know them by then:
    /// so nobody can tell whether it asks once or twice, nor when the second time.
    pub async fn asked_for_roots(&mut self) {
        self.call("get-roots-list", json!({})).await;
        assert!(!self.asked.is_empty(), "it does not ask");
    }

    /// What it was asked, each question where it came, but for the roots, which count once.
    pub fn all_asked(&self) -> Vec<Value> {
        let mut seen_roots = false;
        let mut asked = self.asked.clone();
        asked.retain(|question| {
            question["method"] != "roots/list" || !std::mem::replace(&mut seen_roots, true)
        });
        asked
    }

    pub async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": self.name(tool), "arguments": arguments, "_meta": {"progressToken": "p"}});
        self.request("tools/call", params).await
    }

    /// A message as it would be without a bridge between, and without what is another each time.
    pub fn seen(&self, mut message: Value) -> Value {
        if let Some(result) = message.get_mut("result").and_then(Value::as_object_mut) {
            // Of the era without sessions; servers speak the one with them.
            for key in ["resultType", "ttlMs", "cacheScope"] {
                result.remove(key);
            }
        }
        for key in ["jsonrpc", "id"] {
            message.as_object_mut().unwrap().remove(key);
        }
        plain(&mut message);
        message
    }

    pub async fn leave(self) {
        if self.way == Way::Directly
            && let Peer::Lines(peer) = self.peer
        {
            // It would go on telling.
            return peer.kill().await;
        }
        self.peer.leave().await;
    }
}

/// Takes away what a bridge adds, and what differs from one time to the next.
fn plain(value: &mut Value) {
    match value {
        Value::String(text) => {
            for (with, without) in [("everything+demo:", "demo:"), ("everything__", "")] {
                *text = text.replace(with, without);
            }
            // The moment when a resource was made.
            if let Some(at) = text.find("created at ") {
                text.truncate(at);
            }
            // A session's name.
            let is_name = |word: &str| word.len() == 36 && uuid::Uuid::try_parse(word).is_ok();
            if text.split(' ').any(is_name) {
                let words = text
                    .split(' ')
                    .map(|word| if is_name(word) { "S" } else { word });
                *text = words.collect::<Vec<_>>().join(" ");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        Value::Object(fields) => {
            // A client of many servers is told which of them logs.
            let is_logged = fields.contains_key("level") && fields.contains_key("data");
            if is_logged && fields.get("logger") == Some(&json!("everything")) {
                fields.remove("logger");
            }
            // Made of the moment when it was read.
            if let Some(Value::String(blob)) = fields.get_mut("blob") {
                blob.truncate(20);
            }
            // By which subscription it is told, in the era in which there are several.
            if let Some(Value::Object(meta)) = fields.get_mut("_meta") {
                meta.remove("io.modelcontextprotocol/subscriptionId");
                if meta.is_empty() {
                    fields.remove("_meta");
                }
            }
            fields.values_mut().for_each(plain);
        }
        // JSON has one number that is written 1 and 1.0.
        Value::Number(number) => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0);
            if let Some(whole) = whole {
                *value = json!(whole as i64);
            }
        }
        _ => {}
    }
}
