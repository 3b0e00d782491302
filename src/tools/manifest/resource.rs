//! A resource's entry: a text, bytes, or a handler that makes them.

use std::time::Duration;

use rmcp::model::{Resource as Definition, ResourceTemplate};
use serde_json::Value;

use super::{
    encoded,
    example::Example,
    fields::Fields,
    handler::{Handler, handler},
    tree::NodeKind,
    wrong::Wrong,
};
use crate::tools::uri_template::Template;

/// A resource, or a template of resources.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceSpec {
    /// What clients are shown.
    pub definition: Shown,
    /// What is read.
    pub text: Text,
    /// When it changes by itself.
    pub watch: Watch,
    /// What it is given, and what comes of that.
    pub examples: Vec<Example>,
}

/// When a resource changes by itself, so that who follows it is told to read it again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Watch {
    /// So often.
    pub every: Option<Duration>,
    /// When a computer links, leaves or gets another label.
    pub computers: bool,
}

/// How a resource is shown: by its URI, or by a template of URIs with `{names}`.
#[derive(Debug, Clone, PartialEq)]
pub enum Shown {
    /// One resource.
    One(Definition),
    /// All resources of a template.
    Template(ResourceTemplate),
}

impl Shown {
    /// Its URI, or the template of its URIs.
    pub fn uri(&self) -> &str {
        match self {
            Self::One(one) => &one.uri,
            Self::Template(template) => &template.uri_template,
        }
    }
}

/// Where a resource's contents come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Text {
    /// They stand in the manifest.
    Fixed(String),
    /// They stand in the manifest, in base64.
    Bytes(String),
    /// A handler makes them.
    Handler(Handler),
}

/// Reads it; none if it is not for MCP: another program's resource has no `mcp.uri`.
pub fn read(fields: &Fields<'_>, meta: &Fields<'_>) -> Result<Option<ResourceSpec>, Wrong> {
    let Some(uri) = meta.text("mcp.uri")? else {
        return match meta.first(&["mcp.text", "mcp.blob"]) {
            Some(_) => Err(meta.wrong("a resource needs `mcp.uri`, which clients read it by")),
            None => Ok(None),
        };
    };
    if !uri.contains(':') || uri.contains(char::is_whitespace) {
        return Err(Wrong {
            line: meta.line_of("mcp.uri"),
            reason: format!(
                "`mcp.uri` must be a URI such as notes://farm or notes://{{name}}, not {uri}"
            ),
        });
    }
    let name = match meta.text("mcp.name")? {
        Some(name) => name,
        None => fields.text("name")?.unwrap_or_else(|| uri.clone()),
    };
    let (title, description) = (meta.text("mcp.title")?, meta.text("mcp.description")?);
    let mime_type = meta.text("mcp.mimeType")?;
    let text = text(fields, meta, &name, mime_type.as_deref())?;
    let definition = if uri.contains(['{', '}']) {
        Template::parse(&uri).map_err(|error| Wrong {
            line: meta.line_of("mcp.uri"),
            reason: format!("`mcp.uri` {uri} {error}"),
        })?;
        let mut template = ResourceTemplate::new(uri, name.clone());
        template.title = title;
        template.description = description;
        template.mime_type = mime_type;
        Shown::Template(template)
    } else {
        let mut one = Definition::new(uri, name.clone());
        one.title = title;
        one.description = description;
        one.mime_type = mime_type;
        Shown::One(one)
    };
    Ok(Some(ResourceSpec {
        definition,
        text,
        watch: watch(meta)?,
        examples: Vec::new(),
    }))
}

/// When it changes by itself: a number of seconds, `computers`, or a list of both.
fn watch(meta: &Fields<'_>) -> Result<Watch, Wrong> {
    let mut watch = Watch::default();
    let Some(node) = meta.get("mcp.watch") else {
        return Ok(watch);
    };
    let items = match &node.kind {
        NodeKind::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    for item in items {
        match &item.kind {
            NodeKind::Scalar(Value::String(word)) if word == "computers" => watch.computers = true,
            NodeKind::Scalar(Value::Number(seconds))
                if seconds
                    .as_f64()
                    .is_some_and(|seconds| (1.0..=86_400.0).contains(&seconds)) =>
            {
                watch.every = seconds.as_f64().map(Duration::from_secs_f64);
            }
            _ => {
                return Err(Wrong {
                    line: item.line,
                    reason: format!(
                        "`mcp.watch` must be a number of seconds from 1 to 86400, or `computers`, not {}",
                        item.what()
                    ),
                });
            }
        }
    }
    Ok(watch)
}

/// Where its contents come from, which is one place.
fn text(
    fields: &Fields<'_>,
    meta: &Fields<'_>,
    name: &str,
    mime_type: Option<&str>,
) -> Result<Text, Wrong> {
    let (text, bytes) = (meta.text("mcp.text")?, meta.text("mcp.blob")?);
    match (text, bytes, handler(fields)?) {
        (Some(text), None, None) => Ok(Text::Fixed(text)),
        (None, Some(bytes), None) => match encoded::read(&bytes, mime_type) {
            Ok(bytes) => Ok(Text::Bytes(bytes)),
            Err(reason) => Err(Wrong {
                line: meta.line_of("mcp.blob"),
                reason: format!("`mcp.blob` {reason}"),
            }),
        },
        (None, None, Some(handler)) => Ok(Text::Handler(handler)),
        (None, None, None) => Err(meta.wrong(format!(
            "the resource {name} needs `mcp.text`, `mcp.blob`, or a handler in `source`"
        ))),
        (_, _, Some(handler)) => Err(Wrong {
            line: handler.line,
            reason: format!(
                "the resource {name} has both `source` and contents in `meta`; leave one of them out"
            ),
        }),
        (Some(_), Some(_), None) => Err(Wrong {
            line: meta.line_of("mcp.blob"),
            reason: format!(
                "the resource {name} has both `mcp.text` and `mcp.blob`; leave one of them out"
            ),
        }),
    }
}
