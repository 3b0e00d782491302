//! A bridge of 1.0.0, as far as a test needs one: what it said to agents and to other bridges, recorded between its
//! release and itself, and the line on which that is said again.

use std::{path::Path, time::Duration};

use super::{PATIENCE, soon};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use futures_util::{SinkExt, StreamExt, stream::SplitStream};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::mpsc,
    time::{Instant, interval, timeout_at},
};
use tokio_tungstenite::{WebSocketStream, tungstenite::Message};

/// Frames of 1.0.0 as they were, by whom they are for and what they are.
const RECORDED: &str = include_str!("../released/bridge-1.0.0.json");

/// A recorded frame, with what is another each time at these places.
pub fn recorded(way: &str, name: &str, changes: &[(&str, Value)]) -> Value {
    let all: Value = serde_json::from_str(RECORDED).unwrap();
    let mut frame = all[way][name].clone();
    assert!(frame.is_object(), "nothing is recorded of {name} {way}");
    for (place, value) in changes {
        let there = frame.pointer_mut(place);
        *there.unwrap_or_else(|| panic!("{name} has no {place}")) = value.clone();
    }
    frame
}

/// Whether all fields of a recorded frame are in another, with values of the same kind: so 1.0.0 reads it.
pub fn has_all_of(frame: &Value, recorded: &Value) -> bool {
    match (frame, recorded) {
        (Value::Object(fields), Value::Object(known)) => known.iter().all(|(name, value)| {
            let field = fields.get(name);
            field.is_some_and(|field| has_all_of(field, value))
        }),
        (Value::Array(values), Value::Array(known)) => match (values.first(), known.first()) {
            (Some(value), Some(known)) => has_all_of(value, known),
            _ => true,
        },
        (_, Value::Null) => true,
        _ => std::mem::discriminant(frame) == std::mem::discriminant(recorded),
    }
}

/// One end of a line on which a bridge of 1.0.0 speaks.
pub struct Line<S> {
    to_send: mpsc::UnboundedSender<String>,
    heard: SplitStream<WebSocketStream<S>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Line<S> {
    pub fn over(socket: WebSocketStream<S>) -> Self {
        let (mut sender, heard) = socket.split();
        let (to_send, mut sent) = mpsc::unbounded_channel::<String>();
        tokio::spawn(async move {
            while let Some(text) = sent.recv().await {
                if sender.send(Message::text(text)).await.is_err() {
                    break;
                }
            }
        });
        Self { to_send, heard }
    }

    /// Says this again and again from now on, by which the other end knows that it lives.
    pub fn keep_saying(&self, frame: &Value, every: Duration) {
        let (to_send, text) = (self.to_send.downgrade(), frame.to_string());
        tokio::spawn(async move {
            let mut beats = interval(every);
            loop {
                beats.tick().await;
                let Some(to_send) = to_send.upgrade() else {
                    return;
                };
                if to_send.send(text.clone()).is_err() {
                    return;
                }
            }
        });
    }

    pub fn say(&self, frame: &Value) {
        self.to_send.send(frame.to_string()).unwrap();
    }

    /// The next message; none when the line has ended.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            match soon("a message", self.heard.next()).await?.ok()? {
                Message::Text(text) => return Some(serde_json::from_str(&text).unwrap()),
                Message::Close(_) => return None,
                _ => {}
            }
        }
    }

    /// The next message of a kind; all others are passed over.
    pub async fn hear(&mut self, kind: &str) -> Value {
        self.until(kind).await.1
    }

    /// The next message of a kind, and the kinds of all that came before.
    pub async fn until(&mut self, kind: &str) -> (Vec<String>, Value) {
        let end = Instant::now() + PATIENCE;
        let mut before = Vec::new();
        loop {
            let message = timeout_at(end, self.next()).await;
            let message = message.unwrap_or_else(|_| panic!("no {kind} came"));
            let message = message.unwrap_or_else(|| panic!("the line ended before {kind}"));
            match kind_of(&message) {
                this if this == kind => return (before, message),
                other => before.push(other.to_owned()),
            }
        }
    }
}

/// What a message is, or the frame in it.
fn kind_of(message: &Value) -> &str {
    let frame = message.get("frame").unwrap_or(message);
    frame["type"].as_str().unwrap()
}

/// What bridges prove to each other (src/wire/PROTOCOL.md).
pub fn proof(state: &Path, side: &str, guest: &Value, owner: &Value) -> Value {
    let secret = std::fs::read_to_string(state.join("bridges.secret")).unwrap();
    let secret = BASE64.decode(secret.trim_end()).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&secret).unwrap();
    for part in [side, guest.as_str().unwrap(), owner.as_str().unwrap()] {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part.as_bytes());
    }
    json!(BASE64.encode(mac.finalize().into_bytes()))
}
