//! A real server, `server-everything` from npm, spoken to directly and through the bridge: for a client with and without each
//! thing that it can be asked, and in both eras through the bridge, both ways come to the same.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use crate::common::{bridge::Bridge, servers::Place};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

/// How long a message may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a client is asked, and what it says; each is sent only to those who say that they can be asked it.
const ASKABLE: [&str; 3] = ["sampling", "elicitation", "roots"];

async fn everything() -> PathBuf {
    let pins = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/upstream");
    let modules = crate::common::registries::from_npm(&pins).await;
    let modules = modules.unwrap_or_else(|problem| panic!("{problem}"));
    modules.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js")
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Directly,
    /// Through the bridge, in the era with `initialize`.
    Through,
    /// Through the bridge, in the era without.
    Stateless,
}

/// A client that notes all it is told.
struct Talk {
    peer: Bridge,
    way: Way,
    capabilities: Value,
    /// What it says when its person is asked.
    action: &'static str,
    /// What it was asked, as method and parameters.
    asked: Vec<Value>,
    /// What it was told without having asked.
    told: Vec<Value>,
    /// From which level on it wants to hear what is logged, in the era in which each request says so.
    log_level: Option<&'static str>,
}

impl Talk {
    async fn begin(way: Way, capabilities: &Value, place: &Place) -> Self {
        let peer = match way {
            Way::Directly => {
                let script = everything().await;
                Bridge::start_program("node".as_ref(), |command| {
                    command.arg(script);
                })
            }
            Way::Through | Way::Stateless => place.bridge(),
        };
        let mut talk = Self {
            peer,
            way,
            capabilities: capabilities.clone(),
            action: "accept",
            asked: Vec::new(),
            told: Vec::new(),
            log_level: None,
        };
        if way != Way::Stateless {
            let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
                "clientInfo": {"name": "tests", "version": "1"}});
            talk.request("initialize", params).await;
            let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            talk.peer.send(&initialized).await;
        }
        talk
    }

    /// The name of a tool or prompt for this client.
    fn name(&self, own: &str) -> String {
        match self.way {
            Way::Directly => own.to_owned(),
            _ => format!("everything__{own}"),
        }
    }

    fn uri(&self, own: &str) -> String {
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

    /// Sends a request, sees to whatever comes of it, and returns its result or error.
    async fn request(&mut self, method: &str, params: Value) -> Value {
        let mut params = params;
        if self.way == Way::Stateless {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
            if let Some(level) = self.log_level {
                meta["io.modelcontextprotocol/logLevel"] = json!(level);
            }
        }
        loop {
            let id = self.peer.ask(method, params.clone()).await;
            let reply = self.reply(id).await;
            if reply["result"]["resultType"] != "input_required" {
                return reply;
            }
            let questions = reply["result"]["inputRequests"].as_object().unwrap();
            let mut answers = Map::new();
            for (name, question) in questions {
                let method = question["method"].as_str().unwrap();
                self.asked.push(self.seen(question.clone()));
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
            if message["id"] == json!(id) {
                return message;
            }
        }
    }

    /// The next message that is a reply; sees to the others.
    async fn next(&mut self) -> Value {
        loop {
            let message = timeout(PATIENCE, self.peer.next_message()).await;
            let message = message
                .expect("a message comes")
                .expect("the peer is there");
            let Some(method) = message["method"].as_str() else {
                return message;
            };
            match message.get("id") {
                Some(id) => {
                    let question = json!({"method": method, "params": message["params"]});
                    self.asked.push(self.seen(question));
                    let answer = json!({"jsonrpc": "2.0", "id": id, "result": self.answer(method)});
                    self.peer.send(&answer).await;
                }
                None => self.told.push(self.seen(message)),
            }
        }
    }

    /// Waits until it was told something that fits, and returns that; the rest is kept.
    async fn told(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(at) = self.told.iter().position(&fits) {
                return self.told.remove(at);
            }
            let message = timeout(PATIENCE, self.peer.next_message()).await;
            let message = message.unwrap_or_else(|_| panic!("never: {what}")).unwrap();
            assert!(message.get("id").is_none(), "{message}");
            let seen = self.seen(message);
            self.told.push(seen);
        }
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = json!({"name": self.name(tool), "arguments": arguments, "_meta": {"progressToken": "p"}});
        self.request("tools/call", params).await
    }

    /// A message as it would be without a bridge between, and without what is another each time.
    fn seen(&self, mut message: Value) -> Value {
        if let Some(result) = message.get_mut("result").and_then(Value::as_object_mut) {
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

    async fn leave(mut self) {
        if self.way == Way::Directly {
            return self.peer.kill().await;
        }
        self.peer.close_input();
        self.peer.ended().await;
    }
}

/// Takes away what a bridge adds, and what differs from one time to the next.
fn plain(value: &mut Value) {
    match value {
        Value::String(text) => {
            for (with, without) in [("everything+demo:", "demo:"), ("everything__", "")] {
                *text = text.replace(with, without);
            }
            if let Some(at) = text.find("created at ") {
                text.truncate(at);
            }
            if let Some(rest) = text.strip_prefix("everything/") {
                *text = rest.to_owned();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        Value::Object(fields) => {
            let is_logged = fields.contains_key("level");
            if is_logged && fields.get("logger") == Some(&json!("everything")) {
                fields.remove("logger");
            }
            if let Some(Value::Object(meta)) = fields.get_mut("_meta") {
                meta.remove("progressToken");
                meta.retain(|key, _| !key.starts_with("io.modelcontextprotocol/"));
                if meta.is_empty() {
                    fields.remove("_meta");
                }
            }
            // What a question is in any case that does not say.
            if fields.get("mode") == Some(&json!("form")) {
                fields.remove("mode");
            }
            // Made of the time.
            if let Some(Value::String(blob)) = fields.get_mut("blob") {
                blob.truncate(20);
            }
            fields.values_mut().for_each(plain);
            // A question without parameters has none, or empty ones.
            let is_empty = |params: &Value| params.is_null() || *params == json!({});
            if fields.get("params").is_some_and(is_empty) {
                fields.remove("params");
            }
        }
        // 1.0 is 1.
        Value::Number(number) => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0);
            if let Some(whole) = whole {
                *value = json!(whole as i64);
            }
        }
        _ => {}
    }
}

/// All that there is to do with the server, and what came of each step.
async fn conversation(way: Way, capabilities: &Value, place: &Place) -> BTreeMap<String, Value> {
    let mut talk = Talk::begin(way, capabilities, place).await;
    let mut came = BTreeMap::new();
    let note = |came: &mut BTreeMap<_, _>, what: &str, value: Value| {
        assert!(came.insert(what.to_owned(), value).is_none(), "{what}");
    };
    let can = |what: &str| capabilities.get(what).is_some();
    macro_rules! step {
        ($what:expr, $value:expr) => {{
            let value = $value;
            let seen = talk.seen(value);
            note(&mut came, $what, seen);
        }};
    }

    // What there is. Through the bridge it is known a moment later.
    let tools = loop {
        let listed = talk.request("tools/list", json!({})).await;
        let mut tools = Map::new();
        for tool in listed["result"]["tools"].as_array().unwrap() {
            let own = talk.name("");
            if let Some(name) = tool["name"].as_str().unwrap().strip_prefix(&own) {
                tools.insert(name.to_owned(), json!([tool["title"], tool["description"]]));
            }
        }
        let complete = ASKABLE.iter().all(|what| {
            let tool = match *what {
                "sampling" => "trigger-sampling-request",
                "elicitation" => "trigger-elicitation-request",
                _ => "get-roots-list",
            };
            !can(what) || tools.contains_key(tool)
        });
        if tools.contains_key("echo") && complete {
            tools.sort_keys();
            break Value::Object(tools);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let has = |name: &str| tools.get(name).is_some();
    note(&mut came, "tools", tools.clone());

    // Calls.
    for (tool, arguments) in [
        ("echo", json!({"message": "é"})),
        ("get-sum", json!({"a": 2, "b": 40})),
        ("get-sum", json!({"a": "x"})),
        ("get-tiny-image", json!({})),
        (
            "get-annotated-message",
            json!({"messageType": "error", "includeImage": true}),
        ),
        ("get-structured-content", json!({"location": "Chicago"})),
        ("get-resource-links", json!({"count": 3})),
        (
            "get-resource-reference",
            json!({"resourceType": "Text", "resourceId": 3}),
        ),
        (
            "get-resource-reference",
            json!({"resourceType": "Blob", "resourceId": 3}),
        ),
        (
            "get-resource-reference",
            json!({"resourceType": "Text", "resourceId": -1}),
        ),
        (
            "gzip-file-as-resource",
            json!({"name": "a.gz", "data": "data:text/plain,x", "outputType": "resource"}),
        ),
        ("simulate-research-query", json!({"topic": "x"})),
    ] {
        step!(
            &format!("{tool} {arguments}"),
            talk.call(tool, arguments.clone()).await
        );
    }

    // Progress, and an end before its time.
    talk.told.clear();
    step!(
        "long",
        talk.call(
            "trigger-long-running-operation",
            json!({"duration": 0.6, "steps": 3})
        )
        .await
    );
    let is_progress = |message: &Value| message["method"] == "notifications/progress";
    let progress = talk.told.iter().filter(|told| is_progress(told));
    let progress: Vec<_> = progress.map(|told| told["params"].clone()).collect();
    note(&mut came, "progress", json!(progress));
    talk.told.clear();
    let params = json!({"name": talk.name("trigger-long-running-operation"),
        "arguments": {"duration": 600, "steps": 12_000}, "_meta": {"progressToken": "c"}});
    let mut params = params;
    if way == Way::Stateless {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    }
    let id = talk.peer.ask("tools/call", params).await;
    talk.told("progress", is_progress).await;
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    talk.peer.send(&cancel).await;
    step!(
        "after a cancel",
        talk.call("echo", json!({"message": "next"})).await
    );

    // Prompts and completion.
    for (prompt, arguments) in [
        ("simple-prompt", json!({})),
        ("args-prompt", json!({"city": "Paris", "state": "Texas"})),
        (
            "resource-prompt",
            json!({"resourceType": "Text", "resourceId": "3"}),
        ),
        (
            "completable-prompt",
            json!({"department": "Sales", "name": "Eve"}),
        ),
    ] {
        let params = json!({"name": talk.name(prompt), "arguments": arguments});
        step!(prompt, talk.request("prompts/get", params).await);
    }
    for (prompt, argument, begun, before) in [
        ("completable-prompt", "department", "S", json!({})),
        (
            "completable-prompt",
            "name",
            "",
            json!({"department": "Sales"}),
        ),
        ("resource-prompt", "resourceType", "T", json!({})),
    ] {
        let params = json!({"ref": {"type": "ref/prompt", "name": talk.name(prompt)},
            "argument": {"name": argument, "value": begun}, "context": {"arguments": before}});
        let completed = talk.request("completion/complete", params).await;
        step!(&format!("complete {argument} of {prompt}"), completed);
    }
    let template = talk.uri("demo://resource/dynamic/text/{resourceId}");
    let params = json!({"ref": {"type": "ref/resource", "uri": template},
        "argument": {"name": "resourceId", "value": "7"}});
    step!(
        "complete a template",
        talk.request("completion/complete", params).await
    );

    // Resources.
    let document = "demo://resource/static/document/features.md";
    for uri in [
        document,
        "demo://resource/dynamic/text/7",
        "demo://resource/dynamic/blob/7",
    ] {
        let params = json!({"uri": talk.uri(uri)});
        step!(uri, talk.request("resources/read", params).await);
    }
    let params = json!({"uri": talk.uri("demo://nothing")});
    let nothing = talk.request("resources/read", params).await;
    note(&mut came, "nothing", json!(nothing.get("error").is_some()));

    // Changes of a resource, and what is logged.
    let is_logged = |message: &Value| message["method"] == "notifications/message";
    let is_updated = |message: &Value| message["method"] == "notifications/resources/updated";
    if way == Way::Stateless {
        let filter = json!({"notifications": {"resourceSubscriptions": [talk.uri(document)]}});
        let params = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities}, "notifications": filter["notifications"]});
        talk.peer.ask("subscriptions/listen", params).await;
        talk.told("the subscription", |told| {
            told["method"] == "notifications/subscriptions/acknowledged"
        })
        .await;
        // What it logs at a subscription is heard by no request; a random one of its levels is, by the one that asks.
        talk.log_level = Some("debug");
        talk.call("toggle-simulated-logging", json!({})).await;
        talk.told("something is logged", is_logged).await;
        talk.call("toggle-simulated-logging", json!({})).await;
        talk.log_level = None;
    } else {
        let params = json!({"uri": talk.uri(document)});
        // The server logs each subscription, as `info`.
        for (level, is_heard) in [("error", false), ("info", true)] {
            talk.request("logging/setLevel", json!({"level": level}))
                .await;
            talk.told.retain(|told| !is_logged(told));
            step!(
                &format!("subscribe at {level}"),
                talk.request("resources/subscribe", params.clone()).await
            );
            if is_heard {
                let logged = talk.told("it is logged", is_logged).await;
                note(&mut came, "logged", logged);
            } else {
                step!("a round", talk.call("echo", json!({"message": "x"})).await);
                assert!(!talk.told.iter().any(is_logged), "{:?}", talk.told);
            }
        }
    }
    step!(
        "toggle",
        talk.call("toggle-subscriber-updates", json!({})).await
    );
    let updated = talk.told("the update is told", is_updated).await;
    note(&mut came, "updated", updated["params"].clone());
    step!(
        "toggle off",
        talk.call("toggle-subscriber-updates", json!({})).await
    );

    // What the client is asked.
    if has("get-roots-list") {
        step!("roots", talk.call("get-roots-list", json!({})).await);
    }
    if has("trigger-sampling-request") {
        let prompt = json!({"prompt": "Say something", "maxTokens": 10});
        step!(
            "sampling",
            talk.call("trigger-sampling-request", prompt).await
        );
    }
    if has("trigger-elicitation-request") {
        for action in ["accept", "decline", "cancel"] {
            talk.action = action;
            step!(
                &format!("elicitation: {action}"),
                talk.call("trigger-elicitation-request", json!({})).await
            );
        }
        talk.action = "accept";
    }
    if has("trigger-url-elicitation") {
        let url =
            json!({"url": "https://example.org/", "message": "Go there", "elicitationId": "e"});
        step!(
            "a page",
            talk.call("trigger-url-elicitation", url.clone()).await
        );
        let mut first = url;
        first["errorPath"] = json!(true);
        let mut refused = talk.call("trigger-url-elicitation", first).await;
        // A random one.
        refused["error"]["data"]["elicitations"][0]["elicitationId"] = json!("e");
        step!("a page first", refused);
    }
    // Both are asked in any order, and the roots once more when the server began.
    for asked in &mut talk.asked {
        asked.sort_all_objects();
    }
    let mut asked: Vec<_> = talk.asked.iter().map(ToString::to_string).collect();
    asked.sort();
    asked.dedup();
    note(&mut came, "asked", json!(asked));
    talk.leave().await;
    came
}

/// Compares the ways for a client of these capabilities.
async fn both_ways_are_the_same(capabilities: Value) {
    let script = everything().await;
    let place = Place::with_servers(json!({
        "everything": { "command": "node", "args": [script], "parallel": true },
    }));
    let directly = conversation(Way::Directly, &capabilities, &place).await;
    for way in [Way::Through, Way::Stateless] {
        let through = conversation(way, &capabilities, &place).await;
        for (what, expected) in &directly {
            // What a subscription logs is heard by no request of the era without sessions.
            let of_sessions = [
                "logged",
                "subscribe at error",
                "subscribe at info",
                "a round",
            ];
            if way == Way::Stateless && of_sessions.contains(&what.as_str()) {
                continue;
            }
            let came = through.get(what);
            assert_eq!(came, Some(expected), "{capabilities}: {what}");
        }
        let more: Vec<_> = through
            .keys()
            .filter(|what| !directly.contains_key(*what))
            .collect();
        assert!(more.is_empty(), "{more:?}");
    }
}

#[tokio::test]
async fn a_client_that_can_be_asked_nothing_comes_to_the_same_both_ways() {
    both_ways_are_the_same(json!({})).await;
}

#[tokio::test]
async fn a_client_with_sampling_comes_to_the_same_both_ways() {
    both_ways_are_the_same(json!({"sampling": {}})).await;
}

#[tokio::test]
async fn a_client_with_elicitation_comes_to_the_same_both_ways() {
    both_ways_are_the_same(json!({"elicitation": {"form": {}, "url": {}}})).await;
}

#[tokio::test]
async fn a_client_with_roots_comes_to_the_same_both_ways() {
    both_ways_are_the_same(json!({"roots": {"listChanged": true}})).await;
}

#[tokio::test]
async fn a_client_with_all_of_it_comes_to_the_same_both_ways() {
    let all = json!({"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {"listChanged": true}});
    both_ways_are_the_same(all).await;
}
