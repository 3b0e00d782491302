//! What a client may see and use is the same by every way to it, whatever keeps it from a client: a table of each kind of
//! refusal over each way, in both eras of the protocol.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_util::{FutureExt, future::BoxFuture};
use mcp_bridge::{
    computers::Fleet,
    mcp::{self, server::Server},
    settings::{Config, Flags},
    tools::{
        Catalogue, Client, Context, Offer, Source, Tool, builtin,
        host::Workers,
        kit::{Author, Item, Kit},
        manifest::{self, ResourceSpec},
        policy::Policy,
        prompt::Prompt,
        resource::{Resource, Shown},
        source::{Withheld, fixed},
    },
};
use rmcp::{
    ErrorData,
    model::{
        CallToolResult, ContentBlock, GetPromptResult, JsonObject, Prompt as PromptDefinition,
        ReadResourceResult, Tool as Definition,
    },
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf},
    sync::watch,
};

use crate::common::soon;

/// What keeps a thing from a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// Nothing does.
    Not,
    /// It is not in the list by itself.
    FromTheList,
    /// The bridge is read-only, and the thing may change something.
    ByReadOnly,
    /// Other sets were chosen.
    BySets,
    /// Other tools were chosen.
    ByNames,
    /// Something is wrong with it.
    BeingWithheld,
    /// The client has it by itself.
    FromItsOwner,
    /// Its source offers it no more.
    BeingGone,
    /// No source ever had it.
    BeingUnknown,
}

impl Kept {
    fn policy(self) -> Policy {
        let only = |name: &str| Some([name.to_owned()].into());
        match self {
            Self::ByReadOnly => Policy {
                read_only: true,
                ..Policy::default()
            },
            Self::BySets => Policy {
                sets: only("core"),
                ..Policy::default()
            },
            Self::ByNames => Policy {
                names: only("run-script"),
                ..Policy::default()
            },
            _ => Policy::default(),
        }
    }

    /// What the source offers, at the first time or after a change of everything in it.
    fn offer(self, version: u8) -> Offer {
        let thing = Thing {
            owner: (self == Self::FromItsOwner).then_some(Client::Opencode),
            is_listed: self != Self::FromTheList,
        };
        let mut offer = Offer {
            is_ready: true,
            ..Offer::default()
        };
        for item in items(version) {
            match item {
                // It tells that all before it was told.
                Item::Resource(marker) if marker.uri() == MARKER => offer.resources.push(marker),
                _ if matches!(self, Self::BeingGone | Self::BeingUnknown) => {}
                Item::Prompt(prompt) => offer.prompts.push(Arc::new(ThingPrompt(prompt, thing))),
                Item::Resource(resource) => {
                    offer
                        .resources
                        .push(Arc::new(ThingResource(resource, thing)));
                }
                Item::Tool(_) => unreachable!("the manifest has none"),
            }
        }
        match self {
            Self::BeingGone | Self::BeingUnknown => {}
            Self::BeingWithheld => offer.withheld.push(Withheld {
                name: "thing".to_owned(),
                reason: format!("it is odd, for the time no. {version}"),
                owner: None,
            }),
            _ => offer.tools.push(Arc::new(ThingTool {
                definition: Definition::new(
                    "thing",
                    format!("Number {version}."),
                    Arc::new(
                        json!({"type": "object", "properties": {"computerId": {"type": "integer"}}})
                            .as_object()
                            .unwrap()
                            .clone(),
                    ),
                ),
                thing,
            })),
        }
        offer
    }
}

/// A resource that everybody sees and that changes each time.
const MARKER: &str = "zz://marker";

/// Entries of a user's own: a prompt, a resource, a template and the marker.
fn items(version: u8) -> Vec<Item> {
    let text = format!(
        "entries:
  - name: prompt
    kind: prompt
    meta:
      mcp.prompt.name: thing
      mcp.prompt.description: Number {version}.
      mcp.prompt.text: Hello
      mcp.prompt.arguments: [{{ name: word, values: [one, other] }}]
  - {{ name: one, kind: resource, meta: {{ mcp.uri: 'thing://one', mcp.text: 'Number {version}', mcp.title: '{version}' }} }}
  - {{ name: all, kind: resource, meta: {{ mcp.uri: 'things://{{x}}', mcp.text: 'All of {version}' }} }}
  - {{ name: marker, kind: resource, meta: {{ mcp.uri: '{MARKER}', mcp.text: 'Number {version}' }} }}
"
    );
    let manifest = manifest::read(&text, Path::new("_index.yaml"), false).unwrap();
    assert_eq!(manifest.broken.len(), 0, "{:?}", manifest.broken);
    let kit = Kit::new(workers());
    manifest
        .entries
        .iter()
        .map(|entry| kit.make(&entry.what, Author::User, String::new()).unwrap())
        .collect()
}

fn workers() -> Arc<Workers> {
    Workers::of(PathBuf::from(env!("CARGO_BIN_EXE_mcp-bridge")))
}

/// Whose a thing is, and whether it is in the list.
#[derive(Clone, Copy)]
struct Thing {
    owner: Option<Client>,
    is_listed: bool,
}

struct ThingTool {
    definition: Definition,
    thing: Thing,
}

impl Tool for ThingTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn set(&self) -> &str {
        "things"
    }

    fn is_listed(&self) -> bool {
        self.thing.is_listed
    }

    fn owner(&self) -> Option<Client> {
        self.thing.owner
    }

    fn origin(&self) -> String {
        "here".to_owned()
    }

    fn call<'a>(&'a self, _: Context<'a>, _: JsonObject) -> BoxFuture<'a, CallToolResult> {
        async { CallToolResult::success(vec![ContentBlock::text("done")]) }.boxed()
    }
}

struct ThingPrompt(Arc<dyn Prompt>, Thing);

impl Prompt for ThingPrompt {
    fn definition(&self) -> &PromptDefinition {
        self.0.definition()
    }

    fn is_listed(&self) -> bool {
        self.1.is_listed
    }

    fn owner(&self) -> Option<Client> {
        self.1.owner
    }

    fn get<'a>(
        &'a self,
        context: Context<'a>,
        arguments: Option<JsonObject>,
    ) -> BoxFuture<'a, Result<GetPromptResult, ErrorData>> {
        self.0.get(context, arguments)
    }

    fn complete(&self, argument: &str, begun: &str) -> Vec<String> {
        self.0.complete(argument, begun)
    }
}

struct ThingResource(Arc<dyn Resource>, Thing);

impl Resource for ThingResource {
    fn uri(&self) -> &str {
        self.0.uri()
    }

    fn shown(&self) -> Option<&Shown> {
        self.1.is_listed.then(|| self.0.shown()).flatten()
    }

    fn owner(&self) -> Option<Client> {
        self.1.owner
    }

    fn matches(&self, uri: &str) -> bool {
        self.0.matches(uri)
    }

    fn read<'a>(
        &'a self,
        context: Context<'a>,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<ReadResourceResult, ErrorData>> {
        self.0.read(context, uri)
    }

    fn spec(&self) -> Option<&ResourceSpec> {
        self.0.spec()
    }
}

/// A source that offers what it is told to.
struct Told(watch::Receiver<Arc<Offer>>);

impl Source for Told {
    fn follow(&self) -> watch::Receiver<Arc<Offer>> {
        self.0.clone()
    }
}

/// How a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    WithInitialize,
    Stateless,
}

/// One client's session with a bridge in this process.
struct Session {
    era: Era,
    client: &'static str,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    next_id: u64,
    offers: watch::Sender<Arc<Offer>>,
}

impl Session {
    async fn open(kept: Kept, era: Era, client: &'static str) -> Self {
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
        let server = Server::new(Arc::new(Fleet::start(&config.link, None)), catalogue);
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
            (_, error) => format!("{}", error["message"].as_str().unwrap()),
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

    async fn go(&mut self, way: Way) -> String {
        match way {
            Way::List => self.lists("tools/list", "tools", "name", "thing").await,
            Way::Call => self.call("thing", json!({})).await,
            Way::FindTools => {
                let found = self.call("find-tools", json!({"query": "thing"})).await;
                let is_found = found.lines().any(|line| line.starts_with("thing: "));
                (if is_found { "found" } else { "not found" }).to_owned()
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
    async fn subscribe(&mut self) {
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
    async fn told(&mut self, offer: Offer) -> String {
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

/// A way to a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
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

const WAYS: [Way; 12] = [
    Way::List,
    Way::Call,
    Way::FindTools,
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

/// What comes of each way, where nothing stands in it.
const OPEN: &[(Way, &str)] = &[
    (Way::List, "listed"),
    (Way::Call, "done"),
    (Way::FindTools, "found"),
    (Way::CallTool, "done"),
    (Way::RunScript, "done"),
    (Way::ListPrompts, "listed"),
    (Way::GetPrompt, "Hello"),
    (Way::Complete, r#"["one","other"]"#),
    (Way::ListResources, "listed"),
    (Way::ListTemplates, "listed"),
    (Way::Read, "Number 1"),
    (Way::ReadByTemplate, "All of 1"),
    (Way::Subscription, "tools prompts resources thing://one"),
];

/// What is another where a thing is not in the list.
const NOT_LISTED: &[(Way, &str)] = &[
    (Way::List, "not listed"),
    (Way::ListPrompts, "not listed"),
    (Way::ListResources, "not listed"),
    (Way::ListTemplates, "not listed"),
    (Way::Subscription, "thing://one"),
];

/// What is another where nothing may be changed.
const READ_ONLY: &[(Way, &str)] = &[
    (Way::List, "not listed"),
    (
        Way::Call,
        "thing is refused: this bridge was started read-only (--read-only), and the tool does not promise to change \
         nothing (readOnlyHint: true).",
    ),
    (Way::FindTools, "not found"),
    (
        Way::CallTool,
        "thing is refused: this bridge was started read-only (--read-only), and the tool does not promise to change \
         nothing (readOnlyHint: true).",
    ),
    (
        Way::RunScript,
        "run-script is refused: this bridge was started read-only (--read-only), and the tool does not promise to \
         change nothing (readOnlyHint: true).",
    ),
    (Way::Subscription, "prompts resources thing://one"),
];

/// What is another where other tools were chosen.
const NOT_CHOSEN: &[(Way, &str)] = &[
    (Way::List, "not listed"),
    (
        Way::Call,
        "thing is refused: this bridge was started with other tools only (--toolsets or --tools).",
    ),
    (Way::FindTools, "not found"),
    (
        Way::CallTool,
        "thing is refused: this bridge was started with other tools only (--toolsets or --tools).",
    ),
    (
        Way::RunScript,
        "thing is refused: this bridge was started with other tools only (--toolsets or --tools)",
    ),
    (Way::Subscription, "prompts resources thing://one"),
];

/// What is another where a tool is withheld.
const WITHHELD: &[(Way, &str)] = &[
    (Way::List, "not listed"),
    (
        Way::Call,
        "The tool thing is withheld: it is odd, for the time no. 1.",
    ),
    (Way::FindTools, "not found"),
    (
        Way::CallTool,
        "The tool thing is withheld: it is odd, for the time no. 1.",
    ),
    (
        Way::RunScript,
        "The tool thing is withheld: it is odd, for the time no. 1",
    ),
    (Way::Subscription, "prompts resources thing://one"),
];

/// What comes of each way to what there is not, for this client.
const NOTHING: &[(Way, &str)] = &[
    (Way::List, "not listed"),
    (Way::Call, "Unknown tool: thing"),
    (Way::FindTools, "not found"),
    (
        Way::CallTool,
        "There is no tool `thing`. find-tools shows those there are.",
    ),
    (Way::RunScript, "there is no tool `thing`"),
    (Way::ListPrompts, "not listed"),
    (Way::GetPrompt, "Unknown prompt: thing"),
    (Way::Complete, "[]"),
    (Way::ListResources, "not listed"),
    (Way::ListTemplates, "not listed"),
    (Way::Read, "Unknown resource: thing://one"),
    (Way::ReadByTemplate, "Unknown resource: things://two"),
    (Way::Subscription, ""),
];

/// What keeps the thing from which client, and what is another then than where nothing does.
const TABLE: &[(Kept, &str, &[(Way, &str)])] = &[
    (Kept::Not, "claude-code", &[]),
    (Kept::Not, "opencode", &[]),
    (Kept::FromTheList, "claude-code", NOT_LISTED),
    (Kept::ByReadOnly, "claude-code", READ_ONLY),
    (Kept::BySets, "claude-code", NOT_CHOSEN),
    (Kept::ByNames, "claude-code", NOT_CHOSEN),
    (Kept::BeingWithheld, "claude-code", WITHHELD),
    (Kept::FromItsOwner, "claude-code", &[]),
    (Kept::FromItsOwner, "opencode", NOTHING),
    (Kept::BeingUnknown, "claude-code", NOTHING),
    (Kept::BeingGone, "claude-code", NOTHING),
];

#[tokio::test]
async fn every_way_to_a_thing_tells_the_same_whatever_keeps_it_from_a_client() {
    let rows = TABLE.iter().flat_map(|row| {
        [Era::WithInitialize, Era::Stateless].map(|era| async move {
            let (kept, client, different) = *row;
            let expected: BTreeMap<_, _> = OPEN.iter().chain(different).copied().collect();
            let mut session = Session::open(kept, era, client).await;
            let mut came = BTreeMap::new();
            if kept == Kept::BeingGone {
                for way in WAYS {
                    session.go(way).await;
                }
                session.subscribe().await;
                let told = session.told(kept.offer(2)).await;
                assert_eq!(told, "tools prompts resources thing://one", "{era:?}");
            }
            for way in WAYS {
                came.insert(way, session.go(way).await);
            }
            if kept != Kept::BeingGone {
                session.subscribe().await;
            }
            came.insert(Way::Subscription, session.told(kept.offer(3)).await);
            for (way, came) in came {
                let row = format!("{kept:?} for {client}, {era:?}, {way:?}");
                assert_eq!(came, expected[&way], "{row}");
            }
        })
    });
    futures_util::future::join_all(rows).await;
}
