//! Resources: texts and bytes that a client reads by their URI.

use std::{sync::Arc, time::Duration};

use rmcp::model::{ResourceContents, ResourceTemplate};
use serde_json::{Value, json};

use super::{
    Context,
    content::resource_contents,
    host::{Code, HostHandler, Rights, values_of},
    manifest::{ResourceSpec, Shown, Text},
};

/// How long a handler has to make a resource.
const TIME: Duration = Duration::from_secs(20);

/// What the names of a template stand for in a URI.
pub type Names = Vec<(String, String)>;

/// A resource, or all resources of a template.
pub struct Resource {
    /// What clients are shown.
    pub definition: Shown,
    spec: ResourceSpec,
    handler: Option<(Code, Arc<HostHandler>)>,
}

impl Resource {
    /// A resource whose handler, if it has one, is this code.
    pub fn new(spec: ResourceSpec, handler: Option<(Code, Arc<HostHandler>)>) -> Self {
        Self {
            definition: spec.definition.clone(),
            spec,
            handler,
        }
    }

    /// Its URI, or the template of its URIs.
    pub fn uri(&self) -> &str {
        match &self.definition {
            Shown::One(one) => &one.uri,
            Shown::Template(template) => &template.uri_template,
        }
    }

    /// What it was made of.
    pub fn spec(&self) -> &ResourceSpec {
        &self.spec
    }

    /// Whether this URI is its, and what the template's names stand for in it.
    pub fn matches(&self, uri: &str) -> Option<Names> {
        match &self.definition {
            Shown::One(one) => (one.uri == uri).then(Vec::new),
            Shown::Template(ResourceTemplate { uri_template, .. }) => matched(uri_template, uri),
        }
    }

    /// Its contents.
    ///
    /// # Errors
    /// What keeps them from being made.
    pub async fn read(
        &self,
        context: Context<'_>,
        uri: &str,
        names: Names,
    ) -> Result<Vec<ResourceContents>, String> {
        let mime_type = match &self.definition {
            Shown::One(one) => one.mime_type.as_deref(),
            Shown::Template(template) => template.mime_type.as_deref(),
        };
        let filled = |text: &str| {
            names.iter().fold(text.to_owned(), |text, (name, value)| {
                text.replace(&format!("{{{{{name}}}}}"), value)
            })
        };
        let values = match (&self.spec.text, &self.handler) {
            (Text::Fixed(text), _) => vec![json!({ "text": filled(text) })],
            (Text::Bytes(bytes), _) => vec![json!({ "blob": bytes })],
            (Text::Handler(_), Some((code, host))) => {
                let mut arguments = json!({ "uri": uri });
                for (name, value) in names {
                    arguments[name] = Value::String(value);
                }
                let done = host
                    .run(context, code, Rights::OfItsAuthor, arguments, TIME)
                    .await?;
                values_of(done)?
            }
            (Text::Handler(_), None) => return Err("its handler was not read".to_owned()),
        };
        resource_contents(values, uri, mime_type)
    }
}

/// What a template's names stand for in a URI, if it fits: a name stands for one part without a slash.
fn matched(template: &str, uri: &str) -> Option<Names> {
    let mut names = Vec::new();
    let (mut template, mut uri) = (template, uri);
    while let Some((before, after)) = template.split_once('{') {
        let (name, after) = after.split_once('}')?;
        uri = uri.strip_prefix(before)?;
        let fixed = after.split('{').next().unwrap_or_default();
        let end = if fixed.is_empty() {
            uri.len()
        } else {
            uri.find(fixed)?
        };
        let value = &uri[..end];
        if value.is_empty() || value.contains('/') {
            return None;
        }
        names.push((name.to_owned(), value.to_owned()));
        (template, uri) = (after, &uri[end..]);
    }
    (template == uri).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_fits_uris_with_something_in_the_place_of_each_name() {
        let names = |template, uri| {
            matched(template, uri).map(|names| {
                let names: Vec<_> = names.into_iter().map(|(n, v)| format!("{n}={v}")).collect();
                names.join(" ")
            })
        };
        let fits = |names: &str| Some(names.to_owned());
        assert_eq!(names("a://{x}/data", "a://1/data"), fits("x=1"));
        assert_eq!(names("a://{x}/{y}", "a://1/2"), fits("x=1 y=2"));
        assert_eq!(names("a://{x}", "a://1"), fits("x=1"));
        for (template, uri) in [
            ("a://{x}/data", "a:///data"),
            ("a://{x}/data", "a://1/2/data"),
            ("a://{x}", "a://1/2"),
            ("a://{x}", "b://1"),
            ("a://{x}/data", "a://1/data/more"),
        ] {
            assert_eq!(names(template, uri), None, "{template} {uri}");
        }
    }
}
