//! `find-tools`: the tools that a client does not know from its list, by words, with their schemas.

use std::convert::Infallible;

use rmcp::model::CallToolResult;
use serde::Deserialize;

use super::{
    found::{Asked, answer},
    typed::Native,
};
use crate::tools::{Context, policy::FIND_TOOLS, text};

pub struct FindTools;

#[derive(Deserialize)]
pub struct Arguments {
    query: Option<String>,
    limit: usize,
    offset: usize,
}

impl Native for FindTools {
    const NAME: &'static str = FIND_TOOLS;
    type Arguments = Arguments;
    type Error = Infallible;

    async fn run(
        &self,
        context: Context<'_>,
        arguments: Arguments,
    ) -> Result<CallToolResult, Infallible> {
        context.others.wait().await;
        let query = arguments.query.unwrap_or_default();
        let searched = context.others.search(&query).await;
        let asked = Asked {
            query: &query,
            limit: arguments.limit,
            offset: arguments.offset,
        };
        let paused = context.others.paused().await;
        Ok(text(answer(&searched, &asked, paused.as_ref())))
    }
}
