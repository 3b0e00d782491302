//! What the integration tests share: a real bridge process, and computers that link to it.

pub mod bridge;
pub mod computer;
pub mod kept;
pub mod linked;
pub mod memory;
pub mod pace;
pub mod port;
pub mod proxy;
pub mod recorded;
pub mod registries;
pub mod screen;
pub mod served;
pub mod servers;
#[cfg(unix)]
pub mod terminal;
pub mod tools;

use std::{env, ffi::OsString, fmt::Display, future::Future, net::SocketAddr, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// The longest any test waits for one thing. It only counts when something is broken.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for `what`, and fails the test by that name when it does not come.
pub async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("it took over {PATIENCE:?}: {what}"),
    }
}

/// So many rounds, cases or seconds, or that number times `MCP_BRIDGE_TEST_TIMES`: `.ci/long` runs longer what finds
/// more the longer it runs.
pub fn rounds(with_every_change: u32) -> u32 {
    let times = env::var("MCP_BRIDGE_TEST_TIMES");
    with_every_change * times.map_or(1, |times| times.parse().expect("a whole number"))
}

/// The bridge under test: the one that was built with the tests, or the one that `MCP_BRIDGE_TEST_PROGRAM` names.
/// `.ci/long` asks by that for the figures of one as it is released.
pub fn program() -> OsString {
    let built = || env!("CARGO_BIN_EXE_mcp-bridge").into();
    env::var_os("MCP_BRIDGE_TEST_PROGRAM").unwrap_or_else(built)
}

/// How often something is looked at that tells nobody when it changes.
const PACE: Duration = Duration::from_millis(10);

/// Waits for what tells nobody when it comes, such as a file, or an answer that changes: looks until it is there, and
/// fails the test by the name of `what`, with what was seen last, when it does not come.
pub async fn until<T, E: Display>(what: &str, mut look: impl AsyncFnMut() -> Result<T, E>) -> T {
    let start = tokio::time::Instant::now();
    loop {
        match look().await {
            Ok(found) => return found,
            Err(seen) if start.elapsed() > PATIENCE => {
                panic!("it took over {PATIENCE:?}: {what}: {seen}")
            }
            Err(_) => tokio::time::sleep(PACE).await,
        }
    }
}

/// What `look` of [`until`] says: whether it is as it should be, and else what was seen.
pub fn is<E>(so: bool, seen: E) -> Result<(), E> {
    if so { Ok(()) } else { Err(seen) }
}

/// A plain HTTP request, and the whole answer.
pub async fn http(port: SocketAddr, head: &str) -> String {
    let mut stream = TcpStream::connect(port).await.unwrap();
    stream
        .write_all(format!("{head}\r\nConnection: close\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut answer = String::new();
    soon("an HTTP answer", stream.read_to_string(&mut answer))
        .await
        .unwrap();
    answer
}

/// What `/health` says.
pub async fn health(port: SocketAddr) -> Value {
    let answer = http(port, "GET /health HTTP/1.1\r\nHost: localhost").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
}
