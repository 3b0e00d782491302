//! Who a client speaks to, over lines or over HTTP: a server, or the bridge before it.

use std::{collections::HashMap, net::SocketAddr};

use axum::{
    body::Body,
    http::{Method, Request},
};
use serde_json::{Value, json};
use tokio::{
    process::Child,
    sync::mpsc,
    task::{AbortHandle, JoinSet},
};

use crate::common::{
    bridge::Bridge,
    served::{Answer, Client, STATELESS, exchange},
};

/// One of them, and what holds it.
pub enum Peer {
    /// Over its standard input and output.
    Lines(Box<Bridge>),
    /// Over streamable HTTP.
    Http(Box<Http>),
}

impl Peer {
    /// Opens a session with a client of these capabilities.
    pub async fn initialize(&mut self, capabilities: &Value) {
        match self {
            Self::Lines(peer) => {
                let params = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
                    "clientInfo": {"name": "tests", "version": "1"}});
                peer.request("initialize", params).await;
                let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
                peer.send(&initialized).await;
            }
            Self::Http(peer) => {
                peer.client.initialize_with(capabilities.clone()).await;
                let request = peer.client.http(Method::GET);
                let request = request.body(Body::empty()).unwrap();
                // What belongs to no request comes here, and is lost before this is there.
                let stream = peer.client.exchange(request).await;
                assert_eq!(stream.status, 200);
                peer.hear(std::future::ready(stream));
            }
        }
    }

    /// Sends a request, and returns its id.
    pub async fn ask(&mut self, method: &str, params: Value) -> u64 {
        match self {
            Self::Lines(peer) => peer.ask(method, params).await,
            Self::Http(peer) => {
                let (id, request) = peer.client.post(method, params);
                let reading = peer.read(request);
                peer.reading.insert(id, reading);
                id
            }
        }
    }

    /// Sends an answer or a notification.
    pub async fn send(&mut self, message: &Value) {
        match self {
            Self::Lines(peer) => peer.send(message).await,
            Self::Http(peer) => assert_eq!(peer.client.send(message).await.status, 202),
        }
    }

    /// Takes a request back, as a client does it.
    pub async fn cancel(&mut self, id: u64) {
        match self {
            Self::Http(peer) if peer.client.session.is_none() => peer.reading[&id].abort(),
            _ => {
                let params = json!({"requestId": id});
                let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
                self.send(&cancelled).await;
            }
        }
    }

    /// The next message that it sends, in whatever way.
    pub async fn next_message(&mut self) -> Option<Value> {
        match self {
            Self::Lines(peer) => peer.next_message().await,
            Self::Http(peer) => peer.messages.recv().await,
        }
    }

    /// Leaves it, which ends it if it is the client's own.
    pub async fn leave(self) {
        match self {
            Self::Lines(mut peer) => {
                peer.close_input();
                peer.ended().await;
            }
            Self::Http(peer) => {
                if peer.client.session.is_some() {
                    let end = peer.client.http(Method::DELETE);
                    let end = end.body(Body::empty()).unwrap();
                    assert!(peer.client.exchange(end).await.status < 300);
                }
            }
        }
    }
}

/// A client of streamable HTTP that reads all streams at once.
pub struct Http {
    client: Client,
    told: mpsc::UnboundedSender<Value>,
    messages: mpsc::UnboundedReceiver<Value>,
    readers: JoinSet<()>,
    /// Who reads the answer to a request.
    reading: HashMap<u64, AbortHandle>,
    address: SocketAddr,
}

impl Http {
    /// A client of what serves at this address, in the era with sessions or in the one without.
    pub fn to(address: SocketAddr, is_stateless: bool) -> Self {
        let revision = if is_stateless {
            STATELESS
        } else {
            "2025-11-25"
        };
        let (told, messages) = mpsc::unbounded_channel();
        Self {
            client: Client::new(address, revision),
            told,
            messages,
            readers: JoinSet::new(),
            reading: HashMap::new(),
            address,
        }
    }

    fn read(&mut self, request: Request<Body>) -> AbortHandle {
        let address = self.address;
        self.hear(async move { exchange(address, request).await })
    }

    /// Takes up all messages of an answer.
    fn hear(&mut self, answer: impl Future<Output = Answer> + Send + 'static) -> AbortHandle {
        let told = self.told.clone();
        self.readers.spawn(async move {
            let mut answer = answer.await;
            while let Some(message) = answer.message().await {
                // Whoever asked may have left.
                let _ = told.send(message);
            }
        })
    }
}

/// `server-everything` over streamable HTTP, which ends with this.
pub struct Serving {
    _process: Child,
    pub address: SocketAddr,
}

impl Serving {
    /// Starts it by this script.
    pub async fn start(script: &std::path::Path) -> Self {
        use tokio::io::{AsyncBufReadExt, BufReader};
        loop {
            // It does not say which port it has if it may choose.
            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let address = free.local_addr().unwrap();
            drop(free);
            let mut process = tokio::process::Command::new("node")
                .arg(script)
                .arg("streamableHttp")
                .env("PORT", address.port().to_string())
                .stdin(std::process::Stdio::null())
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::piped())
                .kill_on_drop(true)
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
            let said = crate::common::soon("the server listens", lines.next_line()).await;
            let said = said.unwrap().unwrap_or_default();
            if said.contains("listening") {
                // Whatever else it says, it never waits for a reader.
                tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
                return Self {
                    _process: process,
                    address,
                };
            }
            // Somebody else took the port meanwhile.
            assert!(said.contains("already in use"), "{said}");
        }
    }
}
