//! A resource's entry: a text, bytes, or a handler that makes them.

use rmcp::model::{Resource as Definition, ResourceTemplate};

use super::{
    encoded,
    example::Example,
    fields::Fields,
    handler::{Handler, handler},
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
    /// What it is given, and what comes of that.
    pub examples: Vec<Example>,
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
        examples: Vec::new(),
    }))
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
