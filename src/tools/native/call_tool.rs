//! `call-tool`: calls any tool there is by its name, for clients that never see a changed list.

use rmcp::model::{CallToolResult, JsonObject};
use serde::Deserialize;
use thiserror::Error;

use super::typed::Native;
use crate::{
    base::text::one_line,
    tools::{Context, catalogue::Found, policy::CALL_TOOL},
};

pub struct CallTool;

#[derive(Deserialize)]
pub struct Arguments {
    name: String,
    arguments: Option<JsonObject>,
}

#[derive(Debug, Error)]
pub enum CallError {
    #[error("{0}")]
    TooDeep(String),
    #[error("call-tool can't call itself.")]
    Itself,
    #[error("{name} is refused: {why}.")]
    Refused { name: String, why: &'static str },
    #[error("There is no tool `{}`. find-tools shows those there are.", one_line(.0))]
    Unknown(String),
}

impl Native for CallTool {
    const NAME: &'static str = CALL_TOOL;
    type Arguments = Arguments;
    type Error = CallError;

    async fn run(
        &self,
        context: Context<'_>,
        Arguments { name, arguments }: Arguments,
    ) -> Result<CallToolResult, CallError> {
        let context = context.deeper().map_err(CallError::TooDeep)?;
        if name == CALL_TOOL {
            return Err(CallError::Itself);
        }
        let snapshot = context.catalogue.ready().await;
        match snapshot.find(&name) {
            Found::Tool(tool) => Ok(tool.call(context, arguments.unwrap_or_default()).await),
            Found::Refused(why) => Err(CallError::Refused { name, why }),
            Found::Nothing => Err(CallError::Unknown(name)),
        }
    }
}
