//! The little of HTTP and WebSocket that the computers of a crowd and the floor need.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
};

use serde_json::Value;

use crate::Result;

/// What asks for a WebSocket.
const UPGRADE: &[u8] =
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// What grants it. Nobody in a crowd looks at the key.
pub const GRANTED: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\n\r\n";

/// A computer that has said hello.
pub fn dial(port: SocketAddr, hello: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(port)?;
    stream.set_nodelay(true)?;
    stream.write_all(UPGRADE)?;
    let head = read_head(&mut stream)?;
    if !head.starts_with(b"HTTP/1.1 101") {
        return Err(String::from_utf8_lossy(&head).into_owned().into());
    }
    stream.write_all(&masked(hello))?;
    Ok(stream)
}

/// What comes up to an empty line.
pub fn read_head(stream: &mut TcpStream) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(head)
}

/// A text frame of a client, under a mask of zeros, which changes nothing.
pub fn masked(text: &str) -> Vec<u8> {
    framed(text, 0x80, &[0; 4])
}

/// A text frame of a server.
pub fn unmasked(text: &str) -> Vec<u8> {
    framed(text, 0, &[])
}

fn framed(text: &str, mask_bit: u8, mask: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x81];
    match u16::try_from(text.len()) {
        Ok(length @ ..126) => frame.push(mask_bit | length as u8),
        Ok(length) => {
            frame.push(mask_bit | 126);
            frame.extend(length.to_be_bytes());
        }
        Err(_) => unreachable!("a crowd says nothing long"),
    }
    frame.extend(mask);
    frame.extend(text.as_bytes());
    frame
}

/// Takes a server's frame off the beginning: its text, and what follows. None while it is not whole.
pub fn take_unmasked(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let (length, rest) = match bytes {
        [_, 126, high, low, rest @ ..] => (usize::from(*high) << 8 | usize::from(*low), rest),
        [_, length @ ..126, rest @ ..] => (usize::from(*length), rest),
        _ => return None,
    };
    let (text, rest) = rest.split_at_checked(length)?;
    Some((std::str::from_utf8(text).unwrap_or_default(), rest))
}

/// What a bridge's `/health` tells.
pub fn health(port: SocketAddr) -> Result<Value> {
    let mut stream = TcpStream::connect(port)?;
    write!(
        stream,
        "GET /health HTTP/1.1\r\nHost: {port}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or("no answer")?;
    Ok(serde_json::from_str(body.trim())?)
}
