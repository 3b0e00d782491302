//! A simulated computer's end of a WebSocket, with the manners of the game's: no close frames, no reassembly.

use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Control, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{Frame, FrameHeader};

use super::events::{Event, Events, Value};
use super::handshake::{self, Handshake};
use super::options::Version;
use super::socket::{Slot, Slots, Socket, SocketRules};

/// How long what was already sent may take to leave after `close()`.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// Opens a socket in the background; its events go to `events`, keyed by exactly this URL.
///
/// # Errors
/// What `http.websocket` throws at once: `Too many websockets already open`.
pub(super) fn open(
    runtime: &tokio::runtime::Handle,
    events: &Arc<Events>,
    slots: &Slots,
    limit: usize,
    rules: SocketRules,
    request: Handshake,
) -> Result<(), String> {
    let slot = slots
        .take(limit)
        .ok_or("Too many websockets already open")?;
    let events = Arc::clone(events);
    runtime.spawn(async move {
        let url = request.url.clone();
        let version = rules.version.clone();
        let connecting = handshake::connect(&request, &rules);
        let outcome = match tokio::time::timeout(request.timeout, connecting).await {
            Ok(outcome) => outcome,
            // Before 1.105 the program waited for ever.
            Err(_) if !version.at_least(1, 105, 0) => return,
            Err(_) => Err("Timed out".to_owned()),
        };
        let event = match outcome {
            Ok((stream, headers, early)) => {
                let _ = stream.set_nodelay(true);
                return talk(stream, early, headers, url, rules, slot, events).await;
            }
            // Before 1.105 a connection lost during the handshake was told as one that closed.
            Err(problem) if problem == handshake::LOST && !version.at_least(1, 105, 0) => {
                closed_event(&url, Some("Websocket is inactive"), None)
            }
            Err(problem) => Event::new("websocket_failure", vec![url.into(), problem.into()]),
        };
        drop(slot);
        events.push(event);
    });
    Ok(())
}

fn closed_event(url: &str, reason: Option<&str>, code: Option<u16>) -> Event {
    let reason = reason
        .filter(|reason| !reason.is_empty())
        .map_or(Value::Nil, Value::from);
    let code = code.map_or(Value::Nil, |code| Value::Number(f64::from(code)));
    Event::new("websocket_closed", vec![url.into(), reason, code])
}

/// Runs an open socket until either side ends it.
async fn talk(
    stream: TcpStream,
    early: Vec<u8>,
    headers: Vec<(String, String)>,
    url: String,
    rules: SocketRules,
    slot: Slot,
    events: Arc<Events>,
) {
    let (socket, outgoing) = Socket::new(url.clone(), headers, &rules, slot);
    let socket = Arc::new(socket);
    let (pongs, control) = mpsc::unbounded_channel();
    // Only the program's handle keeps it open: an event dropped from a full queue closes it.
    let watched = Arc::downgrade(&socket);
    events.push(Event::new(
        "websocket_success",
        vec![url.as_str().into(), Value::Socket(socket)],
    ));
    let (reader, writer) = stream.into_split();
    let reading = read(reader, early, &url, &rules, &events, pongs);
    let ended = tokio::select! {
        ended = reading => ended,
        () = write(writer, outgoing, control) => return,
    };
    if let Some(socket) = watched.upgrade() {
        let was_open = socket.is_open();
        socket.close();
        if was_open {
            events.push(closed_event(&url, ended.reason.as_deref(), ended.code));
        }
    }
}

/// Why the other side is gone.
struct Ended {
    reason: Option<String>,
    code: Option<u16>,
}

impl Ended {
    fn because(reason: &str) -> Self {
        Ended {
            reason: Some(reason.to_owned()),
            code: None,
        }
    }
}

/// Delivers messages until the connection ends.
async fn read(
    mut stream: OwnedReadHalf,
    mut buffer: Vec<u8>,
    url: &str,
    rules: &SocketRules,
    events: &Events,
    pongs: mpsc::UnboundedSender<Frame>,
) -> Ended {
    loop {
        let mut used = 0;
        loop {
            let (header, payload, length) = match next_frame(&buffer[used..], rules.message_bytes) {
                Ok(Some(found)) => found,
                Ok(None) => break,
                Err(()) => return Ended::because("Could not connect"),
            };
            let message = |data: Vec<u8>, binary| {
                let args = vec![url.into(), Value::Text(data), Value::Boolean(binary)];
                events.push(Event::new("websocket_message", args));
            };
            match header.opcode {
                OpCode::Data(Data::Text) => {
                    match text_from_wire(payload, header.is_final, &rules.version) {
                        Some(text) => message(text, false),
                        None => return Ended::because("Could not connect"),
                    }
                }
                OpCode::Data(Data::Binary) => message(payload.to_vec(), true),
                OpCode::Control(Control::Ping) => drop(pongs.send(Frame::pong(payload.to_vec()))),
                OpCode::Control(Control::Close) => {
                    let code = payload.first_chunk().map(|code| u16::from_be_bytes(*code));
                    let reason = payload
                        .get(2..)
                        .map(|reason| String::from_utf8_lossy(reason).into_owned());
                    return Ended { reason, code };
                }
                // The rest of a message in fragments is lost; only its first fragment was delivered.
                _ => {}
            }
            used += length;
        }
        buffer.drain(..used);
        match stream.read_buf(&mut buffer).await {
            Ok(1..) => {}
            _ if rules.version.at_least(1, 105, 0) => return Ended::because("Connection closed"),
            _ => return Ended::because("Websocket is inactive"),
        }
    }
}

/// A frame in a buffer: its header, its payload, its length in all.
type RawFrame<'a> = (FrameHeader, &'a [u8], usize);

/// The frame at the start of a buffer; `Ok(None)` if it is not all there yet.
fn next_frame(buffer: &[u8], limit: usize) -> Result<Option<RawFrame<'_>>, ()> {
    let mut cursor = Cursor::new(buffer);
    let Some((header, length)) = FrameHeader::parse(&mut cursor).map_err(|_| ())? else {
        return Ok(None);
    };
    if length > limit as u64 || header.mask.is_some() || header.rsv1 || header.rsv2 || header.rsv3 {
        return Err(());
    }
    let start = cursor.position() as usize;
    let end = start + length as usize;
    Ok(buffer.get(start..end).map(|payload| (header, payload, end)))
}

/// Writes what the program sends, and pongs, until the program closes the socket.
async fn write(
    mut stream: OwnedWriteHalf,
    mut outgoing: mpsc::Receiver<Frame>,
    mut control: mpsc::UnboundedReceiver<Frame>,
) {
    let mut closing = false;
    loop {
        let frame = tokio::select! {
            biased;
            Some(frame) = control.recv() => frame,
            frame = outgoing.recv() => match frame {
                Some(frame) => frame,
                None => return,
            },
        };
        let mut bytes = Vec::with_capacity(frame.payload().len() + 14);
        let mut frame = frame;
        frame.header_mut().mask = Some(handshake::random_mask());
        if frame.format(&mut bytes).is_err() {
            continue;
        }
        closing = closing || outgoing.is_closed();
        let written = if closing {
            tokio::time::timeout(DRAIN_TIME, stream.write_all(&bytes))
                .await
                .unwrap_or(Ok(()))
        } else {
            stream.write_all(&bytes).await
        };
        if written.is_err() {
            // The reading side sees why; until it does, what is sent goes nowhere, as in the game.
            while outgoing.recv().await.is_some() {}
            return;
        }
    }
}

/// What a program gets when text arrives; `None` if it ends the connection.
fn text_from_wire(bytes: &[u8], is_final: bool, version: &Version) -> Option<Vec<u8>> {
    let strict = is_final && version.at_least(1, 105, 0);
    if strict && std::str::from_utf8(bytes).is_err() {
        return None;
    }
    if version.raw_text() {
        return Some(bytes.to_vec());
    }
    let text = String::from_utf8_lossy(bytes);
    Some(
        text.chars()
            .map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?'))
            .collect(),
    )
}

#[cfg(test)]
#[path = "websocket_tests.rs"]
mod tests;
