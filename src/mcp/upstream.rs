//! What the managed MCP servers add to a client's session: their tools, prompts and resources, and news of them.

use std::borrow::Cow;

use rmcp::{
    ErrorData, RoleServer,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ErrorCode, GetPromptRequestParams,
        GetPromptResponse, ProgressNotificationParam, ReadResourceRequestParams,
        ReadResourceResponse, Tool,
    },
    service::{Peer, RequestContext},
};
use serde::Serialize;
use tokio::sync::mpsc;

use super::server::{MAX_ANSWER, Server, bounded};
use crate::{
    tools::{self, upstream_status},
    upstream::session::{PROGRESS_QUEUE, Progress},
};

impl Server {
    /// Says that a client stays, and tells it of changes from now on. Only in the era that has such notifications.
    pub(super) fn upstream_begins(&self, peer: &Peer<RoleServer>) {
        let client = peer
            .peer_info()
            .map(|client| client.client_info.name.clone());
        let upstream = self.upstream.clone();
        let peer = peer.clone();
        // Ends with the client or the servers.
        tokio::spawn(async move {
            upstream.begin(&client.unwrap_or_default());
            upstream.ready().await;
            let mut changes = upstream.changes();
            while let Some(changed) = changes.next().await {
                let told = async {
                    if changed.tools {
                        peer.notify_tool_list_changed().await?;
                    }
                    if changed.prompts {
                        peer.notify_prompt_list_changed().await?;
                    }
                    if changed.resources {
                        peer.notify_resource_list_changed().await?;
                    }
                    Ok::<_, rmcp::service::ServiceError>(())
                };
                if told.await.is_err() {
                    return;
                }
            }
        });
    }

    /// The client's name, once the configuration of servers was read for it.
    pub(super) async fn upstream_client(&self, context: &RequestContext<RoleServer>) -> String {
        let client = context
            .client_info()
            .map(|client| client.name)
            .unwrap_or_default();
        self.upstream.begin(&client);
        self.upstream.ready().await;
        client
    }

    /// The tools of the servers, and the one that tells how they are.
    pub(super) async fn upstream_tools(&self, context: &RequestContext<RoleServer>) -> Vec<Tool> {
        let client = self.upstream_client(context).await;
        let mut tools = self.upstream.tools(&client);
        if self.upstream.is_used() {
            tools.push(upstream_status::definition());
        }
        tools
    }

    /// Calls a tool that is not of the product itself.
    pub(super) async fn upstream_call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = self.upstream_client(context).await;
        let name = request.name;
        if name == upstream_status::NAME && self.upstream.is_used() {
            return Ok(upstream_status::call(self.upstream.report()).into());
        }
        let call = self.with_progress(context, async |progress| {
            self.upstream
                .call(&client, &name, request.arguments, progress)
                .await
        });
        let result: Option<CallToolResult> = tokio::select! {
            result = call => result,
            () = context.ct.cancelled() => return Ok(tools::failure("cancelled").into()),
        };
        match result {
            Some(result) => Ok(bounded(&name, result).into()),
            None => Err(ErrorData::invalid_params(
                format!("Unknown tool: {name}"),
                None,
            )),
        }
    }

    /// Does something, and passes its progress on if the client asked for it: all of it before the end.
    async fn with_progress<T>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl AsyncFnOnce(Option<&mpsc::Sender<Progress>>) -> T,
    ) -> T {
        let Some(token) = context.meta.get_progress_token() else {
            return work(None).await;
        };
        let (sender, mut news) = mpsc::channel(PROGRESS_QUEUE);
        let tell = async |progress: Progress| {
            let mut told = ProgressNotificationParam::new(token.clone(), progress.progress);
            told.total = progress.total;
            told.message = progress.message;
            let _ = context.peer.notify_progress(told).await;
        };
        let work = work(Some(&sender));
        tokio::pin!(work);
        let done = loop {
            tokio::select! {
                biased;
                Some(progress) = news.recv() => tell(progress).await,
                done = &mut work => break done,
            }
        };
        while let Ok(progress) = news.try_recv() {
            tell(progress).await;
        }
        done
    }

    /// Fills in a prompt of a server.
    pub(super) async fn upstream_prompt(
        &self,
        request: GetPromptRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let client = self.upstream_client(context).await;
        let prompt = self
            .upstream
            .prompt(&client, &request.name, request.arguments);
        let unknown = || {
            Err(ErrorData::invalid_params(
                format!("Unknown prompt: {}", request.name),
                None,
            ))
        };
        let prompt = prompt.await.unwrap_or_else(unknown)?;
        small_enough(&request.name, prompt).map(Into::into)
    }

    /// Reads a resource of a server.
    pub(super) async fn upstream_resource(
        &self,
        request: ReadResourceRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let client = self.upstream_client(context).await;
        let unknown = || {
            let message: Cow<'static, str> = format!("There is no resource {}", request.uri).into();
            Err(ErrorData::new(ErrorCode::RESOURCE_NOT_FOUND, message, None))
        };
        let read = self.upstream.resource(&client, &request.uri);
        let read = read.await.unwrap_or_else(unknown)?;
        small_enough(&request.uri, read).map(Into::into)
    }
}

/// The answer, unless it is larger than what clients take.
fn small_enough<T: Serialize>(name: &str, answer: T) -> Result<T, ErrorData> {
    let size = serde_json::to_vec(&answer).map_or(usize::MAX, |json| json.len());
    if size <= MAX_ANSWER {
        return Ok(answer);
    }
    let message = format!("{name} is {size} bytes long, and clients take {MAX_ANSWER}.");
    Err(ErrorData::internal_error(message, None))
}
