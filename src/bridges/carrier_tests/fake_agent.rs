//! An agent of version 2 that runs no Lua: what code does is that it prints and returns its length, at once or when it
//! is let.

use std::{
    collections::HashMap,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard},
};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::{
    io::DuplexStream,
    sync::{mpsc, watch},
    task::JoinHandle,
    time::Instant,
};
use tokio_tungstenite::{WebSocketStream, client_async, tungstenite::Message};
use tokio_util::sync::CancellationToken;

use super::{Bridge, config};
use crate::{
    base::{budget::Budget, http::listener},
    commands,
    link::port,
    wire::{parts, text},
};

/// The agent of one computer, on one link after another. Dropping it ends its link.
pub struct Agent {
    number: u64,
    shared: Arc<Shared>,
    link: Mutex<Option<Linked>>,
}

struct Linked {
    /// Sends frames to the bridge.
    frames: mpsc::UnboundedSender<Value>,
    task: JoinHandle<()>,
}

struct Shared {
    jobs: Mutex<HashMap<String, Job>>,
    /// Changes with the jobs.
    changes: watch::Sender<()>,
}

/// A request that came, by its id.
#[derive(Debug, Default)]
struct Job {
    code: String,
    runs: usize,
    /// Pieces of output, each with its place among the bytes, that no bridge has acknowledged.
    output: Vec<(usize, usize, String)>,
    printed: usize,
    seq: usize,
    /// What it answers, once it has ended.
    answer: Option<Value>,
    is_acknowledged: bool,
}

impl Agent {
    pub fn new(number: u64) -> Self {
        Self {
            number,
            shared: Arc::new(Shared {
                jobs: Mutex::default(),
                changes: watch::Sender::new(()),
            }),
            link: Mutex::new(None),
        }
    }

    /// Links to a bridge that has the owner's place; an older link of this agent ends.
    pub async fn link(&self, bridge: &Bridge) {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let routes = commands::computers::routes(
            &config(),
            bridge.registry.clone(),
            bridge.reach.clone(),
            None,
        );
        let peer = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        bridge.runtime().spawn(listener::converse(
            theirs,
            peer,
            routes,
            port::BOUNDS,
            CancellationToken::new(),
        ));
        let (socket, _) = client_async("ws://localhost/", ours).await.unwrap();
        let (frames, to_send) = mpsc::unbounded_channel();
        let known: Vec<String> = self.lock().keys().cloned().collect();
        let hello = json!({
            "type": "hello", "computerId": self.number, "computerLabel": "x", "protocol": 2, "boot": "b1",
            "agent": {"name": "test", "version": "1.0.0"}, "jobs": known, "maxMessage": 131_072,
        });
        frames.send(hello).unwrap();
        for (id, job) in &*self.lock() {
            // What no bridge said that it has comes again.
            for (seq, at, text) in &job.output {
                frames.send(output(id, *seq, *at, text)).unwrap();
            }
        }
        let shared = self.shared.clone();
        let task = tokio::spawn(converse(socket, shared, frames.clone(), to_send));
        let older = self.link.lock().unwrap().replace(Linked { frames, task });
        if let Some(older) = older {
            older.task.abort();
        }
        bridge.computer(self.number, super::linked).await;
    }

    /// Closes the link.
    pub async fn leave(&mut self) {
        let link = self.link.lock().unwrap().take();
        if let Some(Linked { frames, task }) = link {
            frames.send(Value::Null).unwrap();
            super::soon("the link is closed", task).await.unwrap();
        }
    }

    /// How often this code was run.
    pub fn runs(&self, code: &str) -> usize {
        let jobs = self.lock();
        let of_code = jobs.values().filter(|job| job.code == code);
        of_code.map(|job| job.runs).sum()
    }

    /// Waits until this code is held.
    pub async fn holds(&self, code: &str) {
        self.until(|job| job.code == code && job.runs > 0 && job.answer.is_none())
            .await;
    }

    /// Waits until a bridge says that it has the answer to this code.
    pub async fn acknowledged(&self, code: &str) {
        self.until(|job| job.code == code && job.is_acknowledged)
            .await;
    }

    /// Lets held code go on to its end.
    pub fn finish(&self, code: &str) {
        let link = self.link.lock().unwrap();
        let frames = &link.as_ref().unwrap().frames;
        let mut jobs = self.lock();
        let held = jobs
            .iter_mut()
            .filter(|(_, job)| job.code == code && job.answer.is_none());
        for (id, job) in held {
            job.end_well(id, frames);
        }
    }

    async fn until(&self, is_so: impl Fn(&Job) -> bool) {
        let mut changes = self.shared.changes.subscribe();
        while !self.lock().values().any(&is_so) {
            changes.changed().await.unwrap();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Job>> {
        self.shared.jobs.lock().unwrap()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if let Some(link) = self.link.lock().unwrap().take() {
            link.task.abort();
        }
    }
}

impl Job {
    fn print(&mut self, id: &str, frames: &mpsc::UnboundedSender<Value>, text: &str) {
        self.seq += 1;
        let _ = frames.send(output(id, self.seq, self.printed, text));
        self.output.push((self.seq, self.printed, text.to_owned()));
        self.printed += text.len();
    }

    fn end_well(&mut self, id: &str, frames: &mpsc::UnboundedSender<Value>) {
        let length = self.code.len();
        self.print(id, frames, &format!("{length} bytes\n"));
        self.end(
            id,
            frames,
            json!({ "ok": true, "result": { "length": length } }),
        );
    }

    fn end(&mut self, id: &str, frames: &mpsc::UnboundedSender<Value>, mut answer: Value) {
        answer["type"] = json!("response");
        answer["id"] = json!(id);
        answer["outputBytes"] = json!(self.printed);
        let _ = frames.send(answer.clone());
        self.answer = Some(answer);
    }
}

fn output(id: &str, seq: usize, at: usize, text: &str) -> Value {
    json!({ "type": "output", "id": id, "seq": seq, "at": at, "text": text })
}

/// One link, until either side closes it.
async fn converse(
    mut socket: WebSocketStream<DuplexStream>,
    shared: Arc<Shared>,
    frames: mpsc::UnboundedSender<Value>,
    mut to_send: mpsc::UnboundedReceiver<Value>,
) {
    let mut parts = parts::Incoming::default();
    loop {
        tokio::select! {
            Some(frame) = to_send.recv() => {
                if frame.is_null() {
                    // A bridge that is gone is closed already.
                    let _ = socket.close(None).await;
                    while let Some(Ok(_)) = socket.next().await {}
                    return;
                }
                if socket.send(Message::text(frame.to_string())).await.is_err() {
                    return;
                }
            }
            message = socket.next() => match message {
                Some(Ok(Message::Text(message))) => take(&message, &shared, &mut parts, &frames),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            }
        }
    }
}

fn take(
    message: &str,
    shared: &Shared,
    parts: &mut parts::Incoming,
    frames: &mpsc::UnboundedSender<Value>,
) {
    let frame: Value = serde_json::from_str(message).unwrap();
    let text_at = |name: &str| frame[name].as_str().unwrap_or_default().to_owned();
    let number_at = |name: &str| frame[name].as_u64().unwrap_or_default();
    let mut jobs = shared.jobs.lock().unwrap();
    let id = text_at("id");
    match frame["type"].as_str().unwrap() {
        "request" => {
            let params = text::decode_value(frame["params"].clone(), text::TextMode::Bytes);
            let _ = frames.send(json!({ "type": "accepted", "id": id }));
            let job = jobs.entry(id.clone()).or_default();
            if let Some(answer) = &job.answer {
                let _ = frames.send(answer.clone());
            } else if job.runs == 0 {
                job.runs += 1;
                job.code = params["code"].as_str().unwrap().to_owned();
                if job.code == "hold" {
                    job.print(&id, frames, "held\n");
                } else {
                    job.end_well(&id, frames);
                }
            }
        }
        "part" => {
            let (of, n) = (text_at("of"), number_at("n") as usize);
            let part = parts::Part {
                of: of.clone(),
                n,
                count: number_at("count") as usize,
                data: text_at("data"),
            };
            let room = parts::Room {
                budget: &Budget::new(parts::MAX_FRAME),
                largest: parts::MAX_FRAME,
            };
            let taken = parts.take(&part, room, Instant::now());
            let _ = frames.send(json!({ "type": "part-ack", "of": of, "n": n }));
            if let parts::Taken::Whole(whole) = taken {
                drop(jobs);
                take(&parts::text_of(whole), shared, parts, frames);
            }
        }
        "cancel" => {
            let job = jobs.get_mut(&id).unwrap();
            if job.answer.is_none() {
                let error = json!({ "kind": "cancelled", "message": "it was stopped" });
                job.end(&id, frames, json!({ "ok": false, "error": error }));
            }
        }
        "ack" => jobs.get_mut(&id).unwrap().is_acknowledged = true,
        "output-ack" => {
            let seq = number_at("seq") as usize;
            let job = jobs.get_mut(&id).unwrap();
            job.output.retain(|(piece, ..)| *piece > seq);
        }
        "ping" => {
            let _ = frames.send(json!({ "type": "pong", "n": number_at("n") }));
        }
        "hello-ok" | "pong" | "part-ack" => {}
        other => panic!("{other}"),
    }
    shared.changes.send_replace(());
}
