//! A program's handle of an open WebSocket, and how many a computer may have.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{Frame, Utf8Bytes};

use super::options::{HttpRules, Version};

/// Frames that may wait to be sent; one more throws `Too many ongoing websocket messages`.
const UNSENT_LIMIT: usize = 512;

/// What a computer's sockets have in common.
#[derive(Debug, Clone)]
pub(super) struct SocketRules {
    pub(super) version: Version,
    pub(super) http: HttpRules,
    /// Longest message, either way.
    pub(super) message_bytes: usize,
}

/// How many sockets a computer has open, those still connecting among them.
#[derive(Debug, Clone, Default)]
pub(super) struct Slots(Arc<AtomicUsize>);

/// One socket's place among those a computer may have; given back when dropped.
#[derive(Debug)]
pub(super) struct Slot(Slots);

impl Slots {
    pub(super) fn take(&self, limit: usize) -> Option<Slot> {
        let taken = self
            .0
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |open| {
                (open < limit).then_some(open + 1)
            });
        taken.is_ok().then(|| Slot(self.clone()))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What can be done with an open socket. Dropping the last handle closes it, as the game's collector does.
#[derive(Debug)]
pub(super) struct Socket {
    url: String,
    /// Gone once it is closed, by either side.
    outgoing: Mutex<Option<(mpsc::Sender<Frame>, Slot)>>,
    open: AtomicBool,
    headers: Vec<(String, String)>,
    version: Version,
    message_bytes: usize,
}

/// Used after it was closed.
pub(super) const CLOSED_FILE: &str = "attempt to use a closed file";

impl Socket {
    /// An open one, and the frames that it sends.
    pub(super) fn new(
        url: String,
        headers: Vec<(String, String)>,
        rules: &SocketRules,
        slot: Slot,
    ) -> (Self, mpsc::Receiver<Frame>) {
        let (sender, outgoing) = mpsc::channel(UNSENT_LIMIT);
        let socket = Socket {
            url,
            outgoing: Mutex::new(Some((sender, slot))),
            open: AtomicBool::new(true),
            headers,
            version: rules.version.clone(),
            message_bytes: rules.message_bytes,
        };
        (socket, outgoing)
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// The headers of the server's answer to the handshake.
    pub(super) fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// Sends one message.
    ///
    /// # Errors
    /// With the game's texts if it is too long, the socket is closed, or too much waits already.
    pub(super) fn send(&self, bytes: &[u8], binary: bool) -> Result<(), String> {
        let outgoing = self.outgoing.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((sender, _)) = outgoing.as_ref() else {
            return Err(CLOSED_FILE.to_owned());
        };
        if bytes.len() > self.message_bytes {
            return Err("Message is too large".to_owned());
        }
        let frame = if binary {
            Frame::message(bytes.to_vec(), OpCode::Data(Data::Binary), true)
        } else {
            Frame::message(
                text_to_wire(bytes, &self.version),
                OpCode::Data(Data::Text),
                true,
            )
        };
        match sender.try_send(frame) {
            Err(mpsc::error::TrySendError::Full(_)) => {
                Err("Too many ongoing websocket messages".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Closes it: no close frame, no event, the slot free at once; what was sent before still leaves.
    pub(super) fn close(&self) {
        self.open.store(false, Ordering::Release);
        self.outgoing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.close();
    }
}

/// What goes over the wire when a program sends text.
fn text_to_wire(bytes: &[u8], version: &Version) -> Utf8Bytes {
    let text: String = if version.raw_text() {
        String::from_utf8_lossy(bytes).into_owned()
    } else {
        bytes.iter().map(|&byte| char::from(byte)).collect()
    };
    text.into()
}
