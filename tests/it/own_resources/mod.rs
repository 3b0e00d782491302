//! The bridge's own resources, through the real binary, with the real agent on simulated computers: the computers, what
//! one is, its screen and its files.

mod completing;
mod files;
mod prompts;
mod subscriptions;

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use mcp_bridge::{
    link::agent,
    simulator::{Computer, ComputerOptions},
};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::{
    bridges::Place,
    common::{bridge::Bridge, is, linked::linked, served::Served, tools::Tools, until},
};

/// An agent of protocol version 1.
const VERSION_1: &str = include_str!("../own_tools/version-1.lua");

const CHANGED: &str = "notifications/resources/list_changed";

/// Starts a computer whose agent was given these arguments, and waits until it is linked.
async fn computer(bridge: &mut Bridge, id: u64, label: Option<&str>, arguments: &str) -> Computer {
    let mut options = ComputerOptions::new(id).with_file("mcp-computer.lua", agent::program());
    options.label = label.map(str::to_owned);
    linked(bridge, options, arguments).await
}

/// The parameters of a request of the stateless era.
fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

/// What a resource holds.
async fn read(bridge: &mut Bridge, uri: &str) -> Vec<Value> {
    let reply = bridge.request("resources/read", json!({"uri": uri})).await;
    contents_of(&reply)
}

fn contents_of(reply: &Value) -> Vec<Value> {
    let contents = reply["result"]["contents"].as_array();
    contents.unwrap_or_else(|| panic!("{reply}")).clone()
}

/// The text of a resource that holds one.
async fn text(bridge: &mut Bridge, uri: &str) -> String {
    let contents = read(bridge, uri).await;
    assert_eq!(contents.len(), 1, "{uri}: {contents:?}");
    assert_eq!(contents[0]["uri"], uri);
    contents[0]["text"].as_str().unwrap().to_owned()
}

/// The JSON of a resource that holds that.
async fn fields(bridge: &mut Bridge, uri: &str) -> Value {
    let contents = read(bridge, uri).await;
    assert_eq!(contents[0]["mimeType"], "application/json", "{uri}");
    serde_json::from_str(contents[0]["text"].as_str().unwrap()).unwrap()
}

/// The code and words of the error of a resource that can't be read.
async fn error(bridge: &mut Bridge, uri: &str) -> (i64, String) {
    let reply = bridge.request("resources/read", json!({"uri": uri})).await;
    let error = &reply["error"];
    let message = error["message"].as_str();
    let message = message.unwrap_or_else(|| panic!("{uri}: {reply}"));
    (error["code"].as_i64().unwrap(), message.to_owned())
}

async fn uris(bridge: &mut Bridge) -> Vec<String> {
    let reply = bridge.request("resources/list", json!({})).await;
    let listed = reply["result"]["resources"].as_array().unwrap().iter();
    listed
        .map(|one| one["uri"].as_str().unwrap().to_owned())
        .collect()
}

fn is_picture(content: &Value) -> bool {
    content["mimeType"] == "image/png"
        && BASE64
            .decode(content["blob"].as_str().unwrap_or_default())
            .is_ok_and(|bytes| bytes.starts_with(b"\x89PNG"))
}

#[tokio::test]
async fn the_list_follows_the_computers_and_clients_are_told() {
    let mut bridge = Bridge::start();
    let agreed = bridge.initialize("2025-11-25").await;
    assert_eq!(
        agreed["capabilities"]["resources"],
        json!({"subscribe": true, "listChanged": true})
    );
    assert_eq!(uris(&mut bridge).await, ["cc://computers"]);
    let templates = bridge.request("resources/templates/list", json!({})).await;
    let templates = templates["result"]["resourceTemplates"].as_array().unwrap();
    let templates: Vec<_> = templates.iter().map(|one| &one["uriTemplate"]).collect();
    assert_eq!(
        templates,
        [
            "cc://computer/{id}",
            "cc://computer/{id}/fs/{+path}",
            "cc://computer/{id}/screen"
        ]
    );
    let filter = modern(json!({"notifications": {"resourcesListChanged": true}}));
    let subscription = bridge.ask("subscriptions/listen", filter).await;

    let _computer = computer(&mut bridge, 7, Some("farm"), "").await;
    for by_subscription in [false, true] {
        bridge
            .message(CHANGED, |message| {
                let id = &message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
                message["method"] == CHANGED && (*id == json!(subscription)) == by_subscription
            })
            .await;
    }
    assert_eq!(
        uris(&mut bridge).await,
        [
            "cc://computer/7",
            "cc://computer/7/screen",
            "cc://computers"
        ]
    );
    bridge.lua(7, "os.setComputerLabel('mine')").await;
    until("the list has the new label", async || {
        let reply = bridge.request("resources/list", modern(json!({}))).await;
        let title = reply["result"]["resources"][0]["title"].clone();
        is(title == "Computer 7 (Label: mine)", title)
    })
    .await;
    // It may come back: most only start anew.
    drop(_computer);
    bridge
        .computer(7, |computer| computer["linked"] == false)
        .await;
    assert!(
        uris(&mut bridge)
            .await
            .contains(&"cc://computer/7".to_owned())
    );
    bridge.leave().await;
}

#[tokio::test]
async fn computers_are_read_by_number_and_by_label_also_when_they_are_gone() {
    let mut bridge = Bridge::initialized().await;
    let farm = computer(&mut bridge, 7, Some("my farm"), "").await;
    let _other = computer(&mut bridge, 8, None, "").await;
    let all = fields(&mut bridge, "cc://computers").await;
    assert_eq!((&all["known"], &all["total"]), (&json!(2), &json!(2)));
    assert_eq!(all["computers"][0]["uri"], "cc://computer/7");
    assert_eq!(all["computers"][1]["computerId"], 8);
    let rest = fields(&mut bridge, "cc://computers?offset=1").await;
    assert_eq!(rest["computers"].as_array().unwrap().len(), 1);
    assert_eq!(rest["computers"][0]["uri"], "cc://computer/8");

    for uri in ["cc://computer/7", "cc://computer/my%20farm"] {
        let one = fields(&mut bridge, uri).await;
        assert_eq!(one["computerId"], 7, "{uri}: {one}");
        assert_eq!(
            (&one["linked"], &one["label"]),
            (&json!(true), &json!("my farm"))
        );
        assert_eq!(one["screen"], "cc://computer/7/screen");
        assert_eq!(one["files"], "cc://computer/7/fs/");
    }
    for (uri, said) in [
        (
            "cc://computer/99",
            "No computer 99 has linked. Linked now: 7 (Label: my farm), 8",
        ),
        ("cc://computer/99/screen", "No computer 99 has linked."),
        ("cc://computer/99/fs/", "No computer 99 has linked."),
        (
            "cc://computer/farn/fs/a",
            "No computer has the label \"farn\"",
        ),
        (
            "cc://computer/7/nothing",
            "There are cc://computers, cc://computer/{id}",
        ),
        (
            "cc://computer",
            "There are cc://computers, cc://computer/{id}",
        ),
        ("cc://else", "Unknown resource: cc://else"),
    ] {
        let (code, words) = error(&mut bridge, uri).await;
        assert!(
            code == -32002 && words.contains(said),
            "{uri}: {code} {words}"
        );
        assert!(words.starts_with("Unknown resource: "), "{words}");
        let reply = bridge
            .request("resources/read", modern(json!({"uri": uri})))
            .await;
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        assert_eq!(reply["error"]["data"]["uri"], uri, "{reply}");
    }

    drop(farm);
    bridge
        .computer(7, |computer| computer["linked"] == false)
        .await;
    let gone = fields(&mut bridge, "cc://computer/7").await;
    assert_eq!(gone["linked"], false);
    assert!(gone["leftBecause"].is_string(), "{gone}");
    bridge.leave().await;
}

#[tokio::test]
async fn a_screen_is_a_text_and_a_picture() {
    let mut bridge = Bridge::initialized().await;
    let mut options = ComputerOptions::new(1).with_file("mcp-computer.lua", agent::program());
    options.label = Some("shown".to_owned());
    let _computer = linked(&mut bridge, options, "--shell").await;
    until("the shell is on the screen", async || {
        let reply = bridge
            .request(
                "resources/read",
                json!({"uri": "cc://computer/shown/screen"}),
            )
            .await;
        let contents = contents_of(&reply);
        let shown = contents[0]["text"].as_str().unwrap().to_owned();
        assert!(
            shown.starts_with("Screen terminal of computer 1 (Label: shown): 51 columns, 19 rows"),
            "{shown}"
        );
        assert_eq!(contents[0]["mimeType"], "text/plain");
        assert!(
            contents.len() == 2 && is_picture(&contents[1]),
            "{contents:?}"
        );
        is(shown.contains("|>"), shown)
    })
    .await;
    // An agent of another age says so.
    let old = ComputerOptions::new(2).with_file("mcp-computer.lua", VERSION_1);
    let _old = linked(&mut bridge, old, "").await;
    let (code, words) = error(&mut bridge, "cc://computer/2/screen").await;
    assert_eq!(code, -32603, "{words}");
    assert!(
        words.contains("Computer 2 (Label: old) can't show its screens"),
        "{words}"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn what_a_tool_may_not_show_no_resource_shows() {
    let mut bridge = Bridge::start_with(|command| {
        command.args(["--tools", "list-computers,exec-lua,read-file"]);
    });
    bridge.initialize("2025-11-25").await;
    let _computer = computer(&mut bridge, 1, None, "").await;
    assert_eq!(fields(&mut bridge, "cc://computer/1").await["linked"], true);
    for (uri, tool) in [
        ("cc://computer/1/screen", "read-screen"),
        ("cc://computer/1/fs/startup.lua", "list-files"),
    ] {
        let (code, words) = error(&mut bridge, uri).await;
        assert_eq!(code, -32603);
        assert!(
            words.starts_with(&format!(
                "{tool} is refused: this bridge was started with other tools only"
            )) && words.contains("where the tool is"),
            "{words}"
        );
    }
    bridge.leave().await;
}

#[tokio::test]
async fn where_nothing_may_be_changed_all_can_be_read() {
    let mut bridge = Bridge::start_with(|command| {
        command.arg("--read-only");
    });
    bridge.initialize("2025-11-25").await;
    // Neither agent runs any code of a bridge unasked.
    let _strict = computer(&mut bridge, 1, None, "--shell --policy read-only").await;
    let _asking = computer(&mut bridge, 2, None, "--shell --policy ask").await;
    for id in [1, 2] {
        let listed = fields(&mut bridge, &format!("cc://computer/{id}/fs/")).await;
        assert!(listed.to_string().contains("mcp-computer.lua"), "{listed}");
        let file = text_of_file(&mut bridge, id).await;
        assert!(agent::program().starts_with(&file), "{file:.200}");
        let screen = read(&mut bridge, &format!("cc://computer/{id}/screen")).await;
        assert!(is_picture(&screen[1]), "{screen:?}");
    }
    bridge.leave().await;
}

/// The beginning of the agent's own file.
async fn text_of_file(bridge: &mut Bridge, id: u64) -> String {
    let uri = format!("cc://computer/{id}/fs/mcp-computer.lua");
    let contents = read(bridge, &uri).await;
    assert_eq!(contents[0]["mimeType"], "text/x-lua");
    contents[0]["text"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn nothing_from_elsewhere_has_a_uri_of_ours() {
    let tools = Tools::new();
    tools.write(
        "mine/_index.yaml",
        "entries:\n  - name: a\n    kind: resource\n    meta: { mcp.uri: \"cc://computers\", mcp.text: mine }\n  - name: b\n    \
         kind: resource\n    meta: { mcp.uri: \"cc://computer/{x}\", mcp.text: mine }\n  - name: c\n    kind: resource\n    \
         meta: { mcp.uri: \"cc://farm\", mcp.text: mine }\n",
    );
    let mut bridge = tools.bridge(&[]).await;
    let _computer = computer(&mut bridge, 1, None, "").await;
    until("the user's resources are listed", async || {
        let listed = uris(&mut bridge).await;
        is(listed.contains(&"cc://farm".to_owned()), listed.join(" "))
    })
    .await;
    assert_eq!(text(&mut bridge, "cc://farm").await, "mine");
    assert_eq!(fields(&mut bridge, "cc://computers").await["known"], 1);
    assert_eq!(
        fields(&mut bridge, "cc://computer/1").await["computerId"],
        1
    );
    let listed = uris(&mut bridge).await;
    let count = listed.iter().filter(|uri| *uri == "cc://computers").count();
    assert_eq!(count, 1, "{listed:?}");
    bridge.leave().await;
}

#[tokio::test]
async fn a_guest_reads_the_same_as_the_owner() {
    let place = Place::new();
    let mut owner = place.bridge().await;
    let mut guest = place.bridge().await;
    let _computer = computer(&mut owner, 1, Some("shared"), "--shell").await;
    guest.linked(1).await;
    owner
        .lua(
            1,
            "local f = fs.open('/note.txt', 'w') f.write('hello') f.close()",
        )
        .await;
    for bridge in [&mut owner, &mut guest] {
        until("the computer is listed", async || {
            let listed = uris(bridge).await;
            is(
                listed.contains(&"cc://computer/1/screen".to_owned()),
                listed.join(" "),
            )
        })
        .await;
        assert_eq!(
            text(bridge, "cc://computer/shared/fs/note.txt").await,
            "hello"
        );
        assert!(is_picture(&read(bridge, "cc://computer/1/screen").await[1]));
    }
    guest.leave().await;
    owner.leave().await;
}

#[tokio::test]
async fn over_http_sessions_and_stateless_clients_read_the_same() {
    let bridge = Served::start().await;
    let program = format!("mcp-computer ws://{} --shell", bridge.link_port().await);
    let options = ComputerOptions::new(1).with_file("mcp-computer.lua", agent::program());
    let _computer = Computer::start(options, &program, &Handle::current()).unwrap();
    for mut client in [bridge.client("2025-11-25").await, bridge.stateless()] {
        client.linked(1).await;
        until("the computer is listed", async || {
            let listed = client.request("resources/list", json!({})).await;
            is(
                listed.to_string().contains("cc://computer/1/screen"),
                listed,
            )
        })
        .await;
        for uri in ["cc://computers", "cc://computer/1", "cc://computer/1/fs/"] {
            let reply = client.request("resources/read", json!({"uri": uri})).await;
            assert_eq!(contents_of(&reply)[0]["uri"], uri);
        }
        let screen = client
            .request("resources/read", json!({"uri": "cc://computer/1/screen"}))
            .await;
        assert!(is_picture(&contents_of(&screen)[1]), "{screen}");
    }
}
