//! What others can make a bridge hold, all of them together, and that it goes when they go.

mod links;
mod unread;

use std::{net::SocketAddr, time::Duration};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;

use crate::common::{
    bridge::Bridge,
    computer::Computer,
    memory::{MIB, Peak, back_under, resident, tell},
    soon,
};

/// The most memory that a bridge has under attack, in KiB.
const UNDER_ATTACK: u64 = 200 * MIB;

/// The most that it has a minute after that, in KiB. One that is not optimised takes half of this before any attack, most
/// of it for the program itself: it may have so much more than before.
const AFTERWARDS: u64 = 60 * MIB;
const MORE_THAN_BEFORE: u64 = 30 * MIB;

/// How long after an attack the memory has to be back.
const BACK_WITHIN: Duration = Duration::from_secs(60);

/// A peer that sends whatever it likes, and reads what comes so that nothing waits for it.
pub struct Hostile {
    sending: futures_util::stream::SplitSink<Socket, Message>,
    reading: JoinHandle<()>,
}

type Socket =
    tokio_tungstenite::WebSocketStream<tokio_tungstenite::MaybeTlsStream<tokio::net::TcpStream>>;

impl Hostile {
    /// Links as this computer; `more` is added to its hello.
    pub async fn link(port: SocketAddr, id: u64, more: Value) -> Self {
        let mut computer = Computer::connect(port).await;
        let mut hello = json!({
            "type": "hello", "computerId": id, "computerLabel": "made up", "protocol": 2, "boot": format!("boot-{id}"),
        });
        hello
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        assert_eq!(computer.hello(hello).await["type"], "hello-ok");
        let (sending, mut receiving) = computer.socket.split();
        let reading =
            tokio::spawn(async move { while let Some(Ok(_)) = receiving.next().await {} });
        Self { sending, reading }
    }

    /// Sends a frame; tells whether the link still stands.
    pub async fn send(&mut self, frame: &Value) -> bool {
        self.send_text(frame.to_string()).await
    }

    pub async fn send_text(&mut self, text: String) -> bool {
        let sent = self.sending.send(Message::Text(text.into()));
        soon("the bridge reads", sent).await.is_ok()
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

/// Attacks a bridge by `attack`, which returns what has to stay open for it, and sees to its memory.
async fn attacked<T>(attack: impl AsyncFnOnce(SocketAddr) -> T) {
    let mut bridge = Bridge::initialized().await;
    let port = bridge.link_port().await;
    within_bounds(bridge.pid(), 0, async || {
        let open = attack(port).await;
        // All that was sent has been read by now, or was never to be.
        bridge.link_port().await;
        open
    })
    .await;
    bridge.leave().await;
}

/// Sees to the memory of this bridge during an attack, and after it, when it may still hold `more` KiB.
async fn within_bounds<T>(pid: u32, more: u64, attack: impl AsyncFnOnce() -> T) {
    let (before, peak) = (resident(pid).unwrap_or_default(), Peak::of(pid));
    let open = attack().await;
    let most = peak.most().await;
    drop(open);
    let bound = AFTERWARDS.max(before + MORE_THAN_BEFORE) + more;
    let after = back_under(pid, bound, BACK_WITHIN).await;
    let now = resident(pid).unwrap_or_default();
    assert_eq!(now > 0, before > 0, "it does not run any more");
    tell(format!(
        "KiB before: {before}, at most {most}, under {bound} again after {after:?}: {now}"
    ));
    assert!(most < UNDER_ATTACK, "{most} KiB under attack");
    assert!(after.is_ok(), "{after:?} KiB a minute after the attack");
}
