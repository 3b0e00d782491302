//! What the integration tests share: a real bridge process, and computers that link to it.

pub mod bridge;
pub mod computer;
pub mod proxy;
pub mod registries;
pub mod served;
pub mod servers;
pub mod tools;

use std::{future::Future, net::SocketAddr, time::Duration};

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
