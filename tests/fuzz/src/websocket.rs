//! A WebSocket as a peer of the link port sees it (RFC 6455): its beginning, messages to the port and frames from it.

use serde_json::Value;

/// The head of a request for a link.
pub const UPGRADE: &[u8] =
    b"GET / HTTP/1.1\r\nHost: 192.168.1.20:3001\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// The largest message that a link carries, in bytes.
const MAX_MESSAGE: usize = 131_072;

const TEXT: u8 = 0x81;
const CLOSE: u8 = 0x88;
const PONG: u8 = 0x8A;

/// A text message in one frame, masked with zeroes, so that it can be read in a corpus.
pub fn message(text: &[u8]) -> Vec<u8> {
    let mut frame = vec![TEXT];
    match text.len() {
        length @ 0..126 => frame.push(0x80 | length as u8),
        length => {
            frame.push(0x80 | 126);
            frame.extend(
                u16::try_from(length)
                    .expect("an input is short")
                    .to_be_bytes(),
            );
        }
    }
    frame.extend([0; 4]);
    frame.extend(text);
    frame
}

/// The link's frames that follow the head of an answer: they must stand in whole, unfragmented, unmasked WebSocket
/// frames (section 5.2), as the game needs them.
pub fn frames_after_head(answer: &[u8]) -> Vec<Value> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let mut rest = &answer[end.expect("a head ends") + 4..];
    let mut frames = Vec::new();
    while let [first, length, after @ ..] = rest {
        let (length, after) = match *length {
            126 => long_length::<2>(after),
            127 => long_length::<8>(after),
            short => (usize::from(short), after),
        };
        assert!(
            length < 126 || *first == TEXT,
            "masked, or a long control frame"
        );
        assert!(length <= MAX_MESSAGE, "a message of {length} bytes");
        let (payload, after) = after.split_at(length);
        match *first {
            TEXT => {
                assert!(payload.is_ascii(), "{}", payload.escape_ascii());
                let frame: Value = serde_json::from_slice(payload).unwrap();
                assert!(frame["type"].is_string(), "{frame}");
                frames.push(frame);
            }
            CLOSE => {
                assert!(after.is_empty(), "something follows a close");
                let code = payload.first_chunk().map(|code| u16::from_be_bytes(*code));
                assert!(
                    code.is_none_or(|code| (1000..5000).contains(&code)),
                    "{code:?}"
                );
                assert!(payload.is_empty() || std::str::from_utf8(&payload[2..]).is_ok());
            }
            PONG => {}
            other => panic!("an unexpected frame: {other:#x}"),
        }
        rest = after;
    }
    assert!(rest.is_empty(), "half a frame");
    frames
}

/// A length of `SIZE` bytes, and what follows it.
fn long_length<const SIZE: usize>(rest: &[u8]) -> (usize, &[u8]) {
    let (length, after) = rest.split_first_chunk::<SIZE>().expect("a whole length");
    let length = length
        .iter()
        .fold(0, |length, byte| length << 8 | usize::from(*byte));
    (length, after)
}
