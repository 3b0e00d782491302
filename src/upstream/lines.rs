//! The stdio transport's edge: one message a line, from a server that may also print what is none.
//!
//! rmcp's own transport for child processes passes rubbish over in silence, and loses an answer that it can't read.

use std::{
    future::Future,
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use rmcp::{
    RoleClient,
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::Transport,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::watch,
    task::{JoinHandle, spawn_blocking},
};
use tokio_util::sync::CancellationToken;

use super::reading::{self, LONG};

/// The longest line that is read, in bytes. What is longer could not be passed on anyway: clients take 10 MiB.
pub const MAX_LINE: usize = 16 * 1024 * 1024;

/// How much of a line that is no message is kept, in bytes.
const SAMPLE: usize = 200;

type Output = Option<Box<dyn AsyncWrite + Send + Unpin>>;

/// What a server printed that is no message.
#[derive(Debug, Default)]
pub struct Rubbish {
    lines: AtomicU64,
    last: Mutex<String>,
    /// How many lines were too long to be read.
    pub too_long: watch::Sender<u64>,
}

impl Rubbish {
    /// How many lines there were.
    pub fn lines(&self) -> u64 {
        self.lines.load(Ordering::Relaxed)
    }

    /// The beginning of the last one.
    pub fn last(&self) -> String {
        self.last
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Both, if there were any.
    pub fn told(&self) -> Option<(u64, String)> {
        let lines = self.lines();
        (lines > 0).then(|| (lines, self.last()))
    }

    fn add(&self, line: &[u8]) {
        let sample = &line[..line.len().min(SAMPLE)];
        let mut sample = String::from_utf8_lossy(sample).trim_end().to_owned();
        if line.len() > SAMPLE {
            sample.push('…');
        }
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = sample;
        self.lines.fetch_add(1, Ordering::Relaxed);
    }
}

/// The transport between a server's standard streams and rmcp.
pub struct Lines {
    input: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    /// The line so far.
    line: Vec<u8>,
    /// Whether the line so far was too long, and the rest of it is only passed over.
    passing: bool,
    /// A long line that is being read: what it says, or what stands in its place.
    reading: Option<JoinHandle<Option<ServerJsonRpcMessage>>>,
    /// None once closed.
    output: Arc<tokio::sync::Mutex<Output>>,
    /// Cancelled when nothing more is to be written, also in the middle of a line.
    closed: CancellationToken,
    rubbish: Arc<Rubbish>,
}

impl Lines {
    /// A transport that reads the server's `input` and writes its `output`.
    pub fn new(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
        rubbish: Arc<Rubbish>,
    ) -> Self {
        Self {
            input: BufReader::with_capacity(32 * 1024, Box::new(input)),
            line: Vec::new(),
            passing: false,
            reading: None,
            output: Arc::new(tokio::sync::Mutex::new(Some(Box::new(output)))),
            closed: CancellationToken::new(),
            rubbish,
        }
    }

    /// Whether another line was read; false at the end. Dropping the future loses nothing.
    async fn next(&mut self) -> io::Result<bool> {
        loop {
            let read = self.input.fill_buf().await?;
            if read.is_empty() {
                return Ok(false);
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let part = &read[..end.unwrap_or(read.len())];
            if self.passing || self.line.len() + part.len() > MAX_LINE {
                if !self.passing {
                    self.rubbish.add(&self.line);
                    self.rubbish.too_long.send_modify(|count| *count += 1);
                }
                self.passing = true;
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            let taken = part.len() + usize::from(end.is_some());
            self.input.consume(taken);
            if end.is_some() && !std::mem::take(&mut self.passing) {
                return Ok(true);
            }
        }
    }
}

impl Transport<RoleClient> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = self.output.clone();
        let closed = self.closed.clone();
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let write = async {
                let mut output = output.lock().await;
                let Some(output) = output.as_mut() else {
                    return Err(io::ErrorKind::BrokenPipe.into());
                };
                output.write_all(&line).await?;
                output.flush().await
            };
            tokio::select! {
                written = write => written,
                // A server that reads no more must not hold what stops it.
                () = closed.cancelled() => Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            if let Some(reading) = &mut self.reading {
                let message = reading.await.ok().flatten();
                self.reading = None;
                if message.is_some() {
                    return message;
                }
            }
            match self.next().await {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    tracing::debug!(%error, "a server's output can't be read");
                    return None;
                }
            }
            if self.line.len() > LONG {
                let line = std::mem::take(&mut self.line);
                let rubbish = self.rubbish.clone();
                self.reading = Some(spawn_blocking(move || message(&line, &rubbish)));
                continue;
            }
            let message = message(&self.line, &self.rubbish);
            self.line.clear();
            if message.is_some() {
                return message;
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.closed.cancel();
        self.output.lock().await.take();
        Ok(())
    }
}

/// The message in a line, or what stands in its place, if it is not rubbish.
fn message(line: &[u8], rubbish: &Rubbish) -> Option<ServerJsonRpcMessage> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return None;
    }
    match reading::read(line) {
        Ok(message) => Some(message),
        Err(instead) => {
            rubbish.add(line);
            instead.map(|instead| *instead)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// What comes of these bytes: the messages, and what else was counted.
    async fn read(bytes: &[u8]) -> (Vec<Value>, Arc<Rubbish>) {
        let rubbish = Arc::new(Rubbish::default());
        let (mut writer, reader) = tokio::io::duplex(1024);
        let bytes = bytes.to_vec();
        tokio::spawn(async move { writer.write_all(&bytes).await });
        let mut lines = Lines::new(reader, tokio::io::sink(), rubbish.clone());
        let mut messages = Vec::new();
        while let Some(message) = lines.receive().await {
            messages.push(serde_json::to_value(message).unwrap());
        }
        (messages, rubbish)
    }

    #[tokio::test]
    async fn messages_are_found_among_whatever_else_is_printed() {
        let good = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        let bytes = format!("Hello!\n\n{good}\r\n[1]\n{{\"a\":1}}\n\u{1b}[31mred\n{good}\n{good}");
        let (messages, rubbish) = read(bytes.as_bytes()).await;
        assert_eq!(messages.len(), 2);
        assert_eq!(
            (rubbish.lines(), rubbish.last().as_str()),
            (4, "\u{1b}[31mred")
        );
        let (messages, rubbish) = read(b"\xff\xfe\n").await;
        assert_eq!((messages.len(), rubbish.lines()), (0, 1));
    }

    #[tokio::test]
    async fn an_answer_that_is_none_becomes_an_error_of_that_request() {
        let (messages, rubbish) =
            read(b"{\"id\":7,\"result\":{}}\n{\"id\":8,\"method\":1}\n").await;
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0]["id"], 7);
        assert!(
            messages[0]["error"]["message"]
                .as_str()
                .unwrap()
                .contains("not one of the protocol's")
        );
        assert_eq!(rubbish.lines(), 2);
    }

    #[tokio::test]
    async fn a_line_without_end_is_passed_over_without_being_kept() {
        let mut bytes = vec![b'x'; MAX_LINE + 100_000];
        bytes.extend(b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
        let (messages, rubbish) = read(&bytes).await;
        assert_eq!((messages.len(), rubbish.lines()), (1, 1));
        assert_eq!(*rubbish.too_long.borrow(), 1);
    }

    #[tokio::test]
    async fn closing_ends_a_write_that_nobody_reads() {
        let (ours, _theirs) = tokio::io::duplex(16);
        let mut lines = Lines::new(tokio::io::empty(), ours, Arc::default());
        let message: ClientJsonRpcMessage =
            serde_json::from_str(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).unwrap();
        let stuck = tokio::spawn(lines.send(message));
        tokio::task::yield_now().await;
        lines.close().await.unwrap();
        assert_eq!(
            stuck.await.unwrap().unwrap_err().kind(),
            io::ErrorKind::BrokenPipe
        );
    }
}
