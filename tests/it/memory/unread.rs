//! What peers can make the bridge hold that read nothing of what they are sent, or send what is only logged.

use std::time::Duration;

use futures_util::{SinkExt, future::join_all};
use serde_json::json;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

use super::{Hostile, attacked, within_bounds};
use crate::common::{computer::Computer, memory::MIB, rounds, served::Served};

/// How long a peer that does not read goes on trying to send, once nobody reads it either.
const GIVES_UP_AFTER: Duration = Duration::from_millis(500);

/// How much is held in any case, in KiB, of what jobs printed that a bridge asked for: it can still be asked for.
const OF_JOBS: u64 = 32 * MIB;

/// How much each client that is gone may cost for a while, in KiB: its session stays for ten minutes, and 64 KiB of what
/// its job printed are kept however many there are.
const OF_EACH: u64 = 128;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_that_send_what_is_only_logged() {
    attacked(async |port| {
        let long = "x".repeat(100_000);
        let links = (0..u64::from(rounds(20).min(300))).map(async |id| {
            let mut link = Hostile::link(port, id, json!({})).await;
            for n in 0..10 {
                link.send(&json!({"type": format!("{n}{long}")})).await;
                let label = format!("{n}{long}");
                link.send(&json!({"type": "event", "name": "label", "label": label}))
                    .await;
                link.send_text(format!("{{{long}")).await;
            }
            link
        });
        join_all(links).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_that_read_no_acknowledgement() {
    attacked(async |port| {
        let pieces = rounds(3_000).min(30_000);
        let links = (0..60).map(async |id| {
            let mut computer = Computer::link_v2(port, id).await;
            let report = json!({"id": "made-up", "state": "running", "code": "x"});
            let report = json!({"type": "event", "name": "job", "job": report});
            computer.send(&report).await;
            for seq in 1..=pieces {
                let piece = json!({"type": "output", "id": "made-up", "seq": seq, "text": "y"});
                let sent = computer
                    .socket
                    .send(Message::Text(piece.to_string().into()));
                if !matches!(timeout(GIVES_UP_AFTER, sent).await, Ok(Ok(()))) {
                    break;
                }
            }
            computer
        });
        join_all(links).await
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_over_http_that_read_nothing_of_what_they_asked_for() {
    let bridge = Served::start().await;
    let port = bridge.link_port().await;
    let pid = bridge.child.id().unwrap();
    let clients = rounds(20).min(200);
    within_bounds(pid, OF_JOBS + OF_EACH * u64::from(clients), async || {
        let mut computer = Computer::link_v2(port, 4).await;
        let (mut unread, mut requests) = (Vec::new(), Vec::new());
        for _ in 0..clients {
            let mut client = bridge.client("2025-11-25").await;
            let params = json!({
                "name": "exec-lua", "arguments": {"computerId": 4, "code": "code()"}, "_meta": {"progressToken": "p"},
            });
            let taken = async {
                let request = computer.request().await;
                computer.accept(&request).await;
                request
            };
            let ((_, answer), request) = tokio::join!(client.ask("tools/call", params), taken);
            unread.push((client, answer));
            requests.push(request["id"].clone());
        }
        let text = "line\n".repeat(20_000);
        for seq in 1..=20 {
            for id in &requests {
                let piece = json!({"type": "output", "id": id, "seq": seq, "text": text});
                computer.send(&piece).await;
                computer.frame_of_type("output-ack").await;
            }
        }
        (computer, unread)
    })
    .await;
}

/// The owner keeps no more for a guest than it reads: one that hangs is let go.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_hangs_while_computers_come_and_go() {
    use crate::{bridges::signal, common::bridge::Bridge};
    use rustix::process::Signal;
    let mut own = Bridge::initialized().await;
    let port = own.link_port().await;
    let state = own.folder.path().join("state");
    let mut guests = Vec::new();
    for _ in 0..4 {
        let mut guest = Bridge::start_with(|command| {
            command
                .env("CC_LINK_PORT", port.port().to_string())
                .env("MCP_BRIDGE_STATE_DIR", &state);
        });
        guest.initialize("2025-11-25").await;
        guests.push(guest);
    }
    let first = Hostile::link(port, 1, json!({})).await;
    for guest in &mut guests {
        guest.linked(1).await;
        signal(guest.pid(), Signal::STOP);
    }
    let long = "\u{1F600}".repeat(128);
    let hello = json!({"computerLabel": long, "agent": {"name": long, "version": long}});
    within_bounds(own.pid(), 0, async || {
        for first in (100..100 + u64::from(rounds(600).min(9_000))).step_by(20) {
            let links = (first..first + 20).map(|id| Hostile::link(port, id, hello.clone()));
            join_all(links).await;
        }
        own.link_port().await;
    })
    .await;
    for guest in guests {
        signal(guest.pid(), Signal::CONT);
        guest.leave().await;
    }
    drop(first);
    own.leave().await;
}
