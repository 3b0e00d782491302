//! A real server, `server-everything` from npm, spoken to directly and through the bridge: for a client with and without each
//! thing that it can be asked, and in both eras through the bridge, both ways come to the same.

mod peer;
mod talk;

use std::{collections::BTreeMap, path::PathBuf};

use crate::common::until;
use peer::Serving;
use serde_json::{Map, Value, json};
use talk::{Over, Server, Talk, Way};

/// The tools that are there only for a client that can be asked.
const ASKING: [(&str, &str); 3] = [
    ("sampling", "trigger-sampling-request"),
    ("elicitation", "trigger-elicitation-request"),
    ("roots", "get-roots-list"),
];

async fn everything() -> PathBuf {
    let pins = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/upstream");
    let modules = crate::common::registries::from_npm(&pins).await;
    let modules = modules.unwrap_or_else(|problem| panic!("{problem}"));
    modules.join("node_modules/@modelcontextprotocol/server-everything/dist/index.js")
}

/// All that there is to do with the server, and what came of each step.
async fn conversation(way: Way, capabilities: &Value, server: &Server) -> BTreeMap<String, Value> {
    // Folders of its own: a bridge remembers what servers offered to the one before.
    let place = server.place();
    let mut talk = Talk::begin(way, capabilities, server, &place).await;
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
    let tools = until("the server's tools are listed", async || {
        let tools = listed(&mut talk, "tools", "name").await;
        let mut asking = ASKING.iter();
        let complete = asking.all(|(what, tool)| !can(what) || tools.contains_key(*tool));
        if tools.contains_key("echo") && complete {
            return Ok(tools);
        }
        Err(format!("{:?}", tools.keys()))
    })
    .await;
    let has = |name: &str| tools.contains_key(name);
    note(&mut came, "tools", json!(tools));
    for (list, key) in [
        ("prompts", "name"),
        ("resources", "uri"),
        ("resources/templates", "uriTemplate"),
    ] {
        let listed = listed(&mut talk, list, key).await;
        assert!(!listed.is_empty(), "{list}");
        note(&mut came, list, json!(listed));
    }
    if can("roots") {
        talk.asked_for_roots().await;
    }

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
    let id = talk.ask("tools/call", params).await;
    talk.told("progress", is_progress).await;
    talk.peer.cancel(id).await;
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
    if talk.is_stateless() {
        let filter = json!({"notifications": {"resourceSubscriptions": [talk.uri(document)]}});
        talk.ask("subscriptions/listen", filter).await;
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
    note(&mut came, "asked", json!(talk.all_asked()));
    talk.leave().await;
    came
}

/// What a list has of the server, each by this key, as the server says it.
async fn listed(talk: &mut Talk, list: &str, key: &str) -> Map<String, Value> {
    let reply = talk.request(&format!("{list}/list"), json!({})).await;
    let name = list.rsplit('/').next().unwrap_or(list);
    let name = if name == "templates" {
        "resourceTemplates"
    } else {
        name
    };
    let items = reply["result"][name].as_array();
    let items = items.unwrap_or_else(|| panic!("{list}: {reply}"));
    let own = match key {
        "name" => talk.name(""),
        _ => talk.uri(""),
    };
    let mut found = Map::new();
    for item in items {
        if let Some(name) = item[key].as_str().unwrap().strip_prefix(&own) {
            let mut item = talk.seen(item.clone());
            if list == "tools" {
                not_passed_on(&mut item);
            }
            found.insert(name.to_owned(), item);
        }
    }
    found.sort_keys();
    found
}

/// Takes out of a tool's definition what the bridge leaves out of it, which is right: a client is told of no dialect of JSON
/// Schema, since many refuse all tools for any but their own; and not how a tool is run as a task, since there are no tasks
/// through the bridge. One that runs as nothing else is refused by its server, as without a bridge.
fn not_passed_on(tool: &mut Value) {
    let fields = tool.as_object_mut().unwrap();
    fields.remove("execution");
    for schema in ["inputSchema", "outputSchema"] {
        if let Some(Value::Object(schema)) = fields.get_mut(schema) {
            schema.remove("$schema");
        }
    }
}

/// Compares these ways with the one without a bridge, for a client of these capabilities.
async fn come_to_the_same(server: Server, capabilities: Value, ways: &[Way]) {
    let directly = conversation(Way::Directly, &capabilities, &server).await;
    let mut differ = String::new();
    for way in ways {
        let through = conversation(*way, &capabilities, &server).await;
        for (what, expected) in &directly {
            // What a subscription logs is heard by no request of the era without sessions.
            let of_sessions = [
                "logged",
                "subscribe at error",
                "subscribe at info",
                "a round",
            ];
            if matches!(way, Way::Stateless(_)) && of_sessions.contains(&what.as_str()) {
                continue;
            }
            let came = through.get(what);
            if came != Some(expected) {
                let came = came.unwrap_or(&Value::Null);
                differ += &format!("{way:?}: {what}:\n  directly {expected}\n  through  {came}\n");
            }
        }
        for what in through.keys().filter(|what| !directly.contains_key(*what)) {
            differ += &format!("{way:?}: only here: {what}\n");
        }
    }
    assert!(differ.is_empty(), "{capabilities}:\n{differ}");
}

/// Of a server that is a program, for a client over lines in both eras.
async fn both_ways_are_the_same(capabilities: Value) {
    let server = Server::Program(everything().await);
    let ways = [Way::Through(Over::Lines), Way::Stateless(Over::Lines)];
    come_to_the_same(server, capabilities, &ways).await;
}

/// A client that can be asked all that there is to ask.
fn all() -> Value {
    json!({"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {"listChanged": true}})
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
    both_ways_are_the_same(all()).await;
}

#[tokio::test]
async fn a_server_over_http_comes_to_the_same_for_a_client_over_lines() {
    let serving = Serving::start(&everything().await).await;
    let ways = [Way::Through(Over::Lines), Way::Stateless(Over::Lines)];
    come_to_the_same(Server::At(serving.address), all(), &ways).await;
}

#[tokio::test]
async fn a_server_over_http_comes_to_the_same_for_a_client_over_http() {
    let serving = Serving::start(&everything().await).await;
    let ways = [Way::Through(Over::Http)];
    come_to_the_same(Server::At(serving.address), all(), &ways).await;
    // Of requests over HTTP without a session nobody knows whether one client sends them all: servers ask none of them.
    let ways = [Way::Through(Over::Http), Way::Stateless(Over::Http)];
    come_to_the_same(Server::At(serving.address), json!({}), &ways).await;
}
