//! The MCP side: JSON-RPC on standard input and output, or over HTTP, served by rmcp.

mod asked;
mod batch;
mod bounds;
mod cancelled;
mod carrying_out;
mod changes;
mod cursor;
pub mod edge;
mod greeting;
mod handler;
mod hearing;
pub mod http;
mod id_scanner;
mod in_flight;
mod incoming;
mod instructions;
mod lines;
mod listener;
mod mends;
mod numbers;
mod questions;
mod seat;
pub mod server;
pub mod stdio;

use rmcp::ServiceExt;
use tokio_util::sync::CancellationToken;

use edge::Edge;
use server::Server;
use stdio::{Input, Output};

/// Serves one client over these streams until it is gone.
///
/// `wanted` is called at the first request that uses what is offered. Returns as soon as the client closed our
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::future::BoxFuture;
    use rmcp::model::{CallToolResult, JsonObject, Tool as Definition};
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

    use super::*;
    use crate::{
        commands::computers,
        settings::LinkConfig,
        tools::{Catalogue, Context, Offer, Tool, policy::Policy, source::fixed},
    };

    struct Panics(Definition);

    impl Tool for Panics {
        fn definition(&self) -> &Definition {
            &self.0
        }

        fn set(&self) -> &str {
            "core"
        }

        fn origin(&self) -> String {
            "here".to_owned()
        }

        fn call<'a>(&'a self, _: Context<'a>, _: JsonObject) -> BoxFuture<'a, CallToolResult> {
            Box::pin(async { panic!("on purpose") })
        }
    }

    #[tokio::test]
    async fn a_panicking_tool_is_a_tool_error_and_the_session_goes_on() {
        let panics = Panics(Definition::new("panics", "Panics.", Arc::default()));
        let offer = Offer {
            tools: vec![Arc::new(panics)],
            ..Offer::default()
        };
        let catalogue = Catalogue::start(vec![fixed(offer)], Policy::default());
        let config = LinkConfig {
            host: "127.0.0.1".into(),
            port: 0,
            token: None,
            names: Vec::new(),
        };
        let server = Server::new(Arc::new(computers::start(&config, None)), catalogue);
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (input, output) = tokio::io::split(theirs);
        let session = tokio::spawn(serve(server, Box::new(input), Box::new(output), || {}));

        let (reader, mut writer) = tokio::io::split(ours);
        let mut lines = BufReader::new(reader).lines();
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        for id in 1..=2 {
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "panics", "_meta": meta}});
            writer
                .write_all(format!("{call}\n").as_bytes())
                .await
                .unwrap();
            let reply: Value =
                serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
            assert_eq!(
                (&reply["id"], &reply["result"]["isError"]),
                (&json!(id), &json!(true)),
                "{reply}"
            );
            assert!(
                reply["result"]["content"][0]["text"]
                    .as_str()
                    .unwrap()
                    .contains("mcp-bridge logs"),
                "{reply}"
            );
        }
        drop((lines, writer));
        session.await.unwrap();
    }
}
