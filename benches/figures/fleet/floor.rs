//! The least that asking all computers could cost: a bare send to each and a bare receive, over epoll, in one thread.

use std::{
    io::{BufRead, Read, Write},
    net::{TcpListener, TcpStream},
};

use rustix::{
    buffer::spare_capacity,
    event::epoll::{self, CreateFlags, EventData, EventFlags},
};

use super::{
    crowd::Crowd,
    frames::{GRANTED, read_head, unmasked},
};
use crate::{
    Result,
    process::{Process, itself},
};

/// How this program is told to be the floor.
pub const ROLE: &str = "--as-floor";

/// A ping as a bridge sends it.
const PING: &str = r#"{"type":"request","id":"0123456789ab-1000","method":"ping"}"#;

/// The floor, and the computers that link to it.
pub struct Floor {
    process: Process,
    _crowd: Crowd,
}

impl Floor {
    /// One for so many computers.
    pub fn start(count: u64) -> Result<Self> {
        let mut command = itself(ROLE);
        command.arg(count.to_string());
        let mut process = Process::start(command)?;
        let mut crowd = Crowd::start(process.line()?.trim().parse()?)?;
        crowd.link(1..=count)?;
        process.line()?;
        Ok(Self {
            process,
            _crowd: crowd,
        })
    }

    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Asks all, and waits for all answers.
    pub fn round(&mut self) -> Result<()> {
        self.process.timed("ask").map(drop)
    }
}

/// Is the floor until standard input ends: each line there is a round.
pub fn run() -> Result<()> {
    let count = std::env::args().nth(2).ok_or("no count")?.parse()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut output = std::io::stdout();
    writeln!(output, "{}", listener.local_addr()?)?;
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    let mut buffer = vec![0; 65_536];
    let mut streams = Vec::new();
    for at in 0..count {
        let (mut stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        read_head(&mut stream)?;
        stream.write_all(GRANTED)?;
        hear(&mut stream, &mut buffer)?;
        stream.set_nonblocking(true)?;
        epoll::add(&epoll, &stream, EventData::new_u64(at), EventFlags::IN)?;
        streams.push(stream);
    }
    writeln!(output, "linked")?;
    let ping = unmasked(PING);
    let mut events = Vec::with_capacity(1_024);
    for line in std::io::stdin().lock().lines() {
        line?;
        for stream in &mut streams {
            stream.write_all(&ping)?;
        }
        let mut answered = 0;
        while answered < count {
            epoll::wait(&epoll, spare_capacity(&mut events), None)?;
            for event in events.drain(..) {
                hear(&mut streams[event.data.u64() as usize], &mut buffer)?;
                answered += 1;
            }
        }
        writeln!(output, "answered")?;
    }
    Ok(())
}

/// Receives what came, which is short and comes whole.
fn hear(stream: &mut TcpStream, buffer: &mut [u8]) -> Result<()> {
    match stream.read(buffer)? {
        0 => Err("a computer has gone".into()),
        _ => Ok(()),
    }
}
