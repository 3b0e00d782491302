//! What an example provides in the place of the user's own: what the store holds, secrets, and the answers of hosts.

use std::collections::BTreeMap;

use rmcp::model::JsonObject;
use serde_json::Value;

use super::{
    fields::{Fields, text_of},
    meant,
    tree::Node,
    wrong::Wrong,
};

/// The keys of a request.
const OF_REQUEST: &[&str] = &["method", "url", "status", "headers", "body"];

/// What an example provides.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Provided {
    /// What the store of the namespace holds at the beginning.
    pub store: JsonObject,
    /// The secrets there are.
    pub secrets: BTreeMap<String, String>,
    /// The requests that are answered.
    pub requests: Vec<Answered>,
}

/// A request that is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// In capital letters.
    pub method: String,
    /// The whole URL.
    pub url: String,
    /// Of the answer.
    pub status: u16,
    /// Of the answer; names are in small letters.
    pub headers: BTreeMap<String, String>,
    /// Of the answer.
    pub body: String,
}

/// Reads it of an example's fields.
pub fn read(fields: &Fields<'_>) -> Result<Provided, Wrong> {
    let store = match fields.get("store").map(Node::to_json) {
        None => JsonObject::new(),
        Some(Value::Object(store)) => store,
        Some(_) => {
            return Err(Wrong {
                line: fields.line_of("store"),
                reason: "`store` must be a map of keys to values".to_owned(),
            });
        }
    };
    let requests = fields.list("requests")?.unwrap_or_default();
    Ok(Provided {
        store,
        secrets: texts(fields, "secrets")?,
        requests: requests.iter().map(request).collect::<Result<_, _>>()?,
    })
}

fn request(node: &Node) -> Result<Answered, Wrong> {
    let fields = Fields::of(node, "a request")?;
    meant::only(&fields, OF_REQUEST, "a request")?;
    let body = match fields.get("body") {
        None => String::new(),
        Some(body) => match body.to_json() {
            Value::String(text) => text,
            // What is no text is meant as JSON.
            json => json.to_string(),
        },
    };
    let headers = texts(&fields, "headers")?.into_iter();
    Ok(Answered {
        method: fields
            .text("method")?
            .map_or_else(|| "GET".to_owned(), |method| method.to_ascii_uppercase()),
        url: fields
            .text("url")?
            .ok_or_else(|| fields.wrong("a request needs `url`"))?,
        // It is within bounds.
        status: fields.number("status", 100, 599)?.unwrap_or(200) as u16,
        headers: headers
            .map(|(name, value)| (name.to_ascii_lowercase(), value))
            .collect(),
        body,
    })
}

/// A map of texts.
fn texts(fields: &Fields<'_>, key: &str) -> Result<BTreeMap<String, String>, Wrong> {
    let Some(map) = fields.map(key)? else {
        return Ok(BTreeMap::new());
    };
    map.entries()
        .map(|(name, node)| Ok((name.to_owned(), text_of(node, name)?)))
        .collect()
}
