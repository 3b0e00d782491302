//! The tools of the MCP servers that the bridge manages, and the one that tells how those servers are.

use std::sync::Arc;

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::model::{CallToolResult, JsonObject, Tool as Definition};
use tokio::sync::{mpsc, watch};

use super::{Context, Offer, Source, Step, Tool, failure, upstream_status};
use crate::upstream::{
    Upstream,
    connection::{PROGRESS_QUEUE, Progress},
};

/// The set that they belong to.
const SET: &str = "upstream";

/// What the servers offer, once their configuration was read. To be called in the runtime.
pub fn source(upstream: &Upstream) -> Source {
    if upstream.is_off() {
        return super::catalogue::fixed(Offer::default());
    }
    let (offers, source) = watch::channel(Arc::default());
    let upstream = upstream.clone();
    // Ends with the catalogue or the servers.
    tokio::spawn(async move {
        upstream.read().await;
        let mut follow = upstream.follow();
        loop {
            follow.borrow_and_update();
            offers.send_replace(Arc::new(offered(&upstream)));
            tokio::select! {
                changed = follow.changed() => match changed {
                    Ok(()) => {}
                    Err(_) => return,
                },
                () = offers.closed() => return,
            }
        }
    });
    source
}

fn offered(upstream: &Upstream) -> Offer {
    let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
    if upstream.is_used() {
        tools.push(Arc::new(Status {
            definition: upstream_status::definition(),
            upstream: upstream.clone(),
        }));
    }
    for (definition, server, is_listed) in upstream.tools() {
        tools.push(Arc::new(OfServer {
            definition,
            server,
            is_listed,
            upstream: upstream.clone(),
        }));
    }
    Offer {
        tools,
        is_ready: true,
        ..Offer::default()
    }
}

/// A tool of a server.
struct OfServer {
    definition: Definition,
    server: String,
    is_listed: bool,
    upstream: Upstream,
}

impl Tool for OfServer {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn set(&self) -> &str {
        SET
    }

    fn is_listed(&self) -> bool {
        self.is_listed
    }

    fn origin(&self) -> String {
        format!("the MCP server {}", self.server)
    }

    fn call<'a>(
        &'a self,
        context: Context<'a>,
        arguments: JsonObject,
    ) -> BoxFuture<'a, CallToolResult> {
        async move {
            let name = self.definition.name.as_ref();
            let (sender, mut news) = mpsc::channel(PROGRESS_QUEUE);
            let progress = context.listener.listens().then_some(&sender);
            let call = self.upstream.call(name, Some(arguments), progress);
            tokio::pin!(call);
            let result = loop {
                tokio::select! {
                    biased;
                    Some(progress) = news.recv() => context.listener.tell(step(progress)).await,
                    result = &mut call => break result,
                }
            };
            // What came before the answer is told before it.
            while let Ok(progress) = news.try_recv() {
                context.listener.tell(step(progress)).await;
            }
            result.unwrap_or_else(|| {
                failure(format!(
                    "The server that had the tool {name} is no longer configured."
                ))
            })
        }
        .boxed()
    }
}

fn step(progress: Progress) -> Step {
    Step {
        message: progress.message.unwrap_or_default(),
        done: Some(progress.progress),
        total: progress.total,
    }
}

/// The tool that tells how the servers are.
struct Status {
    definition: Definition,
    upstream: Upstream,
}

impl Tool for Status {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn set(&self) -> &str {
        SET
    }

    fn origin(&self) -> String {
        "mcp-bridge".to_owned()
    }

    fn call<'a>(&'a self, _: Context<'a>, _: JsonObject) -> BoxFuture<'a, CallToolResult> {
        async move { upstream_status::call(self.upstream.report()) }.boxed()
    }
}
