//! The clients of a run: each has a bridge of its own, and calls it as often as it likes at the same time.

use std::{collections::HashMap, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use serde_json::Value;
use tokio::{
    process::Command,
    sync::{Mutex, RwLock, mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};

use crate::common::{
    bridge::{Bridge, ToolAnswer},
    port::Port,
    served::{self, Served},
    soon,
};

/// The longest that any call may take, however much is broken meanwhile.
const ANSWERED_WITHIN: Duration = Duration::from_secs(60);

/// What bridges that share computers have in common.
pub struct Shared {
    pub port: Port,
    pub state: PathBuf,
    pub tools: PathBuf,
}

impl Shared {
    fn apply(&self, command: &mut Command) {
        command
            .env("CC_LINK_PORT", self.port.number().to_string())
            .env("MCP_BRIDGE_STATE_DIR", &self.state)
            .arg("--tools")
            .arg(&self.tools);
    }
}

/// By what a client reaches its bridge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Stdio,
    Http,
}

/// How a client goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It closes its end; over HTTP the bridge gets a signal, as from whoever runs it.
    Leaves,
    /// Its bridge is killed.
    Killed,
}

/// A place for one client after the other.
pub struct Seat {
    transport: Transport,
    shared: Arc<Shared>,
    client: RwLock<Arc<Client>>,
}

impl Seat {
    pub async fn take(transport: Transport, shared: Arc<Shared>) -> Self {
        let client = Client::start(transport, &shared).await;
        Self {
            transport,
            shared,
            client: RwLock::new(Arc::new(client)),
        }
    }

    /// The client that has it; while clients change, the next one.
    pub async fn client(&self) -> Arc<Client> {
        self.client.read().await.clone()
    }

    /// Its client goes, and another one comes.
    pub async fn change(&self, exit: Exit) {
        let mut client = self.client.write().await;
        client.go(exit).await;
        *client = Arc::new(Client::start(self.transport, &self.shared).await);
    }

    /// Its client goes.
    pub async fn leave(&self) {
        self.client.write().await.go(Exit::Leaves).await;
    }
}

/// A client and its bridge.
pub struct Client {
    /// The bridge's process id.
    pub pid: u32,
    connection: Connection,
}

enum Connection {
    Stdio {
        orders: mpsc::UnboundedSender<Order>,
        conversation: Mutex<Option<JoinHandle<()>>>,
    },
    Http {
        served: Mutex<Option<Box<Served>>>,
        address: SocketAddr,
    },
}

enum Order {
    Call {
        tool: String,
        arguments: Value,
        reply: oneshot::Sender<Value>,
    },
    Go(Exit),
}

impl Client {
    async fn start(transport: Transport, shared: &Shared) -> Self {
        match transport {
            Transport::Stdio => {
                let mut bridge = Bridge::start_with(|command| shared.apply(command));
                bridge.initialize("2025-11-25").await;
                let pid = bridge.pid();
                let (orders, taken) = mpsc::unbounded_channel();
                let conversation = Mutex::new(Some(tokio::spawn(converse(bridge, taken))));
                let connection = Connection::Stdio {
                    orders,
                    conversation,
                };
                Self { pid, connection }
            }
            Transport::Http => {
                let served = Served::start_with(|command| shared.apply(command)).await;
                let pid = served.child.id().expect("it was started just now");
                let address = served.address;
                let served = Mutex::new(Some(Box::new(served)));
                let connection = Connection::Http { served, address };
                Self { pid, connection }
            }
        }
    }

    /// Calls a tool. The reply, or none if the bridge or the client has gone before it came.
    pub async fn call(&self, tool: &str, arguments: Value) -> Option<Value> {
        let reply = async {
            match &self.connection {
                Connection::Stdio { orders, .. } => {
                    let (reply, replied) = oneshot::channel();
                    let tool = tool.to_owned();
                    let order = Order::Call {
                        tool,
                        arguments: arguments.clone(),
                        reply,
                    };
                    orders.send(order).ok()?;
                    replied.await.ok()
                }
                Connection::Http { address, .. } => {
                    let mut client = served::Client::new(*address, served::STATELESS);
                    client.try_call(tool, arguments.clone()).await
                }
            }
        };
        let reply = timeout(ANSWERED_WITHIN, reply).await;
        reply.unwrap_or_else(|_| panic!("no answer within {ANSWERED_WITHIN:?}: {tool} {arguments}"))
    }

    async fn go(&self, exit: Exit) {
        match &self.connection {
            Connection::Stdio {
                orders,
                conversation,
            } => {
                // A conversation that has failed takes no order; its end says why.
                let _ = orders.send(Order::Go(exit));
                if let Some(conversation) = conversation.lock().await.take() {
                    soon("the client goes", conversation).await.unwrap();
                }
            }
            Connection::Http { served, .. } => {
                let Some(mut served) = served.lock().await.take() else {
                    return;
                };
                #[cfg(unix)]
                if exit == Exit::Leaves {
                    super::faults::signal(self.pid, rustix::process::Signal::TERM);
                    let status = served.ended().await;
                    assert!(status.success(), "{status}");
                    return;
                }
                served.child.kill().await.unwrap();
            }
        }
    }
}

/// Writes what a client calls, and reads what it is answered.
async fn converse(mut bridge: Bridge, mut orders: mpsc::UnboundedReceiver<Order>) {
    let mut waiting = HashMap::new();
    let answer = |waiting: &mut HashMap<u64, oneshot::Sender<Value>>, message: Value| {
        let Some(id) = message["id"].as_u64() else {
            return;
        };
        let reply = waiting.remove(&id);
        let reply = reply.unwrap_or_else(|| panic!("answered twice, or unasked: {message}"));
        // Nobody waits for it any more at the test's end.
        let _ = reply.send(message);
    };
    let exit = loop {
        tokio::select! {
            order = orders.recv() => match order {
                Some(Order::Call { tool, arguments, reply }) => {
                    waiting.insert(bridge.start_call(&tool, arguments).await, reply);
                }
                Some(Order::Go(exit)) => break exit,
                None => break Exit::Leaves,
            },
            message = bridge.next_message() => match message {
                Some(message) => answer(&mut waiting, message),
                None => panic!("the bridge has ended by itself: {}", bridge.stderr().await),
            },
        }
    };
    if exit == Exit::Killed {
        return bridge.kill().await;
    }
    bridge.close_input();
    let status = bridge.ended().await;
    assert!(status.success(), "{status}");
    // What it said before it left was said.
    while let Some(message) = bridge.next_message().await {
        answer(&mut waiting, message);
    }
}

/// What a tool answered, or why the call was refused: its text, and whether it is an error.
pub fn text_of(reply: &Value) -> (String, bool) {
    if let Some(refused) = reply["error"]["message"].as_str() {
        return (refused.to_owned(), true);
    }
    let answer = ToolAnswer::of(reply);
    (answer.text, answer.is_error)
}
