//! `exec-lua`: runs Lua on one computer and shows what came of it.

use rmcp::model::CallToolResult;
use serde::Deserialize;
use serde_json::json;

use super::{
    running::{Manner, Run, RunError},
    typed::Native,
};
use crate::{
    computers::{About, ComputerKey, Method},
    tools::{Context, choosing::choose, lua_code, text},
};

pub struct ExecLua;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arguments {
    computer_id: Option<ComputerKey>,
    #[serde(deserialize_with = "lua_code::deserialize")]
    code: String,
    exclusive: bool,
    #[serde(flatten)]
    manner: Manner,
}

impl Native for ExecLua {
    const NAME: &'static str = "exec-lua";
    type Arguments = Arguments;
    type Error = RunError;

    async fn run(
        &self,
        context: Context<'_>,
        arguments: Arguments,
    ) -> Result<CallToolResult, RunError> {
        let Arguments {
            computer_id,
            code,
            exclusive,
            manner,
        } = arguments;
        let computer = choose(computer_id, context.fleet).await?;
        let mut params = json!({ "code": code });
        // An agent of version 1 is sent nothing that it doesn't know.
        if computer.facts().boot.is_some() {
            params["where"] = json!(manner.place);
        }
        if exclusive {
            params["exclusive"] = json!(true);
        }
        let run = Run {
            method: Method::ExecLua,
            params: &params,
            about: About::listed(&code, exclusive),
            note: None,
        };
        manner.run(context, &computer, run).await.map(text)
    }
}
