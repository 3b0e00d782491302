//! What the managed MCP servers add to a client's session beside their tools: their prompts and resources.

use rmcp::{
    ErrorData, RoleServer,
    model::{
        GetPromptRequestParams, GetPromptResponse, ReadResourceRequestParams, ReadResourceResponse,
    },
    service::RequestContext,
};
use serde::Serialize;
use serde_json::json;

use super::server::{MAX_ANSWER, Server};

impl Server {
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
            let message = format!("Unknown prompt: {}", request.name);
            Err(ErrorData::invalid_params(message, None))
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
        let uri = &request.uri;
        let unknown = || {
            Err(ErrorData::resource_not_found(
                format!("Unknown resource: {uri}"),
                Some(json!({ "uri": uri })),
            ))
        };
        let read = self
            .upstream
            .resource(&client, uri)
            .await
            .unwrap_or_else(unknown)?;
        small_enough(uri, read).map(Into::into)
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
