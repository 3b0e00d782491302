//! `run-script`: Lua of the client's own on the host, which drives many computers in one call.

use std::{sync::Arc, time::Duration};

use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use super::typed::Native;
use crate::tools::{
    Context, TooDeep,
    content::{shown, tool_result},
    host::{CallError, Code, HostHandler, Rights, Thrown, values_of},
    outcome::end_line,
    text,
};

pub struct RunScript {
    /// Where scripts run.
    pub host: Arc<HostHandler>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arguments {
    code: String,
    timeout_ms: u64,
}

#[derive(Debug, Error)]
pub enum ScriptError {
    /// A script that calls run-script would be none that one can follow.
    #[error(transparent)]
    TooDeep(#[from] TooDeep),
    #[error(transparent)]
    NotEnded(#[from] CallError),
    #[error(transparent)]
    Failed(#[from] Thrown),
    #[error("{thrown}\n\nOutput before the error:\n{printed}")]
    FailedWithOutput { thrown: Thrown, printed: String },
}

impl Native for RunScript {
    const NAME: &'static str = "run-script";
    type Arguments = Arguments;
    type Error = ScriptError;

    async fn run(
        &self,
        context: Context<'_>,
        Arguments { code, timeout_ms }: Arguments,
    ) -> Result<CallToolResult, ScriptError> {
        let code = Code {
            source: code.into(),
            chunk: "script".to_owned(),
            method: None,
        };
        let context = context.deeper()?;
        let time = Duration::from_millis(timeout_ms);
        let run = self
            .host
            .run(context, &code, Rights::OfItsClient, json!([]), time);
        let mut done = run.await?;
        let printed = std::mem::take(&mut done.printed);
        match values_of(done) {
            Err(thrown) if printed.is_empty() => Err(thrown.into()),
            Err(thrown) => Err(ScriptError::FailedWithOutput { thrown, printed }),
            Ok(values) if values.is_empty() && printed.is_empty() => Ok(text(
                "The script ran to its end; it printed nothing and returned nothing.",
            )),
            // Images and the like are passed through.
            Ok(values) if values.len() == 1 && values[0].get("content").is_some() => {
                Ok(tool_result(values, false))
            }
            Ok(values) => Ok(text(all(printed, &values))),
        }
    }
}

/// What was printed, then the values, one a line.
fn all(printed: String, values: &[Value]) -> String {
    let mut all = printed;
    for value in values {
        end_line(&mut all);
        match value {
            Value::Null => all.push_str("nil"),
            value => all.push_str(&shown(value)),
        }
    }
    all
}
