//! A bad network between agents and a bridge: it sees every frame, and loses frames or whole links as a test wants.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_tungstenite::{accept_async, connect_async, tungstenite::Message};

/// Which way a frame goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    ToComputer,
    ToBridge,
}

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Passes,
    /// It comes this much later, and so does all that follows it: the network stalls.
    Late(Duration),
    /// It is lost, as when the game's event queue is full.
    Lost,
    /// The link breaks before it.
    CutBefore,
    /// The link breaks right after it.
    CutAfter,
}

/// A network with a will of its own.
pub struct Proxy {
    /// Where agents connect.
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    /// Starts one before this bridge, where `decide` is asked about every frame.
    pub async fn start(
        bridge: SocketAddr,
        decide: impl FnMut(Way, &Value) -> Fate + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let decide = Arc::new(Mutex::new(decide));
        let task = tokio::spawn(async move {
            let mut links = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let decide = decide.clone();
                links.spawn(async move {
                    let Ok(mut computer) = accept_async(stream).await else {
                        return;
                    };
                    // While no bridge listens, the agent sees its link close.
                    let Ok((mut bridge, _)) = connect_async(format!("ws://{bridge}/")).await else {
                        return;
                    };
                    loop {
                        let (way, message) = tokio::select! {
                            message = computer.next() => (Way::ToBridge, message),
                            message = bridge.next() => (Way::ToComputer, message),
                        };
                        let Some(Ok(Message::Text(text))) = message else {
                            return;
                        };
                        let frame = serde_json::from_str(&text).unwrap();
                        let fate = (decide.lock().unwrap())(way, &frame);
                        if fate == Fate::CutBefore {
                            return;
                        }
                        if let Fate::Late(time) = fate {
                            tokio::time::sleep(time).await;
                        }
                        if fate != Fate::Lost {
                            let sent = match way {
                                Way::ToComputer => computer.send(Message::Text(text)).await,
                                Way::ToBridge => bridge.send(Message::Text(text)).await,
                            };
                            if sent.is_err() {
                                return;
                            }
                        }
                        if fate == Fate::CutAfter {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, task }
    }
}
