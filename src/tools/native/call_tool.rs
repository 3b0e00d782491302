//! `call-tool`: calls any tool there is by its name, for clients that never see a changed list.

use rmcp::model::{CallToolResult, JsonObject};
use serde::Deserialize;
use thiserror::Error;

use super::typed::Native;
use crate::{
    base::text::one_line,
    tools::{Context, Found, Refusal, TooDeep, coercion::nearest, policy::CALL_TOOL},
};

pub struct CallTool;

#[derive(Deserialize)]
pub struct Arguments {
    name: String,
    arguments: Option<JsonObject>,
}

#[derive(Debug, Error)]
pub enum CallToolError {
    #[error(transparent)]
    TooDeep(#[from] TooDeep),
    #[error("call-tool can't call itself.")]
    Itself,
    #[error("{}.", .refusal.of(.name))]
    Refused { name: String, refusal: Refusal },
    /// Whether there is such a tool is not known: why.
    #[error("{0}")]
    NotKnown(String),
    #[error("There is no tool `{}`{meant} find-tools shows those that are not in your list.", one_line(.name))]
    Unknown {
        name: String,
        /// The end of the sentence: the tool that may be meant, if one may.
        meant: String,
    },
}

impl Native for CallTool {
    const NAME: &'static str = CALL_TOOL;
    const PASSES_ON: bool = true;
    type Arguments = Arguments;
    type Error = CallToolError;

    async fn run(
        &self,
        context: Context<'_>,
        Arguments { name, arguments }: Arguments,
    ) -> Result<CallToolResult, CallToolError> {
        let context = context.deeper()?;
        if name == CALL_TOOL {
            return Err(CallToolError::Itself);
        }
        let awaited = context.others.wait_for(&name).await;
        awaited.map_err(CallToolError::NotKnown)?;
        match context.others.find(&name) {
            Found::Tool(tool) => Ok(tool.call(context, arguments.unwrap_or_default()).await),
            Found::Refused(refusal) => {
                context.note_refused();
                Err(CallToolError::Refused { name, refusal })
            }
            Found::Nothing => {
                let reachable = context.others.reachable();
                let meant = match nearest(&name, reachable.iter().map(String::as_str)) {
                    Some(meant) => format!("; did you mean `{meant}`?"),
                    None => ".".to_owned(),
                };
                Err(CallToolError::Unknown { name, meant })
            }
        }
    }
}
