//! All that a server offers, asked for page by page, within bounds.

use std::time::Duration;

use rmcp::model::{
    ClientRequest, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    ListToolsRequest, PaginatedRequestParams, ServerResult, Tool,
};
use serde::Serialize;
use serde_json::Value;

use super::{AskError, Connection};
use crate::upstream::offers::Offers;

/// How many pages of a list are asked for, and how many things are taken from it.
const MOST_PAGES: usize = 100;

/// See [`MOST_PAGES`].
const MOST_THINGS: usize = 2_000;

/// How large a list may be, in bytes of JSON.
const LARGEST_LIST: usize = 8 * 1024 * 1024;

impl Connection {
    /// Asks for all that the server offers. Each page has `patience`.
    ///
    /// # Errors
    /// A list that it should have can't be had.
    pub async fn offers(&self, patience: Duration) -> Result<Offers, AskError> {
        let capabilities = self.capabilities();
        let mut offers = Offers::default();
        if capabilities.tools.is_some() {
            self.tools(&mut offers, patience).await?;
        }
        if capabilities.prompts.is_some() {
            offers.prompts = self
                .pages(
                    patience,
                    |page| ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(page)),
                    |result| match result {
                        ServerResult::ListPromptsResult(page) => {
                            Some((page.prompts, page.next_cursor))
                        }
                        _ => None,
                    },
                )
                .await?;
        }
        if capabilities.resources.is_some() {
            offers.resources = self
                .pages(
                    patience,
                    |page| {
                        ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(page))
                    },
                    |result| match result {
                        ServerResult::ListResourcesResult(page) => {
                            Some((page.resources, page.next_cursor))
                        }
                        _ => None,
                    },
                )
                .await?;
            // Many servers have resources and know of no templates.
            offers.templates = self
                .pages(
                    patience,
                    |page| {
                        ClientRequest::ListResourceTemplatesRequest(
                            ListResourceTemplatesRequest::with_param(page),
                        )
                    },
                    |result| match result {
                        ServerResult::ListResourceTemplatesResult(page) => {
                            Some((page.resource_templates, page.next_cursor))
                        }
                        _ => None,
                    },
                )
                .await
                .unwrap_or_default();
        }
        Ok(offers)
    }

    /// Lists the tools. One whose definition can't be read takes no other down.
    async fn tools(&self, offers: &mut Offers, patience: Duration) -> Result<(), AskError> {
        let unreadable = &mut offers.unreadable;
        offers.tools = self
            .pages(
                patience,
                |page| ClientRequest::ListToolsRequest(ListToolsRequest::with_param(page)),
                |result| match result {
                    ServerResult::ListToolsResult(page) => Some((page.tools, page.next_cursor)),
                    ServerResult::CustomResult(page) => {
                        let cursor = page
                            .0
                            .get("nextCursor")
                            .and_then(Value::as_str)
                            .map(str::to_owned);
                        let tools = page.0.get("tools")?.as_array()?.iter();
                        let readable = tools.filter_map(|tool| {
                            match serde_json::from_value::<Tool>(tool.clone()) {
                                Ok(tool) => Some(tool),
                                Err(error) => {
                                    let name =
                                        tool.get("name").and_then(Value::as_str).unwrap_or("?");
                                    unreadable.push((
                                        name.to_owned(),
                                        format!("its definition can't be read: {error}"),
                                    ));
                                    None
                                }
                            }
                        });
                        Some((readable.collect(), cursor))
                    }
                    _ => None,
                },
            )
            .await?;
        Ok(())
    }

    /// All pages of a list, within bounds.
    async fn pages<T: Serialize>(
        &self,
        patience: Duration,
        request: impl Fn(PaginatedRequestParams) -> ClientRequest,
        mut page: impl FnMut(ServerResult) -> Option<(Vec<T>, Option<String>)>,
    ) -> Result<Vec<T>, AskError> {
        let mut all = Vec::new();
        let mut cursor = None;
        let mut size = 0;
        for _ in 0..MOST_PAGES {
            let asked = request(PaginatedRequestParams::default().with_cursor(cursor));
            let result = self.ask(asked, None, patience).await?;
            let (things, next) = page(result).ok_or_else(|| {
                AskError::Other("its list is not of the protocol's form".to_owned())
            })?;
            size += serde_json::to_vec(&things).map_or(0, |json| json.len());
            if size > LARGEST_LIST {
                return Err(AskError::Other("its list is larger than 8 MiB".to_owned()));
            }
            all.extend(things);
            all.truncate(MOST_THINGS);
            cursor = next;
            if cursor.is_none() || all.len() == MOST_THINGS {
                return Ok(all);
            }
        }
        Ok(all)
    }
}
