//! What a handler asks of other tools, and of its namespace: what is about no single computer.

use std::sync::Arc;

use rmcp::model::JsonObject;
use serde_json::{Value, json};
use thiserror::Error;
use tokio::time::{Instant, timeout, timeout_at};

use super::{
    asker::{Asker, TO_TELL, Time},
    protocol::Outcome,
};
use crate::tools::{
    Context, Found, Refusal, TooDeep, Tool, ToolFailed,
    namespace::{Manner, Need, NeedError},
};

/// Why another tool has no value for a handler.
#[derive(Debug, Error)]
pub enum OtherToolError {
    /// Tools have called each other too often in a row.
    #[error(transparent)]
    TooDeep(#[from] TooDeep),
    /// The client may not call it either.
    #[error("{}", .refusal.of(.tool))]
    Refused {
        /// The tool.
        tool: String,
        /// Why.
        refusal: Refusal,
    },
    /// There is none.
    #[error("there is no tool `{0}`")]
    Missing(String),
    /// Its time was up.
    #[error("timeout: {tool} did not end within {ms} ms and was stopped")]
    TimedOut {
        /// The tool.
        tool: String,
        /// The time it had, in milliseconds.
        ms: u128,
    },
    /// It failed.
    #[error(transparent)]
    Failed(#[from] ToolFailed),
}

impl Asker<'_> {
    /// What its namespace has.
    pub(super) async fn own(&self, need: Need) -> Result<Value, NeedError> {
        let others = self.context.others;
        let manner = match others.paused().await {
            _ if others.is_read_only() => Manner::ReadOnly,
            Some(hold) => Manner::Paused(hold.told()),
            None => Manner::Free,
        };
        let left = self.deadline.saturating_duration_since(Instant::now());
        let until = self.deadline - TO_TELL.min(left / 4) / 2;
        self.visit.meet(need, manner, until).await
    }

    /// Calls a tool, as the client could.
    pub(super) async fn tool(
        &self,
        tool: &str,
        arguments: Value,
        time: Time,
    ) -> Result<Value, OtherToolError> {
        let name = json!(tool);
        self.record.ask(&name);
        let value = self.value_of(tool, arguments, time).await;
        let (returns, error) = match &value {
            Ok(value) => (Some(vec![value.clone()]), None),
            Err(problem) => (None, Some(problem.to_string())),
        };
        self.record.answer(&Outcome {
            id: name,
            returns,
            error,
            output: String::new(),
        });
        // Lua's nil is no value of JSON.
        Ok(json!({ "value": value? }))
    }

    async fn value_of(
        &self,
        tool: &str,
        arguments: Value,
        time: Time,
    ) -> Result<Value, OtherToolError> {
        // A server that is still starting may bring it.
        let waited = timeout(time.each, self.context.others.wait_for(tool)).await;
        if let Ok(Err(unknown)) = waited {
            return Err(ToolFailed(unknown).into());
        }
        let (context, found) = self.found(tool).await?;
        let arguments = match arguments {
            Value::Object(fields) => fields,
            // Lua's table without entries.
            _ => JsonObject::new(),
        };
        let call = timeout(time.each, found.value(context, arguments));
        match timeout_at(time.until, call).await {
            Ok(Ok(value)) => Ok(value?),
            _ => Err(OtherToolError::TimedOut {
                tool: tool.to_owned(),
                ms: time.each.as_millis(),
            }),
        }
    }

    /// A tool that may be called, and what a call of it has at hand.
    pub(super) async fn found(
        &self,
        tool: &str,
    ) -> Result<(Context<'_>, Arc<dyn Tool>), OtherToolError> {
        let context = self.context.deeper()?;
        match context.others.find(tool).await {
            Found::Tool(found) => Ok((context, found)),
            Found::Refused(refusal) => {
                context.note_refused();
                Err(OtherToolError::Refused {
                    tool: tool.to_owned(),
                    refusal,
                })
            }
            Found::Nothing => Err(OtherToolError::Missing(tool.to_owned())),
        }
    }
}
