//! What clients are offered where a person has begun to write a computer, a path or a peripheral.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{computer, modern};
use crate::common::{
    bridge::Bridge, computer::Computer as RawComputer, port::Port, served::Served,
};

/// Puts something beside computer 1.
const ATTACHED: &str = include_str!("../own_tools/attached.lua");

const FILE: &str = "cc://computer/{id}/fs/{+path}";

fn of_template(uri: &str, name: &str, begun: &str, computer: Option<&str>) -> Value {
    let mut params = json!({
        "ref": {"type": "ref/resource", "uri": uri},
        "argument": {"name": name, "value": begun},
    });
    if let Some(computer) = computer {
        params["context"] = json!({"arguments": {"id": computer}});
    }
    params
}

fn of_prompt(prompt: &str, name: &str, begun: &str, computer: Option<&str>) -> Value {
    let mut params = json!({
        "ref": {"type": "ref/prompt", "name": prompt},
        "argument": {"name": name, "value": begun},
    });
    if let Some(computer) = computer {
        params["context"] = json!({"arguments": {"computer": computer}});
    }
    params
}

async fn completed(bridge: &mut Bridge, params: Value) -> Vec<String> {
    let reply = bridge.request("completion/complete", params.clone()).await;
    let values = reply["result"]["completion"]["values"].as_array();
    let values = values.unwrap_or_else(|| panic!("{params}: {reply}")).iter();
    values
        .map(|value| value.as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn computers_are_offered_by_number_and_by_label() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut links = Vec::new();
    for (id, label) in [
        (3, Some("farm")),
        (12, Some("Miner")),
        (13, Some("miner two")),
        (14, Some("twin")),
        (15, Some("twin")),
        (16, Some("3")),
        (17, None),
    ] {
        links.push(RawComputer::link(port, id, label).await);
        bridge.linked(id).await;
    }
    let all = ["3", "12", "13", "14", "15", "16", "17"];
    let labels = ["farm", "Miner", "miner two"];
    for (begun, offered) in [
        ("", [&all[..], &labels[..]].concat()),
        ("1", vec!["12", "13", "14", "15", "16", "17"]),
        ("3", vec!["3", "16"]),
        ("MIN", vec!["Miner", "miner two"]),
        ("tw", vec!["14", "15", "miner two"]),
        ("none", vec![]),
    ] {
        for params in [
            of_template("cc://computer/{id}", "id", begun, None),
            of_template("cc://computer/{id}/screen", "id", begun, None),
            of_template(FILE, "id", begun, None),
            of_prompt("drive-turtle", "computer", begun, None),
        ] {
            assert_eq!(completed(&mut bridge, params).await, offered, "{begun}");
        }
    }
    // Those that have left come last.
    drop(links.remove(0));
    bridge
        .computer(3, |computer| computer["linked"] == false)
        .await;
    let offered = completed(&mut bridge, of_template(FILE, "id", "", None)).await;
    assert_eq!(offered[5..8], ["17", "3", "Miner"], "{offered:?}");
    for params in [
        of_template("cc://computers", "id", "", None),
        of_template(FILE, "other", "", None),
        of_prompt("drive-turtle", "task", "", None),
        of_prompt("none", "computer", "", None),
    ] {
        assert!(
            completed(&mut bridge, params.clone()).await.is_empty(),
            "{params}"
        );
    }
    bridge.leave().await;
}

#[tokio::test]
async fn of_many_a_hundred_are_offered_and_all_are_counted() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let mut links = Vec::new();
    for id in 1..=130 {
        links.push(RawComputer::link(port, id, None).await);
    }
    bridge
        .call("list-computers", json!({"query": "130"}))
        .await
        .structured
        .filter(|fields| fields["computers"][0]["linked"] == true)
        .unwrap();
    let params = modern(of_template(FILE, "id", "", None));
    let reply = bridge.request("completion/complete", params).await;
    let completion = &reply["result"]["completion"];
    assert_eq!(completion["values"].as_array().unwrap().len(), 100);
    assert_eq!(
        (&completion["total"], &completion["hasMore"]),
        (&json!(130), &json!(true))
    );
    bridge.leave().await;
}

#[tokio::test]
async fn paths_are_offered_folder_by_folder() {
    let mut bridge = Bridge::initialized().await;
    let _computer = computer(&mut bridge, 1, Some("my farm"), "").await;
    let write = "for _, path in ipairs({'/lib/hello.lua', '/lib/Help.txt', '/lib/deep/a', '/lib/my file', '/letter'}) do \
                 local file = fs.open(path, 'w') file.close() end for i = 1, 600 do \
                 local file = fs.open(('/many/f%03d'):format(i), 'w') file.close() end";
    bridge.lua(1, write).await;
    for (begun, offered) in [
        ("l", vec!["letter", "lib/"]),
        ("/l", vec!["/letter", "/lib/"]),
        (
            "lib/",
            vec!["lib/Help.txt", "lib/deep/", "lib/hello.lua", "lib/my file"],
        ),
        ("lib/he", vec!["lib/Help.txt", "lib/hello.lua"]),
        ("lib/my f", vec!["lib/my file"]),
        ("lib/none", vec![]),
        ("none/x", vec![]),
        ("../", vec![]),
        ("many/f60", vec!["many/f600"]),
    ] {
        for computer in [None, Some("1"), Some("my farm")] {
            for params in [
                of_template(FILE, "path", begun, computer),
                of_prompt("debug-program", "program", begun, computer),
            ] {
                assert_eq!(
                    completed(&mut bridge, params).await,
                    offered,
                    "{begun} {computer:?}"
                );
            }
        }
    }
    for gone in ["2", "other"] {
        let params = of_template(FILE, "path", "l", Some(gone));
        assert!(completed(&mut bridge, params).await.is_empty());
    }
    let jobs = bridge.call("list-jobs", json!({})).await.text;
    assert!(!jobs.contains("reading.lua"), "{jobs}");
    bridge.leave().await;
}

#[tokio::test]
async fn peripherals_are_offered_by_name_and_by_type() {
    let mut bridge = Bridge::initialized().await;
    let _computer = computer(&mut bridge, 1, None, "").await;
    let offered = async |bridge: &mut Bridge, begun: &str| {
        let params = of_prompt("program-computer", "peripheral", begun, Some("1"));
        completed(bridge, params).await
    };
    assert!(offered(&mut bridge, "").await.is_empty());
    bridge.lua(1, ATTACHED).await;
    let all = offered(&mut bridge, "").await;
    assert!(
        all.contains(&"back".to_owned()) && all.contains(&"minecraft:chest".to_owned()),
        "{all:?}"
    );
    let chests = offered(&mut bridge, "MINECRAFT:CHEST").await;
    assert!(
        chests.len() > 1
            && chests
                .iter()
                .all(|name| name.starts_with("minecraft:chest")),
        "{chests:?}"
    );
    bridge.leave().await;
}

#[tokio::test]
async fn a_computer_that_does_not_answer_holds_up_no_completion_for_long() {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    let _silent = RawComputer::link_v2(port, 5).await;
    bridge.linked(5).await;
    let begun = Instant::now();
    let params = of_template(FILE, "path", "l", Some("5"));
    assert!(completed(&mut bridge, params).await.is_empty());
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    bridge.leave().await;
}

#[tokio::test]
async fn over_http_the_same_is_offered_and_where_a_tool_is_refused_nothing_is() {
    let bridge = Served::start().await;
    let _computer = bridge.computer(1).await;
    for mut client in [bridge.client("2025-11-25").await, bridge.stateless()] {
        client.linked(1).await;
        let params = of_template(FILE, "path", "rom/pro", Some("1"));
        let reply = client.request("completion/complete", params).await;
        assert_eq!(
            reply["result"]["completion"]["values"],
            json!(["rom/programs/"]),
            "{reply}"
        );
    }
    let port = Port::reserve();
    let mut strict = Bridge::start_with(|command| {
        command
            .args(["--tools", "exec-lua"])
            .env("CC_LINK_PORT", port.number().to_string());
    });
    strict.initialize("2025-11-25").await;
    // A call that needs the computers waits until they are reached.
    strict.call("exec-lua", json!({"code": "return 1"})).await;
    let port = port.address();
    let _linked = RawComputer::link(port, 1, Some("farm")).await;
    for (name, begun) in [("id", ""), ("path", "rom/")] {
        let params = of_template(FILE, name, begun, Some("1"));
        assert!(completed(&mut strict, params).await.is_empty());
    }
    strict.leave().await;
}
