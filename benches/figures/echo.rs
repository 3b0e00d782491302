//! The floors and peers of single calls: this program as a child of itself.

use std::io::{Read, Write};

use rmcp::{ServerHandler, ServiceExt, model, service::RequestContext};
use serde_json::Value;

use crate::Result;

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
