//! A client's session with a bridge in this process, and the ways to a thing.

use std::sync::Arc;

use mcp_bridge::{
    commands::computers,
    mcp::{self, server::Server},
    settings::{Config, Flags},
    tools::{Catalogue, Offer, Source, builtin, kit::Kit, source::fixed},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf},
    sync::watch,
};

use super::things::{Kept, MARKER, Told, workers};
use crate::common::soon;

/// A way to a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    List,
    Call,
    FindTools,
    CallTool,
    RunScript,
    ListPrompts,
    GetPrompt,
    Complete,
    ListResources,
    ListTemplates,
    Read,
    ReadByTemplate,
    Subscription,
}

/// In this order, since a client that has listed knows what it was sent, and finds only what it was not.
pub const WAYS: [Way; 12] = [
    Way::FindTools,
    Way::List,
    Way::Call,
    Way::CallTool,
    Way::RunScript,
    Way::ListPrompts,
    Way::GetPrompt,
    Way::Complete,
    Way::ListResources,
    Way::ListTemplates,
    Way::Read,
    Way::ReadByTemplate,
];

/// How a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    WithInitialize,
    Stateless,
}

/// One client's session with a bridge in this process.
pub struct Session {
    era: Era,
    client: &'static str,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    next_id: u64,
    offers: watch::Sender<Arc<Offer>>,
}

impl Session {
    pub async fn open(kept: Kept, era: Era, client: &'static str) -> Self {
        let file = "link_host = '127.0.0.1'\nlink_port = 0";
        let config =
            Config::resolve(&Flags::default(), |_| None, "config.toml".as_ref(), file).unwrap();
        let was_there = match kept {
            Kept::BeingGone => Kept::Not,
            kept => kept,
        };
        let (offers, told) = watch::channel(Arc::new(was_there.offer(1)));
        let built_in = builtin::offer(&Kit::new(workers()), config.probe_timeout);
        let sources: Vec<Box<dyn Source>> = vec![fixed(built_in), Box::new(Told(told))];
        let catalogue = Catalogue::start(sources, kept.policy());
        let server = Server::new(Arc::new(computers::start(&config.link, None)), catalogue);
        let (ours, theirs) = tokio::io::duplex(1024 * 1024);
        let (input, output) = tokio::io::split(theirs);
        tokio::spawn(mcp::serve(server, Box::new(input), Box::new(output), || {}));
        let (reader, writer) = tokio::io::split(ours);
        let mut session = Self {
            era,
            client,
            lines: BufReader::new(reader).lines(),
            writer,
            next_id: 1,
            offers,
        };
        if era == Era::WithInitialize {
            let params = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": client, "version": "1"},
            });
            session.ask("initialize", params).await;
            session
                .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
                .await;
        }
        session
    }

    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.writer.write_all(line.as_bytes()).await.unwrap();
    }

    async fn start(&mut self, method: &str, mut params: Value) -> u64 {
        if self.era == Era::Stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": self.client, "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    async fn next(&mut self) -> Value {
        let line = soon("a message", self.lines.next_line()).await.unwrap();
        serde_json::from_str(&line.expect("the session ended")).unwrap()
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        loop {
            let message = self.next().await;
            if message["id"] == id {
                return message;
            }
        }
    }

    /// The text of a tool's answer, or why there is none.
    async fn call(&mut self, tool: &str, arguments: Value) -> String {
        let params = json!({"name": tool, "arguments": arguments});
        let reply = self.ask("tools/call", params).await;
        match (&reply["result"]["content"][0]["text"], &reply["error"]) {
            (Value::String(text), _) => text.clone(),
            (_, error) => error["message"].as_str().unwrap().to_owned(),
        }
    }

    /// Whether a list has a thing whose `key` is this.
    async fn lists(&mut self, method: &str, list: &str, key: &str, thing: &str) -> String {
        let reply = self.ask(method, json!({})).await;
        let all = reply["result"][list].as_array().unwrap();
        let found = all.iter().any(|item| item[key] == thing);
        (if found { "listed" } else { "not listed" }).to_owned()
    }

    /// What came of a question that has an answer or an error.
    async fn answer(&mut self, method: &str, params: Value, pointer: &str) -> String {
        let reply = self.ask(method, params).await;
        let answer = reply.pointer(pointer).unwrap_or(&reply["error"]["message"]);
        match answer {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    pub async fn go(&mut self, way: Way) -> String {
        match way {
            Way::List => self.lists("tools/list", "tools", "name", "thing").await,
            Way::Call => self.call("thing", json!({})).await,
            Way::FindTools => {
                let found = self.call("find-tools", json!({"query": "thing"})).await;
                let mut lines = found.lines();
                let withheld = lines
                    .clone()
                    .skip_while(|line| !line.starts_with("Withheld"));
                let reason = withheld
                    .skip(1)
                    .find_map(|line| line.strip_prefix("thing: "));
                match reason {
                    Some(reason) => format!("withheld: {reason}"),
                    None if found.contains("Refused, since ") => {
                        let refused = found.split("Refused, since ").nth(1).unwrap();
                        let refused = refused.lines().next().unwrap();
                        format!("refused: {}", refused.strip_suffix(": thing").unwrap())
                    }
                    None if lines.any(|line| line.starts_with("thing: ")) => "found".to_owned(),
                    None => "not found".to_owned(),
                }
            }
            Way::CallTool => self.call("call-tool", json!({"name": "thing"})).await,
            Way::RunScript => {
                let code = "return computers.call(1, 'thing')";
                self.call("run-script", json!({"code": code})).await
            }
            Way::ListPrompts => self.lists("prompts/list", "prompts", "name", "thing").await,
            Way::GetPrompt => {
                let text = "/result/messages/0/content/text";
                self.answer("prompts/get", json!({"name": "thing"}), text)
                    .await
            }
            Way::Complete => {
                let params = json!({
                    "ref": {"type": "ref/prompt", "name": "thing"},
                    "argument": {"name": "word", "value": "o"},
                });
                let values = "/result/completion/values";
                self.answer("completion/complete", params, values).await
            }
            Way::ListResources => {
                self.lists("resources/list", "resources", "uri", "thing://one")
                    .await
            }
            Way::ListTemplates => {
                let list = "resourceTemplates";
                self.lists(
                    "resources/templates/list",
                    list,
                    "uriTemplate",
                    "things://{x}",
                )
                .await
            }
            Way::Read | Way::ReadByTemplate => {
                let uri = match way {
                    Way::Read => "thing://one",
                    _ => "things://two",
                };
                let text = "/result/contents/0/text";
                self.answer("resources/read", json!({"uri": uri}), text)
                    .await
            }
            Way::Subscription => unreachable!("it goes by `Session::told`"),
        }
    }

    /// Follows everything there is.
    pub async fn subscribe(&mut self) {
        let uris = ["thing://one", MARKER];
        match self.era {
            Era::WithInitialize => {
                for uri in uris {
                    self.ask("resources/subscribe", json!({"uri": uri})).await;
                }
            }
            Era::Stateless => {
                let filter = json!({"notifications": {
                    "toolsListChanged": true,
                    "promptsListChanged": true,
                    "resourcesListChanged": true,
                    "resourceSubscriptions": uris,
                }});
                self.start("subscriptions/listen", filter).await;
                while self.next().await["method"] != "notifications/subscriptions/acknowledged" {}
            }
        }
    }

    /// What the client is told of when the source offers this.
    pub async fn told(&mut self, offer: Offer) -> String {
        self.offers.send_replace(Arc::new(offer));
        let mut told = Vec::new();
        loop {
            let message = self.next().await;
            match message["method"].as_str().unwrap() {
                "notifications/tools/list_changed" => told.push("tools".to_owned()),
                "notifications/prompts/list_changed" => told.push("prompts".to_owned()),
                "notifications/resources/list_changed" => told.push("resources".to_owned()),
                "notifications/resources/updated" => {
                    let uri = message["params"]["uri"].as_str().unwrap();
                    if uri == MARKER {
                        return told.join(" ");
                    }
                    told.push(uri.to_owned());
                }
                other => panic!("{other}"),
            }
        }
    }
}
