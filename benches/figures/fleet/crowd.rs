//! Thousands of computers in one thread of a process of their own, which answer at once whatever they are asked, so that
//! little of what is measured is theirs.

use std::{
    io::{BufRead, Read, Write},
    net::{SocketAddr, TcpStream},
    ops::RangeInclusive,
};

use rustix::{
    buffer::spare_capacity,
    event::epoll::{self, CreateFlags, EventData, EventFlags},
};
use serde_json::json;

use super::frames::{dial, masked, take_unmasked};
use crate::{
    Result,
    process::{Process, itself},
};

/// How this program is told to be a crowd.
pub const ROLE: &str = "--as-crowd";

/// A crowd; its computers unlink when it is dropped.
pub struct Crowd(Process);

impl Crowd {
    /// One that links to this port.
    pub fn start(port: SocketAddr) -> Result<Self> {
        let mut command = itself(ROLE);
        command.arg(port.to_string());
        Ok(Self(Process::start(command)?))
    }

    /// Links the computers of these numbers.
    pub fn link(&mut self, ids: RangeInclusive<u64>) -> Result<()> {
        self.0.send(&format!("{} {}", ids.start(), ids.end()))?;
        self.0.line().map(drop)
    }
}

/// Is a crowd until standard input ends. Each line there names the first and the last number of computers to link.
pub fn run() -> Result<()> {
    let port: SocketAddr = std::env::args().nth(2).ok_or("no port")?.parse()?;
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    let stdin = std::io::stdin();
    epoll::add(&epoll, &stdin, EventData::new_u64(0), EventFlags::IN)?;
    let mut computers: Vec<(u64, TcpStream)> = Vec::new();
    let mut events = Vec::with_capacity(1_024);
    let mut buffer = vec![0; 65_536];
    loop {
        epoll::wait(&epoll, spare_capacity(&mut events), None)?;
        for event in events.drain(..) {
            let Some(at) = (event.data.u64() as usize).checked_sub(1) else {
                let mut line = String::new();
                if stdin.lock().read_line(&mut line)? == 0 {
                    return Ok(());
                }
                let (first, last) = line.trim().split_once(' ').ok_or("no two numbers")?;
                for id in first.parse()?..=last.parse()? {
                    let hello = json!({"type": "hello", "computerId": id});
                    let stream = dial(port, &hello.to_string())?;
                    stream.set_nonblocking(true)?;
                    computers.push((id, stream));
                    let data = EventData::new_u64(computers.len() as u64);
                    epoll::add(
                        &epoll,
                        &computers[computers.len() - 1].1,
                        data,
                        EventFlags::IN,
                    )?;
                }
                writeln!(std::io::stdout(), "linked")?;
                continue;
            };
            let (id, stream) = &mut computers[at];
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => epoll::delete(&epoll, &*stream)?,
                Ok(length) => answer(*id, stream, &buffer[..length])?,
            }
        }
    }
}

fn answer(id: u64, stream: &mut TcpStream, mut bytes: &[u8]) -> Result<()> {
    // What comes is short, and comes whole.
    while let Some((text, rest)) = take_unmasked(bytes) {
        bytes = rest;
        let (true, Some(request)) = (text.contains(r#""type":"request""#), field(text, "id"))
        else {
            continue;
        };
        let result = match text.contains(r#""method":"ping""#) {
            true => format!(r#""pong from {id} (Label: nil)""#),
            false => r#"{"returns":[{"type":"number","value":2}],"output":""}"#.to_owned(),
        };
        stream.write_all(&masked(&format!(
            r#"{{"type":"response","id":"{request}","ok":true,"result":{result}}}"#
        )))?;
    }
    Ok(())
}

/// The text of a field that holds nothing to be escaped.
fn field<'a>(json: &'a str, name: &str) -> Option<&'a str> {
    let (_, after) = json.split_once(&format!(r#""{name}":""#))?;
    after.split_once('"').map(|(text, _)| text)
}
