//! All that a server offers, asked for page by page, within bounds.
//!
//! What is wrong with one thing, or with one list, takes nothing else down; it is told.

use std::{collections::HashSet, time::Duration};

use rmcp::model::{
    ClientRequest, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    ListToolsRequest, PaginatedRequestParams, Prompt, Resource, ResourceTemplate, ServerResult,
    Tool,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{AskError, Connection};
use crate::{
    base::json::size_of,
    upstream::{mending, offers::Offers},
};

/// How many pages of a list are asked for, and how many things are taken from it.
const MOST_PAGES: usize = 100;

/// See [`MOST_PAGES`].
const MOST_THINGS: usize = 2_000;

/// How large a list may be, in bytes of JSON.
const LARGEST_LIST: usize = 8 * 1024 * 1024;

/// Something that servers have lists of.
trait Thing: Serialize + DeserializeOwned {
    /// The key of a page that holds them.
    const KEY: &str;
    /// What they are called.
    const WORD: &str;

    /// Asks for a page.
    fn request(page: PaginatedRequestParams) -> ClientRequest;

    /// The page that is answered, if it has the protocol's form, and the cursor of the next.
    fn page(answer: ServerResult) -> Result<Page<Self>, Box<ServerResult>>;

    /// What tells it from others.
    fn own_name(&self) -> &str;

    /// Brings one into the protocol's form.
    fn mend(_: &mut Value) {}
}

/// A part of a list, and the cursor of the next part.
type Page<T> = (Vec<T>, Option<String>);

/// What is wrong in a list.
#[derive(Default)]
struct Odd {
    /// Things that can't be read, each with the reason.
    unreadable: Vec<(String, String)>,
    /// In words that follow the server's name.
    remarks: Vec<String>,
}

impl Connection {
    /// Asks for all that the server offers. Each page has `patience`.
    ///
    /// # Errors
    /// A list that it should have can't be had.
    pub async fn offers(&self, patience: Duration) -> Result<Offers, AskError> {
        let capabilities = self.capabilities();
        let mut offers = Offers::default();
        let mut odd = Odd::default();
        if capabilities.tools.is_some() {
            offers.tools = self.list(patience, &mut odd).await?;
            offers.unreadable = std::mem::take(&mut odd.unreadable);
        }
        if capabilities.prompts.is_some() {
            offers.prompts = self.list_if_any(patience, &mut odd).await?;
        }
        if capabilities.resources.is_some() {
            offers.resources = self.list_if_any(patience, &mut odd).await?;
            // Many servers have resources and know of no templates.
            let templates = self.list(patience, &mut Odd::default()).await;
            offers.templates = templates.unwrap_or_default();
        }
        let unreadable = odd.unreadable.into_iter();
        offers.remarks = odd.remarks;
        offers.remarks.extend(
            unreadable.map(|(name, why)| format!("has `{name}`, which can't be read: {why}")),
        );
        Ok(offers)
    }

    /// A list that a server may say it has and then refuse: its tools are worth more.
    async fn list_if_any<T: Thing>(
        &self,
        patience: Duration,
        odd: &mut Odd,
    ) -> Result<Vec<T>, AskError> {
        match self.list(patience, odd).await {
            Err(AskError::Refused(error)) => {
                odd.remarks.push(format!(
                    "says that it has {}, and refuses to list them: {}",
                    T::WORD,
                    error.message
                ));
                Ok(Vec::new())
            }
            other => other,
        }
    }

    /// All pages of a list, within bounds, and each thing once.
    async fn list<T: Thing>(&self, patience: Duration, odd: &mut Odd) -> Result<Vec<T>, AskError> {
        let mut all: Vec<T> = Vec::new();
        let mut names = HashSet::new();
        let mut cursors = HashSet::new();
        let mut cursor = None;
        let mut size = 0;
        for _ in 0..MOST_PAGES {
            let asked = T::request(PaginatedRequestParams::default().with_cursor(cursor));
            let answer = self.ask(asked, None, patience).await?;
            let (things, next) = T::page(answer)
                .or_else(|answer| lenient(&answer, odd))
                .map_err(|()| {
                    AskError::Other(format!(
                        "its list of {} has another form than the protocol's",
                        T::WORD
                    ))
                })?;
            let before = all.len();
            for thing in things {
                size += size_of(&thing);
                if all.len() == MOST_THINGS || size > LARGEST_LIST {
                    odd.remarks.push(format!(
                        "has more {} than are taken of one server ({MOST_THINGS}, and {} MiB): those after the first {} are \
                         left out",
                        T::WORD,
                        LARGEST_LIST / 1024 / 1024,
                        all.len()
                    ));
                    return Ok(all);
                }
                if names.insert(thing.own_name().to_owned()) {
                    all.push(thing);
                }
            }
            let Some(next) = next.filter(|next| !next.is_empty()) else {
                return Ok(all);
            };
            // A cursor that comes again leads round in a circle, and a page without anything new to nowhere.
            if !cursors.insert(next.clone()) || all.len() == before {
                odd.remarks.push(format!(
                    "lists its {} without end: what came until it came again is taken",
                    T::WORD
                ));
                return Ok(all);
            }
            cursor = Some(next);
        }
        odd.remarks.push(format!(
            "lists its {} on more pages than are asked for ({MOST_PAGES}): those after the first {} are left out",
            T::WORD,
            all.len()
        ));
        Ok(all)
    }
}

/// A page that is not quite the protocol's: what can be read of it.
fn lenient<T: Thing>(answer: &ServerResult, odd: &mut Odd) -> Result<Page<T>, ()> {
    let page = match answer {
        ServerResult::CustomResult(page) => &page.0,
        ServerResult::EmptyResult(_) => return Ok((Vec::new(), None)),
        _ => return Err(()),
    };
    let cursor = match page.get("nextCursor") {
        Some(Value::String(cursor)) => Some(cursor.clone()),
        Some(Value::Number(cursor)) => Some(cursor.to_string()),
        _ => None,
    };
    let things = match page.get(T::KEY).ok_or(())? {
        Value::Array(things) => things.as_slice(),
        Value::Null => &[],
        _ => return Err(()),
    };
    let mut readable = Vec::new();
    for thing in things {
        let mut thing = thing.clone();
        T::mend(&mut thing);
        match serde_json::from_value(thing.clone()) {
            Ok(thing) => readable.push(thing),
            Err(error) => {
                let why = format!("its definition can't be read: {error}");
                let name = ["name", "uri", "uriTemplate"]
                    .iter()
                    .find_map(|key| thing.get(key)?.as_str());
                match name {
                    Some(name) => odd.unreadable.push((name.to_owned(), why)),
                    None => odd.remarks.push(format!(
                        "has something without a name among its {}: {why}",
                        T::WORD
                    )),
                }
            }
        }
    }
    Ok((readable, cursor))
}

impl Thing for Tool {
    const KEY: &str = "tools";
    const WORD: &str = "tools";

    fn request(page: PaginatedRequestParams) -> ClientRequest {
        ClientRequest::ListToolsRequest(ListToolsRequest::with_param(page))
    }

    fn page(answer: ServerResult) -> Result<Page<Self>, Box<ServerResult>> {
        match answer {
            ServerResult::ListToolsResult(page) => Ok((page.tools, page.next_cursor)),
            other => Err(Box::new(other)),
        }
    }

    fn own_name(&self) -> &str {
        &self.name
    }

    fn mend(tool: &mut Value) {
        mending::tool(tool);
    }
}

impl Thing for Prompt {
    const KEY: &str = "prompts";
    const WORD: &str = "prompts";

    fn request(page: PaginatedRequestParams) -> ClientRequest {
        ClientRequest::ListPromptsRequest(ListPromptsRequest::with_param(page))
    }

    fn page(answer: ServerResult) -> Result<Page<Self>, Box<ServerResult>> {
        match answer {
            ServerResult::ListPromptsResult(page) => Ok((page.prompts, page.next_cursor)),
            other => Err(Box::new(other)),
        }
    }

    fn own_name(&self) -> &str {
        &self.name
    }
}

impl Thing for Resource {
    const KEY: &str = "resources";
    const WORD: &str = "resources";

    fn request(page: PaginatedRequestParams) -> ClientRequest {
        ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(page))
    }

    fn page(answer: ServerResult) -> Result<Page<Self>, Box<ServerResult>> {
        match answer {
            ServerResult::ListResourcesResult(page) => Ok((page.resources, page.next_cursor)),
            other => Err(Box::new(other)),
        }
    }

    fn own_name(&self) -> &str {
        &self.uri
    }
}

impl Thing for ResourceTemplate {
    const KEY: &str = "resourceTemplates";
    const WORD: &str = "resource templates";

    fn request(page: PaginatedRequestParams) -> ClientRequest {
        ClientRequest::ListResourceTemplatesRequest(ListResourceTemplatesRequest::with_param(page))
    }

    fn page(answer: ServerResult) -> Result<Page<Self>, Box<ServerResult>> {
        match answer {
            ServerResult::ListResourceTemplatesResult(page) => {
                Ok((page.resource_templates, page.next_cursor))
            }
            other => Err(Box::new(other)),
        }
    }

    fn own_name(&self) -> &str {
        &self.uri_template
    }
}
