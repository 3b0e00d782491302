//! An MCP client's side: lines of standard input, through the whole server.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use mcp_bridge::mcp;
use serde_json::{Value, value::RawValue};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{bridge, pieces};

/// Any bytes, in any pieces, get answers that are JSON-RPC, each line at most one, each
/// request exactly one, and under its own id.
///
/// The first byte chooses the pieces.
pub fn check(data: &[u8]) {
    let Some((seed, sent)) = data.split_first() else {
        return;
    };
    // Time passes when nothing else is left to do, so no input takes long.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let answer = runtime.block_on(converse(sent, *seed));
    check_answer(&answer, sent);
}

/// All that the server writes to a client that sends this and then closes its end.
async fn converse(sent: &[u8], seed: u8) -> Vec<u8> {
    let (fleet, server) = bridge::start();

    let (mut to_server, input) = tokio::io::duplex(64 * 1024);
    let (output, mut from_server) = tokio::io::duplex(64 * 1024);
    let serve = mcp::serve(server, Box::new(input), Box::new(output), move || {
        fleet.want()
    });
    let write = async {
        for piece in pieces(sent, seed) {
            if to_server.write_all(piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
        drop(to_server);
    };
    let mut answer = Vec::new();
    let served = async { tokio::join!(serve, write) };
    let read = async {
        // A call that nobody waits for may hold the output a little longer than the session lasts.
        let read = from_server.read_to_end(&mut answer);
        let _ = tokio::time::timeout(Duration::from_secs(60), read).await;
    };
    tokio::join!(served, read);
    answer
}

/// What the lines of input may get, and what they must.
#[derive(Default)]
struct Owed {
    /// How many lines have this id.
    by_id: HashMap<String, usize>,
    /// How many have none that everybody reads alike, and may be answered under any or none.
    otherwise: usize,
    /// The ids of requests that nothing takes back.
    promised: HashSet<String>,
}

impl Owed {
    fn new(sent: &[u8]) -> Self {
        let mut owed = Self::default();
        let mut cancelled = false;
        for line in sent.split(|byte| *byte == b'\n') {
            let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match serde_json::from_slice(line).unwrap_or(Value::Null) {
                // A session of a revision without batches answers the whole with one error.
                Value::Array(batch) => {
                    owed.otherwise += 1;
                    for message in &batch {
                        cancelled |= owed.add(message, false);
                    }
                }
                message => cancelled |= owed.add(&message, true),
            }
        }
        if cancelled {
            owed.promised.clear();
        }
        // With several lines of one id it isn't said which of them the answer is for.
        let by_id = &owed.by_id;
        owed.promised.retain(|id| by_id[id] == 1);
        owed
    }

    /// Adds a message, which is sure to be answered if `alone`; whether it cancels another.
    fn add(&mut self, message: &Value, alone: bool) -> bool {
        let method = message["method"].as_str();
        let id = &message["id"];
        if id.is_string() || id.is_number() {
            let id = name_of(id);
            // What is listened to goes on until the client leaves.
            if alone && method.is_some_and(|method| method != "subscriptions/listen") {
                self.promised.insert(id.clone());
            }
            *self.by_id.entry(id).or_default() += 1;
        } else {
            self.otherwise += 1;
        }
        method == Some("notifications/cancelled")
    }

    /// Takes one answer off.
    fn answered(&mut self, id: Option<&RawValue>) {
        let id = id.map_or("", RawValue::get);
        // A string that is no Unicode goes back as it came.
        let id = serde_json::from_str(id).map_or_else(|_| id.to_owned(), |id| name_of(&id));
        self.promised.remove(&id);
        let left = self.by_id.get_mut(&id).filter(|left| **left > 0);
        let left = left.unwrap_or(&mut self.otherwise);
        assert!(*left > 0, "an answer nobody asked for, under {id}");
        *left -= 1;
    }
}

/// An id as text. A whole number is the same one in any form: rmcp answers `11.0` under `11`.
fn name_of(id: &Value) -> String {
    match id.as_f64() {
        Some(number) if id.is_f64() && number.fract() == 0.0 && number.abs() < 1e18 => {
            (number as i64).to_string()
        }
        _ => id.to_string(),
    }
}

fn check_answer(answer: &[u8], sent: &[u8]) {
    assert!(answer.is_empty() || answer.ends_with(b"\n"), "half a line");
    let mut owed = Owed::new(sent);
    for line in answer.split_inclusive(|byte| *byte == b'\n') {
        let shown = line.escape_ascii();
        let messages: Vec<HashMap<String, Box<RawValue>>> = match line.first() {
            Some(b'[') => serde_json::from_slice(line),
            _ => serde_json::from_slice(line).map(|message| vec![message]),
        }
        .unwrap_or_else(|error| panic!("{error}: {shown}"));
        for message in messages {
            assert_eq!(message["jsonrpc"].get(), "\"2.0\"", "{shown}");
            let is_answer = message.contains_key("result") != message.contains_key("error");
            match message.get("method") {
                Some(method) => assert!(method.get().starts_with('"') && !is_answer, "{shown}"),
                None => {
                    assert!(is_answer, "{shown}");
                    owed.answered(message.get("id").map(Box::as_ref));
                }
            }
        }
    }
    assert!(owed.promised.is_empty(), "no answer to {:?}", owed.promised);
}
