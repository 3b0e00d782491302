//! `run-script`: Lua of the client's own on the host, which drives many computers in one call.

use std::{sync::Arc, time::Duration};

use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;

use super::typed::Native;
use crate::base::text::is_json_but_no_object;
use crate::tools::{
    Context, TooDeep,
    content::{shown, tool_result},
    host::{Code, Ended, HostHandler, NotWell, Rights},
    legible, lua_code,
    outcome::{push_value, unmistakable},
    text,
};

pub struct RunScript {
    /// Where scripts run.
    pub host: Arc<HostHandler>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arguments {
    #[serde(deserialize_with = "lua_code::deserialize")]
    code: String,
    timeout_ms: u64,
}

#[derive(Debug, Error)]
pub enum ScriptError {
    /// A script that calls run-script would be none that one can follow.
    #[error(transparent)]
    TooDeep(#[from] TooDeep),
    #[error(
        "{}{}{}",
        thrown(&.why.to_string()),
        section("Output before the error", .printed),
        section("What came back from computers", .came_back)
    )]
    Failed {
        why: NotWell,
        printed: String,
        came_back: String,
    },
}

/// What went wrong, so that it is no bare value (see [`outcome`](crate::tools::outcome)): a script throws whatever it likes.
fn thrown(why: &str) -> String {
    if is_json_but_no_object(why) {
        return format!("The script threw {why}");
    }
    why.to_owned()
}

/// A part of what is known of a script that failed; nothing if there is nothing in it.
fn section(title: &str, text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("\n\n{title}:\n{text}")
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
            home: None,
        };
        let is_shown = context.shows_output();
        let context = context.deeper()?;
        let time = Duration::from_millis(timeout_ms);
        let run = self
            .host
            .run(context, &code, Rights::OfItsClient, json!([]), time);
        let Ended {
            printed,
            came_back,
            end,
        } = run.await;
        // A person at a terminal has seen it already.
        let (printed, has_printed) = match is_shown {
            true => (String::new(), !printed.is_empty()),
            false => (printed, false),
        };
        match end {
            Err(why) => Err(ScriptError::Failed {
                why,
                printed,
                came_back,
            }),
            Ok(values) if values.is_empty() && has_printed => Ok(text("")),
            Ok(values) if values.is_empty() && printed.is_empty() => Ok(text(
                "The script ran to its end; it printed nothing and returned nothing.",
            )),
            Ok(values) => {
                let holds_bytes =
                    legible::holds_bytes(&printed) || values.iter().any(legible::any_holds_bytes);
                let values: Vec<_> = values.into_iter().map(legible::value).collect();
                // Images and the like are passed through.
                let result = if values.len() == 1 && values[0].get("content").is_some() {
                    tool_result(values, false)
                } else {
                    text(unmistakable(all(&legible::text(&printed), &values)))
                };
                Ok(legible::noted(result, holds_bytes))
            }
        }
    }
}

/// What was printed, then the values, one a line.
fn all(printed: &str, values: &[Value]) -> String {
    let mut all = printed.to_owned();
    for value in values {
        match value {
            Value::Null => push_value(&mut all, "nil"),
            value => push_value(&mut all, &shown(value)),
        }
    }
    all
}
