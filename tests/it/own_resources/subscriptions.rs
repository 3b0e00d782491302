//! Who subscribes to a resource of the bridge's own is told of its changes, in both eras, and not too often; and nobody
//! is asked anything where nobody has subscribed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use mcp_bridge::{link::agent, simulator::ComputerOptions};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{computer, modern, text};
use crate::{
    bridges::Place,
    common::{bridge::Bridge, computer::Computer as RawComputer, linked::linked},
};

const UPDATED: &str = "notifications/resources/updated";

async fn subscribe(bridge: &mut Bridge, uri: &str) {
    let reply = bridge
        .request("resources/subscribe", json!({"uri": uri}))
        .await;
    assert!(reply["result"].is_object(), "{uri}: {reply}");
}

async fn unsubscribe(bridge: &mut Bridge, uri: &str) {
    let reply = bridge
        .request("resources/unsubscribe", json!({"uri": uri}))
        .await;
    assert!(reply["result"].is_object(), "{uri}: {reply}");
}

/// Waits until the bridge tells of this resource.
async fn updated(bridge: &mut Bridge, uri: &str) {
    bridge
        .message(&format!("a change of {uri}"), |message| {
            message["method"] == UPDATED && message["params"]["uri"] == uri
        })
        .await;
}

/// How often it has told of it so far.
fn told(bridge: &Bridge, uri: &str) -> usize {
    let is_of = |line: &&String| {
        let message: Value = serde_json::from_str(line).unwrap();
        message["method"] == UPDATED && message["params"]["uri"] == uri
    };
    bridge.printed().iter().filter(is_of).count()
}

async fn write(bridge: &mut Bridge, path: &str, content: &str) {
    let code = format!("local file = fs.open({path:?}, 'w') file.write({content:?}) file.close()");
    bridge.lua(1, &code).await;
}

#[tokio::test]
async fn a_session_is_told_of_computers_screens_and_files_until_it_unsubscribes() {
    let mut bridge = Bridge::initialized().await;
    let options = ComputerOptions::new(1).with_file("mcp-computer.lua", agent::program());
    let _computer = linked(&mut bridge, options, "--shell").await;
    let [all, one, screen, file, folder] = [
        "cc://computers",
        "cc://computer/1",
        "cc://computer/1/screen",
        "cc://computer/1/fs/note.txt",
        "cc://computer/1/fs/",
    ];
    for uri in [all, one, screen, file, folder] {
        subscribe(&mut bridge, uri).await;
    }
    write(&mut bridge, "/note.txt", "one").await;
    updated(&mut bridge, file).await;
    updated(&mut bridge, folder).await;
    assert_eq!(text(&mut bridge, file).await, "one");
    let type_it = json!({"computerId": 1, "steps": [{"do": "type", "text": "hello"}]});
    assert!(!bridge.call("send-input", type_it).await.is_error);
    updated(&mut bridge, screen).await;
    bridge.lua(1, "os.setComputerLabel('named')").await;
    updated(&mut bridge, one).await;
    updated(&mut bridge, all).await;
    let two = computer(&mut bridge, 2, None, "").await;
    updated(&mut bridge, all).await;

    // Another's coming and going is no change of the one.
    let before = told(&bridge, one);
    drop(two);
    updated(&mut bridge, all).await;
    assert_eq!(told(&bridge, one), before);

    for uri in [all, one, screen, file, folder] {
        unsubscribe(&mut bridge, uri).await;
    }
    subscribe(&mut bridge, "cc://computer/named/fs/other.txt").await;
    let before: Vec<_> = [file, folder].map(|uri| told(&bridge, uri)).into();
    write(&mut bridge, "/note.txt", "three").await;
    write(&mut bridge, "/other.txt", "x").await;
    updated(&mut bridge, "cc://computer/named/fs/other.txt").await;
    let after: Vec<_> = [file, folder].map(|uri| told(&bridge, uri)).into();
    assert_eq!(after, before);
    bridge.leave().await;
}

#[tokio::test]
async fn a_stateless_client_that_listens_is_told_too() {
    let mut bridge = Bridge::start();
    bridge.request("resources/list", modern(json!({}))).await;
    let filter = json!({"notifications": {"resourceSubscriptions": [
        "cc://computers", "cc://computer/1", "cc://computer/none/screen"
    ]}});
    let subscription = bridge.ask("subscriptions/listen", modern(filter)).await;
    let acknowledged = "notifications/subscriptions/acknowledged";
    bridge
        .message(acknowledged, |message| message["method"] == acknowledged)
        .await;
    let reply = bridge
        .request(
            "tools/call",
            modern(json!({"name": "list-computers", "arguments": {}})),
        )
        .await;
    let port = reply["result"]["structuredContent"]["linkPort"]
        .as_str()
        .unwrap();
    let _linked = RawComputer::link(port.parse().unwrap(), 7, None).await;
    let told = bridge
        .message("a change", |message| message["method"] == UPDATED)
        .await;
    assert_eq!(told["params"]["uri"], "cc://computers");
    assert_eq!(
        told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        json!(subscription)
    );
    bridge.leave().await;
}

#[tokio::test]
async fn what_changes_all_the_time_is_told_twice_a_second_at_most() {
    let mut bridge = Bridge::initialized().await;
    let _computer = computer(&mut bridge, 1, None, "").await;
    subscribe(&mut bridge, "cc://computers").await;
    let begun = Instant::now();
    for number in 0..40 {
        bridge
            .lua(
                1,
                &format!("os.setComputerLabel('label {number}') sleep(0.05)"),
            )
            .await;
    }
    updated(&mut bridge, "cc://computers").await;
    let most = begun.elapsed().as_millis() / 500 + 2;
    let told = told(&bridge, "cc://computers");
    assert!(told as u128 <= most, "{told} in {:?}", begun.elapsed());
    bridge.leave().await;
}

/// A linked computer whose screen changes whenever it is asked for it, and how often it was asked.
async fn counting(bridge: &mut Bridge, id: u64) -> Arc<AtomicUsize> {
    let port = bridge.link_port().await;
    let mut computer = RawComputer::connect(port).await;
    let hello = json!({
        "type": "hello", "computerId": id, "protocol": 2, "boot": "b", "capabilities": ["screens"],
        "agent": {"name": "test-agent", "version": "9.9.9"}, "policy": "full", "maxMessage": 131072, "jobs": [],
    });
    assert_eq!(computer.hello(hello).await["type"], "hello-ok");
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    computer.serve(move |request| {
        if request["method"] != "read-screen" {
            return None;
        }
        let version = count.fetch_add(1, Ordering::SeqCst) + 1;
        let screen = json!({
            "version": version, "width": 2, "height": 1, "colours": true, "lines": [["ab", "00", "ff"]],
            "cursor": {"x": 1, "y": 1, "blinks": false, "colour": 0},
        });
        Some(json!({"type": "response", "id": request["id"], "ok": true, "result": screen}))
    });
    bridge.linked(id).await;
    asked
}

#[tokio::test]
async fn a_screen_is_asked_for_once_for_all_who_follow_it_and_not_at_all_for_nobody() {
    let mut bridge = Bridge::initialized().await;
    let asked = counting(&mut bridge, 5).await;
    let (by_number, other) = ("cc://computer/5/screen", "cc://computer/5/screen/");
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    subscribe(&mut bridge, by_number).await;
    let reply = bridge
        .request("resources/subscribe", json!({"uri": other}))
        .await;
    assert_eq!(reply["error"]["code"], -32002, "{reply}");
    let filter = json!({"notifications": {"resourceSubscriptions": [by_number]}});
    bridge.ask("subscriptions/listen", modern(filter)).await;
    let begun = Instant::now();
    for _ in 0..4 {
        updated(&mut bridge, by_number).await;
    }
    // One look before the first change, and one for each, however many follow.
    let most = begun.elapsed().as_millis() / 500 + 4;
    let count = asked.load(Ordering::SeqCst);
    assert!(count as u128 <= most, "{count} in {:?}", begun.elapsed());
    bridge.leave().await;

    let mut bridge = Bridge::initialized().await;
    let asked = counting(&mut bridge, 5).await;
    subscribe(&mut bridge, by_number).await;
    updated(&mut bridge, by_number).await;
    unsubscribe(&mut bridge, by_number).await;
    // One may be under way.
    sleep(Duration::from_millis(700)).await;
    let count = asked.load(Ordering::SeqCst);
    sleep(Duration::from_millis(1_500)).await;
    assert_eq!(asked.load(Ordering::SeqCst), count);
    bridge.leave().await;
}

#[tokio::test]
async fn what_can_not_be_followed_is_refused_with_the_reason() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let old = RawComputer::link(port, 1, Some("old")).await;
    bridge.linked(1).await;
    for (uri, code, said) in [
        ("cc://computer/9", -32002, "No computer 9 has linked."),
        (
            "cc://computer/nobody/screen",
            -32002,
            "No computer has the label \"nobody\"",
        ),
        (
            "cc://computer/1/nothing",
            -32002,
            "There are cc://computers",
        ),
        (
            "cc://computer/1/fs/../..",
            -32002,
            "leads out of the computer's disk",
        ),
        ("cc://computer/1/screen", -32603, "can't show its screens"),
    ] {
        let reply = bridge
            .request("resources/subscribe", json!({"uri": uri}))
            .await;
        assert_eq!(reply["error"]["code"], code, "{uri}: {reply}");
        let words = reply["error"]["message"].as_str().unwrap();
        assert!(words.contains(said), "{uri}: {words}");
    }
    // One that is away is followed until it comes back.
    drop(old);
    bridge
        .computer(1, |computer| computer["linked"] == false)
        .await;
    for number in 1..=100 {
        subscribe(&mut bridge, &format!("cc://computer/1/fs/{number}")).await;
    }
    // One more of what is followed already takes nothing.
    subscribe(&mut bridge, "cc://computer/old/fs/7").await;
    let reply = bridge
        .request(
            "resources/subscribe",
            json!({"uri": "cc://computer/1/fs/101"}),
        )
        .await;
    let words = reply["error"]["message"].as_str().unwrap();
    assert!(
        words.contains("100 computers, screens, files and folders are followed already"),
        "{words}"
    );
    unsubscribe(&mut bridge, "cc://computer/1/fs/1").await;
    subscribe(&mut bridge, "cc://computer/1/fs/101").await;
    bridge.leave().await;
}

#[tokio::test]
async fn a_guest_is_told_what_happens_at_the_owner() {
    let place = Place::new();
    let mut owner = place.bridge().await;
    let mut guest = place.bridge().await;
    let _computer = computer(&mut owner, 1, None, "").await;
    guest.linked(1).await;
    for uri in ["cc://computers", "cc://computer/1/fs/note.txt"] {
        subscribe(&mut guest, uri).await;
    }
    write(&mut owner, "/note.txt", "by the owner").await;
    updated(&mut guest, "cc://computer/1/fs/note.txt").await;
    assert_eq!(
        text(&mut guest, "cc://computer/1/fs/note.txt").await,
        "by the owner"
    );
    let _other = computer(&mut owner, 2, None, "").await;
    updated(&mut guest, "cc://computers").await;
    guest.leave().await;
    owner.leave().await;
}
