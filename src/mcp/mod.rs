//! The MCP side: lines of JSON-RPC on standard input and output, served by rmcp.

pub mod edge;
mod id_scanner;
mod incoming;
pub mod server;
pub mod stdio;

use rmcp::ServiceExt;
use tokio_util::sync::CancellationToken;

use edge::Edge;
use server::Server;
use stdio::{Input, Output};

/// Serves one client over these streams until it is gone.
///
/// `wanted` is called at the first request that shows a client that stays. Returns as soon as the client closed our
/// input, or its end of our output: calls that go on then have nobody to answer.
pub async fn serve(
    server: Server,
    input: Input,
    output: Output,
    wanted: impl FnOnce() + Send + Sync + 'static,
) {
    let gone = CancellationToken::new();
    let edge = Edge::new(input, output, wanted, gone.clone());
    let session = async {
        match server.serve(edge).await {
            Ok(running) => match running.waiting().await {
                Ok(reason) => tracing::info!(?reason, "the session ended"),
                Err(error) => tracing::error!(%error, "the session failed"),
            },
            // Also how a client that leaves before `initialize` looks.
            Err(error) => tracing::info!(%error, "no session was opened"),
        }
    };
    tokio::select! {
        () = session => {}
        () = gone.cancelled() => tracing::info!("the client is gone"),
    }
}
