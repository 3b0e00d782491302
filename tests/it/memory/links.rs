//! What computers without a token can make the bridge hold.

use std::net::SocketAddr;

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use futures_util::future::join_all;
use serde_json::json;
use tokio::io::AsyncWriteExt;

use super::{Hostile, attacked};
use crate::common::{computer::Computer, rounds, soon};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_that_invent_jobs_with_output() {
    attacked(async |port| {
        let jobs = rounds(12).min(190);
        let links = (0..20).map(async |id| {
            let mut link = Hostile::link(port, id, json!({})).await;
            for job in 0..jobs {
                let id = format!("made-up-{job}");
                let report = json!({"id": id, "state": "running", "code": "x".repeat(10_000)});
                link.send(&json!({"type": "event", "name": "job", "job": report}))
                    .await;
                for seq in 1..=9 {
                    let text = "y".repeat(130_000);
                    link.send(&json!({"type": "output", "id": id, "seq": seq, "text": text}))
                        .await;
                }
            }
            link
        });
        join_all(links).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_with_unfinished_parts() {
    attacked(async |port| {
        let parts = (rounds(50) as usize).min(170);
        let data = BASE64.encode(vec![b'z'; 90_000]);
        let links = (0..60).map(async |id| {
            let mut link = Hostile::link(port, id, json!({})).await;
            for n in 0..parts {
                for of in ["a", "b"] {
                    let part =
                        json!({"type": "part", "of": of, "n": n, "count": 180, "data": data});
                    link.send(&part).await;
                }
            }
            link
        });
        join_all(links).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn made_up_computers_all_at_once() {
    attacked(async |port| {
        let mut links = Vec::new();
        for id in 0..u64::from(rounds(1_000).min(15_000)) {
            links.push(Hostile::link(port, id, json!({})).await);
        }
        links
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn made_up_computers_that_come_and_go() {
    attacked(async |port| {
        for first in (0..u64::from(rounds(1_000).min(15_000))).step_by(20) {
            let links = (first..first + 20).map(|id| Hostile::link(port, id, json!({})));
            join_all(links).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn computers_that_are_made_up_with_the_largest_hello() {
    attacked(async |port| {
        let long = "\u{1F600}".repeat(128);
        let hello = json!({
            "computerLabel": long, "agent": {"name": long, "version": long},
            "computer": {"kind": long, "host": long}, "boot": "b".repeat(128),
            "capabilities": vec![&long; 32], "jobs": vec!["x".repeat(250); 16],
        });
        let mut links = Vec::new();
        for id in 0..u64::from(rounds(400).min(9_000)) {
            links.push(Hostile::link(port, id, hello.clone()).await);
        }
        links
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn computers_that_know_of_more_jobs_than_can_be() {
    attacked(async |port| {
        let mut links = Vec::new();
        for id in 0..u64::from(rounds(1_200)) {
            let mut computer = Computer::connect(port).await;
            let hello = json!({
                "type": "hello", "computerId": id, "protocol": 2, "boot": "b", "jobs": vec!["a-"; 6_000],
            });
            computer.send(&hello).await;
            // It is taken, or told by the close that there is no room.
            computer.event().await;
            links.push(computer);
        }
        // One that knows of a few jobs finds room all the same.
        links.push(Computer::link_boot(port, 1_000_000, "b", &["a-1", "a-2"]).await);
        links
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_never_get_whole() {
    attacked(async |port| {
        let begun = begun_message(131_072, 130_000);
        let mut links = Vec::new();
        for id in 0..u64::from(rounds(1_500).min(9_000)) {
            let mut computer = Computer::link(port, id, None).await;
            // One that finds no room is broken off.
            let _ = write_raw(&mut computer, &begun).await;
            links.push(computer);
        }
        those_that_send_short_messages_go_on(port).await;
        links
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_that_once_sent_a_long_message() {
    attacked(async |port| {
        let long = json!({"type": "x".repeat(130_000)});
        let mut links = Vec::new();
        for id in 0..u64::from(rounds(1_500).min(9_000)) {
            let mut link = Hostile::link(port, id, json!({})).await;
            link.send(&long).await;
            links.push(link);
        }
        those_that_send_short_messages_go_on(port).await;
        links
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_who_come_as_other_bridges() {
    attacked(async |port| {
        let begun = begun_message(20_000_000, 4_000_000);
        let headers = [("sec-websocket-protocol", "mcp-bridge.guest")];
        let strangers = (0..rounds(80).min(1_000)).map(async |_| {
            let mut stranger = Computer::connect_with(port, &headers).await.unwrap();
            let _ = write_raw(&mut stranger, &begun).await;
            stranger
        });
        join_all(strangers).await
    })
    .await;
}

async fn those_that_send_short_messages_go_on(port: SocketAddr) {
    let mut computer = Computer::link_v2(port, 1_000_000).await;
    computer.send(&json!({"type": "ping", "n": 1})).await;
    computer.frame_of_type("pong").await;
}

/// The beginning of a text message of so many bytes, masked as a client's have to be (RFC 6455, section 5.2).
fn begun_message(length: u64, begun: usize) -> Vec<u8> {
    let mut bytes = vec![0x81, 0xFF];
    bytes.extend(length.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.resize(bytes.len() + begun, b' ');
    bytes
}

/// Writes bytes that are no whole message.
async fn write_raw(computer: &mut Computer, bytes: &[u8]) -> std::io::Result<()> {
    let stream = computer.socket.get_mut();
    soon("the bridge reads", stream.write_all(bytes)).await
}
