//! The floors and peers of single calls: this program as a child of itself.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::Command,
};

use rmcp::{ServerHandler, ServiceExt, model, service::RequestContext};
use serde_json::Value;

use crate::{
    Result,
    process::{Process, itself},
};

/// How this program is told to be a relay.
pub const RELAY: &str = "--as-relay";

/// Gives each line back.
pub fn as_cat() -> Result<()> {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut buffer = [0; 65_536];
    loop {
        match input.read(&mut buffer)? {
            0 => return Ok(()),
            length => {
                output.write_all(&buffer[..length])?;
                output.flush()?;
            }
        }
    }
}

/// The least that an MCP server made with rmcp does.
struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> model::ServerConfig {
        model::ServerConfig::new(model::ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: model::CallToolRequestParams,
        _: RequestContext<rmcp::RoleServer>,
    ) -> std::result::Result<model::CallToolResponse, rmcp::ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        Ok(
            model::CallToolResult::success(vec![model::ContentBlock::text(
                arguments["code"].to_string(),
            )])
            .into(),
        )
    }
}

pub async fn as_rmcp_echo() -> Result<()> {
    Echo.serve((tokio::io::stdin(), tokio::io::stdout()))
        .await?
        .waiting()
        .await?;
    Ok(())
}

/// The least that a line through bridges to a computer and back takes: processes that hand on what they read, one after
/// the other, over TCP.
pub struct Chain {
    first: Process,
    _others: Vec<Process>,
}

impl Chain {
    /// A chain of so many processes.
    pub fn start(length: usize) -> Result<Self> {
        let relay = |to: SocketAddr, first: bool| -> Command {
            let mut command = itself(RELAY);
            command.arg(to.to_string());
            command.args(first.then_some("--first"));
            command
        };
        let mut to = computer()?;
        let mut others = Vec::new();
        for _ in 1..length {
            let mut process = Process::start(relay(to, false))?;
            to = process.line()?.trim().parse()?;
            others.push(process);
        }
        Ok(Self {
            first: Process::start(relay(to, true))?,
            _others: others,
        })
    }

    /// How long a line takes there and back, in seconds.
    pub fn once(&mut self, line: &str) -> Result<f64> {
        self.first.timed(line)
    }
}

/// The far end of a chain, in this process as the computers that bridges are measured with.
fn computer() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || -> std::io::Result<()> {
        let (stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        hand_on(&stream, &stream, |_| Ok(()))
    });
    Ok(address)
}

/// Is one relay of a chain until its input ends.
pub fn as_relay() -> Result<()> {
    let mut arguments = std::env::args().skip(2);
    let to: SocketAddr = arguments.next().ok_or("no address")?.parse()?;
    let next = TcpStream::connect(to)?;
    next.set_nodelay(true)?;
    let exchange = |piece: &mut Piece| -> std::io::Result<()> {
        (&next).write_all(piece.bytes())?;
        piece.read(&next)
    };
    if arguments.next().is_some() {
        hand_on(std::io::stdin().lock(), std::io::stdout().lock(), exchange)?;
    } else {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
        let (stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        hand_on(&stream, &stream, exchange)?;
    }
    Ok(())
}

/// What was read last.
struct Piece {
    buffer: [u8; 4_096],
    length: usize,
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        &self.buffer[..self.length]
    }

    /// Reads what is there, which is short and comes whole.
    fn read(&mut self, mut input: impl Read) -> std::io::Result<()> {
        self.length = input.read(&mut self.buffer)?;
        Ok(())
    }
}

/// Gives back what `exchange` makes of each piece, until there are no more.
fn hand_on(
    mut input: impl Read,
    mut output: impl Write,
    mut exchange: impl FnMut(&mut Piece) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut piece = Piece {
        buffer: [0; 4_096],
        length: 0,
    };
    loop {
        piece.read(&mut input)?;
        if piece.length == 0 {
            return Ok(());
        }
        exchange(&mut piece)?;
        output.write_all(piece.bytes())?;
        output.flush()?;
    }
}
