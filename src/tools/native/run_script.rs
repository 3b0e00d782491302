//! `run-script`: Lua of the client's own on the host, which drives many computers in one call.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use rmcp::model::JsonObject;
use serde_json::{Value, json};

use crate::tools::{
    Context,
    arguments::{Arguments, Problem},
    content::{shown, tool_result},
    entry::{Handled, Handler},
    failure,
    host::{Code, HostHandler, Rights, values_of},
    outcome::end_line,
    text,
};

/// How long a script may take, when it does not say, in milliseconds: below what clients wait for.
const DEFAULT_TIMEOUT_MS: u64 = 50_000;

/// The longest a script may take, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 600_000;

/// The tool.
pub struct RunScript {
    /// Where scripts run.
    pub host: Arc<HostHandler>,
}

impl Handler for RunScript {
    fn run<'a>(&'a self, context: Context<'a>, arguments: JsonObject) -> BoxFuture<'a, Handled> {
        async move {
            match self.script(context, arguments).await {
                Ok(handled) => handled,
                Err(problem) => Handled::Failed(problem),
            }
        }
        .boxed()
    }
}

impl RunScript {
    async fn script(
        &self,
        context: Context<'_>,
        arguments: JsonObject,
    ) -> Result<Handled, Problem> {
        let mut arguments = Arguments::new(arguments);
        let source = arguments.text("code")?;
        let time = arguments.whole_number("timeoutMs", 1, MAX_TIMEOUT_MS, DEFAULT_TIMEOUT_MS)?;
        arguments.end()?;
        let code = Code {
            source: source.into(),
            chunk: "script".to_owned(),
            method: None,
        };
        // A script that calls run-script would be none that one can follow.
        let context = context.deeper()?;
        let mut done = self
            .host
            .run(
                context,
                &code,
                Rights::OfItsClient,
                json!([]),
                Duration::from_millis(time),
            )
            .await?;
        let printed = std::mem::take(&mut done.printed);
        Ok(Handled::Result(match values_of(done) {
            Err(problem) if printed.is_empty() => failure(problem),
            Err(problem) => failure(format!("{problem}\n\nOutput before the error:\n{printed}")),
            Ok(values) if values.is_empty() && printed.is_empty() => {
                text("The script ran to its end; it printed nothing and returned nothing.")
            }
            // Images and the like are passed through.
            Ok(values) if values.len() == 1 && values[0].get("content").is_some() => {
                tool_result(values, false)
            }
            Ok(values) => text(all(printed, &values)),
        }))
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
