//! Handlers with long sources, on computers: each source goes to an agent once, whoever calls it and however often, as long
//! as the agent keeps it. Counted is what goes over the wire to the computer.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use base64::{Engine, engine::general_purpose::STANDARD};
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::{
    bridges::Place,
    common::{
        bridge::Bridge,
        computer::Computer as RawComputer,
        is,
        proxy::{Fate, Proxy, Way},
        tools::Tools,
        until,
    },
};

/// The agent of 1.0.0, as its bridge served it.
const RELEASED: &str = include_str!("released/mcp-computer-1.0.0.lua");

/// Bytes of a handler that is long.
const LONG: usize = 400_000;

/// What calls without the source take at most, with all else that a bridge says meanwhile.
const SHORT: usize = 10_000;

/// Adds a tool of so many bytes that notes on its computer each time that it runs.
fn add_long(tools: &Tools, name: &str, bytes: usize) {
    let data = "x".repeat(bytes);
    tools.add_on_computer(
        name,
        &format!(
            "local data = '{data}' local file = fs.open('/runs', 'a') file.write('{name} ') file.close() \
             sleep(0.1) return #data"
        ),
    );
}

/// What went to a computer.
#[derive(Default)]
struct Counted {
    bytes: AtomicUsize,
    handlers: AtomicUsize,
}

impl Counted {
    fn count(&self, frame: &Value) {
        self.bytes.fetch_add(frame.to_string().len(), SeqCst);
        // A request in parts begins with the first of them.
        let begins = frame["type"] == "part" && frame["n"] == 0;
        if begins || frame["method"] == "run-handler" {
            self.handlers.fetch_add(1, SeqCst);
        }
    }

    /// Bytes, and requests to run a handler, since this was last asked.
    fn take(&self) -> (usize, usize) {
        (self.bytes.swap(0, SeqCst), self.handlers.swap(0, SeqCst))
    }
}

/// A simulated computer with this agent behind a network that counts.
async fn counted(id: u64, bridge: SocketAddr, agent: &str) -> (Computer, Proxy, Arc<Counted>) {
    let counted = Arc::new(Counted::default());
    let counts = counted.clone();
    let proxy = Proxy::start(bridge, move |way, frame| {
        if way == Way::ToComputer {
            counts.count(frame);
        }
        Fate::Passes
    })
    .await;
    let mut options = ComputerOptions::new(id)
        .with_file("mcp-computer.lua", agent)
        .with_file(
            "startup.lua",
            format!("shell.run('mcp-computer ws://{}')", proxy.address),
        );
    options.clock_speed = 10.0;
    let computer = Computer::start(options, "", &Handle::current()).unwrap();
    (computer, proxy, counted)
}

/// Calls a tool of [`add_long`] on computer 1, and returns what went there for that.
async fn call(bridge: &mut Bridge, tool: &str, counted: &Counted) -> (usize, usize) {
    counted.take();
    let answer = bridge.call(tool, json!({"computerId": 1})).await;
    assert!(!answer.is_error, "{}", answer.text);
    counted.take()
}

fn runs(computer: &Computer) -> String {
    let runs = computer.read_file("runs").unwrap_or_default();
    String::from_utf8(runs).unwrap()
}

#[tokio::test]
async fn a_long_source_goes_to_an_agent_once_whichever_bridge_calls_it() {
    let tools = Tools::new();
    add_long(&tools, "long", LONG);
    let arguments = ["--tools", tools.path().to_str().unwrap()];
    let place = Place::new();
    let mut owner = place.bridge_with(&arguments).await;
    let mut guest = place.bridge_with(&arguments).await;
    let (computer, _proxy, counted) = counted(1, place.address(), &agent::program()).await;
    guest.linked(1).await;
    // The agent is asked by the hash, then sent the source.
    let (bytes, handlers) = call(&mut guest, "long", &counted).await;
    assert!((LONG..2 * LONG).contains(&bytes), "{bytes}");
    assert_eq!(handlers, 2);
    for bridge in [&mut guest, &mut owner] {
        let (bytes, handlers) = call(bridge, "long", &counted).await;
        assert!(bytes < SHORT && handlers == 1, "{bytes} in {handlers}");
    }
    // What was asked in vain is no job to tell of.
    for bridge in [&mut guest, &mut owner] {
        let jobs = bridge.call("list-jobs", json!({})).await.text;
        assert!(!jobs.contains("source-wanted"), "{jobs}");
        assert_eq!(jobs.matches("handler.lua").count(), 3, "{jobs}");
    }
    // Another owner, and another bridge.
    owner.leave().await;
    let mut later = place.bridge_with(&arguments).await;
    for bridge in [&mut guest, &mut later] {
        bridge.linked(1).await;
        let (bytes, handlers) = call(bridge, "long", &counted).await;
        assert!(bytes < SHORT && handlers == 1, "{bytes} in {handlers}");
    }
    assert_eq!(runs(&computer), "long ".repeat(5));
    guest.leave().await;
    later.leave().await;
}

#[tokio::test]
async fn calls_at_the_same_time_send_a_long_source_once() {
    let tools = Tools::new();
    add_long(&tools, "long", LONG);
    let mut bridge = tools.bridge(&[]).await;
    let port = bridge.link_port().await;
    let (computer, _proxy, counted) = counted(1, port, &agent::program()).await;
    bridge.linked(1).await;
    counted.take();
    let mut calls = Vec::new();
    for _ in 0..8 {
        calls.push(bridge.start_call("long", json!({"computerId": 1})).await);
    }
    for call in calls {
        let answer = bridge.answer(call).await;
        assert_eq!(answer.text, LONG.to_string());
    }
    let (bytes, handlers) = counted.take();
    assert!((LONG..2 * LONG).contains(&bytes), "{bytes}");
    assert_eq!(handlers, 9);
    assert_eq!(runs(&computer), "long ".repeat(8));
    bridge.leave().await;
}

#[tokio::test]
async fn an_agent_keeps_the_sources_that_were_used_last() {
    let tools = Tools::new();
    for name in ["one", "two", "three"] {
        add_long(&tools, name, LONG);
    }
    let mut bridge = tools.bridge(&[]).await;
    let port = bridge.link_port().await;
    let (computer, _proxy, counted) = counted(1, port, &agent::program()).await;
    bridge.linked(1).await;
    // There is room for two.
    let mut ran = String::new();
    for (name, is_sent) in [
        ("one", true),
        ("two", true),
        ("one", false),
        ("three", true),
        ("one", false),
        ("two", true),
        ("two", false),
        ("three", true),
    ] {
        let (bytes, handlers) = call(&mut bridge, name, &counted).await;
        let sent = bytes > LONG;
        assert!(bytes < 2 * LONG && sent == is_sent, "{ran}{name}: {bytes}");
        assert_eq!(handlers, 1 + usize::from(is_sent), "{ran}{name}");
        ran.push_str(name);
        ran.push(' ');
    }
    assert_eq!(runs(&computer), ran);
    bridge.leave().await;
}

#[tokio::test]
async fn an_agent_of_1_0_0_gets_whole_what_it_can_not_keep() {
    let tools = Tools::new();
    add_long(&tools, "long", LONG);
    add_long(&tools, "shorter", 200_000);
    let mut bridge = tools.bridge(&[]).await;
    let port = bridge.link_port().await;
    let (computer, _proxy, counted) = counted(1, port, RELEASED).await;
    bridge.linked(1).await;
    for _ in 0..2 {
        let (bytes, handlers) = call(&mut bridge, "long", &counted).await;
        assert!(bytes > LONG && handlers == 1, "{bytes} in {handlers}");
    }
    let (bytes, handlers) = call(&mut bridge, "shorter", &counted).await;
    assert!(bytes > 200_000 && handlers == 2, "{bytes} in {handlers}");
    let (bytes, handlers) = call(&mut bridge, "shorter", &counted).await;
    assert!(bytes < SHORT && handlers == 1, "{bytes} in {handlers}");
    assert_eq!(runs(&computer), "long long shorter shorter ");
    bridge.leave().await;
}

/// A raw agent that keeps handlers, and puts together what comes in parts.
struct RawAgent {
    link: RawComputer,
    bytes: usize,
}

impl RawAgent {
    async fn link(port: SocketAddr, boot: &str) -> Self {
        let mut link = RawComputer::connect(port).await;
        let hello = json!({
            "type": "hello", "computerId": 1, "protocol": 2, "boot": boot,
            "capabilities": ["handlers", "largeHandlers", "tells"],
        });
        until("it is let in", async || {
            let answer = link.hello(hello.clone()).await;
            let is_in = answer["type"] == "hello-ok";
            if !is_in {
                link = RawComputer::connect(port).await;
            }
            is(is_in, answer)
        })
        .await;
        Self { link, bytes: 0 }
    }

    /// The next request, and how many bytes came with it.
    async fn request(&mut self) -> (Value, usize) {
        let mut whole = Vec::new();
        self.bytes = 0;
        loop {
            let frame = self.link.frame().await;
            self.bytes += frame.to_string().len();
            if frame["type"] == "request" {
                return (frame, self.bytes);
            }
            if frame["type"] == "part" {
                let data = frame["data"].as_str().unwrap();
                whole.extend(STANDARD.decode(data).unwrap());
                let ack = json!({"type": "part-ack", "of": frame["of"], "n": frame["n"]});
                self.link.send(&ack).await;
                if frame["n"].as_u64().unwrap() + 1 == frame["count"].as_u64().unwrap() {
                    return (serde_json::from_slice(&whole).unwrap(), self.bytes);
                }
            }
        }
    }

    async fn wants_source(&mut self, request: &Value) {
        self.link
            .send(
                &json!({"type": "response", "id": request["id"], "ok": false,
                          "error": {"kind": "source-wanted", "message": "gone"}}),
            )
            .await;
    }

    async fn respond(&mut self, request: &Value) {
        self.link.accept(request).await;
        self.link.respond(request, json!({"values": ["ran"]})).await;
    }
}

#[tokio::test]
async fn an_agent_that_lacks_a_source_says_so_before_anything_runs_and_gets_it_once() {
    let tools = Tools::new();
    add_long(&tools, "long", LONG);
    let mut bridge = tools.bridge(&[]).await;
    let port = bridge.link_port().await;
    for boot in ["first", "second"] {
        let mut agent = RawAgent::link(port, boot).await;
        bridge.linked(1).await;
        let call = bridge.start_call("long", json!({"computerId": 1})).await;
        let (asked, bytes) = agent.request().await;
        assert!(bytes < SHORT, "{bytes}");
        let hash = &asked["params"]["hash"];
        assert!(
            hash.as_str().is_some_and(|hash| hash.len() == 64),
            "{asked}"
        );
        assert_eq!(asked["params"].get("source"), None);
        agent.wants_source(&asked).await;
        let (sent, bytes) = agent.request().await;
        assert!((LONG..2 * LONG).contains(&bytes), "{bytes}");
        assert_eq!(&sent["params"]["hash"], hash);
        assert!(sent["params"]["source"].as_str().unwrap().len() > LONG);
        assert_ne!(sent["id"], asked["id"]);
        agent.respond(&sent).await;
        assert_eq!(bridge.answer(call).await.text, "ran");
        // It has it; then it has let it go; then it wants it though it was sent it, which is an error and no loop.
        for wants in [0, 1, 2] {
            let call = bridge.start_call("long", json!({"computerId": 1})).await;
            let (mut request, bytes) = agent.request().await;
            assert!(bytes < SHORT, "{bytes}");
            for _ in 0..wants {
                agent.wants_source(&request).await;
                if wants == 2 && request["params"].get("source").is_some() {
                    break;
                }
                request = agent.request().await.0;
                assert!(request["params"].get("source").is_some());
            }
            if wants < 2 {
                agent.respond(&request).await;
            }
            let answer = bridge.answer(call).await;
            assert_eq!(answer.is_error, wants == 2, "{}", answer.text);
        }
        drop(agent);
    }
    bridge.leave().await;
}

#[tokio::test]
async fn who_waits_for_anothers_source_does_not_wait_for_its_end_and_not_for_ever() {
    let tools = Tools::new();
    add_long(&tools, "long", LONG);
    let mut bridge = tools.bridge(&[]).await;
    let port = bridge.link_port().await;
    let mut agent = RawAgent::link(port, "first").await;
    bridge.linked(1).await;
    let first = bridge.start_call("long", json!({"computerId": 1})).await;
    let (asked, _) = agent.request().await;
    agent.wants_source(&asked).await;
    let (sent, _) = agent.request().await;
    let second = bridge.start_call("long", json!({"computerId": 1})).await;
    // The first runs, and goes on for longer than the second.
    agent.link.accept(&sent).await;
    let (short, bytes) = agent.request().await;
    assert!(bytes < SHORT, "{bytes}");
    agent.respond(&short).await;
    assert_eq!(bridge.answer(second).await.text, "ran");
    agent.respond(&sent).await;
    assert_eq!(bridge.answer(first).await.text, "ran");
    // A call that is given up while it sends lets the next one have its turn.
    let mut agent = RawAgent::link(port, "second").await;
    bridge.linked(1).await;
    let given_up = bridge.start_call("long", json!({"computerId": 1})).await;
    agent.request().await;
    let next = bridge.start_call("long", json!({"computerId": 1})).await;
    bridge
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": given_up}}))
        .await;
    let (asked, bytes) = agent.request().await;
    assert!(bytes < SHORT, "{bytes}");
    agent.respond(&asked).await;
    assert_eq!(bridge.answer(next).await.text, "ran");
    bridge.leave().await;
}
